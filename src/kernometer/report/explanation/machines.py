"""Kernels by machines: how much of the variation is whose; on the terminal, in the page, and for other programs."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rich.table import Table
from rich.text import Text

from kernometer.explain.machines import Study, study
from kernometer.report.session.absolute import family
from kernometer.report.session.systems import name
from kernometer.report.words.units import NOTHING, counted
from kernometer.stats.series import Series
from kernometer.stats.variance import PARTS, Share, Split
from kernometer.text import printable

if TYPE_CHECKING:
    from rich.console import Console

HEADS = ("operations", "spread", *PARTS)
ALL = "all"
#: Characters of a line's names at most.
LINE = 300


@dataclass(frozen=True, slots=True)
class StudyView:
    """All text is printable."""

    title: str
    heads: tuple[str, ...]
    rows: tuple[tuple[str, tuple[str, ...]], ...]  #: a family and its cells, in the order of the heads
    notes: tuple[str, ...]


def of_columns(of: Series) -> Study | None:
    """Of the sessions of a matrix; None where `study` has none."""
    return study(one for column in of.columns for one in column.results)


def view(of: Study) -> StudyView:
    rows = [(family(f"{key}/")[1], found) for key, found in of.families.items()]
    if of.whole is not None:
        rows.append((ALL, of.whole))
    return StudyView(
        f"Kernels by machines: {len(of.kernels)} kernels on {counted(len(of.machines), 'machine')}",
        HEADS,
        tuple((title, _cells(found)) for title, found in rows),
        tuple(printable(text, LINE) for text in _notes(of)),
    )


def _cells(of: Split) -> tuple[str, ...]:
    shares = (_share(of.shares.get(part)) for part in PARTS)
    return (str(of.units), f"×{math.exp(of.deviation):.3g}", *shares)


def _share(of: Share | None) -> str:
    if of is None:
        return NOTHING
    if of.low is None or of.high is None:
        return f"{100 * of.value:.1f} %"
    return f"{100 * of.value:.1f} % ({100 * of.low:.0f}–{100 * of.high:.0f})"


def _notes(of: Study) -> list[str]:
    found = [f"Kernels: {', '.join(map(name, of.kernels))}.", f"Machines: {', '.join(map(name, of.machines))}."]
    if of.whole is None:
        found.append("There is no split: no operation has a figure of every kernel on every machine.")
    else:
        found.append(
            "Spread: one standard deviation, as a factor. Shares of its square, with 95 % intervals for other"
            " operations on these kernels and machines."
        )
        if len(of.machines) == 1:
            found.append("On one machine neither its own part nor the interaction can be told.")
        elif "rest" not in of.whole.shares and not of.by_path:
            found.append("With one session a cell the differences of sessions are part of the interaction.")
    if of.by_path:
        found.append("A count knows no cache and no clock: it says nothing about whether hardware decides more.")
    if of.missing:
        found.append(
            f"Not measured: {'; '.join(f'{name(kernel)} on {name(machine)}' for kernel, machine in of.missing)}."
        )
    elif of.left_out:
        found.append(f"Left out, without a figure in some cell: {', '.join(map(name, of.left_out))}.")
    return found


def print_study(console: Console, of: Study) -> None:
    """Prints the table of shares, in 80 columns."""
    shown = view(of)
    console.print(Text(shown.title, "bold"))
    table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0), collapse_padding=True)
    table.add_column("")
    for head in shown.heads:
        table.add_column(head.replace("operations", "ops"), justify="right")
    for title, cells in shown.rows:
        table.add_row(title, *(cell.replace(" (", "\n(") for cell in cells))
    if shown.rows:
        console.print(table)
    for text in shown.notes:
        console.print(Text(text, "dim"))


def document(of: Study) -> dict[str, Any]:
    """For --json: docs/matrix.md."""
    return {
        "kernels": [*of.kernels],
        "machines": [*of.machines],
        "families": {key: _split(found) for key, found in of.families.items()},
        "all": _split(of.whole) if of.whole is not None else None,
        "missing": [[*cell] for cell in of.missing],
        "left_out": [*of.left_out],
    }


def _split(of: Split) -> dict[str, Any]:
    return {
        "operations": of.units,
        "deviation": of.deviation,
        "shares": {part: {"value": one.value, "low": one.low, "high": one.high} for part, one in of.shares.items()},
    }
