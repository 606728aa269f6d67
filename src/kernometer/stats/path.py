"""Counts of instructions against each other: no chance is in them, so no test. docs/statistics.md, "By path"."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from statistics import median_low

from kernometer.results.model import Result
from kernometer.stats.differences import differences
from kernometer.stats.history import Grain
from kernometer.stats.model import Comparison, RowComparison, RowFigure, Verdict
from kernometer.stats.sides import Side, bare, one_sided_remark, rows_of, without_cost
from kernometer.stats.verdict import joined

#: The layout floor of a row that has none of its own: two builds of one source place code and data differently, which
#: has moved the medians of the rows that allocate most, fork and exec, by up to 1 %.
DEFAULT_LAYOUT_FLOOR = 0.01

EXACT = "counts of one kernel image by one probe: equal or not, without an interval"
NOT_CYCLES = "instructions are not cycles: what waits or misses a cache costs none"
FLOORED = "counts of two builds: differences below a row's layout floor are not decided"


def image(result: Result) -> tuple[str, ...] | None:
    """What must be equal for counts to be equal: machine, kernel image, probe.

    None where the result does not tell.
    """
    header = result.header
    if header is None or not result.session.image:
        return None
    probe = [str(header.probe.get(key, "")) for key in ("source_digest", "compiler", "flags")]
    return (result.session.machine, result.session.image, *probe)


def compare_counts(a: Side, b: Side, *, delta: float, floors: Mapping[str, float]) -> Comparison:
    """Judges counts. `floors`: row to its layout floor, relative; used where the two kernels are different builds."""
    images = {image(result) for result in (*a.results, *b.results)}
    exact = len(images) == 1 and None not in images
    rows = tuple(_row(row, a, b, delta, None if exact else floors) for row in rows_of(a, b))
    same, differ = differences(a.results, b.results)
    return Comparison(
        a=a.name,
        b=b.name,
        method="path",
        delta=delta,
        rows=rows,
        same=same,
        differs=differ,
        remarks=(EXACT if exact else FLOORED, NOT_CYCLES, *one_sided_remark(a, b)),
    )


def _row(row: str, a: Side, b: Side, delta: float, floors: Mapping[str, float] | None) -> RowComparison:
    comparison, _, _ = bare(row, a, b, Grain.SESSION)
    without = without_cost(row, a, b)
    if without is not None:
        found, note = without
        return replace(comparison, verdict=found, note=note)
    figures_a, figures_b = a.figures_of(row), b.figures_of(row)
    count_a, count_b = _count(figures_a), _count(figures_b)
    ratio = count_b / count_a
    comparison = replace(
        comparison,
        ratio=ratio,
        a=replace(figures_a[0], cost=count_a, value=count_a, low=None, high=None, value_low=None, value_high=None),
        b=replace(figures_b[0], cost=count_b, value=count_b, low=None, high=None, value_low=None, value_high=None),
    )
    if floors is None:
        return _exact(comparison, ratio)
    spread = max(_own_spread(figures_a), _own_spread(figures_b))
    return _floored(comparison, ratio, delta, floors.get(row), spread)


def _count(figures: list[RowFigure]) -> float:
    return median_low([figure.cost for figure in figures if figure.cost is not None])


def _exact(row: RowComparison, ratio: float) -> RowComparison:
    """One image: any difference at all is one."""
    if ratio == 1:
        return replace(row, verdict=Verdict.EQUIVALENT, note=joined("equal counts", row.note))
    found = Verdict.SLOWER if ratio > 1 else Verdict.FASTER
    return replace(row, verdict=found, note=joined("the same kernel image counts differently", row.note))


def _floored(row: RowComparison, ratio: float, delta: float, stated: float | None, spread: float) -> RowComparison:
    """Two builds: the floor (never below the counts' own spread) takes the place of an interval's half width."""
    floor = max(DEFAULT_LAYOUT_FLOOR if stated is None else stated, spread)
    note = "" if stated is not None else f"layout floor not measured, taken as {100 * DEFAULT_LAYOUT_FLOOR:.3g} %"
    row = replace(row, note=joined(note, row.note))
    away, half = abs(math.log(ratio)), math.log1p(floor)
    if ratio == 1 or away + half <= math.log1p(delta):
        return replace(row, verdict=Verdict.EQUIVALENT)
    if away > half:
        return replace(row, verdict=Verdict.SLOWER if ratio > 1 else Verdict.FASTER)
    return replace(row, smallest=floor, note=joined("below the layout floor", row.note))


def _own_spread(figures: list[RowFigure]) -> float:
    """How far the counts of one side lie apart, relative: over its sessions and the runs within them."""
    costs = [run.cost for figure in figures for run in figure.runs if run.cost > 0]
    return max(costs) / min(costs) - 1 if costs else 0.0
