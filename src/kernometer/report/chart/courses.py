"""The drawing of a row over commits or dates: a line for each target, and a numbered mark where its figure changed.

Targets whose figures are far apart have a panel each, one above the other: on one axis a change of a per cent would
vanish. No panel begins at 0, and each spans at least LEAST of its figures, so that noise does not look like a change.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import median

from markupsafe import escape

from kernometer.report.chart.axis import Axis, Plot, plot
from kernometer.report.chart.curves import EDGE, LEFT, TOP, WIDTH, Span, band, joined, plain, verdict_mark, y_ticks
from kernometer.report.words.units import format_value
from kernometer.stats.model import RowFigure, Verdict

#: Lines whose middle figures are within this factor share a panel.
NEAR = 1.3
#: The least span of a panel, relative to its figures; and the room above and below them.
LEAST, ROOM = 0.01, 0.12
#: Pixels of a panel and of the foot, and the least distance of two labels there.
PANEL, GAP, FOOT, APART = 150, 14, 24, 76


@dataclass(frozen=True, slots=True)
class Line:
    """One target: its figures in order, and the number of each change by the index of the first figure after it."""

    index: int  #: of the target on the page: its class
    points: tuple[tuple[float, RowFigure], ...]
    marks: dict[int, tuple[int, Verdict]]

    @property
    def values(self) -> list[float]:
        return [figure.value for _x, figure in self.points if figure.value is not None]


def courses(lines: Sequence[Line], ticks: Sequence[tuple[float, str]], title: str, text: str) -> Plot | None:
    """The drawing; `ticks`: places from the first to the last, with their labels. None without a figure."""
    x = Axis(ticks[0][0], ticks[-1][0], LEFT + 8, EDGE - 12, log=False)
    panels: list[list[Line]] = []
    for line in sorted((line for line in lines if line.values), key=lambda line: -median(line.values)):
        if panels and median(panels[-1][0].values) <= NEAR * median(line.values):
            panels[-1].append(line)
        else:
            panels.append([line])
    body = [part for number, panel in enumerate(panels) for part in _panel(panel, x, TOP + number * (PANEL + GAP))]
    foot = TOP + len(panels) * (PANEL + GAP) - GAP
    return plot("".join([*body, *_labels(x, ticks, foot)]), (WIDTH, foot + FOOT), title, text) if panels else None


def _panel(lines: Sequence[Line], x: Axis, top: int) -> Iterator[str]:
    values = [value for line in lines for value in line.values]
    low, high, unit = min(values), max(values), lines[0].points[0][1].unit
    room = max(ROOM * (high - low), (LEAST * high - (high - low)) / 2)
    y = Axis(low - room, high + room, top + PANEL, top, log=False)
    half = (y.high - y.low) / 200
    yield from y_ticks(y, lambda value: plain(format_value(value, unit, half)).removesuffix(" instr"))
    for line in lines:
        spans = [span for place, figure in line.points if (span := _span(x(place), y, figure)) is not None]
        around = zip(spans, spans[1:], spans[2:], strict=False)  # a point between equal ones is on their line
        spans = [*spans[:1], *(b for a, b, c in around if not a[1:] == b[1:] == c[1:]), *spans[1:][-1:]]
        if any(low_end != high_end for _x, _y, low_end, high_end in spans):
            yield f'<path class="v v{line.index}" d="{band(spans)}"/>'
        yield f'<path class="s s{line.index}" d="{joined(spans)}"/>'
        for at_point, (number, verdict) in line.marks.items():
            at, figure = line.points[at_point]
            across, up = x(at), y(figure.value or low)
            yield verdict_mark(across, up, verdict)
            yield f'<text class="b" x="{across:.1f}" y="{up - 8:.1f}" text-anchor="middle">{number}</text>'


def _span(at: float, y: Axis, figure: RowFigure) -> Span:
    if figure.value is None:
        return None
    low, high = (figure.value if end is None else end for end in (figure.value_low, figure.value_high))
    return at, y(figure.value), y(low), y(high)


def _labels(x: Axis, ticks: Sequence[tuple[float, str]], foot: int) -> Iterator[str]:
    """Labels at the first place and the last, both within the drawing, and at those between them that have room."""
    first, last = x(ticks[0][0]), x(ticks[-1][0])
    shown = first + APART / 3
    for number, (place, label) in enumerate(ticks):
        at = x(place)
        if number and number < len(ticks) - 1 and (at - shown < APART or last - at < APART * 4 / 3):
            continue
        shown = max(at, shown)
        anchor = "start" if number == 0 else "end" if at == last else "middle"
        yield f'<path class="g" d="M{at:.0f} {TOP}V{foot + 4}"/>'
        yield f'<text x="{at:.0f}" y="{foot + 17}" text-anchor="{anchor}">{escape(label)}</text>'
