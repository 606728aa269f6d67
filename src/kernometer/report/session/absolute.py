"""The absolute table: every row's figure in its own unit, under the definition of its workload."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence

from kernometer.report.chart import curves as curve_plots
from kernometer.report.chart.axis import Axis, Span, axis_of, percent_label, span
from kernometer.report.session import evidence, first
from kernometer.report.session.systems import Subject, figure_of, per, pooled_figure, rows_of, single, workloads_of
from kernometer.report.session.view import AbsoluteRow, AbsoluteView, CurveView, Family, WorkloadView
from kernometer.report.words.curves import spread_of, x_text
from kernometer.report.words.names import name, sentence
from kernometer.results.model import Workload
from kernometer.results.rows import Row
from kernometer.stats.curves import Curve, extremes, gathered, peak, with_points
from kernometer.stats.model import RowFigure
from kernometer.tables import packaged

TITLES = packaged(__package__, "families.toml")
#: The least half width of the axis of single intervals; wider intervals are cut.
REACH = 0.05
UNDEFINED = "not defined in this result's registry"


def family(row: str) -> tuple[str, str]:
    """Key and title of the family that a row belongs to."""
    key = Row(row).family
    return name(key), TITLES.get(key, name(key))


def anchor(row: str) -> str:
    """An HTML id for the row: its allowed characters and a digest of its name."""
    plain = re.sub(r"[^a-z0-9-]+", "-", row.lower())[:60].strip("-")
    return f"row-{plain}-{hashlib.blake2s(row.encode('utf-8', 'replace'), digest_size=4).hexdigest()}"


def view(subjects: Sequence[Subject]) -> AbsoluteView:
    """All rows of all subjects, in the registry's order; rows that are not in the registry come last."""
    definitions = workloads_of(subjects)
    tree: dict[str, dict[str, list[str]]] = {}
    rows = rows_of(subjects)
    for row in rows:
        workload = Row(row).workload
        tree.setdefault(family(workload)[0], {}).setdefault(workload, []).append(row)
    axis = axis_of([_around(subject, row) for subject in subjects for row in rows], REACH, percent_label)
    return AbsoluteView(
        title=first.title(subjects),
        lead=first.lead(subjects),
        trust=first.trust(subjects),
        axis=axis,
        systems=tuple(subject.system for subject in subjects),
        first=tuple(_row(row, subjects, axis) for row in first.FIRST if row in rows),
        families=tuple(
            Family(
                *family(key),
                tuple(_workload(workload, definitions, members, subjects, axis) for workload, members in inner.items()),
            )
            for key, inner in tree.items()
        ),
        flags=evidence.flags(subjects),
        absences=evidence.absences(subjects),
        slower=evidence.slower(subjects),
    )


def _row(row: str, subjects: Sequence[Subject], axis: Axis, parameters: str = "") -> AbsoluteRow:
    figure = _any_figure([row], subjects)
    return AbsoluteRow(
        row=name(row),
        parameters=parameters or name(Row(row).point),
        anchor=anchor(row),
        per=per(figure),
        better=name(figure.better),
        figures=tuple(figure_of(subject, row) for subject in subjects),
        bar=axis.bar(_around(subjects[0], row)) if len(subjects) == 1 else None,
    )


def _any_figure(rows: Sequence[str], subjects: Sequence[Subject]) -> RowFigure:
    """Any figure of these rows: unit, per and direction are the same in all."""
    return next(figure for row in rows for subject in subjects for figure in subject.figures_of(row))


def _around(subject: Subject, row: str) -> Span | None:
    """The interval relative to its figure; None if there is none."""
    figure = pooled_figure(subject.figures_of(row))
    if figure is None or not figure.value or figure.value_low is None or figure.value_high is None:
        return None
    return span(1.0, figure.value_low / figure.value, figure.value_high / figure.value)


