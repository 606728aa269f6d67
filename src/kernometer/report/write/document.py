"""What other programs read: plain values for JSON, and lines of CSV."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TextIO

import msgspec

from kernometer.text import printable

Cell = str | int | float | bool | None
#: Characters that begin a formula in a spreadsheet.
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def pick(value: object, *names: str) -> dict[str, Any]:
    """These fields of an object, in this order, as plain values."""
    return {name: plain(getattr(value, name)) for name in names}


def plain(value: object) -> Any:
    """Dataclasses, structures and enumerations as JSON has them; a key of several words is joined by commas."""
    if isinstance(value, Mapping):
        return {",".join(key) if isinstance(key, tuple) else key: plain(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return value._asdict() if hasattr(value, "_asdict") else [*map(plain, value)]
    return msgspec.to_builtins(value)


def write_csv(out: TextIO, columns: Sequence[str], lines: Iterable[Iterable[Cell]]) -> None:
    """A line of column names, and the lines."""
    table = csv.writer(out, lineterminator="\n")
    table.writerow(columns)
    for line in lines:
        table.writerow([guarded(cell) for cell in line])


def guarded(cell: Cell) -> Cell:
    """A cell for CSV that neither controls a terminal nor is a formula in a spreadsheet."""
    if not isinstance(cell, str):
        return cell
    return ("'" if cell.startswith(_FORMULA) else "") + printable(cell)
