"""From results to what a named figure draws: panels of series of points, with their intervals. Pure."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase

from kernometer.errors import UsageError
from kernometer.report.figure import FACTORS, Figure, Group, Kind, YAxis, command
from kernometer.results.model import Publication, Result, Run
from kernometer.stats.curves import LEAST_POINTS, finite, tags
from kernometer.stats.model import RowFigure
from kernometer.stats.published import in_unit

#: Iterations in one sample of a figure that shows each by itself.
SINGLE = 1


@dataclass(frozen=True, slots=True)
class Value:
    """A row's figure in one source, in its unit; ends of the 95 % interval within the session, if it has one."""

    value: float
    unit: str
    low: float | None = None
    high: float | None = None

    @property
    def better_lower(self) -> bool:
        return self.unit in ("ns", "instructions")


@dataclass(frozen=True, slots=True)
class Source:
    """A result or a system of a published table, as a figure sees it."""

    name: str
    values: Mapping[str, Value]
    lacking: Mapping[str, str] = field(default_factory=dict)  #: rows that it tried and has not, with the reason
    runs: Mapping[str, Run] = field(default_factory=dict)  #: the first of each row
    published: bool = False


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
    figure: Figure
    panels: tuple[Panel, ...]
    remarks: tuple[str, ...] = ()


def source_of(name: str, result: Result, figures: Mapping[str, RowFigure]) -> Source:
    """A measured result."""
    first: dict[str, Run] = {}
    for run in result.runs:
        first.setdefault(run.row, run)
    lacking = {one.row: one.reason for one in result.unsupported} | {one.row: one.text for one in result.failures}
    lacking |= {row: "nothing above the clock's resolution" for row, one in figures.items() if one.value is None}
    values = {
        row: Value(one.value, one.unit, *((None, None) if one.exact else (one.value_low, one.value_high)))
        for row, one in figures.items()
        if one.value is not None and one.value > 0
    }
    return Source(name, values, {row: why for row, why in lacking.items() if row not in values}, first)


def source_of_published(name: str, publication: Publication, system: str) -> Source:
    """One system of a published table, its figures under the names of our rows that come closest."""
    values: dict[str, Value] = {}
    for one in publication.figures:
        scale = publication.paper.units.get(one.meant or one.unit)
        if one.system == system and one.ours and scale is not None and one.value:
            values.setdefault(one.ours[0], Value(one.value * scale.factor, scale.unit))
    return Source(name, values, published=True)


def draw(figure: Figure, sources: Sequence[Source]) -> Drawing:
    """The figure of those sources. Raises UsageError where rows are lacking, with the command that measures them."""
    makers = {"curves": _curves, "bars": _bars, "grid": _grid, "samples": _samples}
    lacks = _Lacks(figure, [], {})
    panels = tuple(makers[figure.kind](figure, sources, lacks))
    lacks.raise_if_any()
    if not any(series.points for panel in panels for series in panel.series):
        reasons = "; ".join(f"{row}: {why}" for row, why in lacks.tried.items())
        raise UsageError(f"Nothing of {figure.name} could be measured there: {reasons}.", "Give another result.")
    return Drawing(figure, panels, tuple(f"not drawn: {row}: {why}" for row, why in lacks.tried.items()))


@dataclass(slots=True)
class _Lacks:
    """What a source lacks: rows that were never asked for, and rows that it tried."""

    figure: Figure
    rows: list[tuple[Source, str]]
    tried: dict[str, str]

    def note(self, source: Source, patterns: Sequence[str]) -> None:
        tried = {row: why for row, why in source.lacking.items() if any(matches(row, one) for one in patterns)}
        if tried:
            self.tried |= {f"{row} ({source.name})": why for row, why in tried.items()}
        else:
            self.rows.append((source, patterns[0]))

    def raise_if_any(self) -> None:
        if not self.rows:
            return
        source = self.rows[0][0]
        rows = [row for of, row in self.rows if of is source]
        if source.published:
            raise UsageError(
                f"{source.name} gives no figures for {self.figure.name}: {', '.join(rows)}.",
                f"Measure it: {command(self.figure, rows)}.",
            )
        raise UsageError(
            f"{self.figure.name} needs rows that {source.name} lacks: {', '.join(rows)}.",
            f"Measure them: {command(self.figure, self._all())}.",
        )

    def _all(self) -> list[str]:
        """All rows of the figure: one session that has them together."""
        groups = [row for group in self.figure.group for row in group.rows]
        return [*dict.fromkeys([*groups, *(bar.rows[0] for bar in self.figure.bar)])]


