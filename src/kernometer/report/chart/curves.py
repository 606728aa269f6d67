"""The drawing of a curve: values of all systems along the parameter, or the ratio of two, with intervals as bands.

Written as SVG by hand, like the small charts: a full session has dozens of curves, and for one of 18 points of two
systems vl-convert takes 75 ms and writes 43 KB (measured, beside other work); this takes 0.7 ms and writes 4 KB.

Ratios, and values that span more than a decade, have a logarithmic axis. Other values have a linear one from 0, so that
a flat curve looks flat. Systems differ by dash and by mark as well as by colour; verdicts have the marks of the forest
plot. A point without a value is a gap in the line.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from markupsafe import escape

from kernometer.report.chart.axis import DECADE, Axis, Plot, plot
from kernometer.report.words.curves import x_text
from kernometer.report.words.units import format_value, ratio_text
from kernometer.stats.curves import Curve, has_place
from kernometer.stats.model import RowComparison, RowFigure, Verdict

WIDTH, _HEIGHT = 440, 230
LEFT, _RIGHT, TOP, _BOTTOM = 62, 14, 10, 42
EDGE, _BASE = WIDTH - _RIGHT, _HEIGHT - _BOTTOM
#: The least distance of two labels of the x axis, from middle to middle, in pixels.
APART = 48
#: Intervals are drawn up to this factor beyond twice the farthest ratio's distance, and cut at the edge.
_SPARE = 1.06

#: One mark per system, drawn around the current point, in pixels. As many systems have different colours.
MARKS = (
    "m-3 0a3 3 0 1 0 6 0a3 3 0 1 0-6 0z",
    "m-2.7-2.7h5.4v5.4h-5.4z",
    "m0-3.6l3.4 6h-6.8z",
    "m0-3.8l3.8 3.8l-3.8 3.8l-3.8-3.8z",
    "m0 3.6l3.4-6h-6.8z",
)


@dataclass(frozen=True, slots=True)
class Line:
    """One system: a figure for each point of the curve, or None."""

    letter: str
    index: int  #: of the system on the page: its class
    figures: tuple[RowFigure | None, ...]


def values(parameter: str, xs: Sequence[float], lines: Sequence[Line], title: str, text: str) -> Plot | None:
    """Every system's values with their intervals. None if no point has a value."""
    known = [figure for line in lines for figure in line.figures if figure is not None and has_place(figure.value)]
    if not known:
        return None
    unit = known[0].unit
    x, y = _x_axis(xs), _value_axis(known)
    body = [*_x_ticks(x, xs, parameter), *y_ticks(y, lambda value: plain(format_value(value, unit)))]
    spans = [
        [
            None if figure is None else _span(x(at), y, figure.value, figure.value_low, figure.value_high)
            for at, figure in zip(xs, line.figures, strict=True)
        ]
        for line in lines
    ]
    for line, span in zip(lines, spans, strict=True):
        body.append(f'<path class="v v{line.index % len(MARKS)}" d="{band(span)}"/>')
    for line, span in zip(lines, spans, strict=True):
        kind = line.index % len(MARKS)
        body.append(f'<path class="s s{kind}" d="{joined(span)}"/>')
        body.append(f'<path class="k k{kind}" d="{_marks(span, MARKS[kind])}"/>')
    return plot("".join(body), (WIDTH, _HEIGHT), title, text)


def ratios(curve: Curve[RowComparison], delta: float, letter: str, title: str, text: str) -> Plot | None:
    """The ratio along the parameter with its interval, the ±δ corridor, and each point's verdict as its mark. `letter`
    names the system that is slower if the ratio is above 1. None if no point has a ratio."""
    points = [point for point in curve.points if has_place(point.item.ratio)]
    if not points:
        return None
    xs = [point.x for point in curve.points]
    x, y = _x_axis(xs), _ratio_axis([point.item for point in points], delta)
    top, bottom = y(1 + delta), y(1 / (1 + delta))
    spans = [_span(x(point.x), y, point.item.ratio, point.item.low, point.item.high) for point in curve.points]
    body = [
        f'<path class="corridor" d="M{LEFT} {top:.1f}H{EDGE}V{bottom:.1f}H{LEFT}Z"/>',
        *_x_ticks(x, xs, curve.parameter),
        *y_ticks(y, ratio_text),
        f'<path class="one" d="M{LEFT} {y(1):.1f}H{EDGE}"/>',
        f'<path class="v" d="{band(spans)}"/>',
        f'<path class="s" d="{joined(spans)}"/>',
        f'<text x="{LEFT}" y="{_HEIGHT - 6}">↑ {escape(letter)} slower</text>',
        *(verdict_mark(x(point.x), y(point.item.ratio or 1), point.item.verdict) for point in points),
    ]
    return plot("".join(body), (WIDTH, _HEIGHT), title, text)


Span = tuple[float, float, float, float] | None  #: x, y of the value, y of both ends of the interval


def _span(at: float, y: Axis, value: float | None, low: float | None, high: float | None) -> Span:
    """None without a value; an end that is not known is the value."""
    if not has_place(value):
        return None
    return at, y(value), y(value if low is None else low), y(value if high is None else high)


