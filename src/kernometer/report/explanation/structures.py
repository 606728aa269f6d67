"""What a microkernel's structure costs, beside the way a kernel is written: terminal, page, and other programs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from kernometer.errors import KernometerError
from kernometer.explain.partitions import MICRO, MONO
from kernometer.explain.structure_factors import LINUX, SYSTEMS, Answer, Factor, InCycles, Operation, Priced
from kernometer.report.explanation import costs
from kernometer.report.explanation.falls import Waterfall
from kernometer.report.words.names import name
from kernometer.report.words.units import NOTHING, count_text, counted, format_percent
from kernometer.report.write.document import pick, plain
from kernometer.report.write.terminal import BLANK, Block, Grid, Line, broken
from kernometer.text import printable

#: The last two columns: what is divided by what.
_RATIOS = ((LINUX, MONO), (MICRO, MONO))
_NO_CYCLES = (
    "Instructions are no time: what a processor loses at a switch of address spaces, in its caches and its TLB, is "
    "not in them."
)
_LIMIT = (
    "What Linux does and Trio does not (several processors, accounting, security modules) belongs to the way of "
    "writing."
)
#: The most characters of a row's name beside cycles.
_NAME = 22
#: A part of a difference is named from this share on.
_TOLD_PART = 0.02
#: Rows that a sentence names.
_NAMED = 4


@dataclass(frozen=True, slots=True)
class StructuresView:
    """All that terminal and page show. All text is printable."""

    heads: tuple[str, ...]
    left_out: tuple[tuple[str, str, str], ...]  #: what, why, what to do
    rows: tuple[tuple[str, tuple[str, ...]], ...] = ()  #: an operation, its cells
    cycles_caption: str = ""
    cycles_heads: tuple[str, ...] = ()
    cycles: tuple[tuple[str, tuple[str, ...]], ...] = ()  #: the same in cycles; () if they were not counted
    answer: tuple[str, ...] = ()  #: sentences
    prices: tuple[tuple[str, str, str], ...] = ()  #: kind, instructions, what it is
    waterfalls: tuple[Waterfall, ...] = ()
    title: str = "What a microkernel's structure costs, and what the way it is written"
    caption: str = "Instructions of one operation, and ratios"


def view(answer: Answer | None, priced: InCycles | None, left_out: Mapping[str, KernometerError]) -> StructuresView:
    """`answer`: None if nothing could be measured. `left_out`: system to the reason."""
    ratios = tuple(f"{a} / {b}" for a, b in _RATIOS)
    lacking = tuple((what, printable(why.text), printable(why.next_step)) for what, why in left_out.items())
    shown = StructuresView(("operation", *SYSTEMS, *ratios), lacking)
    if answer is None:
        return shown
    shown = replace(
        shown,
        rows=tuple((printable(name(each.row)), _cells(each)) for each in answer.operations),
        answer=tuple(_sentences(answer, priced)),
        prices=tuple(costs.prices(answer.costs)) if answer.costs else (),
        waterfalls=tuple(costs.waterfall(each, MONO, MICRO) for each in (answer.costs.rows if answer.costs else ())),
    )
    if priced is None:
        return shown
    return replace(
        shown,
        cycles_caption=f"Cycles of one operation on a {printable(priced.processor.name)}, modelled, and ratios",
        cycles_heads=("operation", *SYSTEMS, f"{MICRO}, tags", *ratios),
        cycles=tuple((printable(name(each.row)), _cycles(each)) for each in priced.operations),
    )


def blocks(shown: StructuresView) -> Iterator[Block]:
    """For the terminal: the table, the answer, and what is left out."""
    if shown.rows:
        yield Line(shown.caption, "bold", apart=True)
        heads = [head.replace(" / ", "\n/") for head in shown.heads]
        yield Grid(heads, ((row, *cells) for row, cells in shown.rows), style="dim", unbroken=range(1, len(heads)))
        yield BLANK
    if shown.cycles:
        yield Line(shown.cycles_caption, "bold")
        heads = [head.replace(" / ", "\n/").replace(", ", ",\n") for head in shown.cycles_heads]
        rows = (("\n".join(broken(row, _NAME)), *cells) for row, cells in shown.cycles)
        yield Grid(heads, rows, style="dim", unbroken=range(1, len(heads)))
        yield BLANK
    if shown.rows:
        yield Line(shown.title, "bold")
    yield from map(Line, shown.answer)
    for what, why, to_do in shown.left_out:
        yield Line(f"Left out: {what}. {why}")
        if to_do:
            yield Line(to_do, indent=2)


def document(answer: Answer, priced: InCycles | None, left_out: Mapping[str, KernometerError]) -> dict[str, Any]:
    """For --json: docs/trio.md, "Structure or writing"."""
    return {
        "rows": [{"row": each.row, "instructions": plain(each.counts)} for each in answer.operations],
        "factors": pick(answer, "written", "structure", "domains", "spaces"),
        **pick(answer, "written_more", "structure_more", "events"),
        "costs": costs.document(answer.costs) if answer.costs else None,
        "cycles": _cycles_document(priced) if priced else None,
        "left_out": {what: why.text for what, why in left_out.items()},
    }


def _cycles_document(priced: InCycles) -> dict[str, Any]:
    factors = ("structure", "domains", "spaces", "structure_tagged", "structure_ends", "written", "structure_parts")
    return {
        "processor": priced.processor.name,
        "rows": [pick(each, "row", "untagged", "tagged") for each in priced.operations],
        **pick(priced, *factors, "written_parts"),
    }


def _cells(operation: Operation, *tagged: str) -> tuple[str, ...]:
    """The cells of an operation's line."""
    counts = (count_text(operation.counts[each]) if each in operation.counts else NOTHING for each in SYSTEMS)
    return (*counts, *tagged, *(_times(operation.ratio(a, b)) for a, b in _RATIOS))


