"""Two properties of a curve against load: its peak, and the points between which the ratio of two systems crosses 1.

docs/statistics.md, "Curves". Pure; both are choices among the curve's points, not a fit.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise

from kernometer.stats.curves import Curve, Point
from kernometer.stats.model import RowComparison, RowFigure, Verdict


@dataclass(frozen=True, slots=True)
class Peak:
    """The point of the highest value, and the range around it that cannot be told from it.

    `first` and `last` are values of the parameter: the intervals of all points between them reach the peak's interval.
    """

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
    """The peak of a curve whose values are better when higher; None for another curve, and without a value.

    Without intervals (published figures) the peak is a single point.
    """
    known = [index for index, point in enumerate(curve.points) if point.of.value is not None]
    if not known or curve.points[known[0]].of.better != "higher":
        return None
    top = max(known, key=lambda index: curve.points[index].of.value or 0.0)
    first = last = top
    while first > 0 and _reach(curve.points[first - 1].of, curve.points[top].of):
        first -= 1
    while last + 1 < len(curve.points) and _reach(curve.points[last + 1].of, curve.points[top].of):
        last += 1
    return Peak(curve.points[top], curve.points[first].x, curve.points[last].x)


def crossings(curve: Curve[RowComparison]) -> tuple[Crossing, ...]:
    """Every crossing, in the parameter's order; none if one side is ahead at all decided points."""
    decided = [
        point
        for point in curve.points
        if point.of.verdict in (Verdict.SLOWER, Verdict.FASTER) and point.of.ratio is not None and point.of.ratio > 0
    ]
    return tuple(
        Crossing(before, after, _passes_one(before, after))
        for before, after in pairwise(decided)
        if before.of.verdict is not after.of.verdict
    )


def _reach(figure: RowFigure, top: RowFigure) -> bool:
    """Whether the two intervals overlap."""
    if figure.value_high is None or top.value_low is None:
        return False
    return figure.value_high >= top.value_low


def _passes_one(before: Point[RowComparison], after: Point[RowComparison]) -> float:
    left, right = math.log(before.of.ratio or 1.0), math.log(after.of.ratio or 1.0)
    share = left / (left - right) if left != right else 0.5
    if before.x > 0:
        return math.exp(math.log(before.x) + share * (math.log(after.x) - math.log(before.x)))
    return before.x + share * (after.x - before.x)
