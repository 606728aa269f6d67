"""A named figure as SVG, PNG or PDF: one Vega-Lite specification, drawn by vl-convert.

Series differ in colour and in the shape of their marks, results in the dashes of their lines: nothing depends on
colour alone. Bands and whiskers are 95 % intervals within the session.
"""

from __future__ import annotations

import math
from itertools import chain
from textwrap import wrap
from typing import Any

from kernometer.errors import LibraryError
from kernometer.report.literature.points import Drawing, Panel
from kernometer.tables import packaged

WIDTH, HEIGHT, BAR, LINE = 560, 340, 17, 22
#: Colours of a drawing on white; look.toml has those of axes, legends and titles.
PAPER, INK, MUTED = "#ffffff", "#1b1f23", "#57606a"
#: Colours that can be told apart with the usual kinds of colour blindness, on white.
COLOURS = ("#1a5fb4", "#b0420a", "#2f7d4f", "#8f4fa8", "#8a6d00", "#3f4a54", "#c2387a", "#0f8a8a", "#6a737d", "#5b3a1e")
SHAPES = ("circle", "square", "triangle-up", "diamond", "triangle-down", "cross", "triangle-right", "triangle-left")
DASHES = ([1, 0], [6, 3], [2, 2], [8, 3, 2, 3], [10, 4])
#: Intervals are drawn up to this factor beyond the lowest and the highest figure of a plot.
REACH = 1.5
#: The scale of a PNG: its pixels per CSS pixel.
SHARP = 2.0
FORMATS = ("svg", "png", "pdf")
#: Characters of a title's line and of a legend's entry.
TITLE, LEGEND = 112, 60


def picture(drawing: Drawing, form: str) -> bytes:
    """The file's content, `form` one of FORMATS. Loads vl-convert on first use, which takes half a second. Raises
    LibraryError without it."""
    try:
        import vl_convert
    except ImportError as error:
        raise LibraryError("A picture of a figure", "vl-convert-python", "figures") from error
    given: dict[str, Any] = {"vl_version": "5.20", "allowed_base_urls": []}
    made = spec(drawing)
    if form == "svg":
        return str(vl_convert.vegalite_to_svg(made, **given)).encode()
    if form == "png":
        return bytes(vl_convert.vegalite_to_png(made, scale=SHARP, **given))
    return bytes(vl_convert.vegalite_to_pdf(made, **given))


def spec(drawing: Drawing) -> dict[str, Any]:
    """The Vega-Lite specification: the title, what the original shows, and the panels, one below the other."""
    makers = {"curves": _curves, "samples": _curves, "bars": _bars, "grid": _grid}
    return {
        "$schema": "https://vega.github.io/schema/vega-lite/v5.json",
        "background": PAPER,
        "padding": 16,
        "config": {**_look()["config"], "view": {"stroke": None}},
        "title": {
            "text": f"{drawing.figure.title} ({drawing.figure.name})",
            "subtitle": _lines([f"The original: {drawing.figure.shows}", *drawing.remarks]),
            "anchor": "start",
            "offset": 14,
        },
        "vconcat": [makers[panel.kind](panel) for panel in drawing.panels],
        "resolve": {"scale": {"color": "independent", "shape": "independent", "strokeDash": "independent"}},
    }


def _look() -> dict[str, Any]:
    """Vega's configuration, and how numbers on an axis are written."""
    return packaged(__package__, "look.toml")


def _lines(sentences: list[str]) -> list[str]:
    """The sentences in lines: Vega does not break lines."""
    broken = (wrap(sentence, TITLE, break_long_words=False, break_on_hyphens=False) for sentence in sentences)
    return [*chain.from_iterable(broken)]


def _short(label: str) -> str:
    return label if len(label) <= LEGEND else label[: LEGEND - 1] + "…"