def _stretches(spans: Sequence[Span]) -> Iterator[list[tuple[float, float, float, float]]]:
    """The stretches of points between gaps."""
    stretch: list[tuple[float, float, float, float]] = []
    for span in (*spans, None):
        if span is not None:
            stretch.append(span)
        elif stretch:
            yield stretch
            stretch = []


def band(spans: Sequence[Span]) -> str:
    """A path along the upper ends and back along the lower ones; a single point has an upright line."""
    paths = []
    for stretch in _stretches(spans):
        upper = [f"{x:.1f} {high:.1f}" for x, _y, _low, high in stretch]
        lower = [f"{x:.1f} {low:.1f}" for x, _y, low, _high in reversed(stretch)]
        paths.append(f"M{'L'.join((*upper, *lower))}Z")
    return "".join(paths)


def joined(spans: Sequence[Span]) -> str:
    return "".join("M" + "L".join(f"{x:.1f} {y:.1f}" for x, y, _low, _high in stretch) for stretch in _stretches(spans))


def _marks(spans: Sequence[Span], shape: str) -> str:
    return "".join(f"M{span[0]:.1f} {span[1]:.1f}{shape}" for span in spans if span is not None)


def verdict_mark(x: float, y: float, verdict: Verdict) -> str:
    """The page's own symbol, 10 pixels wide."""
    name = verdict.value
    return f'<use class="mark {name}" href="#m-{name}" x="{x - 5:.1f}" y="{y - 5:.1f}" width="10" height="10"/>'


def _x_axis(xs: Sequence[float]) -> Axis:
    low, high = min(xs), max(xs)
    return Axis(low, high, LEFT + 8, EDGE - 12, log=low > 0 and high / low > DECADE)


def _value_axis(figures: Sequence[RowFigure]) -> Axis:
    """Covers every value and its interval; an interval is cut at a hundredth of the least value."""
    centre = [figure.value for figure in figures if figure.value is not None]
    low = max(min([*centre, *filter(has_place, (figure.value_low for figure in figures))]), min(centre) / 100)
    high = min(max([*centre, *filter(has_place, (figure.value_high for figure in figures))]), max(centre) * 100)
    if max(centre) / min(centre) > DECADE:
        return Axis(low / _SPARE, high * _SPARE, _BASE, TOP, log=True)
    return Axis(0.0, high * _SPARE, _BASE, TOP, log=False)


def _ratio_axis(rows: Sequence[RowComparison], delta: float) -> Axis:
    """Logarithmic: covers the ratios and the corridor, and intervals up to twice that distance from 1."""
    centre = [row.ratio or 1.0 for row in rows]
    low, high = min(*centre, 1 / (1 + delta), 1.0), max(*centre, 1 + delta, 1.0)
    reach = high / low
    lows = [row.low for row in rows if row.low is not None and row.low > 0]
    highs = [row.high for row in rows if row.high is not None and row.high < math.inf]
    low, high = max(min([low, *lows]), low / reach), min(max([high, *highs]), high * reach)
    spare = (high / low) ** 0.05
    return Axis(low / spare, high * spare, _BASE, TOP, log=True)


def _x_ticks(axis: Axis, xs: Sequence[float], parameter: str) -> Iterator[str]:
    """Labels at the first point, the last, and those between them that have room."""
    yield f'<path class="g" d="M{LEFT} {_BASE}H{EDGE}"/>'
    last, shown = axis(xs[-1]), -math.inf
    for value in xs:
        at = axis(value)
        if at != last and (at - shown < APART or last - at < APART) and value != xs[0]:
            continue
        shown = at
        yield f'<path class="g" d="M{at:.0f} {TOP}V{_BASE + 4}"/>'
        yield f'<text x="{at:.0f}" y="{_BASE + 17}" text-anchor="middle">{escape(_prefixed(value))}</text>'
    middle = (LEFT + EDGE) / 2
    yield f'<text class="b" x="{middle:.0f}" y="{_HEIGHT - 6}" text-anchor="middle">{escape(parameter)}</text>'


def _prefixed(x: float) -> str:
    """Whole numbers of 1,024 with a binary prefix: 64 Ki, 8 Mi."""
    if x < 1024 or x % 1024:
        return x_text(x)
    power = next(power for power in (3, 2, 1) if x % 1024**power == 0)
    return f"{x_text(x / 1024**power)} {('Ki', 'Mi', 'Gi')[power - 1]}"


def y_ticks(axis: Axis, label: Callable[[float], str]) -> Iterator[str]:
    for value in axis.round_values:
        at = axis(value)
        yield f'<path class="g" d="M{LEFT} {at:.1f}H{EDGE}"/>'
        yield f'<text x="{LEFT - 6}" y="{at + 4:.1f}" text-anchor="end">{escape(label(value))}</text>'


def plain(text: str) -> str:
    """`1.00 µs` as `1 µs`: a tick is exact."""
    number, _, unit = text.partition(" ")
    return f"{number.rstrip('0').rstrip('.') if '.' in number else number} {unit}"
