"""The small charts of each row: its distribution, and its samples in the order in which they were taken.

Written as SVG by hand instead of by Vega-Lite: a session has about 90 rows and two charts each, and vl-convert takes
20 ms and writes 17 KB for one of them (measured with 10 runs of 50 points), 4 s and 3 MB a page. These take under
1 ms and a few KB: whole coordinates, relative path commands, colours by class.

Points are left out *for drawing only*: an ECDF keeps `ECDF_STEPS` of its quantiles with both ends; the raw order keeps
the smallest and the largest sample of each of `ORDER_BUCKETS` stretches of a run, so that no spike is lost.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from markupsafe import escape

from kernometer.report.chart.axis import Axis, Plot, plot

ECDF_STEPS = 40
ORDER_BUCKETS = 24
#: Runs of one system that are drawn; from more runs, this many are chosen evenly.
RUNS_DRAWN = 12

_WIDTH, _HEIGHT = 440, 190
_LEFT, _RIGHT, _TOP, _BOTTOM = 42, 10, 12, 26
_GUTTER = 66  #: left margin of the raw order, which holds figures
_RIGHT_EDGE, _BASE = _WIDTH - _RIGHT, _HEIGHT - _BOTTOM
#: Coordinates are in tenths of a pixel inside the scaled group, so that they are short and still exact enough.
_FINE = 10


@dataclass(frozen=True, slots=True)
class Series:
    """All runs of one system, in the order made: values above 0, per operation."""

    letter: str
    index: int  #: of the system on the page: its class
    runs: tuple[tuple[float, ...], ...]


def drawn(runs: Sequence[tuple[float, ...]]) -> list[tuple[float, ...]]:
    """The runs to draw: all, or RUNS_DRAWN of them, evenly chosen, with the first and the last."""
    if len(runs) <= RUNS_DRAWN:
        return list(runs)
    return [runs[round(i * (len(runs) - 1) / (RUNS_DRAWN - 1))] for i in range(RUNS_DRAWN)]


def quantile(ordered: Sequence[float], share: float) -> float:
    """The smallest value that at least `share` of the ordered values do not exceed (inverse of the ECDF)."""
    return ordered[min(len(ordered) - 1, max(0, math.ceil(share * len(ordered)) - 1))]


def ecdf(series: Sequence[Series], title: str, text: str, label: Callable[[float], str]) -> Plot | None:
    """Share of samples at or below a value on a logarithmic axis, one step line per run. None without samples."""
    low, high = _span(series)
    if high == 0:
        return None
    axis = Axis(low, high, _LEFT, _RIGHT_EDGE)
    body = [_value_ticks(axis, label)]
    for share in (0.0, 0.5, 1.0):
        y = _BASE - share * (_BASE - _TOP)
        body.append(f'<path class="g" d="M{_LEFT} {y:.0f}H{_RIGHT_EDGE}"/>')
        body.append(f'<text x="{_LEFT - 5}" y="{y + 4:.0f}" text-anchor="end">{share * 100:.0f}%</text>')
    for line in series:
        path = "".join(_steps(sorted(run), axis) for run in drawn(line.runs) if run)
        body.append(f'<path class="s s{line.index}" transform="scale(.1)" d="{path}"/>')
    return plot("".join(body), (_WIDTH, _HEIGHT), title, text)


def order(series: Sequence[Series], title: str, text: str, label: Callable[[float], str]) -> Plot | None:
    """Samples from left to right in order, run after run, one strip per system. None without samples."""
    low, high = _span(series)
    if high == 0:
        return None
    strip = (_BASE - _TOP) / len(series)
    body = []
    for row, line in enumerate(series):
        top, base = _TOP + row * strip + 3, _TOP + (row + 1) * strip - 3
        axis = Axis(low, high, base, top)
        body.append(_strip_ground(line.letter, top, base, axis, label))
        runs = drawn(line.runs)
        pitch = (_RIGHT_EDGE - _GUTTER) / len(runs)
        for number, run in enumerate(runs):
            left, right = _GUTTER + number * pitch, _GUTTER + (number + 1) * pitch
            if number % 2:
                shape = f"M{left:.0f} {top:.0f}H{right:.0f}V{base:.0f}H{left:.0f}Z"
                body.append(f'<path class="alt" d="{shape}"/>')
            dots = _dots(run, left + 2, right - 2, axis)
            body.append(f'<path class="d s{line.index}" transform="scale(.1)" d="{dots}"/>')
    body.append(f'<text x="{_GUTTER}" y="{_HEIGHT - 8}">first run</text>')
    body.append(f'<text x="{_RIGHT_EDGE}" y="{_HEIGHT - 8}" text-anchor="end">last run</text>')
    return plot("".join(body), (_WIDTH, _HEIGHT), title, text)


def _span(series: Sequence[Series]) -> tuple[float, float]:
    """Smallest and largest value with a little room, at least 2 % apart; (0, 0) without values."""
    values = [value for line in series for run in line.runs for value in run]
    if not values:
        return 0.0, 0.0
    low, high = min(values), max(values)
    room = max(1.01, (high / low) ** 0.03)
    return low / room, high * room


def _steps(ordered: Sequence[float], axis: Axis) -> str:
    """The ECDF of one run as a path from the base to the top, in tenths of a pixel."""
    count = len(ordered)
    steps = min(count, ECDF_STEPS)
    height = _FINE * (_BASE - _TOP)
    x = round(_FINE * axis(ordered[0]))
    path, done = [f"M{x} {_FINE * _BASE}"], 0
    for step in range(1, steps + 1):
        at = round(_FINE * axis(quantile(ordered, (step - 1) / max(1, steps - 1)))) if steps > 1 else x
        rise = round(height * step / steps)
        if at > x:
            path.append(f"h{at - x}")
        path.append(f"v{done - rise}")
        x, done = max(x, at), rise
    return "".join(path)


def _dots(run: Sequence[float], left: float, right: float, axis: Axis) -> str:
    """One run's samples as zero-length strokes, which round caps turn into dots."""
    pitch = (right - left) / max(1, len(run) - 1)
    path = []
    for index in _kept(run):
        path.append(f"M{round(_FINE * (left + index * pitch))} {round(_FINE * axis(run[index]))}h0")
    return "".join(path)


