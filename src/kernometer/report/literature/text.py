"""A named figure as a table for the terminal and as CSV: exactly the points of the drawing."""

from __future__ import annotations

import csv
import io
import math
from typing import TYPE_CHECKING

from rich.table import Table
from rich.text import Text

from kernometer.report.literature.draw import digits
from kernometer.report.literature.points import Drawing, Panel, Point
from kernometer.report.store.export import guarded
from kernometer.report.words.units import format_half_width
from kernometer.text import printable

if TYPE_CHECKING:
    from rich.console import Console

COLUMNS = ("figure", "panel", "series", "x", "y", "y_low", "y_high", "unit")


def as_csv(drawing: Drawing) -> str:
    """One line per point; `y_low` and `y_high` are the interval's ends, empty if there is none."""
    out = io.StringIO()
    table = csv.writer(out, lineterminator="\n")
    table.writerow(COLUMNS)
    for panel in drawing.panels:
        for series in panel.series:
            for point in series.points:
                about = (drawing.figure.name, panel.title or panel.y_title, series.label, point.x)
                line = (*about, point.y, point.low, point.high, panel.unit)
                table.writerow([guarded(cell) for cell in line])
    return out.getvalue()


def print_drawing(console: Console, drawing: Drawing) -> None:
    """Each panel as a table: one line per place on the x axis, one column per series."""
    console.print(Text(printable(f"{drawing.figure.name}: {drawing.figure.title}"), "bold"))
    console.print(Text(printable(f"The original: {drawing.figure.shows}")))
    for panel in drawing.panels:
        console.print()
        about = panel.x_title if panel.kind == "bars" else ", ".join(filter(None, (panel.title, panel.y_title)))
        if about:
            console.print(Text(printable(about)))
        console.print(_summary(panel) if panel.kind == "samples" else _table(panel))
    if any(point.low is not None for panel in drawing.panels for one in panel.series for point in one.points):
        console.print(Text("±: 95 % interval within this session.", "dim"))
    if any(panel.unit == "instructions" for panel in drawing.panels):
        console.print(Text("Counts without ± are exact.", "dim"))
    for remark in drawing.remarks:
        console.print(Text(printable(remark), "dim"))


def _table(panel: Panel) -> Table:
    heads = panel.x_title.split(", ") if panel.kind == "grid" else [panel.x_title]
    if panel.kind == "bars":
        heads = [""]
    table = _bare(*(printable(head) for head in heads), *(printable(one.label) for one in panel.series))
    places: dict[float | str, dict[int, Point]] = {}
    for number, one in enumerate(panel.series):
        for point in one.points:
            places.setdefault(point.x, {})[number] = point
        for place in one.blank:
            places.setdefault(place, {})
    order = [*places] if any(isinstance(x, str) for x in places) else sorted(places, key=float)
    for x in order:
        shown = _place(panel, x)
        cells = [_cell(places[x].get(number)) or one.blank.get(str(x), "") for number, one in enumerate(panel.series)]
        table.add_row(*(Text(printable(cell)) for cell in (*shown, *cells)))
    return table


def _place(panel: Panel, x: float | str) -> list[str]:
    """The cells before the figures: one, or in a grid one per parameter."""
    if isinstance(x, str):
        return x.split(", ") if panel.kind == "grid" else [x]
    return [f"{x:,g}" if x < 1e6 else f"{x:,.0f}"]


def _bare(*heads: str) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="bold")
    for head in heads:
        table.add_column(Text(head), justify="right", overflow="fold")
    return table


def _cell(point: Point | None) -> str:
    if point is None:
        return ""
    if point.low is None or point.high is None or not point.y:
        return digits(point.y)
    return f"{digits(point.y)} {format_half_width(point.y, point.low, point.high)}"


def _summary(panel: Panel) -> Table:
    """A table with number and quantiles of the samples, which are too many to list."""
    table = _bare("series", "samples", "least", "median", "mean", "largest")
    for one in panel.series:
        values = sorted(point.y for point in one.points)
        if values:
            middle = values[len(values) // 2]
            figures = (values[0], middle, math.fsum(values) / len(values), values[-1])
            table.add_row(Text(printable(one.label)), str(len(values)), *map(digits, figures))
    return table