def _coded(panel: Panel) -> dict[str, Any]:
    """Colour and shape by series, dashes by result; one legend for all."""
    labels = [_short(line.label) for line in panel.series]
    order = {"domain": labels}
    count = len(labels)
    dashes = [list(DASHES[series.source % len(DASHES)]) for series in panel.series]
    column = {"field": "series", "type": "nominal", "title": None, "sort": None}
    legend = {"orient": "bottom", "columns": 3 if count > 3 else count, "direction": "horizontal"}
    return {
        "color": {**column, "legend": legend, "scale": {**order, "range": _cycle(COLOURS, count)}},
        "shape": {**column, "legend": legend, "scale": {**order, "range": _cycle(SHAPES, count)}},
        "strokeDash": {**column, "legend": legend, "scale": {**order, "range": dashes}},
    }


def _cycle(values: tuple[str, ...], count: int) -> list[str]:
    return [values[index % len(values)] for index in range(count)]


def _data(panel: Panel) -> list[dict[str, Any]]:
    """Every point, its interval cut at `REACH` times beyond the figures: otherwise the interval of two wild runs would
    press all figures of a plot into one line. The CSV has the whole interval."""
    ys = [point.y for line in panel.series for point in line.points if point.y is not None]
    least, most = (min(ys) / REACH, max(ys) * REACH) if ys else (0.0, 0.0)
    return [
        {
            "series": _short(series.label),
            "source": series.source,
            "x": point.x,
            "y": point.y,
            "low": None if point.low is None else max(point.low, min(least, point.y)),
            "high": None if point.high is None else min(point.high, max(most, point.y)),
        }
        for series in panel.series
        for point in series.points
    ]


def _scale(log: int | bool, values: list[float]) -> dict[str, Any]:
    """Logarithmic only if all values are above 0."""
    if log and values and min(values) > 0:
        return {"type": "log", "base": 2 if log == 2 else 10, "nice": False} | ({"padding": 8} if log == 2 else {})
    return {"type": "linear", "zero": True}


def _one_two_five(low: float, high: float) -> list[float]:
    """1, 2 and 5 times the powers of ten: Vega's own labels on a logarithmic axis leave out the tens."""
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    return [value for power in powers for step in (1, 2, 5) if low <= (value := step * 10.0**power) <= high]


def _curves(panel: Panel) -> dict[str, Any]:
    code = _coded(panel)
    numbers = [float(point.x) for series in panel.series for point in series.points]
    ys = [value for series in panel.series for p in series.points for value in (p.y, p.low) if value is not None]
    x_axis: dict[str, Any] = {
        "title": panel.x_title,
        "grid": False,
        "labelExpr": _look()["digits"],
        "labelOverlap": "greedy",
    }
    if panel.x_base == 2:
        x_axis["labelExpr"] = _look()["bytes"]
    if panel.kind == "curves":  # ticks at figures only: there is no half process
        x_axis["values"] = sorted(set(numbers))
    x = {"field": "x", "type": "quantitative", "scale": _scale(panel.x_base, numbers), "axis": x_axis}
    y_axis = {"title": panel.y_title, "labelExpr": _look()["digits"], "tickCount": 6}
    if _scale(panel.y_log, ys)["type"] == "log":
        y_axis["values"] = _one_two_five(min(ys) / REACH, max(ys) * REACH)
    y = {"field": "y", "type": "quantitative", "scale": _scale(panel.y_log, ys), "axis": y_axis}
    band = {
        "transform": [{"filter": "isValid(datum.low) && isValid(datum.high)"}],
        "mark": {"type": "area", "opacity": 0.18},
        "encoding": {"x": x, "y": {**y, "field": "low"}, "y2": {"field": "high"}, "color": code["color"]},
    }
    line = {"mark": {"type": "line", "strokeWidth": 1.6}, "encoding": {"x": x, "y": y} | _without(code, "shape")}
    size = 26 if panel.kind == "curves" else 6
    points = {
        "mark": {"type": "point", "filled": True, "size": size, "opacity": 1},
        "encoding": {"x": x, "y": y} | _without(code, "strokeDash"),
    }
    layers = [band, line, points] if panel.kind == "curves" else [points]
    return {
        "width": WIDTH,
        "height": HEIGHT if panel.kind == "curves" else HEIGHT // 2,
        "title": {"text": panel.title, "fontSize": 12, "anchor": "start"} if panel.title else "",
        "data": {"values": _data(panel)},
        "layer": layers,
    }


