"""The forest plot: every row's ratio with its 95 % interval, sorted by effect, on a logarithmic axis.

One Vega-Lite specification, made here, is drawn by vl-convert: as SVG for the page today, and as PNG or PDF from the
same specification. A verdict is carried by the mark's shape and by its side of the line; colour only repeats it.

The page holds two layouts of it (wide: names left of the plot; narrow: names above their whiskers), since text that
is scaled down to a phone's width cannot be read. Rows are drawn in parts of at most `PART` rows that share one axis,
so that a printed page breaks between parts and the axis is never far from the eye.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from kernometer.stats.model import Verdict

Layout = Literal["wide", "narrow"]

#: Rows of one part: with its axis it fits a printed page.
PART = 36
#: Ratios up to this, and down to its inverse, always lie on the axis. Beyond it only as far as CENTRAL of the rows make
#: the axis long themselves, REACH times over: a broken row would else squeeze all others into a line.
ALWAYS = 20.0
CENTRAL, REACH = 0.8, 5.0
#: A whisker goes on beyond the farthest estimate by this factor of its distance from 1 (on the logarithm), and is then
#: cut: one undecided row would squeeze the others as well. What is cut ends in an arrow and has its figures in words.
WHISKER = 1.25
#: Characters of a row's name that are drawn; the table has the whole name.
NAME_LIMIT = 60
#: Names are cut to this share of their room: a reader's sans-serif may be wider than the one that measures them here.
TEXT_ROOM = 0.84

SHAPES: dict[Verdict, str] = {
    Verdict.SLOWER: "triangle-right",
    Verdict.FASTER: "triangle-left",
    Verdict.EQUIVALENT: "square",
    Verdict.UNDECIDED: "circle",
}


@dataclass(frozen=True, slots=True)
class Palette:
    """Colours by use. The page's are CSS variables, so that one SVG serves light and dark."""

    ink: str = "var(--ink)"
    muted: str = "var(--muted)"
    grid: str = "var(--grid)"
    band: str = "var(--band)"
    paper: str = "var(--paper)"
    slower: str = "var(--slower)"
    faster: str = "var(--faster)"
    equivalent: str = "var(--equivalent)"
    undecided: str = "var(--undecided)"

    def of(self, verdict: Verdict) -> str:
        """The colour of a verdict that has a mark."""
        return str(getattr(self, verdict.value))


#: For files that stand alone, on white.
PRINT = Palette(
    ink="#1b1f23",
    muted="#57606a",
    grid="#d8dde2",
    band="#e6ecf1",
    paper="#ffffff",
    slower="#b0420a",
    faster="#1a5fb4",
    equivalent="#3f4a54",
    undecided="#6a737d",
)


@dataclass(frozen=True, slots=True)
class Point:
    """One row to draw. `low` and `high` are the interval's ends, ratios above 0."""

    name: str
    ratio: float
    low: float
    high: float
    verdict: Verdict
    known: bool = True  #: False: there is no interval, and `low` and `high` are the ratio
    exact: bool = False  #: then there need be none


@dataclass(frozen=True, slots=True)
class _Geometry:
    """Widths and heights of a layout, in CSS pixels."""

    left: int
    plot: int
    right: int
    step: int
    font: int
    whisker_dy: int
    ticks: int

    @property
    def width(self) -> int:
        return self.left + self.plot + self.right


_GEOMETRY: dict[Layout, _Geometry] = {
    "wide": _Geometry(left=304, plot=460, right=186, step=19, font=12, whisker_dy=0, ticks=9),
    "narrow": _Geometry(left=12, plot=328, right=12, step=36, font=12, whisker_dy=9, ticks=5),
}
_TOP, _BOTTOM = 44, 10
#: Round ratios, away from 1 on both sides: those an axis may name.
_ABOVE = (1.005, 1.01, 1.02, 1.05, 1.1, 1.2, 1.5, 2.0, 3.0, 5.0, 10.0, 20.0, 50.0, 100.0, 1e3, 1e4, 1e5, 1e6)
_BELOW = (0.995, 0.99, 0.98, 0.95, 0.9, 0.8, 0.7, 0.5, 0.3, 0.2, 0.1, 0.05, 0.02, 0.01, 1e-3, 1e-4, 1e-5, 1e-6)


def ratio_text(ratio: float) -> str:
    """A ratio with the digits that can matter: three decimals near 1, four digits far from it."""
    return f"{ratio:.3f}" if 0.1 <= ratio < 10 else f"{ratio:.4g}"


def sort_by_effect(points: Sequence[Point]) -> list[Point]:
    """Slowest first; rows of equal ratio by name."""
    return sorted(points, key=lambda point: (-point.ratio, point.name))


