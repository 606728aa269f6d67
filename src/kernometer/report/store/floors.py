"""Layout floors as a table for the terminal, and as a document. docs/path.md, "Layout floors"."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kernometer.report.words.units import format_percent
from kernometer.report.write.document import pick
from kernometer.report.write.terminal import Block, Grid, Line
from kernometer.stats.floors import Layout, RowSpread
from kernometer.stats.path import DEFAULT_LAYOUT_FLOOR
from kernometer.text import printable

#: Characters of a kernel's or a row's name.
NAME = 120


def blocks(layout: Layout, most: int) -> Iterator[Block]:
    """For the terminal, one kernel: at most `most` rows by floor, the largest first; a summary of the others."""
    rows = _sorted(layout)
    moved = [(row, spread) for row, spread in rows if spread.floor > 0]
    yield Line(printable(layout.image, NAME), "bold")
    booted = f", booted with: {layout.command_line}" if layout.command_line else ""
    yield Line(printable(f"{len(layout.machines)} machines{booted}", 2 * NAME), "dim")
    if moved:
        yield Grid(
            ("row", "floor", "least", "most"),
            (
                (
                    printable(row, NAME) + (" (means)" if spread.levels else ""),
                    *(format_percent(spread.floor), f"{spread.least:,.0f}", f"{spread.most:,.0f}"),
                )
                for row, spread in moved[:most]
            ),
            unbroken=(1, 2, 3),
        )
    if len(moved) > most:
        yield Line(f"and {len(moved) - most} more rows, below {format_percent(moved[most - 1][1].floor)}")
    above = sum(spread.floor > DEFAULT_LAYOUT_FLOOR for _row, spread in moved)
    usual = format_percent(DEFAULT_LAYOUT_FLOOR)
    yield Line(f"{len(rows)} rows: {len(rows) - len(moved)} with equal counts on all machines, {above} above {usual}")


def _sorted(layout: Layout) -> list[tuple[str, RowSpread]]:
    return sorted(layout.rows.items(), key=lambda item: (-item[1].floor, item[0]))


def document(layout: Layout) -> dict[str, Any]:
    """One kernel for --json; `floor` is relative, counts are instructions (of rows with levels: means)."""
    rows = {row: pick(spread, "floor", "least", "most", "machines", "levels") for row, spread in _sorted(layout)}
    return pick(layout, "image", "command_line", "board", "machines") | {"rows": rows}
