"""From results to the panels, series, points and intervals of a named figure. Pure."""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import product

from kernometer.errors import UsageError
from kernometer.report.literature.definition import FACTORS, RATES, Group, Kind, PaperFigure, YAxis, command
from kernometer.results.model import By, Publication, Result, Run
from kernometer.results.rows import Row
from kernometer.stats.curves import LEAST_POINTS, finite
from kernometer.stats.model import RowFigure
from kernometer.stats.printed import in_unit
from kernometer.tables import grouped

#: Iterations in one sample, for a figure that shows each iteration.
SINGLE = 1
#: A grid's text for a figure below the clock's resolution.
BELOW = "below resolution"


@dataclass(frozen=True, slots=True)
class Value:
    """A row's figure in one source, in its unit, with the 95 % interval within the session, if there is one."""

    value: float
    unit: str
    low: float | None = None
    high: float | None = None
    moved: float = 0  #: bytes that one operation moves


@dataclass(frozen=True, slots=True)
class Source:
    """A result, or a system of a published table, for a figure."""

    name: str
    values: Mapping[str, Value]
    lacking: Mapping[str, str] = field(default_factory=dict)  #: rows without a figure that were tried, with the reason
    runs: Mapping[str, Run] = field(default_factory=dict)  #: the first of each row
    published: bool = False
    by: By = "time"
    target: str = "local"  #: where it was measured


@dataclass(frozen=True, slots=True)
class Point:
    x: float | str
    y: float
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, slots=True)
class Series:
    label: str
    source: int  #: number of the result
    points: tuple[Point, ...]
    blank: Mapping[str, str] = field(default_factory=dict)  #: for a grid: place to its text


@dataclass(frozen=True, slots=True)
class Panel:
    kind: Kind
    title: str
    x_title: str
    y_title: str
    unit: str
    series: tuple[Series, ...]
    x_base: int = 0
    y_log: bool = False


@dataclass(frozen=True, slots=True)
class Drawing:
    figure: PaperFigure
    panels: tuple[Panel, ...]
    remarks: tuple[str, ...] = ()


def source_of(name: str, result: Result, figures: Mapping[str, RowFigure]) -> Source:
    """A measured result."""
    first: dict[str, Run] = {}
    for run in result.runs:
        first.setdefault(run.row, run)
    lacking = {lack.row: lack.reason for lack in result.unsupported} | {
        failure.row: failure.text for failure in result.failures
    }
    lacking |= {row: f"{BELOW}: nothing above the clock's" for row, figure in figures.items() if figure.value is None}
    values = {
        row: Value(
            figure.value,
            figure.unit,
            *((None, None) if figure.exact else (figure.value_low, figure.value_high)),
            first[row].bytes,
        )
        for row, figure in figures.items()
        if figure.value is not None and figure.value > 0
    }
    lacking = {row: why for row, why in lacking.items() if row not in values}
    return Source(name, values, lacking, first, by=result.session.by, target=result.session.target)


def source_of_published(name: str, publication: Publication, system: str) -> Source:
    """One system of a published table, its figures under the names of our closest rows."""
    values: dict[str, Value] = {}
    lacking: dict[str, str] = {}
    for figure in publication.figures:
        scale = publication.paper.units.get(figure.meant or figure.unit)
        if figure.system == system and figure.ours and scale is not None:
            if figure.value:
                values.setdefault(figure.ours[0], Value(figure.value * scale.factor, scale.unit))
            else:
                lacking[figure.ours[0]] = f"{BELOW}: printed as {figure.printed}"
    return Source(name, values, {row: why for row, why in lacking.items() if row not in values}, published=True)


