"""What operations ask of the modelled processor's memory system, their cycles, and their footprint: tables for the page
and the terminal, and a document for programs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from kernometer.explain.cycles import Modelled, modelled, processor_of
from kernometer.report.session.evidence import Counts, in_words, mean_text, table
from kernometer.report.session.systems import Subject
from kernometer.report.write.terminal import Block, Line, Wide
from kernometer.results.model import Result
from kernometer.text import printable

#: Characters of a column and of a row's name, and lines of a head.
COLUMN, NAME, HEAD_LINES = 12, 32, 3
FOOTPRINT = "Distinct lines of 64 bytes and pages of 4 KiB that one iteration touches"


def counts(subjects: Sequence[Subject]) -> Counts:
    """The memory system's counts of one operation, and the cycles that it would take."""
    return _table(subjects, _cells)


def footprint(subjects: Sequence[Subject]) -> Counts:
    """The distinct lines and pages that the median iteration touches, with its bracket."""
    return _table(subjects, lambda of_row: of_row.footprint)


def _table(subjects: Sequence[Subject], cells: Callable[[Modelled], Mapping[str, float]]) -> Counts:
    rows = {subject.letter: modelled(subject.results)[1] for subject in subjects}

    def cells_of(subject: Subject, row: str) -> dict[str, str]:
        of_row = rows[subject.letter].get(row)
        return {head: mean_text(count) for head, count in cells(of_row).items()} if of_row else {}

    return in_words(table(subjects, cells_of))


def _cells(of_row: Modelled) -> dict[str, float]:
    cycles = {"cycles": round(of_row.cycles.value), "cycles, tagged": round(of_row.tagged.value)}
    return cycles | of_row.shown()


def title(results: Sequence[Result]) -> str:
    """Of the table of counts."""
    processors = [processor for result in results if (processor := processor_of(result))]
    names = ", ".join(dict.fromkeys(printable(processor.name) for processor in processors))
    return f"One operation on a {names}, modelled"


def blocks(result: Result, subjects: Sequence[Subject]) -> Iterator[Block]:
    """For the terminal."""
    for head, made in ((title([result]), counts(subjects)), (FOOTPRINT, footprint(subjects))):
        if made.rows:
            yield Line(head, "bold", apart=True)
            rows = [(row.row, row.cells) for row in made.rows]
            yield Wide(made.columns, [COLUMN] * len(made.columns), rows, NAME, HEAD_LINES, apart=True)


def document(of_row: Modelled) -> dict[str, Any]:
    """For other programs: what was counted of an operation, its footprint, and its cycles, without and with tags."""
    cycles = msgspec.to_builtins(of_row.cycles) | {"tagged": msgspec.to_builtins(of_row.tagged)}
    return {"memory": of_row.counts, "footprint": of_row.footprint, "cycles": cycles}