# Curves --------------------------------------------------------------------------------------------------------------


def matches(row: str, pattern: str) -> bool:
    """As the shell's, but that `*` stays within one tag: `bytes=*` does not mean the same row on another disk."""
    parts, wanted = re.split("[@,]", row), re.split("[@,]", pattern)
    return len(parts) == len(wanted) and all(map(fnmatchcase, parts, wanted))


def _curves(figure: Figure, sources: Sequence[Source], lacks: _Lacks) -> Iterator[Panel]:
    found: list[tuple[Group, str, int, dict[float, Value]]] = []
    for group in figure.group:
        for number, source in enumerate(sources):
            lines = {
                label: points
                for label, points in _lines(figure.x.of, group, source).items()
                if len(points) >= LEAST_POINTS
            }
            if not lines:
                lacks.note(source, group.rows)
            found += [(group, _label(label, sources, number), number, points) for label, points in lines.items()]
    counted = any(value.unit == "instructions" for *_, points in found for value in points.values())
    for place, axis in enumerate(figure.y):
        series = tuple(
            Series(label, number, tuple(_point(axis, x, points[x]) for x in sorted(points)))
            for group, label, number, points in found
            if group.axis in (None, place)
        )
        unit = "instructions" if counted else axis.unit
        title = f"{axis.title}, {unit}"
        yield Panel(figure.kind, "", figure.x.title, title, unit, series, figure.x.base, axis.log)


def _label(label: str, sources: Sequence[Source], number: int) -> str:
    return ", ".join(filter(None, (label, sources[number].name if len(sources) > 1 or not label else "")))


def _lines(parameter: str, group: Group, source: Source) -> dict[str, dict[float, Value]]:
    """Label to the points of that line, lines and rows by their numbers: of two rows in one place the larger stays."""
    lines: dict[str, dict[float, Value]] = {}
    for pattern in group.rows:
        for row in sorted(source.values, key=_numbers):
            value, known = source.values[row], tags(row)
            x = finite(known.get(parameter, ""))
            if x is not None and matches(row, pattern):
                lines.setdefault(_filled(group.label, known), {})[x] = value
    return dict(sorted(lines.items(), key=lambda line: [float(part) for part in re.findall(r"\d+", line[0])]))


def _filled(label: str, known: Mapping[str, str]) -> str:
    return re.sub(r"\{(\w+)\}", lambda match: known.get(match[1], ""), label)


def _point(axis: YAxis, x: float, value: Value) -> Point:
    """The row on that axis. A time for so many bytes turns the interval round."""

    def scaled(of: float | None) -> float | None:
        if of is None:
            return None
        if value.unit == "instructions":
            return of * (x if axis.times_x else 1)
        if axis.whole:
            of = axis.whole / of * 1e9
        return of * (x if axis.times_x else 1) / FACTORS[axis.unit]

    return _ordered(x, scaled(value.value), scaled(value.low), scaled(value.high))


def _ordered(x: float | str, y: float | None, low: float | None, high: float | None) -> Point:
    if low is None or high is None or not (0 < low < math.inf and 0 < high < math.inf):
        return Point(x, y or 0.0)
    return Point(x, y or 0.0, min(low, high), max(low, high))


# Bars ----------------------------------------------------------------------------------------------------------------