def draw(figure: PaperFigure, sources: Sequence[Source]) -> Drawing:
    """The figure of those sources. Raises UsageError, with the command that measures them, if rows are missing."""
    makers = {"curves": _curves, "bars": _bars, "grid": _grid, "samples": _samples}
    if len({source.by for source in sources}) > 1:
        raise UsageError("Some of these results are times, others counts of instructions.", "Draw two figures.")
    sources = [_with_a_meaning(figure, source) for source in sources]
    lacks = _Lacks(figure)
    panels = tuple(makers[figure.kind](figure, sources, lacks))
    lacks.raise_if_any()
    if not any(series.points for panel in panels for series in panel.series):
        reasons = "; ".join(f"{row}: {why}" for row, why in lacks.tried.items())
        raise UsageError(f"No row of {figure.name} could be measured there: {reasons}.", "Give another result.")
    tried = (f"not drawn: {row}: {why}" for row, why in lacks.tried.items())
    return Drawing(figure, panels, (*lacks.remarks, *tried))


def _with_a_meaning(figure: PaperFigure, source: Source) -> Source:
    """The source without counts of rows that have a meaning by time alone."""
    without = [part for part in figure.parts if source.by == "path" and not part.by_path]
    kept = {row: value for row, value in source.values.items() if not any(part.has(row) for part in without)}
    return replace(source, values=kept)


@dataclass(slots=True)
class _Lacks:
    """What the sources lack: rows that were not asked for, rows that failed, and rows that replace others."""

    figure: PaperFigure
    rows: list[tuple[Source, Group]] = field(default_factory=list)
    tried: dict[str, str] = field(default_factory=dict)
    remarks: list[str] = field(default_factory=list)

    def note(self, source: Source, part: Group) -> None:
        tried = {row: why for row, why in source.lacking.items() if part.has(row)}
        if source.by == "path" and not part.by_path:
            self.tried[f"{part.rows[0]} ({source.name})"] = "it can be measured by time only"
        elif tried:
            self.tried |= {f"{row} ({source.name})": why for row, why in tried.items()}
        else:
            self.rows.append((source, part))

    def chosen(self, part: Group, sources: Sequence[Source], has: Callable[[Source, str], object]) -> list[str | None]:
        """The row of a part to draw for each source: the first row that all have, else the first that it has."""
        common = next((row for row in part.rows if all(has(source, row) for source in sources)), None)
        rows = [common or next((row for row in part.rows if has(source, row)), None) for source in sources]
        drawn = list(zip(rows, sources, strict=True))
        for source in (source for row, source in drawn if row is None):
            self.note(source, part)
        other = grouped((row, source.name) for row, source in drawn if row not in (None, part.rows[0]))
        self.remarks += [
            f"{part.label}: {row} ({', '.join(names)}), not {part.rows[0]}" for row, names in other.items()
        ]
        return rows

    def raise_if_any(self) -> None:
        if not self.rows:
            return
        source = self.rows[0][0]
        parts = [part for lacking, part in self.rows if lacking is source]
        rows = [part.rows[0] for part in parts]
        wanted = parts if source.published else self.figure.parts  # one session with all rows
        measure = command(self.figure, wanted, source.by, source.target)
        if source.published:
            raise UsageError(
                f"{source.name} has no figures for {self.figure.name}: {', '.join(rows)}.", f"Measure it: {measure}."
            )
        batches = [f"{row} in batches of {source.runs[row].batch}" for row in rows if row in source.runs]
        if self.figure.kind == "samples" and len(batches) == len(rows):
            said = f"{self.figure.name} shows single iterations; {source.name} has {', '.join(batches)}."
        else:
            said = f"{self.figure.name} needs rows that {source.name} lacks: {', '.join(rows)}."
        raise UsageError(said, f"Measure them: {measure}.")


# Curves --------------------------------------------------------------------------------------------------------------


