"""How much of a microkernel's cost comes from its structure, and how much from the way it is written. Pure.

Trio's structures have one source, so micro beside mono shows the structure alone. Linux and mono have one structure, so
Linux beside mono shows the way of writing, with all that Linux does besides. Figures are instructions; in cycles of a
modelled processor is also what caches, TLBs, predictors, traps and switches of address spaces add: without tags in the
TLB, which the emulated processor does not have, and with them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, geometric_mean

from kernometer.explain.costs import REST, Explained, explained, side
from kernometer.explain.cycles import Cycles, modelled
from kernometer.explain.partitions import HYBRID, MICRO, MONO
from kernometer.results.model import Result
from kernometer.results.processor import Processor
from kernometer.results.rows import Row, in_registry_order
from kernometer.stats.figures import instructions
from kernometer.tables import packaged

LINUX = "linux"
#: The systems, each beside the one before it.
SYSTEMS = (LINUX, MONO, HYBRID, MICRO)
#: The operations by default.
ROWS: tuple[str, ...] = tuple(packaged(__package__, "structure_factors.toml")["rows"])


@dataclass(frozen=True, slots=True)
class Operation:
    """Instructions of one operation, by system; systems without a figure are left out."""

    row: str
    counts: Mapping[str, float]

    def ratio(self, above: str, below: str) -> float | None:
        """None without both figures, or if one of them is not above 0."""
        a, b = self.counts.get(above, 0.0), self.counts.get(below, 0.0)
        return a / b if a > 0 and b > 0 else None


@dataclass(frozen=True, slots=True)
class Factor:
    """How many times the instructions of one system another one takes, over all operations of both."""

    mean: float  #: geometric
    least: float
    most: float
    operations: int


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer; a factor is None if too few systems were measured for it."""

    operations: tuple[Operation, ...]  #: in the registry's order
    written: Factor | None  #: Linux beside mono
    structure: Factor | None  #: micro beside mono
    domains: Factor | None  #: hybrid beside mono: protection domains and messages
    spaces: Factor | None  #: micro beside hybrid: address spaces
    written_more: tuple[str, ...]  #: the rows whose factor of Linux beside mono is the larger
    structure_more: tuple[str, ...]  #: the rows whose factor of micro beside mono is the larger
    costs: Explained | None  #: of micro beside mono; None without Trio's units
    events: Mapping[str, float]  #: by kind of event, and REST: the mean share of what micro costs beyond mono


def answer(systems: Mapping[str, Sequence[Result]]) -> Answer:
    """From sessions by path of SYSTEMS, those of Trio with its unit costs among them; a system may be missing."""
    results = [result for sessions in systems.values() for result in sessions]
    figures = {name: _counts(sessions) for name, sessions in systems.items()}
    rows = in_registry_order(results, dict.fromkeys(row for by_row in figures.values() for row in by_row))
    operations = tuple(
        Operation(row, {name: by_row[row] for name, by_row in figures.items() if row in by_row})
        for row in rows
        if not Row(row).is_unit_cost
    )
    costs = None
    if systems.get(MONO) and systems.get(MICRO):
        costs = explained(side(MONO, systems[MONO]), side(MICRO, systems[MICRO]), results)
    return of_operations(operations, costs)


def of_operations(operations: tuple[Operation, ...], costs: Explained | None) -> Answer:
    """From figures, and from what micro costs beyond mono."""
    compared = [(operation.row, operation.ratio(LINUX, MONO), operation.ratio(MICRO, MONO)) for operation in operations]
    both = [(row, written, structure) for row, written, structure in compared if written and structure]
    return Answer(
        operations,
        factor(operations, LINUX, MONO),
        factor(operations, MICRO, MONO),
        factor(operations, HYBRID, MONO),
        factor(operations, MICRO, HYBRID),
        tuple(row for row, written, structure in both if written > structure),
        tuple(row for row, written, structure in both if structure > written),
        costs,
        _events(costs) if costs else {},
    )


def _counts(results: Iterable[Result]) -> dict[str, float]:
    counts: dict[str, float] = {}
    for result in sorted(results, key=lambda result: result.session.started):
        counts |= instructions(result)
    return counts