def _kept(run: Sequence[float]) -> Iterator[int]:
    """Indices of the smallest and the largest value of each bucket; of all values if there are few."""
    if len(run) <= 2 * ORDER_BUCKETS:
        yield from range(len(run))
        return
    for bucket in range(ORDER_BUCKETS):
        inside = range(bucket * len(run) // ORDER_BUCKETS, (bucket + 1) * len(run) // ORDER_BUCKETS)
        yield from sorted({min(inside, key=run.__getitem__), max(inside, key=run.__getitem__)})


def _value_ticks(axis: Axis, label: Callable[[float], str]) -> str:
    """The ends of the axis and its middle, labelled with unit."""
    parts = []
    for share, anchor in ((0.0, "start"), (0.5, "middle"), (1.0, "end")):
        x = axis.start + share * (axis.end - axis.start)
        value = axis.low * (axis.high / axis.low) ** share
        parts.append(f'<path class="g" d="M{x:.0f} {_TOP}V{_BASE}"/>')
        parts.append(f'<text x="{x:.0f}" y="{_HEIGHT - 8}" text-anchor="{anchor}">{escape(label(value))}</text>')
    return "".join(parts)


def _strip_ground(letter: str, top: float, base: float, axis: Axis, label: Callable[[float], str]) -> str:
    """The system's letter between the ends of the axis, in the margin."""
    right = _GUTTER - 6
    return (
        f'<path class="g" d="M{_GUTTER} {top:.0f}H{_RIGHT_EDGE}M{_GUTTER} {base:.0f}H{_RIGHT_EDGE}"/>'
        f'<text x="{right}" y="{top + 9:.0f}" text-anchor="end">{escape(label(axis.high))}</text>'
        f'<text class="b" x="{right}" y="{(top + base) / 2 + 4:.0f}" text-anchor="end">{escape(letter)}</text>'
        f'<text x="{right}" y="{base:.0f}" text-anchor="end">{escape(label(axis.low))}</text>'
    )
