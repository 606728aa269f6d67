"""The absolute table: every row's figure in its own unit, under the definition of its workload."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence

from kernometer.report import curve_plots
from kernometer.report.curves import spread_of, value_text, x_text
from kernometer.report.subjects import Subject, name, pooled, pooled_figure, rows_of, sentence, single, workloads_of
from kernometer.report.view import NOTHING, AbsoluteRow, CurveView, Family, WorkloadView
from kernometer.results.model import Workload
from kernometer.stats.curves import Curve, extremes, gathered, with_points
from kernometer.stats.load import peak
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


def families(subjects: Sequence[Subject]) -> tuple[Family, ...]:
    """All rows of all subjects, in the registry's order; what the registry does not know comes last."""
    definitions = workloads_of(subjects)
    tree: dict[str, dict[str, list[str]]] = {}
    for row in rows_of(subjects):
        workload = workload_of(row)
        tree.setdefault(family(workload)[0], {}).setdefault(workload, []).append(row)
    return tuple(
        Family(*family(key), tuple(_workload(name_, definitions, rows, subjects) for name_, rows in inner.items()))
        for key, inner in tree.items()
    )


def workload_of(row: str) -> str:
    """A row's workload: its name up to the parameters."""
    return row.split("@", 1)[0]


def _workload(
    key: str, definitions: Mapping[str, Workload], rows: Sequence[str], subjects: Sequence[Subject]
) -> WorkloadView:
    definition = definitions.get(key)
    gathered_rows = gathered(
        {row: tuple(pooled_figure(subject.of(row)) for subject in subjects) for row in rows}, definitions
    )
    curves = tuple(_curve(one, subjects) for one in gathered_rows if not isinstance(one, str))
    figures = [figure for row in rows for subject in subjects for figure in subject.of(row)]
    shown = tuple(
        AbsoluteRow(
            row=name(row),
            parameters=name(row[len(key) + 1 :]),
            anchor=anchor(row),
            figures=tuple(pooled(subject.of(row)) for subject in subjects),
        )
        for row in gathered_rows
        if isinstance(row, str)
    )
    if definition is None:
        return WorkloadView(name(key), "not defined in this result's registry", "", "", "", "", "", "", shown)
    return WorkloadView(
        name=name(key),
        what=sentence(definition.what),
        unit=_unit(figures[0]) if figures else name(definition.unit),
        direction=f"{figures[0].better if figures else definition.better} is better",
        inside=sentence(definition.inside),
        subtracts=_subtracts(definition),
        hangs_on=sentence("; ".join(_hangs_on(rows, subjects))),
        source=sentence(definition.source),
        rows=shown,
        curves=curves,
    )


def _hangs_on(rows: Sequence[str], subjects: Sequence[Subject]) -> list[str]:
    """A name and what each system has: `transparent_hugepage: madvise (A), always (B)`."""
    found: dict[str, dict[str, dict[str, None]]] = {}
    for subject in subjects:
        for figure in (figure for row in rows for figure in subject.of(row)):
            for what, value in figure.conditions.items():
                found.setdefault(what, {}).setdefault(value, {})[subject.letter] = None
    return [
        f"{what}: "
        + ", ".join(f"{value} ({', '.join(letters)})" if len(subjects) > 1 else value for value, letters in of.items())
        for what, of in found.items()
    ]


def _curve(curve: Curve[tuple[RowFigure | None, ...]], subjects: Sequence[Subject]) -> CurveView:
    """All systems' figures along the parameter, drawn and in rows; their ends in words."""
    title, parameter = name(curve.name), name(curve.parameter)
    lines = [
        curve_plots.Line(subject.letter, index, tuple(point.of[index] for point in curve.points))
        for index, subject in enumerate(subjects)
    ]
    summary = "; ".join([spread_of(curve), *filter(None, (_ends(curve, line) for line in lines))])
    rows = tuple(
        AbsoluteRow(
            row=name(point.row),
            parameters=x_text(point.x),
            anchor=anchor(point.row),
            figures=tuple(NOTHING if figure is None else single(figure) for figure in point.of),
        )
        for point in curve.points
    )
    text = f"{sentence(summary)}. The table of its points has every figure."
    xs = [point.x for point in curve.points]
    plot = curve_plots.values(parameter, xs, lines, f"{title}, along {parameter}", text)
    return CurveView(title, parameter, sentence(summary), plot, rows)


def _ends(curve: Curve[tuple[RowFigure | None, ...]], line: curve_plots.Line) -> str:
    """`A 1.53 ns at 4096 to 19.5 ns at 8388608`; "" where the system has no value."""
    of_system = with_points(curve, line.figures)
    ends = extremes(of_system)
    if ends is None:
        return ""
    at = {point.row: x_text(point.x) for point in of_system.points}
    low, high = (f"{value_text(one)} at {at[one.row]}" for one in ends)
    top = peak(of_system)
    flat = top is not None and top.first != top.last
    told = f" (not told from {x_text(top.first)} to {x_text(top.last)})" if top is not None and flat else ""
    return f"{line.letter} {low} to {high}{told}"


def _unit(figure: RowFigure) -> str:
    """What a figure counts: time, instructions, a rate of the operation, or things."""
    per = name(figure.per)
    words = {
        "ns": f"time per {per}",
        "B/s": "bytes per second",
        "1/s": f"{per}s per second",
        "count": f"{per}, counted",
    }
    return words.get(figure.unit, f"{name(figure.unit)} per {per}")


def _subtracts(definition: Workload) -> str:
    """What is taken off besides the clock and the empty loop, which every figure is net of."""
    if not definition.subtracts:
        return ""
    return f"{'Less' if definition.figure_less_baseline else 'Beside it'}: {sentence(definition.subtracts)}"
