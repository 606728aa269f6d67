"""Layout floors as a table for the terminal, and as a document. docs/path.md, "Layout floors"."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rich.table import Table
from rich.text import Text

from kernometer.report.words.units import format_percent
from kernometer.stats.floors import Layout, RowSpread
from kernometer.stats.path import DEFAULT_LAYOUT_FLOOR
from kernometer.text import printable

if TYPE_CHECKING:
    from rich.console import Console

#: Characters of a kernel's or a row's name.
NAME = 120


def print_layout(console: Console, layout: Layout, most: int) -> None:
    """One kernel: at most `most` rows by floor, the largest first; then a summary of the others."""
    rows = _sorted(layout)
    moved = [(row, spread) for row, spread in rows if spread.floor > 0]
    console.print(Text(printable(layout.image, NAME), "bold"))
    booted = f", booted with: {layout.command_line}" if layout.command_line else ""
    console.print(Text(printable(f"{len(layout.machines)} machines{booted}", 2 * NAME), "dim"))
    if moved:
        console.print(_table(moved[:most]))
    if len(moved) > most:
        console.print(f"and {len(moved) - most} more rows, below {format_percent(moved[most - 1][1].floor)}")
    above = sum(spread.floor > DEFAULT_LAYOUT_FLOOR for _row, spread in moved)
    usual = format_percent(DEFAULT_LAYOUT_FLOOR)
    console.print(
        f"{len(rows)} rows: {len(rows) - len(moved)} with equal counts on all machines, {above} above {usual}"
    )


def _sorted(layout: Layout) -> list[tuple[str, RowSpread]]:
    return sorted(layout.rows.items(), key=lambda item: (-item[1].floor, item[0]))


def _table(rows: list[tuple[str, RowSpread]]) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column("row", overflow="fold")
    for head in ("floor", "least", "most"):
        table.add_column(head, justify="right", no_wrap=True)
    for row, spread in rows:
        counts = (f"{spread.least:,.0f}", f"{spread.most:,.0f}")
        table.add_row(
            printable(row, NAME) + (" (means)" if spread.levels else ""), format_percent(spread.floor), *counts
        )
    return table


def document(layout: Layout) -> dict[str, Any]:
    """One kernel for --json; `floor` is relative, counts are instructions (of rows with levels: means)."""
    return {
        "image": layout.image,
        "command_line": layout.command_line,
        "board": layout.board,
        "machines": list(layout.machines),
        "rows": {
            row: {
                "floor": spread.floor,
                "least": spread.least,
                "most": spread.most,
                "machines": spread.machines,
                "levels": spread.levels,
            }
            for row, spread in _sorted(layout)
        },
    }
