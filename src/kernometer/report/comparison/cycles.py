"""Two systems in cycles of the modelled processor: which rows differ, and in which part."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from kernometer.explain.cycles import Cycles, by_row, cycles, processor_of
from kernometer.report.words.names import name
from kernometer.report.words.units import count_text
from kernometer.report.write.terminal import BLANK, Block, Grid, Line, broken
from kernometer.results.model import Result
from kernometer.results.processor import Processor
from kernometer.text import printable

#: Rows that are shown, those that differ most; parts that are named, from this share of the difference on.
ROWS, PARTS, LEAST = 12, 2, 0.1
#: Characters of a row's name.
NAME = 24


@dataclass(frozen=True, slots=True)
class Pair:
    """One row of both systems, without and with tags in the TLB."""

    row: str
    a: Cycles
    b: Cycles
    tagged: tuple[Cycles, Cycles]

    @property
    def ratio(self) -> float:
        """B's cycles over A's; nan if they cannot be divided."""
        return _ratio(self.a, self.b)

    @property
    def tagged_ratio(self) -> float:
        """The same with tags."""
        return _ratio(*self.tagged)

    @property
    def parts(self) -> dict[str, float]:
        """What B takes more, by part, the largest first."""
        return dict(sorted(self.b.more_than(self.a).items(), key=lambda pair: -abs(pair[1])))


def _ratio(a: Cycles, b: Cycles) -> float:
    return b.value / a.value if a.value > 0 and b.value > 0 else math.nan


def pairs(a: Sequence[Result], b: Sequence[Result]) -> tuple[Processor | None, tuple[Pair, ...]]:
    """The rows that both sides counted for one processor; None and () if there are none."""
    (of_a, rows_a), (of_b, rows_b) = _counts(a), _counts(b)
    if of_a is None or of_a != of_b:
        return None, ()
    made = [
        Pair(
            row,
            cycles(rows_a[row], of_a),
            cycles(rows_b[row], of_a),
            (cycles(rows_a[row], of_a, tagged=True), cycles(rows_b[row], of_a, tagged=True)),
        )
        for row in rows_a
        if row in rows_b
    ]
    return of_a, tuple(made)


def _counts(results: Sequence[Result]) -> tuple[Processor | None, dict[str, dict[str, float]]]:
    """Of the newest session that has any."""
    for result in sorted(results, key=lambda result: -result.session.started):
        processor = processor_of(result)
        if processor is not None and result.memories:
            return processor, by_row(result)
    return None, {}


def blocks(a: Sequence[Result], b: Sequence[Result], *, whole: bool = False) -> Iterator[Block]:
    """The rows that differ most, or all; nothing if cycles are not known."""
    processor, made = pairs(a, b)
    known = sorted((pair for pair in made if pair.ratio == pair.ratio), key=lambda pair: -abs(math.log(pair.ratio)))
    if processor is None or not known:
        return
    shown = known if whole else known[:ROWS]
    yield BLANK
    yield Line(f"Cycles of one operation on a {printable(processor.name)}, modelled", "bold")
    heads = ("row", "A", "B", "B/A", "with\ntags", "B takes more (less)")
    rows = (
        (
            "\n".join(broken(printable(name(pair.row)), NAME)),
            count_text(round(pair.a.value)),
            count_text(round(pair.b.value)),
            f"{pair.ratio:.2f}",
            f"{pair.tagged_ratio:.2f}",
            _told(pair),
        )
        for pair in shown
    )
    yield Grid(heads, rows, left=(0, 5), style="dim", whole=(1, 2, 3, 4))
    if len(shown) < len(known):
        yield Line(f"These {len(shown)} of {len(known)} rows differ most; --all shows all of them.", "dim")


def _told(pair: Pair) -> str:
    difference = abs(pair.b.value - pair.a.value)
    large = [(part, more) for part, more in pair.parts.items() if difference and abs(more) >= LEAST * difference]
    return ", ".join(f"{'+' if more > 0 else '−'}{count_text(round(abs(more)))} {part}" for part, more in large[:PARTS])


def document(a: Sequence[Result], b: Sequence[Result]) -> dict[str, Any] | None:
    """For other programs: by row A's and B's cycles, without and with tags."""
    processor, made = pairs(a, b)
    if processor is None:
        return None
    rows: Mapping[str, Any] = {
        pair.row: {
            "a": msgspec.to_builtins(pair.a) | {"tagged": msgspec.to_builtins(pair.tagged[0])},
            "b": msgspec.to_builtins(pair.b) | {"tagged": msgspec.to_builtins(pair.tagged[1])},
        }
        for pair in made
    }
    return {"processor": processor.name, "rows": rows}
