"""Counts of instructions against each other: no chance is in them, so no test. docs/statistics.md, "By path"."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import median_low

from kernometer.results.model import Result
from kernometer.stats.differences import differences
from kernometer.stats.figures import with_values
from kernometer.stats.floors import Floors, Layout, asked, floors_for, probe_of
from kernometer.stats.history import Grain
from kernometer.stats.model import Comparison, RowComparison, RowFigure, Verdict
from kernometer.stats.sides import TEXT_LIMIT, Side, bare, one_sided_remark, rows_of, without_ratio

#: The layout floor of a row of which nobody has measured one. Of the 81 rows of the quick profile 74 stay within it on
#: five rotated machines (docs/path.md): it is no substitute for measuring those that allocate and schedule most.
DEFAULT_LAYOUT_FLOOR = 0.01

EXACT = "counts of one kernel image by one probe are exact: equal or not"
NOT_CYCLES = "instructions are not cycles: what waits or misses a cache costs none"
FLOORED = "counts of two builds: differences below a row's layout floor are not decided"


def image(result: Result) -> tuple[str, ...] | None:
    """What must be equal for counts to be equal: machine, kernel image, probe.

    None where the result does not tell.
    """
    if result.header is None or not result.session.image:
        return None
    return (result.session.machine, result.session.image, *probe_of(result))


def compare_counts(a: Side, b: Side, *, delta: float, floors: Sequence[Layout] = ()) -> Comparison:
    """Judges counts. `floors`: what is known of layouts, used where the two kernels are different builds."""
    images = {image(result) for result in (*a.results, *b.results)}
    exact = len(images) == 1 and None not in images
    found = floors_for((*a.results, *b.results), floors)
    rule = _Exactly(_told_apart(a, b), found) if exact else _Floored(delta, found)
    rows = tuple(_row(row, a, b, rule, delta) for row in rows_of(a, b))
    same, differ = differences(a.results, b.results)
    words = (EXACT,) if exact else (FLOORED, *_stand_ins(a, b, found))
    return Comparison(
        a=a.name,
        b=b.name,
        method="path",
        delta=delta,
        rows=rows,
        same=same,
        differs=differ,
        remarks=(*words, NOT_CYCLES, *one_sided_remark(a, b)),
    )


def _stand_ins(a: Side, b: Side, floors: Floors) -> tuple[str, ...]:
    """Whose layout floors are not of the kernel itself."""
    names = [side.name for side in (a, b) if any(one.session.image in floors.lacking for one in side.results)]
    if not names:
        return ()
    others = (
        "another kernel's stands" if floors.others == 1 else f"the largest of {floors.others} other kernels' stands"
    )
    return (f"layout floors: {others} in for {' and '.join(names)}",)


def _told_apart(a: Side, b: Side) -> str:
    """What the sides of one kernel image differ in that can move counts; "" for nothing that is known."""
    parts = []
    words = [Counter(word for one in side.results[:1] for word in one.session.command_line.split()) for side in (a, b)]
    for side, extra in ((a, words[0] - words[1]), (b, words[1] - words[0])):
        if extra:
            parts.append(f"{side.name} was booted with {' '.join(extra)[:TEXT_LIMIT]}")
    every = (*a.results, *b.results)
    if len({asked(one) for one in every}) > 1:
        parts.append("other rows were measured before it")
    if len({one.session.seed for one in every}) > 1:
        parts.append("the probe's seeds differ")
    return ", ".join(parts)


def _row(row: str, a: Side, b: Side, rule: _Exactly | _Floored, delta: float) -> RowComparison:
    comparison, _, _ = bare(row, a, b, Grain.SESSION)
    without = without_ratio(row, a, b)
    if without is not None:
        found, notes = without
        return replace(comparison, verdict=found, notes=notes)
    figures_a, figures_b = a.figures_of(row), b.figures_of(row)
    count_a, count_b = _count(figures_a), _count(figures_b)
    spread_a, spread_b = _own_spread(figures_a), _own_spread(figures_b)
    ratio = count_b / count_a
    comparison = replace(
        comparison,
        ratio=ratio,
        exact=spread_a == spread_b == 0,
        a=with_values(replace(figures_a[0], cost=count_a, low=None, high=None, exact=spread_a == 0), 0.0),
        b=with_values(replace(figures_b[0], cost=count_b, low=None, high=None, exact=spread_b == 0), 0.0),
    )
    if figures_a[0].unit == "count":
        rule = _Floored(delta, Floors({row: 0.0}))  # no instructions: where code lies does not matter
    return rule.judge(comparison, ratio, max(spread_a, spread_b))


def _count(figures: list[RowFigure]) -> float:
    return median_low([figure.cost for figure in figures if figure.cost is not None])


@dataclass(frozen=True, slots=True)
class _Exactly:
    """One image: any difference at all is one. `why`: what else differs, and is likely its cause."""

    why: str
    floors: Floors

    def judge(self, row: RowComparison, ratio: float, _spread: float) -> RowComparison:
        if ratio == 1:
            return replace(row, verdict=Verdict.EQUIVALENT, notes=("equal counts", *row.notes))
        found = Verdict.SLOWER if ratio > 1 else Verdict.FASTER
        note = f"the same kernel image counts differently{f': {self.why}' if self.why else ''}"
        floor = self.floors.rows.get(row.row, 0.0)
        small = self.why and abs(math.log(ratio)) <= math.log1p(floor)
        doubt = (f"layout alone moves it by up to {100 * floor:.2g} %",) if small else ()
        return replace(row, verdict=found, notes=(note, *doubt, *row.notes))


@dataclass(frozen=True, slots=True)
class _Floored:
    """Two builds: the floor (never below the counts' own spread) takes the place of an interval's half width."""

    delta: float
    floors: Floors

    def judge(self, row: RowComparison, ratio: float, spread: float) -> RowComparison:
        stated = self.floors.rows.get(row.row)
        floor = max(DEFAULT_LAYOUT_FLOOR if stated is None else stated, spread)
        notes = (
            () if stated is not None else (f"layout floor not measured, taken as {100 * DEFAULT_LAYOUT_FLOOR:.3g} %",)
        )
        row = replace(row, notes=(*notes, *row.notes), floor=floor)
        away, half = abs(math.log(ratio)), math.log1p(floor)
        if ratio == 1 or away + half <= math.log1p(self.delta):
            return replace(row, verdict=Verdict.EQUIVALENT)
        if away > half:
            return replace(row, verdict=Verdict.SLOWER if ratio > 1 else Verdict.FASTER)
        return replace(row, smallest=floor, notes=("below the layout floor", *row.notes))


def _own_spread(figures: list[RowFigure]) -> float:
    """How far the counts of one side lie apart, relative: over its sessions and the runs within them."""
    costs = [run.cost for figure in figures for run in figure.runs if run.cost > 0]
    return max(costs) / min(costs) - 1 if costs else 0.0
