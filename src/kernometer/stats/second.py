"""The second look at a row that failed a gate. docs/gate.md, "Measured again"."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from statistics import median_low

from kernometer.results.model import Result
from kernometer.stats.figures import figures
from kernometer.stats.gate import Outcome, Second, outcome_of
from kernometer.stats.model import Comparison, RowComparison, Verdict

#: By path: on so many other machines. If layout alone moves the counts, 2 of the 70 orders of four and four confirm.
MACHINES = 4
#: The probability of an order that is called worse.
LEVEL = 0.05
#: By path: rows beyond these are not measured again. Each takes some seconds on each machine.
MOST_ROWS = 20
#: By time: so many times the blocks of the first look, for as many rows as take no longer than that did.
BLOCKS = 2


def blocks(first: int, rows: int, again: int) -> int:
    """The blocks of a second look at `again` rows of `rows`, so that it takes at most as long as the first."""
    return min(BLOCKS * first, first * rows // max(again, 1))


def in_new_blocks(second: Comparison) -> dict[str, Second]:
    """By time: the verdicts of the second measurement alone, since the first selected its rows."""
    found = {}
    for row in second.rows:
        silent = row.verdict is Verdict.UNDECIDED and row.low is None  # it decided nothing: the first look stands
        interval = f" [{row.low:.3f}, {row.high:.3f}]" if row.low is not None and row.high is not None else ""
        ratio = f"ratio {row.ratio:.3f}{interval}" if row.ratio is not None else ""
        what = "; ".join(filter(None, (ratio, *(row.notes if silent or not ratio else ()))))
        told = f"measured again in {row.units_a} new blocks: {what}, {row.verdict.value}"
        found[row.row] = Second(None if silent else outcome_of(row, second), row.ratio, told)
    return found


def on_other_machines(first: RowComparison, a: Sequence[Result], b: Sequence[Result], delta: float) -> Second | None:
    """By path: whether B's counts rank above A's over machines that differ in layout; None if too few have one."""
    of_a, of_b = (_counts(first, results) for results in (a, b))
    if min(len(of_a), len(of_b)) < MACHINES:
        return None
    if rank_p(of_b, of_a) <= LEVEL:
        outcome = Outcome.WORSE
    elif rank_p(of_a, of_b) <= LEVEL:
        outcome = Outcome.BETTER
    else:
        outcome = Outcome.SAME if max(of_b) <= min(of_a) * (1 + delta) else Outcome.UNDECIDED
    shown = " against ".join(f"{min(one):,.0f} to {max(one):,.0f}" for one in (of_b, of_a))
    told = f"measured again on {len(of_a)} machines with other layouts: {shown} instr, {outcome.value}"
    return Second(outcome, median_low(of_b) / median_low(of_a), told)


def _counts(row: RowComparison, results: Sequence[Result]) -> list[float]:
    found = [one for result in results if (one := figures(result).get(row.row)) is not None]
    counts = [one.mean if row.by_mean else one.cost for one in found]
    return [count for count in counts if count]


def rank_p(higher: Sequence[float], lower: Sequence[float]) -> float:
    """Mann and Whitney's exact one-sided p: the share of all ways to divide these counts that put as many above."""

    def above(of: Sequence[float], others: Sequence[float]) -> float:
        return sum((x > y) + (x == y) / 2 for x in of for y in others)

    every = (*higher, *lower)
    seen = above(higher, lower)
    ways = [set(chosen) for chosen in combinations(range(len(every)), len(higher))]
    as_far = sum(
        above([every[i] for i in way], [every[i] for i in range(len(every)) if i not in way]) >= seen for way in ways
    )
    return as_far / len(ways)
