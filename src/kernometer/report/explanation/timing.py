"""From cycles to time: how near the model comes, and what it says of other results. For people and programs."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from kernometer.explain.cycles import Cycles
from kernometer.explain.timing import ENOUGH, FACTOR, FAMILIES, LEAST, MEDIAN_ERROR, OF_A_FAMILY, Group, Judgement
from kernometer.report.words.names import name
from kernometer.report.words.units import counted, format_percent, format_value
from kernometer.report.write.document import pick
from kernometer.report.write.terminal import Block, Grid, Line, broken
from kernometer.text import printable

#: Rows that are named as furthest off.
NAMED = 8
#: Characters of a line of a row's name.
ROOM = 30


@dataclass(frozen=True, slots=True)
class View:
    """What is shown."""

    names: tuple[str, str]  #: of the results by time and by path
    kernels: tuple[str, str]
    sessions: int  #: by time
    processor: str
    judgement: Judgement
    results: Mapping[str, Mapping[str, Cycles]]  #: by name and row


def blocks(view: View) -> Iterator[Block]:
    """For the terminal: the judgement; then of each result cycles, their ends, and times."""
    judgement = view.judgement
    yield Line(f"From cycles of a {printable(view.processor)}, modelled, to time", "bold")
    yield Line(printable(f"by time {view.names[0]}: {view.kernels[0]}, {counted(view.sessions, 'session')}"))
    yield Line(printable(f"by path {view.names[1]}: {view.kernels[1]}"))
    if view.kernels[0] != view.kernels[1]:
        yield Line("The two are not one build: what differs between them counts as error.")
    told = f"{counted(len(judgement.user), 'row')} in user mode"
    yield Line(f"A cycle takes {judgement.rate:.3f} ns, by {told}. No row below has moved anything.")
    heads = ("family", "rows", f"within {FACTOR}", "share", "predicted /\nmeasured", "median\nerror")
    every = judgement.group(*FAMILIES)
    groups = judgement.families | ({"all": every} if every else {})
    yield Grid(heads, itertools.starmap(_line, groups.items()))
    yield from map(Line, _verdict(judgement, every) if every else ())
    for title, rows in view.results.items():
        yield Line(printable(title), "bold", apart=True)
        yield Grid(("row", "cycles", "least", "most", "time"), _rows(rows, judgement.rate))


def document(view: View) -> dict[str, Any]:
    """For --json: docs/path-to-time.md."""
    judgement = view.judgement
    every = judgement.group(*FAMILIES)
    return {
        "processor": view.processor,
        "rate": judgement.rate,
        "families": {
            family: pick(group, "near", "rows", "passes", "error") for family, group in judgement.families.items()
        },
        "passes": every is not None and every.passes,
        **{
            kind: {row.row: {"predicted": row.predicted, "measured": row.time, "ratio": row.ratio} for row in rows}
            for kind, rows in (("user", judgement.user), ("judged", judgement.rows))
        },
        "results": {
            title: [
                {"row": row, "cycles": msgspec.to_builtins(of_row), "time": of_row.value * judgement.rate}
                for row, of_row in rows.items()
            ]
            for title, rows in view.results.items()
        },
    }


def _line(head: str, group: Group) -> Sequence[str]:
    shares = format_percent(group.near / group.rows), f"{group.ratio:.2f}", format_percent(group.error)
    return head, str(group.rows), str(group.near), *shares


def _verdict(judgement: Judgement, every: Group) -> Iterator[str]:
    missed = [family for family, group in judgement.families.items() if group.rows >= LEAST and not group.passes]
    yield (
        f"{'At least' if every.passes else 'Below'} {format_percent(ENOUGH)} of all rows are near, "
        f"{'and' if not missed else 'but not'} {format_percent(OF_A_FAMILY)} of "
        f"{'each family' if not missed else ', '.join(missed)}; the median error is "
        f"{'at most' if every.error <= MEDIAN_ERROR else 'above'} {format_percent(MEDIAN_ERROR)}."
    )
    far = sorted((row for row in judgement.rows if not row.near), key=lambda row: -abs(math.log(row.ratio)))
    if far:
        rows = ", ".join(f"{name(row.row)} {row.ratio:.2f}" for row in far[:NAMED])
        yield f"Furthest off, predicted by measured: {rows}"


def _rows(rows: Mapping[str, Cycles], rate: float) -> Iterator[Sequence[str]]:
    for row, of_row in rows.items():
        yield (
            "\n".join(broken(name(row), ROOM)),
            *(f"{value:,.0f}" for value in (of_row.value, of_row.least, of_row.most)),
            format_value(of_row.value * rate, "ns"),
        )
