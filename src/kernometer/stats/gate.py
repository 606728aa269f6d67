"""Whether a comparison passes as a gate: no row costs more, and none is lost. docs/gate.md."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

from kernometer.results.model import Result
from kernometer.stats.model import Comparison, RowComparison, Verdict
from kernometer.stats.order import named
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
    """Rows of a name or pattern may cost so much more (0.01: 1 %); infinity: anything, even be lost."""

    rows: str
    share: float = math.inf

    def covers(self, row: str, more: float) -> bool:
        return named(row, self.rows) and more <= self.share + 1e-9  # 1.1 - 1 is a little more than 0.1


@dataclass(frozen=True, slots=True)
class GateRow:
    outcome: Outcome
    of: RowComparison  #: if only one side was asked for it, a row that is not there
    explanation: tuple[str, ...] = ()  #: where the difference comes from, line by line


@dataclass(frozen=True, slots=True)
class Gate:
    """B against A."""

    comparison: Comparison
    rows: tuple[GateRow, ...]
    empty: str  #: why nothing was decided, which fails too; "" if something was

    @property
    def passed(self) -> bool:
        return not self.empty and not any(row.outcome in FAILING for row in self.rows)

    def of(self, *outcomes: Outcome) -> tuple[GateRow, ...]:
        return tuple(row for row in self.rows if row.outcome in outcomes)


def gate(
    comparison: Comparison,
    a: Sequence[Result],
    b: Sequence[Result],
    allowed: Sequence[Allowance] = (),
    explanations: Mapping[str, tuple[str, ...]] | None = None,
) -> Gate:
    """`a` and `b`: the comparison's results. `explanations`: lines by row, for the summaries."""
    asked = tried(a), tried(b)
    alone = [
        RowComparison(row, row.partition("@")[0], Verdict.NOT_THERE, notes=(f"measured on {name} only",))
        for name, here, there in ((comparison.a, *asked), (comparison.b, *reversed(asked)))
        for row in here
        if row not in there
    ]
    rows = []
    for one in (*comparison.rows, *alone):
        outcome = _outcome(one, comparison)
        more = one.ratio - 1 if one.ratio is not None and outcome is Outcome.WORSE else math.inf
        if outcome in FAILING and any(each.covers(one.row, more) for each in allowed):
            outcome = Outcome.ALLOWED
        rows.append(GateRow(outcome, one, (explanations or {}).get(one.row, ())))
    both = any(row.ratio is not None for row in comparison.rows)
    empty = comparison.sentence if comparison.undecidable else "" if both else "no row was measured on both sides"
    return Gate(comparison, tuple(rows), empty)


def _outcome(row: RowComparison, comparison: Comparison) -> Outcome:
    """By time the verdict. By path what exceeds the row's floor, however little: counts contain no chance."""
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
