"""The price of each boundary on the terminal: what cuts cost, and whether that adds up, in 80 columns."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from rich.table import Table
from rich.text import Text

from kernometer.report.explanation.boundaries import count_text
from kernometer.report.explanation.boundaries_view import BoundariesView, PriceCell, PriceTable
from kernometer.report.session.terminal import broken
from kernometer.report.words.names import lines
from kernometer.text import printable

if TYPE_CHECKING:
    from rich.console import Console

#: Characters: of a column, of a row's name at most; a head's lines; of a remark.
COLUMN, ROW, HEAD_LINES, LINE = 7, 22, 3, 300
GAP = 1


def print_boundaries(console: Console, of: BoundariesView) -> None:
    """Prints the cuts, the two sums, and of each operation the largest interactions and savings."""
    for system, why in of.failures:
        console.print(Text(printable(f"{system}: {why}", LINE), "bold red"))
    cuts, alike = _folded(of.cuts)
    for table, more in ((cuts, alike), (of.sums, ()), (of.once, ())):
        console.print(Text(table.title, "bold"))
        for part in _parts(table, console.width):
            console.print(part)
        for text in (table.words, *more):
            console.print(Text(text, "dim"))
        console.print()
    console.print(Text("The largest interactions, beyond what any cut costs, and savings", "bold"))
    for row, named in of.named:
        console.print(Text(row, "bold"))
        for line in named:
            console.print(Text(f"  {line}"))
    for text in filter(None, (*of.notes, of.refused)):
        console.print(Text(text, "dim"))


def _folded(table: PriceTable) -> tuple[PriceTable, list[str]]:
    """Columns with the same text in every row as one, and which these are."""
    columns: dict[tuple[str, ...], list[int]] = {}
    for at in range(len(table.heads)):
        columns.setdefault(tuple(cells[at].text for _, cells in table.rows), []).append(at)
    kept = [places[0] for places in columns.values()]
    heads = tuple(
        table.heads[at] + (f" +{len(places) - 1}" if len(places) > 1 else "")
        for at, places in zip(kept, columns.values(), strict=True)
    )
    rows = tuple((row, tuple(cells[at] for at in kept)) for row, cells in table.rows)
    alike = [
        f"{heads[number]}: {', '.join(table.heads[at] for at in places)}, alike in every row."
        for number, places in enumerate(columns.values())
        if len(places) > 1
    ]
    return replace(table, heads=heads, rows=rows), alike


def _parts(table: PriceTable, width: int) -> Iterator[Table]:
    """Groups of columns that fit."""
    room = max(12, min(ROW, max((len(row) for row, _ in table.rows), default=0)))
    step = max(1, (width - room) // (COLUMN + GAP))
    for start in range(0, len(table.heads), step):
        yield _part(table, slice(start, start + step), room)


def _part(table: PriceTable, of: slice, room: int) -> Table:
    made = Table(box=None, pad_edge=False, padding=(0, GAP, 0, 0), collapse_padding=True)
    made.add_column("", width=room, no_wrap=True)
    for head in table.heads[of]:
        text = "\n".join(lines(head.replace("_", "_ "), COLUMN, HEAD_LINES))
        made.add_column(text, justify="right", width=COLUMN, no_wrap=True)
    for row, cells in table.rows:
        made.add_row("\n".join(broken(row, room)), *map(_text, cells[of]))
    return made


def _text(cell: PriceCell) -> Text:
    """In thousands or millions where it is too long."""
    texts = [cell.text]
    if cell.value is not None:
        texts += [f"{count_text(cell.value / 1e3)}k", f"{count_text(cell.value / 1e6)}M"]
    text = next((each for each in texts if len(each) <= COLUMN), texts[-1])
    return Text(text, {"s": "red", "f": "green"}.get(cell.colour[:1], ""))