def _cycles(each: Priced) -> tuple[str, ...]:
    """The same in cycles, with those of micro with a tagged TLB."""
    tagged = count_text(each.tagged[MICRO].value) if MICRO in each.tagged else NOTHING
    return _cells(Operation(each.row, {system: cycles.value for system, cycles in each.untagged.items()}), tagged)


def _in_cycles(priced: InCycles) -> Iterator[str]:
    """What the structure costs, of what; what tags would save; what the way of writing costs."""
    if priced.structure:
        text = f"Structure: {MICRO} takes {_factor(priced.structure)} the cycles of {MONO}, from the same source"
        if priced.structure_ends:
            least, most = map(_times, priced.structure_ends)
            text += f"; {least} to {most} with all costs at the ends of what is published"
        yield f"{text}. Of what it takes more, {_shares(priced.structure_parts)}."
        if priced.domains and priced.spaces:
            yield _split(priced.domains, priced.spaces)
        if priced.structure_tagged:
            yield f"With tags in the TLB it would take {_times(priced.structure_tagged.mean)} times."
    if priced.written:
        yield (
            f"Way of writing: Linux takes {_factor(priced.written)} the cycles of {MONO}, with the same structure. "
            f"Of what it takes more, {_shares(priced.written_parts)}."
        )


def _shares(parts: Mapping[str, float]) -> str:
    told = [f"{part} {format_percent(share)}" for part, share in parts.items() if abs(share) >= _TOLD_PART]
    return ", ".join(told)


def _sentences(answer: Answer, priced: InCycles | None) -> Iterator[str]:
    """The answer, each sentence from the figures."""
    if priced:
        yield from _in_cycles(priced)
    if answer.structure:
        lead = "In instructions" if priced else "Structure"
        yield f"{lead}: {MICRO} takes {_factor(answer.structure)} the instructions of {MONO}, from the same source."
        if answer.domains and answer.spaces:
            yield _split(answer.domains, answer.spaces)
    if answer.written:
        times = _factor(answer.written)
        yield f"{'And' if priced else 'Way of writing:'} Linux takes {times} the instructions of {MONO}."
    if answer.written and answer.structure:
        yield _larger(answer)
    if answer.costs and answer.events:
        told = counted(sum(bool(each.difference) for each in answer.costs.rows), "operation")
        shares = ", ".join(f"{kind} {format_percent(share)}" for kind, share in answer.events.items())
        yield f"What {MICRO} takes more, by what each event costs alone, mean of {told}: {shares}."
    if answer.structure or answer.written:
        yield _LIMIT if priced else f"{_NO_CYCLES} {_LIMIT}"


def _split(domains: Factor, spaces: Factor) -> str:
    return (
        f"Of this, protection domains and messages are {_times(domains.mean)} times (hybrid beside {MONO}), address "
        f"spaces {_times(spaces.mean)} times ({MICRO} beside hybrid)."
    )


def _larger(answer: Answer) -> str:
    both = len(answer.written_more) + len(answer.structure_more)
    text = f"The way of writing is the larger factor in {len(answer.written_more)} of {counted(both, 'operation')}"
    return f"{text}, the structure in {_some(answer.structure_more)}." if answer.structure_more else f"{text}."


def _some(rows: Sequence[str]) -> str:
    """How many, and which if these are few."""
    named = f" ({', '.join(printable(name(row)) for row in rows)})" if len(rows) <= _NAMED else ""
    return f"{len(rows)}{named}"


def _factor(factor: Factor) -> str:
    """The geometric mean with its range."""
    return (
        f"{_times(factor.mean)} times (geometric mean of {counted(factor.operations, 'operation')}, "
        f"{_times(factor.least)} to {_times(factor.most)})"
    )


def _times(ratio: float | None) -> str:
    return NOTHING if ratio is None else f"{ratio:.2f}"
