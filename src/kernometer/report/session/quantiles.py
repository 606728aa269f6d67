"""The tails of a session's rows, from iterations timed alone: tables for the page and the terminal, and a document."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from kernometer.report.session.evidence import Counts, table
from kernometer.report.session.systems import Subject
from kernometer.report.words.units import format_interval, format_value
from kernometer.report.write.terminal import Block, Line, Wide
from kernometer.results.model import Result
from kernometer.stats.model import Quantile, Tail
from kernometer.stats.quantiles import missing_words, quantile_name, tails

#: Characters of a column and of a row's name, and lines of a head.
COLUMN, NAME, HEAD_LINES = 20, 32, 1
TITLE = "Quantiles of single iterations, with 95 % intervals within this session"
LEGEND = (
    "All samples count, on a quiet core or not, but for the start of each run; the clock's median is subtracted. "
    "... more, +... s: the samples and the time that a quantile still needs. Below the greatest: at most so many take "
    "longer (95 %)."
)


def of_sessions(subjects: Sequence[Subject]) -> Counts:
    """The tails of all rows that have one; of each system's last session, since they are within one session, and if
    its iterations were to be timed alone."""
    return _table(subjects, _known(subjects))


def _known(subjects: Sequence[Subject]) -> dict[str, dict[str, Tail]]:
    """By system and row."""
    last = {subject.letter: subject.results[-1] for subject in subjects}
    return {sign: tails(result) if result.session.effort.get("batch") == 1 else {} for sign, result in last.items()}


def _table(subjects: Sequence[Subject], known: Mapping[str, Mapping[str, Tail]]) -> Counts:
    def cells(subject: Subject, row: str) -> dict[str, str]:
        tail = known[subject.letter].get(row)
        return _cells(tail) if tail is not None and tail.quantiles else {}

    return table(subjects, cells)


def _cells(tail: Tail) -> dict[str, str]:
    longer = f"1 in {math.floor(1 / tail.longer):,}" if tail.longer < 1 else "not known"
    cells = {quantile_name(each.q): _cell(each) for each in tail.quantiles}
    return cells | {"greatest": f"{format_value(tail.greatest, 'ns')}\n{longer}", "samples": f"{tail.samples:,}"}


def _cell(quantile: Quantile) -> str:
    low, high = quantile.low, quantile.high
    if quantile.missing or low is None or high is None:
        return f"{format_value(quantile.value, 'ns')}\n{missing_words(quantile)}"
    return f"{format_value(quantile.value, 'ns', (high - low) / 2)}\n{format_interval(low, high, 'ns')}"


def blocks(subjects: Sequence[Subject]) -> Iterator[Block]:
    """For the terminal; nothing if no row has a tail."""
    known = _known(subjects)
    made = _table(subjects, known)
    if made.rows:
        rows = [(row.row, row.cells) for row in made.rows]
        yield Line(TITLE, "bold", apart=True)
        yield Wide(made.columns, [COLUMN] * len(made.columns), rows, NAME, HEAD_LINES)
        yield Line(LEGEND)
        yield from (
            Line(f"no tail: {row}: {tail.why}") for of_row in known.values() for row, tail in of_row.items() if tail.why
        )


def document(result: Result) -> Mapping[str, dict[str, Any]]:
    """For other programs, by row."""
    return {row: {"tail": msgspec.to_builtins(tail)} for row, tail in tails(result).items()}
