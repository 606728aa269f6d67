"""Rows that differ in one parameter, as one object. docs/statistics.md, "Curves".

A curve consists of a workload's rows that differ only in the parameter that the registry calls `curve`. Its points are
rows with their samples, intervals and verdicts. Its summary is its largest decided difference, after the one correction
over all rows of the comparison. A curve against load also has a peak, and points between which the ratio of two systems
crosses 1: choices among its points, not a fit.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Generic, TypeGuard, TypeVar

from kernometer.results.model import Workload
from kernometer.results.rows import Row
from kernometer.stats.model import DECIDED, RowComparison, RowFigure, Verdict

#: Fewer points are not a curve but rows.
LEAST_POINTS = 3

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Point(Generic[T]):
    x: float  #: the parameter's value
    row: str
    item: T  #: its figure, its comparison


@dataclass(frozen=True, slots=True)
class Curve(Generic[T]):
    """Points in ascending order of their parameter, all of one workload."""

    name: str  #: the row's name with `*` for the value: mem/latency@bytes=*,stride=64
    workload: str
    parameter: str  #: what the points differ in
    fixed: tuple[tuple[str, str], ...]  #: the other parameters, name and value
    points: tuple[Point[T], ...]

    @property
    def rows(self) -> tuple[str, ...]:
        return tuple(point.row for point in self.points)


def finite(text: str) -> float | None:
    """The finite number in `text`, if it is one."""
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def curves(rows: Mapping[str, T], workloads: Mapping[str, Workload]) -> tuple[Curve[T], ...]:
    """Every curve of `rows` (row to any value), in the order of their first rows."""
    groups: dict[tuple[str, str], list[Point[T]]] = {}
    for row, item in rows.items():
        definition = workloads.get(Row(row).workload)
        x = (
            finite(Row(row).parameters.get(definition.curve, ""))
            if definition is not None and definition.curve
            else None
        )
        if definition is not None and x is not None:
            groups.setdefault((Row(row).along(definition.curve), definition.curve), []).append(Point(x, row, item))
    return tuple(
        Curve(
            name=name,
            workload=Row(name).workload,
            parameter=parameter,
            fixed=tuple((key, value) for key, value in Row(name).parameters.items() if key != parameter),
            points=tuple(sorted(points, key=lambda point: point.x)),
        )
        for (name, parameter), points in groups.items()
        if len(points) >= LEAST_POINTS
    )


def gathered(rows: Mapping[str, T], workloads: Mapping[str, Workload]) -> tuple[Curve[T] | str, ...]:
    """`rows` with every curve at the place of its first row, and the names of the other rows."""
    of_row = {row: curve for curve in curves(rows, workloads) for row in curve.rows}
    seen: set[str] = set()
    lines: list[Curve[T] | str] = []
    for row in rows:
        curve = of_row.get(row)
        if curve is None:
            lines.append(row)
        elif curve.name not in seen:
            seen.add(curve.name)
            lines.append(curve)
    return tuple(lines)


def with_points(curve: Curve[Any], things: Sequence[T | None]) -> Curve[T]:
    """The curve with other values, one for each point; points without a value are left out."""
    known = zip(curve.points, things, strict=True)
    points = tuple(Point(point.x, point.row, item) for point, item in known if item is not None)
    return Curve(curve.name, curve.workload, curve.parameter, curve.fixed, points)


def largest(curve: Curve[RowComparison]) -> RowComparison | None:
    """The decided difference furthest from 1, slower or faster; None without a decided difference."""
    decided = [point.item for point in curve.points if point.item.verdict in DECIDED and has_place(point.item.ratio)]
    return max(decided, key=_away, default=None)


def shown_point(curve: Curve[RowComparison]) -> Point[RowComparison] | None:
    """The point that represents the whole curve: that of the largest decided difference, else the undecided one whose
    ratio is the furthest from 1. None if no point has a ratio."""
    decided = largest(curve)
    if decided is not None:
        return next(point for point in curve.points if point.item is decided)
    known = [point for point in curve.points if has_place(point.item.ratio)]
    return max(known, key=lambda point: _away(point.item), default=None)


def has_place(value: float | None) -> TypeGuard[float]:
    """Whether a logarithmic axis has a place for it."""
    return value is not None and 0 < value < math.inf


def _away(row: RowComparison) -> float:
    """How far its ratio is from 1, on the logarithm."""
    return abs(math.log(row.ratio or 1))


def tally(curve: Curve[RowComparison]) -> dict[Verdict, int]:
    """How many points have each verdict, in the verdicts' order, without verdicts that no point has."""
    counts = {verdict: sum(point.item.verdict is verdict for point in curve.points) for verdict in Verdict}
    return {verdict: count for verdict, count in counts.items() if count}


def extremes(curve: Curve[RowFigure]) -> tuple[RowFigure, RowFigure] | None:
    """The points of the lowest and of the highest value; None if no point has a value."""
    known: Sequence[RowFigure] = [point.item for point in curve.points if point.item.value is not None]
    if not known:
        return None
    return min(known, key=lambda figure: figure.value or 0), max(known, key=lambda figure: figure.value or 0)


@dataclass(frozen=True, slots=True)
class Peak:
    """The point of the highest value, and the range around it that cannot be told from it. `first` and `last` are
    values of the parameter: the intervals of all points between them reach the peak's interval."""

    point: Point[RowFigure]
    first: float
    last: float


@dataclass(frozen=True, slots=True)
class Crossing:
    """Two decided points, one slower and one faster, without a decided point between them."""

    before: Point[RowComparison]
    after: Point[RowComparison]
    at: float  #: where the line between their ratios crosses 1, both axes logarithmic; in the parameter's unit


def peak(curve: Curve[RowFigure]) -> Peak | None:
    """The peak of a curve whose values are better when higher; None for another curve, and without a value. Without
    intervals (published figures) the peak is a single point."""
    known = [index for index, point in enumerate(curve.points) if point.item.value is not None]
    if not known or curve.points[known[0]].item.better != "higher":
        return None
    top = max(known, key=lambda index: curve.points[index].item.value or 0.0)
    first = last = top
    while first > 0 and _reach(curve.points[first - 1].item, curve.points[top].item):
        first -= 1
    while last + 1 < len(curve.points) and _reach(curve.points[last + 1].item, curve.points[top].item):
        last += 1
    return Peak(curve.points[top], curve.points[first].x, curve.points[last].x)


def crossings(curve: Curve[RowComparison]) -> tuple[Crossing, ...]:
    """Every crossing, in the parameter's order; none if one side is ahead at all decided points."""
    decided = [point for point in curve.points if point.item.verdict in DECIDED and (point.item.ratio or 0.0) > 0]
    return tuple(
        Crossing(before, after, _passes_one(before, after))
        for before, after in pairwise(decided)
        if before.item.verdict is not after.item.verdict
    )


def _reach(figure: RowFigure, top: RowFigure) -> bool:
    """Whether the two intervals overlap."""
    if figure.value_high is None or top.value_low is None:
        return False
    return figure.value_high >= top.value_low


def _passes_one(before: Point[RowComparison], after: Point[RowComparison]) -> float:
    left, right = math.log(before.item.ratio or 1.0), math.log(after.item.ratio or 1.0)
    share = left / (left - right) if left != right else 0.5
    if before.x > 0:
        return math.exp(math.log(before.x) + share * (math.log(after.x) - math.log(before.x)))
    return before.x + share * (after.x - before.x)
