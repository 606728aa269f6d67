"""A named figure as a table for the terminal and as CSV: exactly the points of the drawing."""

from __future__ import annotations

import io
import math
from collections.abc import Iterator

from kernometer.report.literature.draw import digits
from kernometer.report.literature.points import Drawing, Panel, Point
from kernometer.report.words.units import format_half_width
from kernometer.report.write.document import write_csv
from kernometer.report.write.terminal import BLANK, Block, Grid, Line
from kernometer.text import printable

COLUMNS = ("figure", "panel", "series", "x", "y", "y_low", "y_high", "unit")


def as_csv(drawing: Drawing) -> str:
    """One line per point; `y_low` and `y_high` are the interval's ends, empty if there is none."""
    out = io.StringIO()
    lines = (
        (
            *(drawing.figure.name, panel.title or panel.y_title, series.label),
            *(point.x, point.y, point.low, point.high, panel.unit),
        )
        for panel in drawing.panels
        for series in panel.series
        for point in series.points
    )
    write_csv(out, COLUMNS, lines)
    return out.getvalue()


def blocks(drawing: Drawing) -> Iterator[Block]:
    """Each panel as a table: one line per place on the x axis, one column per series."""
    yield Line(printable(f"{drawing.figure.name}: {drawing.figure.title}"), "bold")
    yield Line(printable(f"The original: {drawing.figure.shows}"))
    for panel in drawing.panels:
        yield BLANK
        about = panel.x_title if panel.kind == "bars" else ", ".join(filter(None, (panel.title, panel.y_title)))
        if about:
            yield Line(printable(about))
        yield _summary(panel) if panel.kind == "samples" else _table(panel)
    if any(point.low is not None for panel in drawing.panels for line in panel.series for point in line.points):
        yield Line("±: 95 % interval within this session.", "dim")
    if any(panel.unit == "instructions" for panel in drawing.panels):
        yield Line("Counts without ± are exact.", "dim")
    yield from (Line(printable(remark), "dim") for remark in drawing.remarks)


def _table(panel: Panel) -> Grid:
    heads = panel.x_title.split(", ") if panel.kind == "grid" else [panel.x_title]
    if panel.kind == "bars":
        heads = [""]
    places: dict[float | str, dict[int, Point]] = {}
    for number, series in enumerate(panel.series):
        for point in series.points:
            places.setdefault(point.x, {})[number] = point
        for place in series.blank:
            places.setdefault(place, {})
    order = [*places] if any(isinstance(x, str) for x in places) else sorted(places, key=float)
    rows = []
    for x in order:
        cells = [
            _cell(places[x].get(number)) or series.blank.get(str(x), "") for number, series in enumerate(panel.series)
        ]
        rows.append([printable(cell) for cell in (*_place(panel, x), *cells)])
    return Grid([printable(head) for head in (*heads, *(line.label for line in panel.series))], rows, left=())


def _place(panel: Panel, x: float | str) -> list[str]:
    """The cells before the figures: one, or in a grid one per parameter."""
    if isinstance(x, str):
        return x.split(", ") if panel.kind == "grid" else [x]
    return [f"{x:,g}" if x < 1e6 else f"{x:,.0f}"]


def _cell(point: Point | None) -> str:
    if point is None:
        return ""
    if point.low is None or point.high is None or not point.y:
        return digits(point.y)
    return f"{digits(point.y)} {format_half_width(point.y, point.low, point.high)}"


def _summary(panel: Panel) -> Grid:
    """A table with number and quantiles of the samples, which are too many to list."""
    rows = []
    for line in panel.series:
        values = sorted(point.y for point in line.points)
        if values:
            middle = values[len(values) // 2]
            figures = (values[0], middle, math.fsum(values) / len(values), values[-1])
            rows.append((printable(line.label), str(len(values)), *map(digits, figures)))
    return Grid(("series", "samples", "least", "median", "mean", "largest"), rows, left=())
