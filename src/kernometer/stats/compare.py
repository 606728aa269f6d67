"""Compares stored results; the unit is the session, the boot or the occasion. docs/statistics.md, "compare"."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from statistics import median

from kernometer.results.model import Result
from kernometer.stats import path
from kernometer.stats.differences import check_comparable
from kernometer.stats.floors import Layout
from kernometer.stats.history import Grain, History, Spread, grain, spread, squares, unit_key, unit_starts
from kernometer.stats.intervals import BOOTSTRAP_UNITS, Contrast, bootstrap_difference, from_variances, welch
from kernometer.stats.model import Comparison, RowFigure
from kernometer.stats.quantiles import judged_by
from kernometer.stats.serial import NEIGHBOURS, generalised, in_a_row, variance_in_a_row
from kernometer.stats.sides import Method, Side, begun, compared, rows_of, side
from kernometer.stats.verdict import DELTA, UNADJUSTED, Draft, judge, ratio, units_needed


def compare(
    a: Sequence[Result],
    b: Sequence[Result],
    *,
    history: History | None,
    delta: float = DELTA,
    name_a: str = "A",
    name_b: str = "B",
    floors: Sequence[Layout] = (),
    quantile: float | None = None,
) -> Comparison:
    """Judges B against A.

    `history`: earlier sessions of this host (unsuitable ones are ignored), used if a side has only one unit.
    `delta`: relative, 0.02 is 2 %. `floors`: by path, the known layouts.
    `quantile`: by time, what is judged instead of the median; `history` is then of the same.
    Raises ResultError if a side is empty, a session is on both sides, or one side has times and the other counts.
    """
    others = {name_b: b}
    known = compare_many(
        a, others, history=history, delta=delta, name_baseline=name_a, floors=floors, quantile=quantile
    )
    return known[0]


def compare_many(
    baseline: Sequence[Result],
    others: Mapping[str, Sequence[Result]],
    *,
    history: History | None,
    delta: float = DELTA,
    name_baseline: str = "A",
    floors: Sequence[Layout] = (),
    quantile: float | None = None,
) -> tuple[Comparison, ...]:
    """Each of the named others against one baseline; all rows of all of them are one family of tests. Arguments and
    errors as for `compare`."""
    for results in others.values():
        check_comparable(baseline, results)
    of_baseline = side(name_baseline, baseline, quantile=quantile)
    of_others = [side(name, results, quantile=quantile) for name, results in others.items()]
    if baseline[0].session.by == "path":
        return tuple(path.compare_counts(of_baseline, other, delta=delta, floors=floors) for other in of_others)
    judged = compare_sides(of_baseline, of_others, history=history, delta=delta)
    return judged if quantile is None else tuple(judged_by(quantile, each) for each in judged)


def compare_sides(
    baseline: Side, others: Sequence[Side], *, history: History | None, delta: float, method: Method = "compare"
) -> tuple[Comparison, ...]:
    """As compare_many, by time: of sides that are comparable, whatever their figures were made of."""
    drafts: list[Draft] = []
    parts: list[tuple[Side, slice, Grain]] = []
    for other in others:
        unit = grain(baseline.entries, other.entries)
        made = [_draft(row, baseline, other, unit, history, delta) for row in rows_of(baseline, other)]
        parts.append((other, slice(len(drafts), len(drafts) + len(made)), unit))
        drafts.extend(made)
    judged = judge(drafts, delta)
    return tuple(
        compared(baseline, other, method, delta, judged[where], _remarks(unit, drafts[where]))
        for other, where, unit in parts
    )


#: The unit, and why.
UNITS = {
    Grain.SESSION: "the unit is the session: the processes of one session share what differs between sessions",
    Grain.BOOT: "the unit is the boot: the sides ran in different boots, so sessions of one boot are not independent",
    Grain.OCCASION: "the unit is the occasion (sessions within half an hour): the sides were not measured at the same "
    "times, so what changed in between counts as chance; measure them in turn, or use kernometer ab",
}


def _remarks(unit: Grain, drafts: Sequence[Draft]) -> tuple[str, ...]:
    """The unit; and what it costs to measure the sides in a row and not in turn."""
    costs = [draft.cost for draft in drafts if draft.neighbours]
    if not costs:
        return UNADJUSTED, UNITS[unit]
    return (
        UNADJUSTED,
        UNITS[unit],
        f"the sides were measured in a row, not in turn, and neighbours are alike: intervals are {median(costs):.1f} "
        f"times as wide as in turn (median of the rows), and ratios depend most on units next to the change of sides; "
        f"measure in turn (A B B A …), or use kernometer ab",
    )


def _draft(row: str, a: Side, b: Side, unit: Grain, history: History | None, delta: float) -> Draft:
    comparison, logs_a, logs_b, comparable = begun(row, a, b, unit)
    if not comparable:
        return Draft(comparison)
    units = min(len(logs_a), len(logs_b))
    if units >= 2:
        key = unit_key(unit, (*a.entries, *b.entries))
        starts = [unit_starts(side.entries, row, key) for side in (a, b)]
        return _with_own_spread(Draft(comparison, units=units), (logs_a, logs_b), starts)
    spreads = [_single_spread(row, side, logs, unit, history) for side, logs in ((a, logs_a), (b, logs_b))]
    if None in spreads:
        missing = _missing_without_history(comparison.a, comparison.b, units, delta)
        known = "no history" if history is None else "the history of this host has fewer than three"
        note = (
            f"one {unit.value} on a side shows no spread between {unit.value}s, and {known} to estimate it: the ratio "
            f"has no interval, and the number of missing sessions is a lower bound"
        )
        seen = ratio(math.fsum(logs_b) / len(logs_b) - math.fsum(logs_a) / len(logs_a))
        return Draft(replace(comparison, ratio=seen, sessions_missing=missing, notes=(note, *comparison.notes)))
    of_a, of_b = (spread for spread in spreads if spread is not None)
    contrast = _with_history(logs_a, logs_b, of_a, of_b)
    note = f"spread between {unit.value}s from this host's history"
    if not (of_a.of_row and of_b.of_row):
        note += ", of other rows"
    sd = math.sqrt((of_a.variance + of_b.variance) / 2)
    return Draft(replace(comparison, notes=(note, *comparison.notes)), contrast, sd_log=sd, units=units)


def _with_own_spread(bare: Draft, logs: Sequence[list[float]], starts: Sequence[list[float]]) -> Draft:
    """The draft with the spread between the units of each side, which have two units or more."""
    contrast = welch(*logs)
    if in_a_row(*starts):
        wide = generalised(*logs, *starts)
        sd = float(wide.se) / math.sqrt(variance_in_a_row(bare.units, NEIGHBOURS))
        cost = float(wide.half_width() / contrast.half_width()) if contrast.se > 0 else 1.0
        return replace(bare, contrast=wide, sd_log=sd, neighbours=NEIGHBOURS, cost=cost)
    sd = float(contrast.se) / math.sqrt(1 / len(logs[0]) + 1 / len(logs[1]))
    second = bootstrap_difference(*logs) if bare.units >= BOOTSTRAP_UNITS else None
    return replace(bare, contrast=contrast, second=second, sd_log=sd)


def _single_spread(row: str, side: Side, logs: list[float], unit: Grain, history: History | None) -> Spread | None:
    """The spread of one side's units: its own from two units on, else the history's, but at least that within."""
    if len(logs) >= 2:
        return Spread(squares(logs) / (len(logs) - 1), len(logs) - 1, of_row=True)
    if history is None:
        return None
    known = spread(history, row, side.entries[0], unit, without={entry.session for entry in side.entries})
    if known is None:
        return None
    return replace(known, variance=max(known.variance, within_variance(side.figures_of(row))))


def _with_history(logs_a: list[float], logs_b: list[float], of_a: Spread, of_b: Spread) -> Contrast:
    """The contrast with the smaller degrees of freedom, for both spreads may be the same estimate."""
    difference = math.fsum(logs_b) / len(logs_b) - math.fsum(logs_a) / len(logs_a)
    parts = (of_a.variance / len(logs_a), of_a.df), (of_b.variance / len(logs_b), of_b.df)
    return from_variances(difference, *parts, cautious=True)


def within_variance(figures: Sequence[RowFigure]) -> float:
    """A lower bound of the variance of one unit's log figure, from the runs within its sessions."""
    variances = []
    for figure in figures:
        logs = [math.log(run.cost) for run in figure.runs if run.cost > 0]
        if len(logs) >= 2:
            variances.append(squares(logs) / (len(logs) - 1) / len(logs))
    # The mean of independent sessions has the mean of their variances, over their number.
    return math.fsum(variances) / len(variances) / len(variances) if variances else 0.0


def _missing_without_history(a: RowFigure | None, b: RowFigure | None, units: int, delta: float) -> int:
    """A lower bound of the further units that a side needs, by the spread within sessions; that between is not
    known."""
    within = max((within_variance([figure]) for figure in (a, b) if figure is not None), default=0.0)
    needed = units_needed(math.sqrt(within), delta, paired=False)
    return max(1, 2 - units, (needed or 0) - units)