def _without(code: dict[str, Any], channel: str) -> dict[str, Any]:
    return {name: value for name, value in code.items() if name != channel}


def _bars(panel: Panel) -> dict[str, Any]:
    """Horizontal bars, two or more per name, each with its figure in digits: the shortest cannot be read off."""
    data = [{**point, "figure": f"{point['y']:.3g}"} for point in _data(panel)]
    names = list(dict.fromkeys(bar["x"] for bar in data))
    ends = {"x": {"field": "low", "type": "quantitative"}, "x2": {"field": "high"}}
    y_axis = {"axis": {"labelLimit": 240, "grid": False}, "scale": {"paddingInner": 0.25}}
    y: dict[str, Any] = {"field": "x", "type": "nominal", "sort": names, "title": None, **y_axis}
    series = [_short(line.label) for line in panel.series]
    offset = {"field": "series", "type": "nominal", "sort": series, "scale": {"domain": series}}
    x = {"field": "y", "type": "quantitative", "title": panel.x_title}
    colour = _coded(panel)["color"]
    return {
        "width": WIDTH,
        "height": {"step": BAR, "for": "offset"} if len(series) > 1 else {"step": 2 * BAR},
        "data": {"values": data},
        "layer": [
            {"mark": {"type": "bar"}, "encoding": {"x": x, "y": y, "yOffset": offset, "color": colour}},
            {
                "transform": [{"filter": "isValid(datum.low)"}],
                "mark": {"type": "rule", "color": INK, "strokeWidth": 1.2},
                "encoding": {**ends, "y": y, "yOffset": offset},
            },
            {
                "transform": [{"calculate": "isValid(datum.high) ? max(datum.high, datum.y) : datum.y", "as": "end"}],
                "mark": {"type": "text", "align": "left", "dx": 4, "fontSize": 10, "color": MUTED},
                "encoding": {
                    "x": {"field": "end", "type": "quantitative"},
                    "y": y,
                    "yOffset": offset,
                    "text": {"field": "figure", "type": "nominal"},
                },
            },
        ],
    }


def _grid(panel: Panel) -> dict[str, Any]:
    """A grid as text, in lines and columns like a program's output."""
    heads = [*panel.x_title.split(", "), *(_short(f"{series.label}, {panel.unit}") for series in panel.series)]
    places: dict[str, dict[int, str]] = {}
    for place, series in enumerate(panel.series):
        for point in series.points:
            places.setdefault(str(point.x), {})[place] = digits(point.y)
        for x, word in series.blank.items():
            places.setdefault(x, {})[place] = word
    lines = [heads]
    count = len(panel.series)
    lines += [[*key.split(", "), *(texts.get(i, "") for i in range(count))] for key, texts in places.items()]
    cells = [
        {"row": row, "column": column, "text": text, "weight": "bold" if row == 0 else "normal"}
        for row, line in enumerate(lines)
        for column, text in enumerate(line)
    ]
    wide = max(110, 7 * max(map(len, heads)))
    where: dict[str, Any] = {
        "x": {"field": "column", "type": "ordinal", "axis": None},
        "y": {"field": "row", "type": "ordinal", "axis": None},
        "text": {"field": "text", "type": "nominal"},
    }
    mark: dict[str, Any] = {"type": "text", "align": "right", "dx": wide // 2 - 6, "fontSize": 12, "color": INK}
    layers: list[dict[str, Any]] = [
        {
            "transform": [{"filter": f"datum.weight === '{weight}'"}],
            "mark": {**mark, "fontWeight": weight},
            "encoding": where,
        }
        for weight in ("bold", "normal")
    ]
    size: dict[str, Any] = {"width": wide * len(heads), "height": LINE * len(lines)}
    return {**size, "data": {"values": cells}, "layer": layers}


def digits(value: float) -> str:
    """Four digits, without an exponent for numbers of usual size."""
    return f"{value:.4g}" if 1e-4 <= abs(value) < 1e4 else f"{value:,.0f}" if abs(value) >= 1e4 else f"{value:.3g}"