def _curves(figure: PaperFigure, sources: Sequence[Source], lacks: _Lacks) -> Iterator[Panel]:
    curves: list[tuple[Group, str, int, dict[float, Value]]] = []
    for group in figure.group:
        lines_of = partial(_lines, figure.x.parameter, group.label)
        rows = lacks.chosen(group, sources, lines_of)
        for number, (source, row) in enumerate(zip(sources, rows, strict=True)):
            lines = lines_of(source, row) if row else {}
            curves += [(group, _label(label, sources, number), number, points) for label, points in lines.items()]
    for place, axis in enumerate(figure.y):
        series = tuple(
            Series(label, number, tuple(_point(axis, x, points[x]) for x in sorted(points)))
            for group, label, number, points in curves
            if group.axis in (None, place)
        )
        unit, title = _scale(axis, sources)
        if series or place == 0:
            yield Panel(figure.kind, "", figure.x.title, title, unit, series, figure.x.base, axis.log)


def _scale(axis: YAxis, sources: Sequence[Source]) -> tuple[str, str]:
    """The axis's unit and title: a session by path has counts, and no rates."""
    if sources[0].by == "time":
        return axis.unit, f"{axis.title}, {axis.unit}"
    return "instructions", f"{'one operation' if axis.unit in RATES else axis.title}, instructions"


def _label(label: str, sources: Sequence[Source], number: int) -> str:
    return ", ".join(filter(None, (label, sources[number].name if len(sources) > 1 or not label else "")))


def _lines(parameter: str, label: str, source: Source, pattern: str) -> dict[str, dict[float, Value]]:
    """Label to the points of that line, in numerical order. If two rows have the same place, the larger value stays."""
    lines: dict[str, dict[float, Value]] = {}
    for row in sorted(source.values, key=_numbers):
        value, known = source.values[row], Row(row).parameters
        x = finite(known.get(parameter, ""))
        if x is not None and Row(row).values(pattern) is not None:
            named = label.format_map(defaultdict(str, known))
            lines.setdefault(named, {})[x] = value
    ordered = sorted(lines.items(), key=lambda line: [float(part) for part in re.findall(r"\d+", line[0])])
    return {name: points for name, points in ordered if len(points) >= LEAST_POINTS}


def _point(axis: YAxis, x: float, value: Value) -> Point:
    """The row on that axis. For a time from a bandwidth the interval's ends are swapped."""

    def scaled(number: float | None) -> float | None:
        if number is None:
            return None
        if value.unit == "instructions":
            return number * (x if axis.times_x else axis.of_bytes / value.moved if axis.of_bytes and value.moved else 1)
        if axis.of_bytes:
            number = axis.of_bytes / number * 1e9
        return number * (x if axis.times_x else 1) / FACTORS[axis.unit]

    return _ordered(x, scaled(value.value), scaled(value.low), scaled(value.high))


def _ordered(x: float | str, y: float | None, low: float | None, high: float | None) -> Point:
    if low is None or high is None or not (0 < low < math.inf and 0 < high < math.inf):
        return Point(x, y or 0.0)
    return Point(x, y or 0.0, min(low, high), max(low, high))


# Bars ----------------------------------------------------------------------------------------------------------------


def _bars(figure: PaperFigure, sources: Sequence[Source], lacks: _Lacks) -> Iterator[Panel]:
    """Each source's speed if the first source's is 100; by path, operations per instruction."""
    if len(sources) < 2:
        raise UsageError(
            f"{figure.name} needs two results or more: the first is 100, the others are relative to it.",
            f"For example: kernometer figure {figure.name} label:before label:after.",
        )
    points: list[list[Point]] = [[] for _ in sources]
    for bar in figure.bar:
        rows = lacks.chosen(bar, sources, lambda source, row: row in source.values)
        values = [source.values.get(row or "") for source, row in zip(sources, rows, strict=True)]
        reference = values[0]
        for number, value in enumerate(values):
            if reference is not None and value is not None:
                points[number] += _bar(bar.label, reference, value, itself=number == 0)
    series = tuple(Series(source.name, number, tuple(points[number])) for number, source in enumerate(sources))
    what = "speed" if sources[0].by == "time" else "operations per instruction"
    yield Panel(figure.kind, "", f"{what}, {sources[0].name} = 100 (more is better)", "", "first = 100", series)


