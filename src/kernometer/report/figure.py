"""Named figures: the plots and grids of the sources, in their form, from any results. docs/figures.md.

What a figure is made of is data, a TOML file a paper in `figures/`: rows by pattern, axes, series, title, and what the
original shows. This file knows its shape and finds it.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable
from difflib import get_close_matches
from functools import cache
from importlib.resources import files
from typing import Literal

import msgspec

from kernometer.errors import UsageError
from kernometer.results.model import By
from kernometer.text import printable

Kind = Literal["curves", "bars", "grid", "samples"]
#: One of a figure's unit is so many of the rows'.
FACTORS: dict[str, float] = {"ns": 1.0, "µs": 1e3, "ms": 1e6, "s": 1e9, "MB/s": 1e6, "jobs/min": 1 / 60}
#: Units of a rate: by path the row's figure is the instructions of one operation.
RATES = ("MB/s", "jobs/min")


class XAxis(msgspec.Struct, kw_only=True, frozen=True, forbid_unknown_fields=True):
    of: str  #: the parameter; "" for the number of the sample
    title: str
    base: int = 0  #: of a logarithmic axis; 0: linear


class YAxis(msgspec.Struct, kw_only=True, frozen=True, forbid_unknown_fields=True):
    """What is drawn of a row. With several of them the figure has a panel each."""

    unit: str  #: of FACTORS
    title: str
    times_x: bool = False  #: multiplied by the parameter: all pages, not one
    whole: float = 0.0  #: bytes whose time is drawn of a bandwidth; 0: none
    log: bool = False


class Group(msgspec.Struct, kw_only=True, frozen=True, forbid_unknown_fields=True):
    """Rows that share a way of being drawn; in curves one line for each label that comes out."""

    rows: tuple[str, ...]  #: patterns, the first of them that a result has; where it can be measured by path, the last
    by_path: bool = True  #: whether it can
    label: str = ""  #: of a line; {stride} is that parameter's value
    axis: int | None = None  #: number of the one y axis that they stand on; None: on each


class Bar(msgspec.Struct, kw_only=True, frozen=True, forbid_unknown_fields=True):
    label: str
    rows: tuple[str, ...]  #: as a group's
    by_path: bool = True


class Figure(msgspec.Struct, kw_only=True, frozen=True, forbid_unknown_fields=True):
    """One figure of a paper."""

    name: str
    title: str
    shows: str  #: the original, in our words
    kind: Kind
    x: XAxis = XAxis(of="", title="")
    y: tuple[YAxis, ...] = ()
    group: tuple[Group, ...] = ()
    bar: tuple[Bar, ...] = ()
    heads: tuple[str, ...] = ()  #: of a grid's first columns
    places: tuple[tuple[int, ...], ...] = ()  #: the original's values of each of them
    reference: str = ""  #: the system of a published table that is 100; of results it is the first
    options: str = ""  #: that `kernometer run` needs for its rows, beside the profile

    @property
    def parts(self) -> list[Group | Bar]:
        return [*self.group, *self.bar]


class _File(msgspec.Struct, forbid_unknown_fields=True):
    figure: list[Figure]


@cache
def figures() -> dict[str, Figure]:
    """Every figure by its name, paper by paper."""
    folder = files("kernometer.report").joinpath("figures")
    texts = sorted((one.name, one.read_bytes()) for one in folder.iterdir() if one.name.endswith(".toml"))
    return {one.name: one for _, text in texts for one in msgspec.toml.decode(text, type=_File).figure}


def find(name: str) -> Figure:
    """Raises UsageError where no figure has that name."""
    known = figures()
    if name not in known:
        close = get_close_matches(name, known, n=1)
        raise UsageError(
            f"There is no figure {printable(name, 60)!r}.",
            f"Did you mean {close[0]}?" if close else "'kernometer figure --list' names them.",
        )
    return known[name]


def command(figure: Figure, parts: Iterable[Group | Bar], by: By, target: str) -> str:
    """What measures the rows of those parts as a session on `target` by time or by path does."""
    words = ["kernometer run --profile full"]
    if by == "path":
        words.append("--by path")
    elif figure.options:
        words.append(figure.options)
    if not target.startswith("local"):
        words.append(f"--on {shlex.quote(target)}")
    rows = dict.fromkeys(part.rows[-1 if by == "path" else 0] for part in parts if part.by_path or by == "time")
    return " ".join([*words, *(f"'{row}'" if "*" in row else row for row in rows)])
