"""Named figures: the plots and grids of the sources, drawn in the same form from any results. docs/figures.md.

`figures/` has one TOML file per paper with the figures' rows (patterns), axes, series, titles, and what the originals
show. This module defines the format and loads the files.
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
from kernometer.results.rows import Row
from kernometer.text import printable

Kind = Literal["curves", "bars", "grid", "samples"]
#: How many of the rows' unit make one of a figure's unit.
FACTORS: dict[str, float] = {"ns": 1.0, "µs": 1e3, "ms": 1e6, "s": 1e9, "MB/s": 1e6, "jobs/min": 1 / 60}
#: Units of rates: by path their figure is the instructions of one operation.
RATES = ("MB/s", "jobs/min")


class XAxis(msgspec.Struct, kw_only=True, frozen=True, forbid_unknown_fields=True):
    parameter: str  #: "" for the number of the sample
    title: str
    base: int = 0  #: of a logarithmic axis; 0: linear


class YAxis(msgspec.Struct, kw_only=True, frozen=True, forbid_unknown_fields=True):
    """A y axis. Each axis of a figure has a panel of its own."""

    unit: str  #: of FACTORS
    title: str
    times_x: bool = False  #: multiplied by the parameter: all pages, not one
    of_bytes: float = 0.0  #: a bandwidth is drawn as the time for so many bytes; 0: as it is
    log: bool = False


class Group(msgspec.Struct, kw_only=True, frozen=True, forbid_unknown_fields=True):
    """Rows that are drawn alike; in curves one line for each resulting label."""

    rows: tuple[str, ...]  #: patterns: the first one that a result has; the last can be measured by path
    by_path: bool = True  #: whether it has a meaning by path
    label: str = ""  #: of a line, in which {stride} becomes that parameter's value; of a bar
    axis: int | None = None  #: number of their only y axis; None: all axes

    def has(self, row: str) -> bool:
        return any(Row(row).values(pattern) is not None for pattern in self.rows)


class PaperFigure(msgspec.Struct, kw_only=True, frozen=True, forbid_unknown_fields=True):
    """One figure of a paper."""

    name: str
    title: str
    shows: str  #: the original, in our words
    kind: Kind
    x: XAxis = XAxis(parameter="", title="")
    y: tuple[YAxis, ...] = ()
    group: tuple[Group, ...] = ()
    bar: tuple[Group, ...] = ()
    heads: tuple[str, ...] = ()  #: of a grid's first columns
    places: tuple[tuple[int, ...], ...] = ()  #: the original's values of each of them
    reference: str = ""  #: the system of a published table that is 100; among results the first is
    options: str = ""  #: options of `kernometer run` for its rows, besides the profile

    @property
    def parts(self) -> list[Group]:
        return [*self.group, *self.bar]


class _File(msgspec.Struct, forbid_unknown_fields=True):
    figure: list[PaperFigure]


@cache
def paper_figures() -> dict[str, PaperFigure]:
    """Every figure by its name, paper by paper."""
    folder = files("kernometer.report.literature").joinpath("figures")
    texts = sorted((file.name, file.read_bytes()) for file in folder.iterdir() if file.name.endswith(".toml"))
    return {figure.name: figure for _, text in texts for figure in msgspec.toml.decode(text, type=_File).figure}


def find(name: str) -> PaperFigure:
    """Raises UsageError if no figure has that name."""
    known = paper_figures()
    if name not in known:
        close = get_close_matches(name, known, n=1)
        raise UsageError(
            f"There is no figure {printable(name, 60)!r}.",
            f"Did you mean {close[0]}?" if close else "'kernometer figure --list' names them.",
        )
    return known[name]


def command(figure: PaperFigure, parts: Iterable[Group], by: By, target: str) -> str:
    """The command that measures the rows of those parts on `target`, by time or by path."""
    words = ["kernometer run --profile full"]
    if by == "path":
        words.append("--by path")
    elif figure.options:
        words.append(figure.options)
    if not target.startswith("local"):
        words.append(f"--on {shlex.quote(target)}")
    rows = dict.fromkeys(part.rows[-1 if by == "path" else 0] for part in parts if part.by_path or by == "time")
    return " ".join([*words, *(f"'{row}'" if "*" in row else row for row in rows)])