def _bar(label: str, reference: Value, value: Value, *, itself: bool) -> Iterable[Point]:
    """Empty if the two measure different kinds of things. The interval is that of a ratio of two figures with
    independent errors, on the logarithm."""
    base = in_unit(reference.value, reference.unit, value.unit)
    if base is None:
        return
    y = 100 * (base / value.value if value.unit in ("ns", "instructions") else value.value / base)
    half = math.hypot(_half_width(reference), _half_width(value))
    known = not itself and value.low is not None and reference.low is not None
    yield Point(label, y, y * math.exp(-half), y * math.exp(half)) if known else Point(label, y)


def _half_width(value: Value) -> float:
    """Half the width of the interval on the logarithm."""
    if value.low is None or value.high is None or value.low <= 0:
        return 0.0
    return math.log(value.high / value.low) / 2


# Grids and samples ---------------------------------------------------------------------------------------------------


def _grid(figure: PaperFigure, sources: Sequence[Source], lacks: _Lacks) -> Iterator[Panel]:
    """Every row's figure under its parameters; a column for each source, or for each group of it."""
    [axis] = figure.y
    series = []
    for number, source in enumerate(sources):
        for group in figure.group:
            rows = [row for row in source.values if group.has(row)]
            points = tuple(
                replace(_point(axis, 1.0, source.values[row]), x=_key(row)) for row in sorted(rows, key=_numbers)
            )
            if points:
                label = f"{source.name} ({group.label})" if group.label and not source.published else source.name
                series.append(Series(label, number, points, _blank(figure, group, source, lacks)))
            elif not source.published:
                lacks.note(source, group)
        if source.published and not any(line.source == number for line in series):
            lacks.note(source, figure.group[0])
    unit, _title = _scale(axis, sources)
    title = axis.title if sources[0].by == "time" else unit
    yield Panel(figure.kind, "", ", ".join(figure.heads), title, unit, tuple(series))


def _blank(figure: PaperFigure, group: Group, source: Source, lacks: _Lacks) -> dict[str, str]:
    """The text at each place without a figure whose row was tried. Notes all rows without a figure in `lacks`."""
    tried = {row: why for row, why in source.lacking.items() if group.has(row)}
    lacks.tried |= {f"{row} ({source.name})": why for row, why in tried.items()}
    there = {_key(row) for row in (*source.values, *tried) if group.has(row)}
    places = [", ".join(f"{value:g}" for value in place) for place in product(*figure.places)]
    absent = [f"({place})" for place in places if place not in there]
    if absent and not source.published:
        why = "; by path the full profile contains only rows that are short enough" if source.by == "path" else ""
        rows = f"{len(absent)} of {len(places)} rows {group.rows[0]}"
        lacks.remarks.append(f"{source.name} lacks {rows}: {' '.join(absent)}{why}")
    return {_key(row): BELOW if why.startswith(BELOW) else "none" for row, why in tried.items()}


def _numbers(row: str) -> tuple[float, ...]:
    return tuple(value for text in Row(row).parameters.values() if (value := finite(text)) is not None)


def _key(row: str) -> str:
    return ", ".join(f"{value:g}" for value in _numbers(row))


def _samples(figure: PaperFigure, sources: Sequence[Source], lacks: _Lacks) -> Iterator[Panel]:
    """The samples of the first run of each row, in order; each sample is one iteration."""
    for group in figure.group:
        series = []
        for number, source in enumerate(sources):
            run = next((source.runs[row] for row in group.rows if row in source.runs), None)
            if run is None or run.batch != SINGLE:
                lacks.note(source, group)
                continue
            points = tuple(Point(place, sample / run.ops) for place, sample in enumerate(run.samples, 1) if sample > 0)
            mean = sum(point.y for point in points) / max(1, len(points))
            series.append(Series(f"{source.name}: mean of {len(points)}: {mean:.4g}", number, points))
        for axis in figure.y:
            unit, title = _scale(axis, sources)
            yield Panel(figure.kind, group.label, figure.x.title, title, unit, tuple(series), 0, axis.log)
