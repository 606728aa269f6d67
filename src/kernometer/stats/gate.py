"""Whether a comparison passes as a gate: no row costs more, and none is lost. docs/gate.md.

A row that fails is measured again, and the second look decides: `again`, `looked_again`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from itertools import combinations
from statistics import median_low

from kernometer.results.model import Result
from kernometer.results.rows import Row
from kernometer.stats.figures import figures
from kernometer.stats.model import Comparison, RowComparison, Verdict
from kernometer.stats.path import EXACT
from kernometer.stats.sides import tried


class Outcome(Enum):
    """What a row means to the gate; the first two make it fail."""

    WORSE = "worse"
    LOST = "lost"  #: it failed, or one side does not have it
    ALLOWED = "allowed"  #: worse or lost, and the user accepts that
    UNDECIDED = "undecided"
    BETTER = "better"
    SAME = "same"


FAILING = (Outcome.WORSE, Outcome.LOST)


@dataclass(frozen=True, slots=True)
class Allowance:
    """Rows of a name or pattern may cost so much more (0.01: 1 %); infinity allows anything, even the loss of the
    row."""

    rows: str
    share: float = math.inf

    def covers(self, row: str, more: float) -> bool:
        return Row(row).is_named(self.rows) and more <= self.share + 1e-9  # 1.1 - 1 is a little more than 0.1


@dataclass(frozen=True, slots=True)
class GateRow:
    outcome: Outcome
    judged: RowComparison  #: a row that is not there, if only one side was asked for it
    explanation: tuple[str, ...] = ()  #: where the difference comes from, line by line
    first: Outcome | None = None  #: what it was before it was measured again


@dataclass(frozen=True, slots=True)
class Second:
    """What a second look at a row found."""

    outcome: Outcome | None  #: None: it decided nothing, and the first outcome stands
    ratio: float | None
    told: str


@dataclass(frozen=True, slots=True)
class Gate:
    """B against A."""

    comparison: Comparison
    rows: tuple[GateRow, ...]
    empty: str  #: why nothing was decided, which fails too; "" if something was
    strict: bool = False  #: undecided rows fail

    @property
    def passed(self) -> bool:
        return not self.empty and not self.rows_with(*self.failing)

    @property
    def failing(self) -> tuple[Outcome, ...]:
        """The outcomes that make it fail."""
        return (*FAILING, Outcome.UNDECIDED) if self.strict else FAILING

    def allowing(self, outcome: Outcome, row: str, more: float, allowed: Sequence[Allowance]) -> Outcome:
        """The outcome of a row that costs at most so much more, once what the user allows is taken into account."""
        covered = outcome in self.failing and any(allowance.covers(row, more) for allowance in allowed)
        return Outcome.ALLOWED if covered else outcome

    @property
    def again(self) -> tuple[GateRow, ...]:
        """The rows to measure again: those that fail, unless a side does not have them; the largest ratio first."""
        failing = [row for row in self.rows_with(*self.failing) if row.judged.verdict is not Verdict.NOT_THERE]
        return tuple(sorted(failing, key=lambda row: -(row.judged.ratio or math.inf)))

    def rows_with(self, *outcomes: Outcome) -> tuple[GateRow, ...]:
        return tuple(row for row in self.rows if row.outcome in outcomes)


def gate(
    comparison: Comparison,
    a: Sequence[Result],
    b: Sequence[Result],
    allowed: Sequence[Allowance] = (),
    explanations: Mapping[str, tuple[str, ...]] | None = None,
    *,
    strict: bool = False,
) -> Gate:
    """`a` and `b`: the comparison's results. `explanations`: lines by row, for the summaries."""
    asked = tried(a), tried(b)
    alone = [
        RowComparison(row, Row(row).workload, Verdict.NOT_THERE, notes=(f"measured on {name} only",))
        for name, here, there in ((comparison.a, *asked), (comparison.b, *reversed(asked)))
        for row in here
        if row not in there
    ]
    both = any(row.ratio is not None for row in comparison.rows)
    empty = comparison.sentence if comparison.undecidable else "" if both else "no row was measured on both sides"
    made = Gate(comparison, (), empty, strict)
    rows = []
    for row in (*comparison.rows, *alone):
        outcome = made.allowing(outcome_of(row, comparison), row.row, _at_most(row), allowed)
        rows.append(GateRow(outcome, row, (explanations or {}).get(row.row, ())))
    return replace(made, rows=tuple(rows))


