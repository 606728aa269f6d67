"""What each switch of Trio costs: on the terminal, and for other programs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rich.padding import Padding
from rich.text import Text

from kernometer.explain.factorial import Effect, Effects, Factorial, of_results
from kernometer.report.explanation.boundaries import LEAST, count_text
from kernometer.report.session.systems import name
from kernometer.report.words.units import format_percent
from kernometer.stats.series import Series
from kernometer.text import printable

if TYPE_CHECKING:
    from rich.console import Console


def of_columns(of: Series) -> Factorial | None:
    """Of the sessions of a matrix; None without switches."""
    return of_results(one for column in of.columns for one in column.results)


def print_factorial(console: Console, of: Factorial) -> None:
    """Of each operation both ends, the switches' effects, the interactions of two, and what is left."""
    structure = printable(of.structure)
    console.print(Text(f"What switches cost in {structure}, in instructions: {', '.join(of.switches)}", "bold"))
    for row in of.rows:
        console.print(Text(f"{printable(name(row.row))}: {count_text(row.off)} without, {count_text(row.on)} with all"))
        for text in _lines(row):
            console.print(Padding(Text(text), (0, 0, 0, 4)))
    for text in (
        "A switch: the mean over all settings of the others, [least … most] where they matter.",
        "Two: what both on cost more than the two add up to. Rest: the most that a figure",
        "differs from what these give, as its share of the operation.",
    ):
        console.print(Text(text, "dim"))
    if of.missing:
        listed = "; ".join(", ".join(sorted(cell)) or "none" for cell in of.missing)
        console.print(Text(printable(f"Without sessions of these settings there is no effect: {listed}"), "yellow"))


def _lines(row: Effects) -> list[str]:
    found = [f"{each} {_effect(effect)}" for each, effect in row.switches.items() if _moves(effect)]
    pairs = sorted(
        (pair for pair in row.pairs if abs(row.pairs[pair]) >= LEAST), key=lambda pair: -abs(row.pairs[pair])
    )
    found += [f"{a} and {b} {_signed(row.pairs[a, b])}" for a, b in pairs]
    if not found:
        return ["no switch moves it"]
    return [*found, f"rest {count_text(row.rest)} ({format_percent(row.rest / row.off)})"]


def _moves(effect: Effect) -> bool:
    return max(abs(effect.least), abs(effect.most)) >= LEAST


def _effect(effect: Effect) -> str:
    if effect.most - effect.least < LEAST:
        return _signed(effect.mean)
    return f"{_signed(effect.mean)} [{_signed(effect.least)} … {_signed(effect.most)}]"


def _signed(value: float) -> str:
    return count_text(value) if value < 0 else f"+{count_text(value)}"


def document(of: Factorial) -> dict[str, Any]:
    """For --json: docs/trio.md."""
    return {
        "structure": of.structure,
        "switches": [*of.switches],
        "rows": [
            {
                "row": row.row,
                "off": row.off,
                "on": row.on,
                "switches": {
                    each: {"mean": effect.mean, "least": effect.least, "most": effect.most}
                    for each, effect in row.switches.items()
                },
                "pairs": {f"{a},{b}": value for (a, b), value in row.pairs.items()},
                "rest": row.rest,
            }
            for row in of.rows
        ],
        "missing": [sorted(cell) for cell in of.missing],
    }
