"""From counts of the memory system to cycles of a processor: each by its published cost, and nothing fitted. Pure.

docs/cycles.md has the model and its costs.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import msgspec

from kernometer.results.model import Memory, Result
from kernometer.results.processor import Processor

#: A cost of the processor's file, its part, and the counts that it is for. `{tag}` is _TAG with tags, else "".
_TAG = "tagged_"
_PRICED: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "instruction": ("instructions", ("instructions",)),
    "l2_code": ("instruction cache", ("l1i_misses",)),
    "l3_code": ("instruction cache", ("l2_code_misses",)),
    "memory_code": ("instruction cache", ("l3_code_misses",)),
    "l2_load": ("data cache", ("l1d_load_misses",)),
    "l3_load": ("data cache", ("l2_load_misses",)),
    "memory_load": ("data cache", ("l3_load_misses",)),
    "l2_stream": ("data cache", ("l1d_stream_misses",)),
    "stream_line": ("data cache", ("l2_stream_misses", "l3_stream_misses")),
    "l2_store": ("data cache", ("l1d_store_misses",)),
    "l3_store": ("data cache", ("l2_store_misses",)),
    "memory_store": ("data cache", ("l3_store_misses",)),
    "string": ("strings", ("reps",)),
    "string_byte": ("strings", ("rep_bytes",)),
    "string_line": ("strings", ("l2_string_misses", "l3_string_misses")),
    "stlb": ("TLB", ("{tag}itlb_misses", "{tag}dtlb_misses")),
    "walk": ("TLB", ("{tag}walks",)),
    "large_walk": ("TLB", ("{tag}large_walks",)),
    "misprediction": ("branches", ("mispredicted_conditional", "mispredicted_indirect", "mispredicted_returns")),
    "system_call": ("system calls", ("syscalls",)),
    "exception": ("exceptions", ("irets",)),
    "{tag}cr3_write": ("CR3 writes", ("cr3_writes",)),
    "invlpg": ("CR3 writes", ("invlpg",)),
}
#: What a processor's file must have the cost of, and the counts that it is for (of the TLB the tagged ones).
KINDS: Mapping[str, tuple[str, ...]] = {
    kind.format(tag=tag): tuple(name.format(tag=tag) for name in names)
    for tag in ("", _TAG)
    for kind, (_part, names) in _PRICED.items()
}
#: What tables show of the counts, by its head.
SHOWN: Mapping[str, tuple[str, ...]] = {
    "L1I misses": ("l1i_misses",),
    "L1D misses": ("l1d_load_misses", "l1d_stream_misses", "l1d_store_misses", "l1d_string_misses"),
    "L2 misses": ("l2_code_misses", "l2_load_misses", "l2_stream_misses", "l2_store_misses", "l2_string_misses"),
    "L3 misses": ("l3_code_misses", "l3_load_misses", "l3_stream_misses", "l3_store_misses", "l3_string_misses"),
    "page walks": ("walks", "large_walks"),
    "page walks, tagged": ("tagged_walks", "tagged_large_walks"),
    "mispredicted branches": ("mispredicted_conditional", "mispredicted_indirect", "mispredicted_returns"),
}


@dataclass(frozen=True, slots=True)
class Cycles:
    """The cycles of one operation. `least` and `most`: by the ends of what is published of each cost."""

    value: float
    least: float
    most: float
    parts: Mapping[str, float] = field(default_factory=dict)  #: by part of _PRICED, those that are not 0

    def more_than(self, other: Cycles) -> dict[str, float]:
        """What each part of either takes more here."""
        return {part: self.parts.get(part, 0) - other.parts.get(part, 0) for part in {**self.parts, **other.parts}}


def cycles(counts: Mapping[str, float], processor: Processor, *, tagged: bool = False) -> Cycles:
    """What these counts of one operation cost. A count below 0, of an operation that does less than its baseline,
    makes its part smaller."""
    tag = _TAG if tagged else ""
    parts: dict[str, float] = {}
    least = most = 0.0
    for kind, (part, names) in _PRICED.items():
        count = sum(counts.get(name.format(tag=tag), 0.0) for name in names)
        if count:
            cost = processor.costs[kind.format(tag=tag)]
            parts[part] = parts.get(part, 0.0) + count * cost.cycles
            least += count * cost.least
            most += count * cost.most
    return Cycles(sum(parts.values()), min(least, most), max(least, most), parts)


def kernel_instructions(counts: Mapping[str, float]) -> float:
    """Of these counts of one operation, the instructions apart from its programs: the kernel's and its servers'."""
    return counts["instructions"] - counts.get("user", 0.0) + counts.get("server_instructions", 0.0)


def processor_of(result: Result) -> Processor | None:
    """Whose memory system the session counted; None if it counted none, or what its processor has no cost of. An older
    session has fewer kinds of counts, and fewer costs."""
    if not result.session.processor:
        return None
    try:
        processor = msgspec.convert(result.session.processor, Processor)
    except msgspec.ValidationError:
        return None
    counted = {name for memory in result.memories for name in memory.counts}
    priced = (kind in processor.costs or counted.isdisjoint(names) for kind, names in KINDS.items())
    return processor if all(priced) else None


@dataclass(frozen=True, slots=True)
class Modelled:
    """One operation of a row: what it does and asks of the memory system, and the cycles that this costs."""

    counts: Mapping[str, float]  #: less the baseline where the figure is, else less the empty bracket
    footprint: Mapping[str, int]  #: of one iteration, with its bracket
    cycles: Cycles
    tagged: Cycles  #: the same with tags in the TLB

    def shown(self) -> dict[str, float]:
        """The counts of SHOWN. A count below 0, of an operation that does less than its baseline, is none."""
        return {head: max(0.0, sum(self.counts.get(name, 0.0) for name in names)) for head, names in SHOWN.items()}


def modelled(results: Iterable[Result]) -> tuple[Processor | None, dict[str, Modelled]]:
    """By row, of the sessions that counted for the newest one's processor; of two with one row the newer one's. None
    and {} if none counted."""
    processor = None
    rows: dict[str, Modelled] = {}
    for result in sorted(results, key=lambda result: -result.session.started):
        of_result = processor_of(result) if result.memories else None
        processor = processor or of_result
        if processor is not None and of_result == processor:
            rows = _by_row(result, processor) | rows
    return processor, rows


def _by_row(result: Result, processor: Processor) -> dict[str, Modelled]:
    ops = {run.row: run.ops for run in result.runs}
    rows = {}
    for memory in result.memories:
        counts = _of_operation(memory, ops.get(memory.row, 1.0))
        untagged, tagged = (cycles(counts, processor, tagged=tags) for tags in (False, True))
        rows[memory.row] = Modelled(counts, memory.footprint, untagged, tagged)
    return rows


def _of_operation(memory: Memory, ops: float) -> dict[str, float]:
    less: Mapping[str, float] = memory.empty
    if memory.baseline_iterations:
        less = {name: count / memory.baseline_iterations for name, count in memory.baseline.items()}
    return {name: (count / memory.iterations - less.get(name, 0)) / ops for name, count in memory.counts.items()}


@dataclass(frozen=True, slots=True)
class Pair:
    """One row of two systems."""

    row: str
    a: Modelled
    b: Modelled

    @property
    def ratio(self) -> float:
        """B's cycles over A's; nan if they cannot be divided."""
        return _ratio(self.a.cycles, self.b.cycles)

    @property
    def tagged_ratio(self) -> float:
        """The same with tags."""
        return _ratio(self.a.tagged, self.b.tagged)

    @property
    def parts(self) -> dict[str, float]:
        """What B takes more, by part, the largest first."""
        return dict(sorted(self.b.cycles.more_than(self.a.cycles).items(), key=lambda pair: -abs(pair[1])))


def _ratio(a: Cycles, b: Cycles) -> float:
    return b.value / a.value if a.value > 0 and b.value > 0 else math.nan


def pairs(a: Iterable[Result], b: Iterable[Result]) -> tuple[Processor | None, tuple[Pair, ...]]:
    """The rows that both sides counted for one processor; None and () if there are none."""
    (of_a, rows_a), (of_b, rows_b) = modelled(a), modelled(b)
    if of_a is None or of_a != of_b:
        return None, ()
    return of_a, tuple(Pair(row, rows_a[row], rows_b[row]) for row in rows_a if row in rows_b)


def by_difference(both: Iterable[Pair]) -> list[Pair]:
    """Those whose cycles can be divided, the largest difference first."""
    return sorted((pair for pair in both if pair.ratio == pair.ratio), key=lambda pair: -abs(math.log(pair.ratio)))


def mean_parts(both: Sequence[Pair]) -> dict[str, float]:
    """The logarithm of the geometric mean of the ratios, by part, the largest first. A row's logarithm is divided as
    its difference is, so that the parts sum to it (logarithmic mean Divisia index: Ang, Energy Policy 33, 2005)."""
    parts: dict[str, float] = {}
    for pair in both:
        difference = pair.b.cycles.value - pair.a.cycles.value
        weight = math.log(pair.ratio) / difference if difference else 1 / pair.a.cycles.value
        for part, more in pair.parts.items():
            parts[part] = parts.get(part, 0.0) + more * weight / len(both)
    return dict(sorted(parts.items(), key=lambda pair: -abs(pair[1])))