def looked_again(first: Gate, seconds: Mapping[str, Second], allowed: Sequence[Allowance] = ()) -> Gate:
    """The gate in which second looks, by row, replace the first outcomes."""
    rows = []
    for row in first.rows:
        second = seconds.get(row.judged.row)
        if second is not None:
            more = math.inf if second.ratio is None else second.ratio - 1
            outcome = first.allowing(second.outcome or row.outcome, row.judged.row, more, allowed)
            row = replace(row, outcome=outcome, explanation=(second.told, *row.explanation), first=row.outcome)
        rows.append(row)
    return replace(first, rows=tuple(rows))


def _at_most(row: RowComparison) -> float:
    """How much more B may cost: the ratio, or, if undecided, as far as the interval or the floor reaches."""
    if row.ratio is None:
        return math.inf
    if row.verdict is not Verdict.UNDECIDED:
        return row.ratio - 1
    if row.high is not None:
        return row.high - 1
    return math.inf if row.floor is None else row.ratio * (1 + row.floor) - 1


def outcome_of(row: RowComparison, comparison: Comparison) -> Outcome:
    """By time the verdict. By path everything beyond the row's floor, however little: counts contain no chance."""
    if row.verdict in (Verdict.FAILED, Verdict.NOT_THERE):
        return Outcome.LOST
    itself = comparison.method == "path" and EXACT in comparison.remarks
    if row.verdict is Verdict.UNDECIDED or row.ratio is None or (itself and row.ratio != 1):
        return Outcome.UNDECIDED
    if comparison.method == "path":
        floor = row.floor or 0.0
        if max(row.ratio, 1 / row.ratio) <= 1 + floor:
            return Outcome.SAME
        return Outcome.WORSE if row.ratio > 1 else Outcome.BETTER
    return {Verdict.SLOWER: Outcome.WORSE, Verdict.FASTER: Outcome.BETTER}.get(row.verdict, Outcome.SAME)


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
    seconds = {}
    for row in second.rows:
        silent = row.verdict is Verdict.UNDECIDED and row.low is None  # it decided nothing: the first look stands
        interval = f" [{row.low:.3f}, {row.high:.3f}]" if row.low is not None and row.high is not None else ""
        ratio = f"ratio {row.ratio:.3f}{interval}" if row.ratio is not None else ""
        what = "; ".join(filter(None, (ratio, *(row.notes if silent or not ratio else ()))))
        told = f"measured again in {row.units_a} new blocks: {what}, {row.verdict.value}"
        seconds[row.row] = Second(None if silent else outcome_of(row, second), row.ratio, told)
    return seconds


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
    shown = " against ".join(f"{min(counts):,.0f} to {max(counts):,.0f}" for counts in (of_b, of_a))
    told = f"measured again on {len(of_a)} machines with other layouts: {shown} instr, {outcome.value}"
    return Second(outcome, median_low(of_b) / median_low(of_a), told)


def _counts(row: RowComparison, results: Sequence[Result]) -> list[float]:
    figures_of_row = [figure for result in results if (figure := figures(result).get(row.row)) is not None]
    counts = [figure.mean if row.by_mean else figure.cost for figure in figures_of_row]
    return [count for count in counts if count]


def rank_p(higher: Sequence[float], lower: Sequence[float]) -> float:
    """Mann and Whitney's exact one-sided p: the share of all ways to divide these counts that put as many above."""

    def above(mine: Sequence[float], others: Sequence[float]) -> float:
        return sum((x > y) + (x == y) / 2 for x in mine for y in others)

    every = (*higher, *lower)
    seen = above(higher, lower)
    ways = [set(chosen) for chosen in combinations(range(len(every)), len(higher))]
    as_far = sum(
        above([every[i] for i in way], [every[i] for i in range(len(every)) if i not in way]) >= seen for way in ways
    )
    return as_far / len(ways)
