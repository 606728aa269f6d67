"""The axis and the frame of every drawing, and intervals in a table's cells, whose places are per cent of the cell.

The page draws intervals with CSS, so that one table works on screen, phone and paper, and no name must be cut.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from markupsafe import escape

from kernometer.report.words.units import ratio_text

#: Ratios up to this, and down to its inverse, always lie on the axis. Beyond it the axis reaches REACH times as far as
#: CENTRAL of the rows do: otherwise one broken row would squeeze all others into a line.
ALWAYS = 20.0
CENTRAL, REACH = 0.8, 5.0
#: An interval is drawn beyond the farthest estimate by this factor of its distance from 1 (on the logarithm) and then
#: cut: one undecided row would squeeze the others as well. A cut interval ends in an arrow; the table has its figures.
WHISKER = 1.25
#: About how many labels an axis has.
TICKS = 5
#: Values that span more than this have a logarithmic axis.
DECADE = 10.0
#: Round ratios above 1 for labels, each with its counterpart below 1.
_ROUND = (
    *((1.001, 0.999), (1.002, 0.998), (1.005, 0.995), (1.01, 0.99), (1.02, 0.98), (1.05, 0.95), (1.1, 0.9), (1.2, 0.8)),
    *((1.5, 0.7), (2.0, 0.5), (3.0, 0.3), (5.0, 0.2), (10.0, 0.1), (20.0, 0.05), (50.0, 0.02), (100.0, 0.01)),
    *((1e3, 1e-3), (1e4, 1e-4), (1e5, 1e-5), (1e6, 1e-6)),
)


@dataclass(frozen=True, slots=True)
class Span:
    """A ratio with its interval; without one `low` and `high` are the ratio. All above 0."""

    ratio: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Bar:
    """A span on an axis, cut at the ends of the axis."""

    at: float
    low: float
    width: float
    cut_low: bool
    cut_high: bool


@dataclass(frozen=True, slots=True)
class Axis:
    """From `low` at `start` to `high` at `end`, in pixels or per cent; a value beyond lies on the edge. For the
    intervals of a table: ratios with 1 between, and the band of ±delta."""

    low: float
    high: float
    start: float = 0.0
    end: float = 100.0
    log: bool = True
    delta: float = 0.0
    label: Callable[[float], str] = ratio_text
    _scale: float = field(init=False, repr=False)  #: computed once, as a page asks for half a million places

    def __post_init__(self) -> None:
        span = math.log(self.high / self.low) if self.log else self.high - self.low
        object.__setattr__(self, "_scale", (self.end - self.start) / span if span else 0.0)

    def __call__(self, value: float) -> float:
        if not self._scale:
            return (self.start + self.end) / 2
        value = min(max(value, self.low), self.high)
        return self.start + self._scale * (math.log(value / self.low) if self.log else value - self.low)

    def place(self, ratio: float) -> float:
        """The place of a ratio for a style, with two digits."""
        return round(self(ratio), 2)

    def bar(self, span: Span | None) -> Bar | None:
        """None for a row that has no ratio."""
        if span is None:
            return None
        low, high = self.place(span.low), self.place(span.high)
        return Bar(self.place(span.ratio), low, round(high - low, 2), span.low < self.low, span.high > self.high)

    @property
    def band(self) -> tuple[float, float]:
        """Start and width of ±delta."""
        low, high = self.place(1 / (1 + self.delta)), self.place(1 + self.delta)
        return low, round(high - low, 2)

    @property
    def ticks(self) -> tuple[tuple[float, str], ...]:
        """Round ratios, 1 among them, evenly spread on the logarithm: place and label."""
        least = math.log(self.high / self.low) / TICKS
        chosen = [1.0]
        for ladder in zip(*_ROUND, strict=True):
            last = 1.0
            for value in ladder:
                if self.low <= value <= self.high and abs(math.log(value / last)) >= least:
                    last = value
                    chosen.append(value)
        return tuple((self.place(value), self.label(value)) for value in sorted(chosen))

    @property
    def round_values(self) -> list[float]:
        """At most TICKS round values from the least to the largest, at least two if the axis has them."""
        if self.log and self.high / self.low > DECADE:
            return self._decades()
        for steps in range(TICKS, 1, -1):
            step = _round_step((self.high - self.low) / steps)
            first, last = math.ceil(self.low / step), math.floor(self.high / step)
            if last - first + 1 <= TICKS:
                return [index * step for index in range(first, last + 1)]
        return [self.low, self.high]

    def _decades(self) -> list[float]:
        """1, 2 and 5 of each power of ten if there is room, else 1 alone, else every nth power."""
        powers = range(math.floor(math.log10(self.low)), math.ceil(math.log10(self.high)) + 1)
        for digits in ((1, 2, 5), (1, 3), (1,)):
            values = [value for power in powers for digit in digits if self.low <= (value := digit * 10.0**power)]
            values = [value for value in values if value <= self.high]
            if len(values) <= TICKS:
                return values
        return values[:: math.ceil(len(values) / TICKS)]


def _round_step(least: float) -> float:
    """The least of 1, 2, 5 times a power of ten that is not below `least`."""
    power = 10.0 ** math.floor(math.log10(least))
    return next(digit * power for digit in (1, 2, 5, 10) if digit * power >= least * (1 - 1e-9))


def span(ratio: float | None, low: float | None, high: float | None) -> Span | None:
    """None if a logarithmic axis has no place for the ratio; an end without a place becomes the ratio itself."""
    if ratio is None or not 0 < ratio < math.inf:
        return None
    ends = [end if end is not None and 0 < end < math.inf else ratio for end in (low, high)]
    return Span(ratio, min(ends[0], ratio), max(ends[1], ratio))


def axis_of(spans: Iterable[Span | None], delta: float, label: Callable[[float], str] = ratio_text) -> Axis:
    """The axis for these spans: it covers the ±delta band, the ratios, and part of the intervals."""
    known = [span for span in spans if span is not None]
    band = 1.5 * math.log1p(delta)
    far = sorted(abs(math.log(span.ratio)) for span in known) or [0.0]
    limit = max(math.log(ALWAYS), REACH * far[max(0, math.ceil(CENTRAL * len(far)) - 1)])
    reach = WHISKER * max(2 * band, min(limit, far[-1]))
    low = max(-reach, min([-band, *(math.log(span.low) for span in known)]))
    high = min(reach, max([band, *(math.log(span.high) for span in known)]))
    pad = 0.03 * (high - low)
    return Axis(math.exp(low - pad), math.exp(high + pad), delta=delta, label=label)


def percent_label(ratio: float) -> str:
    """`+10 %` for 1.1, for intervals around a figure."""
    return f"{(ratio - 1) * 100:+.3g} %" if ratio != 1 else "0"


@dataclass(frozen=True, slots=True)
class Plot:
    """A static chart. `svg` is our own markup, safe to put into the page."""

    svg: str
    width: int


def plot(body: str, size: tuple[int, int], title: str, text: str) -> Plot:
    """`body` in a drawing of this width and height."""
    width, height = size
    return Plot(
        f'<svg class="small" role="img" viewBox="0 0 {width} {height}" aria-label="{escape(title)}">'
        f"<title>{escape(title)}</title><desc>{escape(text)}</desc>{body}</svg>",
        width,
    )
