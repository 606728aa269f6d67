"""Kernels by machines: how much of the variation is whose; on the terminal, in the page, and for other programs."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from kernometer.explain.machines import Study, study
from kernometer.report.session.absolute import family
from kernometer.report.words.names import name
from kernometer.report.words.units import NOTHING, counted
from kernometer.report.write.document import pick
from kernometer.report.write.terminal import Block, Grid, Line
from kernometer.stats.series import Series
from kernometer.stats.variance import PARTS, Share, Split
from kernometer.text import printable

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
    return study(result for column in of.columns for result in column.results)


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


def blocks(of: Study) -> Iterator[Block]:
    """For the terminal: the table of shares, in 80 columns."""
    shown = view(of)
    yield Line(shown.title, "bold")
    if shown.rows:
        heads = ("", *(head.replace("operations", "ops") for head in shown.heads))
        rows = ((title, *(cell.replace(" (", "\n(") for cell in cells)) for title, cells in shown.rows)
        yield Grid(heads, rows, gap=1)
    yield from (Line(text, "dim") for text in shown.notes)


def document(of: Study) -> dict[str, Any]:
    """For --json: docs/matrix.md."""
    return {
        **pick(of, "kernels", "machines"),
        "families": {key: _split(split) for key, split in of.families.items()},
        "all": _split(of.whole) if of.whole is not None else None,
        **pick(of, "missing", "left_out"),
    }


def _split(of: Split) -> dict[str, Any]:
    return {"operations": of.units, **pick(of, "deviation", "shares")}