def factor(operations: Iterable[Operation], above: str, below: str) -> Factor | None:
    """How many times `below` `above` takes; None if no operation has both."""
    ratios = [ratio for operation in operations if (ratio := operation.ratio(above, below)) is not None]
    return Factor(geometric_mean(ratios), min(ratios), max(ratios), len(ratios)) if ratios else None


def _events(costs: Explained) -> dict[str, float]:
    """The shares, which sum to 1; every operation that differs has the same weight."""
    differ = [row for row in costs.rows if row.difference]
    kinds = dict.fromkeys(part.kind for row in differ for part in row.parts)
    if not differ:
        return {}
    shares = {
        kind: fmean(sum(part.cost for part in row.parts if part.kind == kind) / row.difference for row in differ)
        for kind in kinds
    }
    largest = dict(sorted(shares.items(), key=lambda pair: -abs(pair[1])))
    return largest | {REST: fmean(row.rest / row.difference for row in differ)}


@dataclass(frozen=True, slots=True)
class Priced:
    """Cycles of one operation, by system; a system without counts is not there."""

    row: str
    untagged: Mapping[str, Cycles]
    tagged: Mapping[str, Cycles]


@dataclass(frozen=True, slots=True)
class InCycles:
    """Factors that too few systems were measured for are None."""

    processor: Processor
    operations: tuple[Priced, ...]
    structure: Factor | None  #: micro beside mono
    domains: Factor | None  #: hybrid beside mono
    spaces: Factor | None  #: micro beside hybrid
    structure_tagged: Factor | None  #: micro beside mono, with tags
    structure_ends: tuple[float, float] | None  #: around its mean: with all costs at the least or most published
    written: Factor | None  #: Linux beside mono
    structure_parts: Mapping[str, float]  #: of what micro takes more than mono: the mean share of each part
    written_parts: Mapping[str, float]  #: of what Linux takes more than mono


def in_cycles(systems: Mapping[str, Sequence[Result]], rows: Iterable[str]) -> InCycles | None:
    """The cycles of these rows; None if no session has counts, or not all are of one processor."""
    each = {name: modelled(results) for name, results in systems.items()}
    processors = [processor for processor, _of_rows in each.values() if processor is not None]
    if not processors or any(other != processors[0] for other in processors):
        return None
    by_row = {row: {name: of_rows[row] for name, (_, of_rows) in each.items() if row in of_rows} for row in rows}
    operations = tuple(
        Priced(
            row,
            {name: of_row.cycles for name, of_row in of_systems.items()},
            {name: of_row.tagged for name, of_row in of_systems.items()},
        )
        for row, of_systems in by_row.items()
        if of_systems
    )

    def times(above: str, below: str = MONO, end: str = "value", *, tagged: bool = False) -> Factor | None:
        sides = ((each.row, each.tagged if tagged else each.untagged) for each in operations)
        values = (Operation(row, {name: getattr(cycles, end) for name, cycles in side.items()}) for row, side in sides)
        return factor(values, above, below)

    ends = [times(MICRO, end=end) for end in ("value", "least", "most")]
    means = sorted(end.mean for end in ends if end is not None)
    return InCycles(
        processors[0],
        operations,
        structure=times(MICRO),
        domains=times(HYBRID),
        spaces=times(MICRO, HYBRID),
        structure_tagged=times(MICRO, tagged=True),
        structure_ends=(means[0], means[-1]) if means else None,
        written=times(LINUX),
        structure_parts=_parts(operations, MICRO),
        written_parts=_parts(operations, LINUX),
    )


def _parts(operations: Iterable[Priced], above: str) -> dict[str, float]:
    """Every operation that takes more counts alike; the shares sum to 1, the largest first."""
    shares = []
    for each in operations:
        if above in each.untagged and MONO in each.untagged:
            more, less = each.untagged[above], each.untagged[MONO]
            if more.value > less.value:
                difference = more.value - less.value
                shares.append({part: cost / difference for part, cost in more.more_than(less).items()})
    means = {part: fmean(share.get(part, 0) for share in shares) for share in shares for part in share}
    return dict(sorted(means.items(), key=lambda pair: -abs(pair[1])))