def domain(points: Sequence[Point], delta: float) -> tuple[float, float]:
    """Ends of the common axis: the ±δ band, the estimates, and the whiskers as far as they may reach."""
    band = 1.5 * math.log1p(delta)
    logs = [math.log(point.ratio) for point in points]
    far = sorted(map(abs, logs))
    limit = max(math.log(ALWAYS), REACH * far[max(0, math.ceil(CENTRAL * len(far)) - 1)])
    reach = WHISKER * max(2 * band, min(limit, far[-1]))
    low = max(-reach, min([-band, *(math.log(point.low) for point in points)]))
    high = min(reach, max([band, *(math.log(point.high) for point in points)]))
    pad = 0.03 * (high - low)
    return math.exp(low - pad), math.exp(high + pad)


def ticks(low: float, high: float, count: int) -> list[float]:
    """At most about `count` round ratios within the axis, 1 among them, evenly spread on the logarithm."""
    least = math.log(high / low) / count
    chosen = [1.0]
    for ladder in (_ABOVE, _BELOW):
        last = 1.0
        for value in ladder:
            if low <= value <= high and abs(math.log(value / last)) >= least:
                last = value
                chosen.append(value)
    return sorted(chosen)


def spec(
    points: Sequence[Point],
    *,
    delta: float,
    axis: tuple[float, float],
    layout: Layout = "wide",
    palette: Palette | None = None,
    names: tuple[str, str] = ("A", "B"),
) -> dict[str, Any]:
    """The Vega-Lite specification of one part: `points` from top to bottom, on the common `axis`."""
    geometry, colours = _GEOMETRY[layout], palette or Palette()
    rows = [_datum(index, point, axis, colours) for index, point in enumerate(points)]
    x_scale = {"type": "log", "domain": list(axis), "nice": False}
    x_axis = {
        "orient": "top",
        "values": ticks(*axis, geometry.ticks),
        "format": ".4~g",
        "title": _axis_title(names, layout),
        "labelFontSize": geometry.font,
        "titleFontSize": geometry.font,
        "titleFontWeight": "normal",
        "domain": False,
        "labelColor": colours.muted,
        "titleColor": colours.muted,
        "gridColor": colours.grid,
        "tickColor": colours.grid,
        "labelOverlap": "greedy",
    }
    y = {
        "field": "order",
        "type": "ordinal",
        "axis": None,
        "scale": {"paddingInner": 0, "paddingOuter": 0, "domain": [row["order"] for row in rows]},
    }
    x = {"field": "ratio", "type": "quantitative", "scale": x_scale, "axis": x_axis}
    return {
        "$schema": "https://vega.github.io/schema/vega-lite/v5.json",
        "autosize": {"type": "none"},
        "padding": {"left": geometry.left, "top": _TOP, "right": geometry.right, "bottom": _BOTTOM},
        "width": geometry.plot,
        "height": geometry.step * len(rows),
        "background": None,
        "config": {"aria": False, "font": "sans-serif", "view": {"stroke": None}},
        "data": {"values": rows},
        "layer": [
            *_ground(axis, delta, colours, x),
            *(_name_strips(geometry, colours, y) if layout == "narrow" else ()),
            *_whiskers(geometry, x, y),
            *_marks(geometry, x, y),
            *_names(geometry, colours, layout, y),
        ],
    }


def svg(specification: dict[str, Any]) -> str:
    """The specification drawn as an SVG element. Loads vl-convert, which takes half a second, on first use."""
    import vl_convert

    return str(vl_convert.vegalite_to_svg(specification, vl_version="5.20", allowed_base_urls=[]))


def size(layout: Layout, rows: int) -> tuple[int, int]:
    """Width and height of a part with that many rows, in CSS pixels."""
    geometry = _GEOMETRY[layout]
    return geometry.width, _TOP + geometry.step * rows + _BOTTOM


def parts(points: Sequence[Point]) -> list[Sequence[Point]]:
    """Sorted points, cut into parts of nearly equal length, none longer than PART."""
    ordered = sort_by_effect(points)
    count = max(1, math.ceil(len(ordered) / PART))
    length = math.ceil(len(ordered) / count)
    return [ordered[start : start + length] for start in range(0, len(ordered), length)]


def _interval(point: Point) -> str:
    if point.known:
        return f"[{ratio_text(point.low)}, {ratio_text(point.high)}]"
    return "exact" if point.exact else "no interval"


