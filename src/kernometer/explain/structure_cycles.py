"""How much of a microkernel's cost is its structure, in cycles of a modelled processor. Pure.

As structure_factors.py, with what caches, TLBs, predictors, traps and switches of address spaces add: without tags in
the TLB, which the emulated processor does not have, and with them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from kernometer.explain.cycles import Cycles, modelled
from kernometer.explain.partitions import HYBRID, MICRO, MONO
from kernometer.explain.structure_factors import LINUX, Factor, Operation, factor
from kernometer.results.model import Result
from kernometer.results.processor import Processor


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
