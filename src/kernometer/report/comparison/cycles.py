"""Two systems in cycles of the modelled processor: which rows differ, in which part, and in what they touch."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from kernometer.explain.cycles import Pair, by_difference, pairs
from kernometer.report.session import memory
from kernometer.report.words.names import name
from kernometer.report.words.units import NOTHING, count_text
from kernometer.report.write.terminal import Block, Grid, Line, broken
from kernometer.results.model import Result
from kernometer.text import printable

#: Rows that are shown, those that differ most; parts that are named, from this share of the difference on.
ROWS, PARTS, LEAST = 12, 2, 0.1
#: Characters of a row's name.
NAME = 24


def blocks(a: Sequence[Result], b: Sequence[Result], *, everything: bool = False) -> Iterator[Block]:
    """The rows that differ most, or all; nothing if cycles are not known."""
    processor, made = pairs(a, b)
    known = by_difference(made)
    if processor is None or not known:
        return
    shown = known if everything else known[:ROWS]
    yield Line(f"Cycles of one operation on a {printable(processor.name)}, modelled", "bold", apart=True)
    heads = ("row", "A", "B", "B/A", "with\ntags", "B takes more (less)")
    rows = (
        (
            _name(pair),
            count_text(round(pair.a.cycles.value)),
            count_text(round(pair.b.cycles.value)),
            f"{pair.ratio:.2f}",
            f"{pair.tagged_ratio:.2f}",
            _told(pair),
        )
        for pair in shown
    )
    yield Grid(heads, rows, left=(0, 5), style="dim", unbroken=(1, 2, 3, 4))
    if len(shown) < len(known):
        yield Line(f"These {len(shown)} of {len(known)} rows differ most; --all shows all of them.", "dim")
    yield from _footprints([pair for pair in shown if pair.a.footprint != pair.b.footprint])


def _footprints(differ: Sequence[Pair]) -> Iterator[Block]:
    """A's counts above B's."""
    if differ:
        yield Line(f"{memory.FOOTPRINT}, where it differs", "bold", apart=True)
        kinds = list(dict.fromkeys(kind for pair in differ for kind in (*pair.a.footprint, *pair.b.footprint)))
        heads = ("row", "", *(kind.replace("_", "\n") for kind in kinds))
        sides = ((pair, (pair.a.footprint, pair.b.footprint)) for pair in differ)
        rows = (
            (
                _name(pair),
                "A\nB",
                *("\n".join(count_text(side[kind]) if kind in side else NOTHING for side in both) for kind in kinds),
            )
            for pair, both in sides
        )
        yield Grid(heads, rows, left=(0, 1), style="dim", gap=1, unbroken=range(1, len(heads)))


def _name(pair: Pair) -> str:
    return "\n".join(broken(printable(name(pair.row)), NAME))


def _told(pair: Pair) -> str:
    difference = abs(pair.b.cycles.value - pair.a.cycles.value)
    large = [(part, more) for part, more in pair.parts.items() if difference and abs(more) >= LEAST * difference]
    return ", ".join(f"{'+' if more > 0 else '−'}{count_text(round(abs(more)))} {part}" for part, more in large[:PARTS])


def document(a: Sequence[Result], b: Sequence[Result]) -> dict[str, Any] | None:
    """For other programs: by row what A and B count, touch and take."""
    processor, made = pairs(a, b)
    if processor is None:
        return None
    rows = {pair.row: {"a": memory.document(pair.a), "b": memory.document(pair.b)} for pair in made}
    return {"processor": processor.name, "rows": rows}
