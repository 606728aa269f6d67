"""A curve in the lines of a terminal's table, and as a document. docs/statistics.md, "Curves"."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from kernometer.report.units import NOTHING, exact_text, format_half_width, format_value
from kernometer.report.warnings import WORDS
from kernometer.results.model import Result, Workload
from kernometer.stats.curves import Curve, extremes, gathered, largest, tally
from kernometer.stats.load import crossings, peak
from kernometer.stats.model import Comparison, FlagCode, RowComparison, RowFigure, Verdict
from kernometer.text import printable

#: Eight heights, for a stream that can write blocks and for one that cannot; and a point that has no value.
BLOCKS, ASCII = "▁▂▃▄▅▆▇█", "_.-:=+*#"
NO_VALUE = "?"
#: Values whose ratio is less fill a part of the height only: noise is not drawn as a mountain.
FULL_HEIGHT = 2.0
#: Characters of a plot; of more points as many are taken, evenly.
WIDEST = 48
#: Characters of a name and of a unit's word.
NAME = 120

Line = RowFigure | Curve[RowFigure]


def definitions(results: Iterable[Result]) -> dict[str, Workload]:
    """Every definition of these results; where two differ, the first."""
    found: dict[str, Workload] = {}
    for result in results:
        for name, workload in result.workloads.items():
            found.setdefault(name, workload)
    return found


def lines_of(
    figures: Mapping[str, RowFigure], workloads: Mapping[str, Workload], named: Collection[str] = ()
) -> list[Line]:
    """Figures in their order, curves as one; but the points of a curve whose every row was asked for by name."""
    found: list[Line] = []
    for one in gathered(figures, workloads):
        if isinstance(one, str):
            found.append(figures[one])
        elif all(row in named for row in one.rows):
            found.extend(point.of for point in one.points)
        else:
            found.append(one)
    return found


def names_of(rows: Iterable[str], workloads: Mapping[str, Workload]) -> list[str]:
    """Rows for a sentence: those of one curve under its name, with their number."""
    return [
        one if isinstance(one, str) else f"{one.name} ({len(one.points)} points)"
        for one in gathered(dict.fromkeys(rows), workloads)
    ]


def x_text(x: float) -> str:
    """A parameter's value as row names have it: 4096, 0.5."""
    return f"{x:.0f}" if x == int(x) and abs(x) < 1e15 else f"{x:g}"


def spread_of(curve: Curve[Any]) -> str:
    """`12 points, 4096 … 8388608`."""
    first, last = curve.points[0].x, curve.points[-1].x
    return f"{len(curve.points)} points, {x_text(first)} … {x_text(last)}"


def signs(encoding: str | None) -> str:
    """The heights that a stream of this encoding can write."""
    try:
        BLOCKS.encode(encoding or "ascii")
    except (LookupError, UnicodeEncodeError):
        return ASCII
    return BLOCKS


def spark(values: Sequence[float | None], heights: str, width: int = WIDEST) -> str:
    """The values as one line of characters, on a logarithmic scale from the least to the largest."""
    if len(values) > width:
        values = [values[round(i * (len(values) - 1) / (width - 1))] for i in range(width)]
    logs = [math.log(value) if value is not None and 0 < value < math.inf else None for value in values]
    known = [log for log in logs if log is not None]
    if not known:
        return NO_VALUE * len(logs)
    least, span = min(known), max(max(known) - min(known), math.log(FULL_HEIGHT))
    top = len(heights) - 1
    return "".join(NO_VALUE if log is None else heights[round((log - least) / span * top)] for log in logs)


def below_name(curve: Curve[RowFigure], heights: str, width: int) -> list[str]:
    """What stands under a curve's name: its plot and its points, on one line where there is room, then its two ends."""
    plot = spark([point.of.value for point in curve.points], heights, max(8, min(WIDEST, width - 2)))
    together = f"  {plot}  {spread_of(curve)}"
    lines = [together] if len(together) <= width else [f"  {spread_of(curve)}", f"  {plot}"]
    ends = extremes(curve)
    if ends is not None:
        at = {point.row: x_text(point.x) for point in curve.points}
        lines += [f"  lowest, at {at[ends[0].row]}", f"  highest, at {at[ends[1].row]}"]
    return lines


