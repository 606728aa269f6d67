"""Kernels by machines: how much of the variation is whose; on the terminal, in the page, and for other programs."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from kernometer.explain.machines import Study
from kernometer.report.session.absolute import family
from kernometer.report.words.names import name
from kernometer.report.words.units import NOTHING, counted
from kernometer.report.write.document import pick
from kernometer.report.write.terminal import Block, Grid, Line
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


def view(crossed: Study) -> StudyView:
    rows = [(family(f"{key}/")[1], part) for key, part in crossed.families.items()]
    if crossed.total is not None:
        rows.append((ALL, crossed.total))
    return StudyView(
        f"Kernels by machines: {len(crossed.kernels)} kernels on {counted(len(crossed.machines), 'machine')}",
        HEADS,
        tuple((title, _cells(part)) for title, part in rows),
        tuple(printable(text, LINE) for text in _notes(crossed)),
    )


def _cells(split: Split) -> tuple[str, ...]:
    shares = (_share(split.shares.get(part)) for part in PARTS)
    return (str(split.units), f"×{math.exp(split.deviation):.3g}", *shares)


def _share(share: Share | None) -> str:
    if share is None:
        return NOTHING
    if share.low is None or share.high is None:
        return f"{100 * share.value:.1f} %"
    return f"{100 * share.value:.1f} % ({100 * share.low:.0f}–{100 * share.high:.0f})"


def _notes(crossed: Study) -> list[str]:
    notes = [
        f"Kernels: {', '.join(map(name, crossed.kernels))}.",
        f"Machines: {', '.join(map(name, crossed.machines))}.",
    ]
    if crossed.total is None:
        notes.append("There is no split: no operation has a figure of every kernel on every machine.")
    else:
        notes.append(
            "Spread: one standard deviation, as a factor. Shares of its square, with 95 % intervals for other"
            " operations on these kernels and machines."
        )
        if len(crossed.machines) == 1:
            notes.append("On one machine neither its own part nor the interaction can be told.")
        elif "rest" not in crossed.total.shares and not crossed.by_path:
            notes.append("With one session a cell the differences of sessions are part of the interaction.")
    if crossed.by_path:
        notes.append("A count knows no cache and no clock: it says nothing about whether hardware decides more.")
    if crossed.missing:
        notes.append(
            f"Not measured: {'; '.join(f'{name(kernel)} on {name(machine)}' for kernel, machine in crossed.missing)}."
        )
    elif crossed.left_out:
        notes.append(f"Left out, without a figure in some cell: {', '.join(map(name, crossed.left_out))}.")
    return notes


def blocks(crossed: Study) -> Iterator[Block]:
    """For the terminal: the table of shares, in 80 columns."""
    shown = view(crossed)
    yield Line(shown.title, "bold")
    if shown.rows:
        heads = ("", *(head.replace("operations", "ops") for head in shown.heads))
        rows = ((title, *(cell.replace(" (", "\n(") for cell in cells)) for title, cells in shown.rows)
        yield Grid(heads, rows, gap=1)
    yield from (Line(text, "dim") for text in shown.notes)


def document(crossed: Study) -> dict[str, Any]:
    """For --json: docs/matrix.md."""
    return {
        **pick(crossed, "kernels", "machines"),
        "families": {key: _split(split) for key, split in crossed.families.items()},
        "all": _split(crossed.total) if crossed.total is not None else None,
        **pick(crossed, "missing", "left_out"),
    }


def _split(split: Split) -> dict[str, Any]:
    return {"operations": split.units, **pick(split, "deviation", "shares")}