def _workload(
    key: str, definitions: Mapping[str, Workload], rows: Sequence[str], subjects: Sequence[Subject], axis: Axis
) -> WorkloadView:
    definition = definitions.get(key)
    pooled = {row: tuple(pooled_figure(subject.figures_of(row)) for subject in subjects) for row in rows}
    lines = tuple(
        _row(line, subjects, axis) if isinstance(line, str) else _curve(line, subjects, axis)
        for line in gathered(pooled, definitions)
    )
    figure = _any_figure(rows, subjects)
    return WorkloadView(
        name=name(key),
        what=sentence(definition.what if definition else UNDEFINED),
        unit=_unit(figure),
        per=per(figure),
        better=name(figure.better),
        inside=sentence(definition.inside if definition else ""),
        subtracts=_subtracts(definition),
        hangs_on=sentence("; ".join(_hangs_on(rows, subjects))),
        source=sentence(definition.source if definition else ""),
        lines=lines,
    )


def _hangs_on(rows: Sequence[str], subjects: Sequence[Subject]) -> list[str]:
    """A name and each system's value: `transparent_hugepage: madvise (A), always (B)`."""
    conditions: dict[str, dict[str, dict[str, None]]] = {}
    for subject in subjects:
        for figure in (figure for row in rows for figure in subject.figures_of(row)):
            for what, value in figure.conditions.items():
                conditions.setdefault(what, {}).setdefault(value, {})[subject.letter] = None
    return [
        f"{what}: "
        + ", ".join(
            f"{value} ({', '.join(letters)})" if len(subjects) > 1 else value for value, letters in values.items()
        )
        for what, values in conditions.items()
    ]


def _curve(curve: Curve[tuple[RowFigure | None, ...]], subjects: Sequence[Subject], axis: Axis) -> CurveView:
    """All systems' figures along the parameter, as a drawing, as rows, and their ends as text."""
    title, parameter = name(curve.name), name(curve.parameter)
    lines = [
        curve_plots.Line(subject.letter, index, tuple(point.item[index] for point in curve.points))
        for index, subject in enumerate(subjects)
    ]
    summary = sentence("; ".join([spread_of(curve), *filter(None, (_ends(curve, line) for line in lines))]))
    rows = {point.row: _row(point.row, subjects, axis, x_text(point.x)) for point in curve.points}
    ends = extremes(with_points(curve, lines[0].figures))
    text = f"{summary}. The table of its points contains every figure."
    return CurveView(
        name=title,
        parameter=parameter,
        span=spread_of(curve),
        summary=summary,
        ends=tuple(rows[figure.row] for figure in ends or ()),
        plot=curve_plots.values(
            parameter, [point.x for point in curve.points], lines, f"{title}, along {parameter}", text
        ),
        rows=tuple(rows.values()),
    )


def _ends(curve: Curve[tuple[RowFigure | None, ...]], line: curve_plots.Line) -> str:
    """`A 1.53 ns at 4096 to 19.5 ns at 8388608`; "" if the system has no value."""
    of_system = with_points(curve, line.figures)
    ends = extremes(of_system)
    if ends is None:
        return ""
    at = {point.row: x_text(point.x) for point in of_system.points}
    low, high = (f"{single(figure).text} at {at[figure.row]}" for figure in ends)
    top = peak(of_system)
    flat = top is not None and top.first != top.last
    told = f" (not told from {x_text(top.first)} to {x_text(top.last)})" if top is not None and flat else ""
    return f"{line.letter} {low} to {high}{told}"


def _unit(figure: RowFigure) -> str:
    """The unit in words: time, instructions, a rate of the operation, or a count."""
    per = name(figure.per)
    words = {
        "ns": f"time per {per}",
        "B/s": "bytes per second",
        "1/s": f"{per}, times per second",
        "count": f"{per}, counted",
    }
    return words.get(figure.unit, f"{name(figure.unit)} per {per}")


def _subtracts(definition: Workload | None) -> str:
    """What is subtracted besides the clock and the empty loop, which are subtracted from every figure."""
    if definition is None or not definition.subtracts:
        return ""
    return f"{'Less' if definition.figure_less_baseline else 'Beside it'}: {sentence(definition.subtracts)}"
