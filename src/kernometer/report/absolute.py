"""The absolute table: every row's figure in its own unit, under the definition of its workload."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence

from kernometer.report.sides import Side, name, pooled, rows_of, sentence, workloads_of
from kernometer.report.view import AbsoluteRow, Family, WorkloadView
from kernometer.results.model import Workload
from kernometer.stats.model import RowFigure

TITLES = {
    "clock": "Clocks",
    "syscall": "System calls",
    "ctx": "Context switches",
    "ipc": "Communication",
    "proc": "Processes",
    "sig": "Signals",
    "mem": "Memory",
    "fs": "Files",
    "fb": "Frame buffer",
    "cpu": "Computation",
    "sh": "Scripts and compilers",
    "load": "Load",
    "limit": "Limits",
    "cmd": "Commands",
}


def family(row: str) -> tuple[str, str]:
    """Key and title of the family that a row belongs to."""
    key = row.split("/", 1)[0]
    return name(key), TITLES.get(key, name(key))


def anchor(row: str) -> str:
    """An id for the page: the row's name where it is one already, else what is left of it and a digest."""
    plain = re.sub(r"[^a-z0-9-]+", "-", row.lower())[:60].strip("-")
    return f"row-{plain}-{hashlib.blake2s(row.encode('utf-8', 'replace'), digest_size=4).hexdigest()}"


def families(sides: Sequence[Side]) -> tuple[Family, ...]:
    """All rows of all sides, in the registry's order; what the registry does not know comes last."""
    definitions = workloads_of(sides)
    tree: dict[str, dict[str, list[str]]] = {}
    for row in rows_of(sides):
        workload = workload_of(row)
        tree.setdefault(family(workload)[0], {}).setdefault(workload, []).append(row)
    return tuple(
        Family(
            *family(key), tuple(_workload(name_, definitions.get(name_), rows, sides) for name_, rows in inner.items())
        )
        for key, inner in tree.items()
    )


def workload_of(row: str) -> str:
    """A row's workload: its name up to the parameters."""
    return row.split("@", 1)[0]


def _workload(key: str, definition: Workload | None, rows: Sequence[str], sides: Sequence[Side]) -> WorkloadView:
    figures = [figure for row in rows for side in sides for figure in side.of(row)]
    shown = tuple(
        AbsoluteRow(
            row=name(row),
            parameters=name(row[len(key) + 1 :]),
            anchor=anchor(row),
            figures=tuple(pooled(side.of(row)) for side in sides),
        )
        for row in rows
    )
    if definition is None:
        return WorkloadView(name(key), "not defined in this result's registry", "", "", "", "", "", shown)
    return WorkloadView(
        name=name(key),
        what=sentence(definition.what),
        unit=_unit(figures[0]) if figures else name(definition.unit),
        direction=f"{figures[0].better if figures else definition.better} is better",
        inside=sentence(definition.inside),
        subtracts=_subtracts(definition),
        source=sentence(definition.source),
        rows=shown,
    )


def _unit(figure: RowFigure) -> str:
    """What a figure counts: time, instructions, or a rate of the operation."""
    per = name(figure.per)
    words = {"ns": f"time per {per}", "B/s": "bytes per second", "1/s": f"{per}s per second"}
    return words.get(figure.unit, f"{name(figure.unit)} per {per}")


def _subtracts(definition: Workload) -> str:
    """What is taken off besides the clock and the empty loop, which every figure is net of."""
    if not definition.subtracts:
        return ""
    return f"{'Less' if definition.figure_less_baseline else 'Beside it'}: {sentence(definition.subtracts)}"
