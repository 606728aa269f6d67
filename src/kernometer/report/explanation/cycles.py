"""What two systems' cycles differ in, by part: for the terminal, and as waterfalls."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from kernometer.explain.cycles import by_difference, mean_parts, pairs
from kernometer.report.comparison.cycles import ROWS
from kernometer.report.explanation import falls
from kernometer.report.explanation.falls import Waterfall, fall
from kernometer.report.words.names import name, short_names
from kernometer.report.words.units import counted, ratio_text
from kernometer.report.write.terminal import BLANK, Block, Line
from kernometer.results.model import Result
from kernometer.text import printable


@dataclass(frozen=True, slots=True)
class CyclesView:
    """All text is printable."""

    names: tuple[str, str]
    sentence: str
    falls: tuple[Waterfall, ...]  #: of the geometric mean; of each row, the largest difference first


def view(name_a: str, a: Sequence[Result], name_b: str, b: Sequence[Result]) -> CyclesView | None:
    """None if the two have no row in cycles of one processor."""
    processor, both = pairs(a, b)
    differ = by_difference(both)
    if processor is None or not differ:
        return None
    a_name, b_name = map(printable, short_names([name_a, name_b]))
    parts = mean_parts(differ)
    log = sum(parts.values())
    mean = f"geometric mean of {counted(len(differ), 'operation')}"
    made = [
        fall(
            mean,
            "factors that multiply",
            (a_name, 0.0),
            [(part, "", more) for part, more in parts.items() if abs(more) >= 0.005],
            (b_name, log),
            _times,
        )
    ]
    for pair in differ:
        ends = (a_name, pair.a.cycles.value), (b_name, pair.b.cycles.value)
        steps = [(part, "", more) for part, more in pair.parts.items() if abs(more) >= 0.5]
        made.append(fall(printable(name(pair.row)), f"{ratio_text(pair.ratio)} times", ends[0], steps, ends[1]))
    return CyclesView(
        (a_name, b_name),
        f"In cycles of a {printable(processor.name)}, modelled: {b_name} takes {math.exp(log):.2f} times those of "
        f"{a_name}, {mean}.",
        tuple(made),
    )


def _times(log: float, is_end: bool) -> str:
    return f"{'' if is_end else '× '}{math.exp(log):.2f}"


def blocks(shown: CyclesView) -> Iterator[Block]:
    """For the terminal: of the mean and of the rows that differ most."""
    yield Line(shown.sentence, "bold")
    yield from falls.blocks(shown.falls[: 1 + ROWS])
    yield BLANK