def cells(curve: Curve[RowFigure], above: int, direction: Mapping[str, str]) -> tuple[str, ...]:
    """A curve's cells, as of a row: value, half-width, per, direction, runs, flags.

    The values stand `above` lines below the first one, beside what `below_name` calls lowest and highest.
    """
    first, ends = curve.points[0].of, extremes(curve)
    runs = sorted({len(point.of.runs) for point in curve.points})
    down = "\n" * above
    return (
        down + "\n".join(map(value_text, ends)) if ends else NOTHING,
        down + "\n".join(map(accuracy_text, ends)) if ends else "",
        "" if first.unit == "B/s" else printable(first.per, 20),
        direction.get(first.better, ""),
        str(runs[0]) if len(runs) == 1 else f"{runs[0]}–{runs[-1]}",
        "\n".join(f"{WORDS[code].label} {count}×" for code, count in flag_counts(curve).items()),
    )


def value_text(figure: RowFigure) -> str:
    """With as many digits as its interval allows."""
    low, high = figure.value_low, figure.value_high
    return format_value(figure.value, figure.unit, None if low is None or high is None else (high - low) / 2)


def accuracy_text(figure: RowFigure) -> str:
    """Of counts `exact`, where they are all equal, with the floor; else how far the interval reaches."""
    return exact_text(figure) or format_half_width(figure.value, figure.value_low, figure.value_high)


def flag_counts(curve: Curve[RowFigure]) -> dict[FlagCode, int]:
    """How many points have which flag."""
    found: dict[FlagCode, int] = {}
    for point in curve.points:
        for code in dict.fromkeys(flag.code for flag in point.of.flags):
            found[code] = found.get(code, 0) + 1
    return found


def ratio_range(curve: Curve[RowComparison]) -> str:
    """Where nothing is decided: how far its points' ratios reach."""
    known = [point.of.ratio for point in curve.points if point.of.ratio is not None]
    return f"{min(known):.3f} … {max(known):.3f}" if known else NOTHING


def verdict_lines(curve: Curve[RowComparison]) -> list[tuple[Verdict, str]]:
    """`3 slower`, `14 equivalent`, …"""
    return [(verdict, f"{count} {verdict.value}") for verdict, count in tally(curve).items()]


def rows_document(rows: Iterable[str], workloads: Mapping[str, Workload]) -> list[dict[str, Any]]:
    """The curves that rows form, for programs: which rows they are, each with its parameter's value."""
    return [_document(one) for one in gathered(dict.fromkeys(rows), workloads) if not isinstance(one, str)]


def figures_document(figures: Mapping[str, RowFigure], workloads: Mapping[str, Workload]) -> list[dict[str, Any]]:
    """The same of a result, with the peak of those that have one (null: lower is better), as stats/load.py has it."""
    found = []
    for one in gathered(figures, workloads):
        if isinstance(one, str):
            continue
        top = peak(one)
        told = None if top is None else {"x": top.point.x, "row": top.point.row, "first": top.first, "last": top.last}
        found.append(_document(one) | {"peak": told})
    return found


def crossing_lines(curve: Curve[RowComparison]) -> list[str]:
    """Where the two sides change places: `crosses between 4 and 16`."""
    return [f"crosses between {x_text(one.before.x)} and {x_text(one.after.x)}" for one in crossings(curve)]


def comparison_document(comparison: Comparison, workloads: Mapping[str, Workload]) -> list[dict[str, Any]]:
    """The same of a comparison: the tally of verdicts, the largest decided difference (null: none), and crossings."""
    found = []
    for one in gathered({row.row: row for row in comparison.rows}, workloads):
        if isinstance(one, str):
            continue
        most = largest(one)
        of_most = next(({"x": point.x, "row": point.row} for point in one.points if point.of is most), None)
        counts = {verdict.value: count for verdict, count in tally(one).items()}
        crossed = [{"before": cross.before.x, "after": cross.after.x, "at": cross.at} for cross in crossings(one)]
        found.append(_document(one) | {"verdicts": counts, "largest": of_most, "crossings": crossed})
    return found


def _document(curve: Curve[Any]) -> dict[str, Any]:
    return {
        "name": curve.name,
        "workload": curve.workload,
        "parameter": curve.parameter,
        "fixed": dict(curve.fixed),
        "points": [{"x": point.x, "row": point.row} for point in curve.points],
    }
