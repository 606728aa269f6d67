"""What each switch of Trio costs: on the terminal, and for other programs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kernometer.explain.factorial import Effect, Effects, Factorial
from kernometer.report.explanation.boundaries import LEAST
from kernometer.report.words.names import name
from kernometer.report.words.units import count_text, format_percent
from kernometer.report.write.document import pick
from kernometer.report.write.terminal import Block, Line
from kernometer.text import printable

LEGEND = (
    "A switch: the mean over all settings of the others, [least … most] where they matter.",
    "Two: what both on cost more than the two add up to. Rest: the most that a figure",
    "differs from what these give, as its share of the operation.",
)


def blocks(design: Factorial) -> Iterator[Block]:
    """For the terminal: of each operation both ends, the switches' effects, the interactions of two, what is left."""
    yield Line(
        f"What switches cost in {printable(design.structure)}, in {design.what}: {', '.join(design.switches)}", "bold"
    )
    for row in design.rows:
        yield Line(f"{printable(name(row.row))}: {count_text(row.off)} without, {count_text(row.on)} with all")
        yield from (Line(text, indent=4) for text in _lines(row))
    yield from (Line(text, "dim") for text in LEGEND)
    if design.missing:
        listed = "; ".join(", ".join(sorted(cell)) or "none" for cell in design.missing)
        yield Line(printable(f"Without sessions of these settings there is no effect: {listed}"), "yellow")


def _lines(row: Effects) -> list[str]:
    effects = [
        f"{each} {_effect(effect)}"
        for each, effect in row.switches.items()
        if max(abs(effect.least), abs(effect.most)) >= LEAST
    ]
    pairs = sorted(
        (pair for pair in row.pairs if abs(row.pairs[pair]) >= LEAST), key=lambda pair: -abs(row.pairs[pair])
    )
    effects += [f"{a} and {b} {_signed(row.pairs[a, b])}" for a, b in pairs]
    if not effects:
        return ["no switch moves it"]
    return [*effects, f"rest {count_text(row.rest)} ({format_percent(row.rest / row.off)})"]


def _effect(effect: Effect) -> str:
    if effect.most - effect.least < LEAST:
        return _signed(effect.mean)
    return f"{_signed(effect.mean)} [{_signed(effect.least)} … {_signed(effect.most)}]"


def _signed(value: float) -> str:
    return count_text(value) if value < 0 else f"+{count_text(value)}"


def document(design: Factorial) -> dict[str, Any]:
    """For --json: docs/trio.md."""
    rows = [pick(row, "row", "off", "on", "switches", "pairs", "rest") for row in design.rows]
    missing = [sorted(cell) for cell in design.missing]
    return pick(design, "what", "structure", "switches") | {"rows": rows, "missing": missing}
