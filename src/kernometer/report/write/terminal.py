"""How everything comes to a terminal: lines and tables as values, and the one function that prints them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from kernometer.report.words.names import lines, packed

if TYPE_CHECKING:
    from rich.console import Console

_BREAKS, _FINER = re.compile(r"[^@,/]*[@,/]|[^@,/]+"), re.compile(r"[^-=]*[-=]|[^-=]+")
#: The narrowest column of row names in a wide table, and the gap between its columns.
NARROWEST, GAP = 12, 1


class Line(NamedTuple):
    """A paragraph, in the style of rich."""

    text: str
    style: str = ""
    indent: int = 0
    lead: str = ""  #: bold words before the text
    apart: bool = False  #: a blank line before it


BLANK = Line("")


class Grid(NamedTuple):
    """A table. `left`: the columns that are words, by number; the others are figures, at the right."""

    heads: Sequence[str]  #: () for none
    rows: Iterable[Sequence[str | Text]]
    left: Sequence[int] = (0,)
    gap: int = 2
    style: str = "bold"  #: of the heads
    unbroken: Sequence[int] = ()  #: columns that do not break
    indent: int = 0
    cut: bool = False  #: a word that is too long for its column ends in …, instead of going on in the next line


class Wide(NamedTuple):
    """A table in groups of columns that fit beside each other, each with the rows' names before it."""

    heads: Sequence[str]
    widths: Sequence[int]  #: of the columns, in characters
    rows: Sequence[tuple[str | Text, Sequence[str | Text]]]  #: a name and its cells; a title without cells is a Text
    name: int  #: characters of a row's name at most
    head_lines: int
    spare: int = 0  #: characters of the terminal's width that stay free
    apart: bool = False  #: a blank line before each group


Block = Line | Grid | Wide


def show(console: Console, blocks: Iterable[Block]) -> None:
    """Prints lines and tables in order."""
    for block in blocks:
        if isinstance(block, Wide):
            for group in _groups(block, console.width):
                if block.apart:
                    console.print()
                console.print(group)
            continue
        if isinstance(block, Grid):
            made: Table | Text = grid(block)
        else:
            made = Text.assemble((block.lead, "bold"), (block.text, block.style)) if block.lead else Text(*block[:2])
            if block.apart:
                console.print()
        console.print(Padding(made, (0, 0, 0, block.indent)) if block.indent else made)


def grid(block: Grid) -> Table:
    rows = [*block.rows]
    table = Table(box=None, pad_edge=False, padding=(0, block.gap, 0, 0), header_style=block.style)
    table.show_header = bool(block.heads)
    count = len(block.heads) or max(map(len, rows), default=0)
    for number in range(count):
        table.add_column(
            Text(block.heads[number]) if block.heads else "",
            justify="left" if number in block.left else "right",
            overflow="ellipsis" if block.cut else "fold",
            no_wrap=number in block.unbroken,
        )
    for row in rows:
        table.add_row(*(Text(cell) if isinstance(cell, str) else cell for cell in row))
    return table


def _groups(block: Wide, width: int) -> Iterator[Table]:
    longest = max((len(name) for name, cells in block.rows if cells), default=0)
    room = max(NARROWEST, min(block.name, longest))
    left = width - block.spare - room
    start = 0
    while start < len(block.widths):
        end, used = start, 0
        while end == start or (end < len(block.widths) and used + block.widths[end] < left):
            used += block.widths[end] + GAP
            end += 1
        yield _group(block, slice(start, end), room)
        start = end


def _group(block: Wide, part: slice, room: int) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, GAP, 0, 0), collapse_padding=True)
    table.add_column("", width=room, no_wrap=True)
    for head, width in islice(zip(block.heads, block.widths, strict=True), part.start, part.stop):
        table.add_column("\n".join(lines(head, width, block.head_lines)), justify="right", width=width, no_wrap=True)
    for name, cells in block.rows:
        table.add_row(name if isinstance(name, Text) else "\n".join(broken(name, room)), *cells[part])
    return table


def broken(name: str, width: int) -> list[str]:
    """A row's name in lines of at most `width`, broken after `@`, `,` and `/`, if necessary after `-` and `=`, or
    anywhere."""
    parts = _BREAKS.findall(name)
    return packed(
        (piece for part in parts for piece in ([part] if len(part) + 2 <= width else _FINER.findall(part))), width, "  "
    )
