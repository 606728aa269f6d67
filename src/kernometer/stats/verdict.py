"""From intervals and tests to verdicts; for an undecided row, the difference that it could show, and the units it
lacks.

docs/statistics.md, "Verdicts" and "Undecided".
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, replace

from kernometer.arrays import special, stats
from kernometer.stats.intervals import LEVEL, Contrast, t_quantile
from kernometer.stats.model import RowComparison, Verdict
from kernometer.stats.serial import BATCHES, variance_in_a_row

#: The default relative difference that counts as equal.
DELTA = 0.02
#: The share of wrong verdicts among all rows called slower or faster.
FALSE_DISCOVERY = 0.05
UNADJUSTED = "intervals are 95 % each and unadjusted; slower and faster hold after Benjamini-Hochberg over all rows"


@dataclass(frozen=True, slots=True)
class Draft:
    """A row before its verdict, with the contrast, if there is one."""

    row: RowComparison
    contrast: Contrast | None = None
    second: tuple[float, float] | None = None  #: a bootstrap interval of the log ratio, which must agree
    sd_log: float = 0.0  #: of one unit (paired: of one block's log ratio)
    paired: bool = False
    neighbours: float = 0.0  #: the correlation of units in a row that the contrast allows for …
    cost: float = 1.0  #: … and how many times as wide this made the interval
    units: int = 0  #: pairs, or units of the smaller side
    seconds_per_unit: float = 0.0  #: of a block


def verdict(low: float, high: float, rejected: bool, delta: float) -> Verdict:
    """The rule for a 95 % interval of log(cost of B / cost of A). Equivalence comes first: a real difference within
    delta does not matter."""
    edge = math.log1p(delta)
    if -edge <= low and high <= edge:
        return Verdict.EQUIVALENT
    if rejected and low > 0:
        return Verdict.SLOWER
    if rejected and high < 0:
        return Verdict.FASTER
    return Verdict.UNDECIDED


def judge(drafts: Sequence[Draft], delta: float) -> tuple[RowComparison, ...]:
    """Judges all rows of one comparison (or of several that share a baseline) as one family."""
    p = {i: float(draft.contrast.p()) for i, draft in enumerate(drafts) if draft.contrast is not None}
    adjusted = dict(zip(p, _adjusted(list(p.values())), strict=True))
    return tuple(
        _judged(draft, draft.contrast, p[i], adjusted[i], delta) if draft.contrast is not None else draft.row
        for i, draft in enumerate(drafts)
    )


def _adjusted(p: Sequence[float]) -> Sequence[float]:
    """By Benjamini and Hochberg (1995), in the order given: docs/statistics.md, "Many rows"."""
    if not p:
        return p  # importing scipy.stats takes most of a second
    return [float(adjusted) for adjusted in stats.false_discovery_control(p)]


def _judged(draft: Draft, contrast: Contrast, p: float, adjusted: float, delta: float) -> RowComparison:
    low, high = (float(end) for end in contrast.interval())
    rejected = adjusted <= FALSE_DISCOVERY
    decided = verdict(low, high, rejected, delta)
    row = replace(
        draft.row,
        verdict=decided,
        ratio=ratio(float(contrast.log_ratio)),
        low=ratio(low),
        high=ratio(high),
        p=p,
        p_adjusted=adjusted,
    )
    doubtful = draft.second is not None and verdict(*draft.second, True, delta) is not decided
    if decided is not Verdict.UNDECIDED and doubtful:
        row = replace(
            row,
            verdict=Verdict.UNDECIDED,
            notes=(*row.notes, "the t interval and the bootstrap disagree: the units have heavy tails"),
        )
    return row if row.verdict is not Verdict.UNDECIDED else undecided(row, draft, contrast, delta)


def undecided(row: RowComparison, draft: Draft, contrast: Contrast, delta: float) -> RowComparison:
    """Adds the smallest difference that these runs could show, and what it takes to show delta."""
    row = replace(row, smallest=smallest_ratio(float(contrast.se), float(contrast.df)))
    needed = units_needed(draft.sd_log, delta, paired=draft.paired, neighbours=draft.neighbours)
    if needed is None:
        return replace(row, notes=(*row.notes, "no number of further units like these would show it"))
    # If delta could be seen already, the difference lies near delta or near the test's limit: one more unit.
    missing = max(1, needed - draft.units)
    if draft.paired:
        return replace(row, minutes_missing=missing * draft.seconds_per_unit / 60)
    return replace(row, sessions_missing=missing)


def ratio(log: float) -> float:
    """exp without overflow: the interval of two wild units may exceed any double."""
    return math.exp(max(-700.0, min(log, 700.0)))


#: A difference counts as visible if 4 of 5 comparisons find it, the convention of the field.
POWER = 0.80
#: More units than this are not a useful answer.
MOST_UNITS = 100_000


def smallest_log(se: float, df: float) -> float:
    """The smallest true difference of logs that a test at 5 % finds with 80 % power, by the noncentral t."""
    if se == 0:
        return 0.0
    return se * float(special.nctdtrinc(df, 1 - POWER, float(t_quantile(0.5 + LEVEL / 2, df))))


def smallest_ratio(se: float, df: float) -> float:
    """The same as a relative difference: 0.05 is 5 %."""
    return math.expm1(min(smallest_log(se, df), 700.0))


def units_needed(sd_log: float, delta: float, *, paired: bool, neighbours: float = 0.0) -> int | None:
    """How many units (pairs of a block, or units per side) show a difference of delta; None beyond `MOST_UNITS`.

    `sd_log`: the standard deviation of one unit's log (paired: of one block's log ratio). `neighbours`: the correlation
    between units measured in a row that the interval allows for.
    """
    target = math.log1p(delta)

    def seen(n: int) -> bool:
        variance = 1 / n if paired else variance_in_a_row(n, neighbours)
        independent = min(n, BATCHES) if neighbours else n
        return smallest_log(sd_log * math.sqrt(variance), (1 if paired else 2) * (independent - 1)) <= target

    candidates = range(2, MOST_UNITS + 1)
    at = bisect_left(candidates, True, key=seen)
    return candidates[at] if at < len(candidates) else None