def _bars(figure: Figure, sources: Sequence[Source], lacks: _Lacks) -> Iterator[Panel]:
    """Each source's speed where the first source's is 100."""
    if len(sources) < 2:
        raise UsageError(
            f"{figure.name} needs two results or more: the first is 100, the others are held against it.",
            f"For example: kernometer figure {figure.name} label:before label:after.",
        )
    points: list[list[Point]] = [[] for _ in sources]
    for bar in figure.bar:
        values = [next((source.values[row] for row in bar.rows if row in source.values), None) for source in sources]
        for source, value in zip(sources, values, strict=True):
            if value is None:
                lacks.note(source, bar.rows)
        reference = values[0]
        for number, value in enumerate(values):
            if reference is not None and value is not None:
                points[number] += _bar(bar.label, reference, value, itself=number == 0)
    series = tuple(Series(source.name, number, tuple(points[number])) for number, source in enumerate(sources))
    yield Panel(figure.kind, "", f"speed, {sources[0].name} = 100 (more is better)", "", "first = 100", series)


def _bar(label: str, reference: Value, value: Value, *, itself: bool) -> Iterable[Point]:
    """Nothing where the two do not measure the same kind of thing.

    The interval is that of a ratio of two figures whose errors are independent, on the logarithm.
    """
    of = in_unit(reference.value, reference.unit, value.unit)
    if of is None:
        return
    y = 100 * (of / value.value if value.better_lower else value.value / of)
    half = math.hypot(_half_width(reference), _half_width(value))
    known = not itself and value.low is not None and reference.low is not None
    yield Point(label, y, y * math.exp(-half), y * math.exp(half)) if known else Point(label, y)


def _half_width(value: Value) -> float:
    """Of the interval on the logarithm."""
    if value.low is None or value.high is None or value.low <= 0:
        return 0.0
    return math.log(value.high / value.low) / 2


# Grids and samples ---------------------------------------------------------------------------------------------------


def _grid(figure: Figure, sources: Sequence[Source], lacks: _Lacks) -> Iterator[Panel]:
    """Every row's figure under its parameters; a column for each source (and group, where it has more than one)."""
    [axis] = figure.y
    series = []
    for number, source in enumerate(sources):
        for group in figure.group:
            rows = [row for row in source.values if any(matches(row, one) for one in group.rows)]
            points = tuple(_point_at(axis, _key(row), source.values[row]) for row in sorted(rows, key=_numbers))
            if not points and not source.published:
                lacks.note(source, group.rows)
            if points:
                label = f"{source.name} ({group.label})" if group.label and not source.published else source.name
                series.append(Series(label, number, points))
        if source.published and not any(one.source == number for one in series):
            lacks.note(source, figure.group[0].rows)
    counted = any(value.unit == "instructions" for source in sources for value in source.values.values())
    unit = "instructions" if counted else axis.unit
    yield Panel(figure.kind, "", ", ".join(figure.heads), f"{axis.title}", unit, tuple(series))


def _numbers(row: str) -> tuple[float, ...]:
    return tuple(value for text in tags(row).values() if (value := finite(text)) is not None)


def _key(row: str) -> str:
    return ", ".join(f"{value:g}" for value in _numbers(row))


def _point_at(axis: YAxis, key: str, value: Value) -> Point:
    at = _point(axis, 1.0, value)
    return Point(key, at.y, at.low, at.high)


def _samples(figure: Figure, sources: Sequence[Source], lacks: _Lacks) -> Iterator[Panel]:
    """The samples of the first run of each row in the order taken, where each is one iteration."""
    for group in figure.group:
        series = []
        for number, source in enumerate(sources):
            run = next((source.runs[row] for row in group.rows if row in source.runs), None)
            if run is None or run.batch != SINGLE:
                lacks.note(source, group.rows)
                continue
            points = tuple(Point(place, sample / run.ops) for place, sample in enumerate(run.samples, 1) if sample > 0)
            mean = sum(point.y for point in points) / max(1, len(points))
            series.append(Series(f"{source.name}: mean of {len(points)}: {mean:.4g}", number, points))
        for axis in figure.y:
            title = f"{axis.title}, {axis.unit}"
            yield Panel(figure.kind, group.label, figure.x.title, title, axis.unit, tuple(series), 0, axis.log)