def _datum(index: int, point: Point, axis: tuple[float, float], colours: Palette) -> dict[str, Any]:
    name = point.name if len(point.name) <= NAME_LIMIT else point.name[: NAME_LIMIT - 1] + "…"
    return {
        "order": index,
        "name": name,
        "ratio": min(max(point.ratio, axis[0]), axis[1]),
        "low": min(max(point.low, axis[0]), axis[1]),
        "high": max(min(point.high, axis[1]), axis[0]),
        "cut_low": point.low < axis[0],
        "cut_high": point.high > axis[1],
        "figure": ratio_text(point.ratio),
        "figures": f"{ratio_text(point.ratio)}  {_interval(point)}",
        "verdict": point.verdict.value,
        "colour": colours.of(point.verdict),
        "shape": SHAPES[point.verdict],
        "fill": colours.paper if point.verdict is Verdict.UNDECIDED else colours.of(point.verdict),
    }


def _axis_title(names: tuple[str, str], layout: Layout) -> str:
    a, b = names
    if layout == "narrow":
        return f"← {b} faster · {b} ÷ {a} · {b} slower →"
    return f"← {b} faster   ·   cost of {b} ÷ cost of {a}   ·   {b} slower →".replace("   ", "\u2003")


def _ground(axis: tuple[float, float], delta: float, colours: Palette, x: dict[str, Any]) -> list[dict[str, Any]]:
    """The ±δ band and the line at 1, behind everything; not from the rows' data, so they are drawn once."""
    low, high = max(axis[0], 1 / (1 + delta)), min(axis[1], 1 + delta)
    band = {"low": low, "high": high}
    return [
        {
            "data": {"values": [band]},
            "mark": {"type": "rect", "color": colours.band},
            "encoding": {"x": {**x, "field": "low"}, "x2": {"field": "high"}},
        },
        {
            "data": {"values": [{"one": 1}]},
            "mark": {"type": "rule", "color": colours.muted},
            "encoding": {"x": {**x, "field": "one"}},
        },
    ]


def _name_strips(g: _Geometry, colours: Palette, y: dict[str, Any]) -> list[dict[str, Any]]:
    """Paper behind the names that stand inside the plot, so that no grid line strikes them through."""
    mark = {"type": "rect", "color": colours.paper, "height": g.step // 2, "yOffset": -g.step // 4 + 1}
    return [{"mark": mark, "encoding": {"y": y, "x": {"value": 0}, "x2": {"value": g.plot}}}]


def _whiskers(g: _Geometry, x: dict[str, Any], y: dict[str, Any]) -> list[dict[str, Any]]:
    colour = {"field": "colour", "type": "nominal", "scale": None}
    arrows = [
        {
            "transform": [{"filter": f"datum.cut_{end}"}],
            "mark": {"type": "point", "shape": f"triangle-{side}", "filled": True, "size": 28, "yOffset": g.whisker_dy},
            "encoding": {"x": {**x, "field": end}, "y": y, "color": colour},
        }
        for end, side in (("low", "left"), ("high", "right"))
    ]
    rule = {
        "mark": {"type": "rule", "strokeWidth": 1.6, "yOffset": g.whisker_dy, "y2Offset": g.whisker_dy},
        "encoding": {"x": {**x, "field": "low"}, "x2": {"field": "high"}, "y": y, "color": colour},
    }
    return [rule, *arrows]


def _marks(g: _Geometry, x: dict[str, Any], y: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        {
            "mark": {"type": "point", "size": 64, "strokeWidth": 1.6, "opacity": 1, "yOffset": g.whisker_dy},
            "encoding": {
                "x": x,
                "y": y,
                "shape": {"field": "shape", "type": "nominal", "scale": None},
                "fill": {"field": "fill", "type": "nominal", "scale": None},
                "stroke": {"field": "colour", "type": "nominal", "scale": None},
            },
        }
    ]


def _names(g: _Geometry, colours: Palette, layout: Layout, y: dict[str, Any]) -> list[dict[str, Any]]:
    """The row's name and its figures in words, so that no figure must be read off the axis."""

    def text(field: str, at: int, align: str, limit: int, dy: int, colour: str) -> dict[str, Any]:
        mark = {"type": "text", "align": align, "baseline": "middle", "fontSize": g.font, "limit": limit, "dy": dy}
        return {
            "mark": {**mark, "color": colour},
            "encoding": {"x": {"value": at}, "y": y, "text": {"field": field, "type": "nominal"}},
        }

    if layout == "narrow":
        return [
            text("name", 0, "left", round(TEXT_ROOM * (g.plot - 52)), -8, colours.ink),
            text("figure", g.plot, "right", 50, -8, colours.muted),
        ]
    return [
        text("name", 4 - g.left, "left", round(TEXT_ROOM * (g.left - 20)), 0, colours.ink),
        text("figures", g.plot + 16, "left", g.right - 18, 0, colours.muted),
    ]
