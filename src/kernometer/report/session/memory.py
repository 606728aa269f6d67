"""What operations ask of the modelled processor's memory system, their cycles, and their footprint: tables for the page
and the terminal, and a document for programs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from kernometer.explain.cycles import SHOWN, by_row, cycles, processor_of
from kernometer.report.session.evidence import Counts, count_text, each_row, in_words, table
from kernometer.report.session.systems import Subject
from kernometer.report.write.terminal import BLANK, Block, Line, Wide
from kernometer.results.model import Result
from kernometer.results.processor import Processor
from kernometer.text import printable

#: Characters of a column and of a row's name, and lines of a head.
COLUMN, NAME, HEAD_LINES = 12, 32, 3
FOOTPRINT = "Distinct lines of 64 bytes and pages of 4 KiB that one iteration touches"


def counts(subjects: Sequence[Subject]) -> Counts:
    """The memory system's counts of one operation, and the cycles that it would take."""
    cells: dict[tuple[str, str], dict[str, str]] = {}
    for subject in subjects:
        for result in subject.results:
            if (processor := processor_of(result)) is not None:
                for row, of_row in by_row(result).items():
                    cells.setdefault((row, subject.letter), _cells(of_row, processor))
    return in_words(table(each_row(subjects, lambda subject, row: cells.get((row, subject.letter), {}))))


def _cells(of_row: Mapping[str, float], processor: Processor) -> dict[str, str]:
    cells = {
        head: count_text(round(cycles(of_row, processor, tagged=tagged).value))
        for head, tagged in (("cycles", False), ("cycles, tagged", True))
    }
    sums = {head: sum(of_row.get(name, 0.0) for name in names) for head, names in SHOWN.items()}
    return cells | {head: count_text(max(0.0, count)) for head, count in sums.items()}


def footprint(subjects: Sequence[Subject]) -> Counts:
    """The distinct lines and pages that the median iteration touches, with its bracket."""
    touched = {
        (memory.row, subject.letter): {name: count_text(count) for name, count in memory.footprint.items()}
        for subject in subjects
        for result in subject.results
        for memory in result.memories
    }
    return in_words(table(each_row(subjects, lambda subject, row: touched.get((row, subject.letter), {}))))


def title(results: Sequence[Result]) -> str:
    """Of the table of counts."""
    processors = [processor for result in results if (processor := processor_of(result))]
    names = ", ".join(dict.fromkeys(printable(processor.name) for processor in processors))
    return f"One operation on a {names}, modelled"


def blocks(result: Result, subjects: Sequence[Subject]) -> Iterator[Block]:
    """For the terminal."""
    for head, of in ((title([result]), counts(subjects)), (FOOTPRINT, footprint(subjects))):
        if of.rows:
            yield BLANK
            yield Line(head, "bold")
            rows = [(row.row, row.cells) for row in of.rows]
            yield Wide(of.columns, [COLUMN] * len(of.columns), rows, NAME, HEAD_LINES, apart=True)


def document(result: Result) -> dict[str, dict[str, Any]]:
    """By row its counts, and the cycles that they cost, without and with tags in the TLB."""
    processor = processor_of(result)
    if processor is None:
        return {}
    return {
        row: {
            "memory": of_row,
            "cycles": msgspec.to_builtins(cycles(of_row, processor))
            | {"tagged": msgspec.to_builtins(cycles(of_row, processor, tagged=True))},
        }
        for row, of_row in by_row(result).items()
    }
