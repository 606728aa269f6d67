"""Figures as text: 146 ns, 12.3 µs, 1.53 GB/s, 2.31 M/s, 12,493 instr. Pure.

The number of digits shows how well a figure is known: the last digit is the first one that its interval touches, with 2
to 5 digits in all, or 3 without an interval. Digits before the point are never rounded away.
"""

from __future__ import annotations

import math

from kernometer.stats.model import RowComparison, RowFigure

#: (power of ten, unit), largest first; prefixes are decimal, for bytes too.
_SCALES: dict[str, tuple[tuple[int, str], ...]] = {
    "ns": ((9, "s"), (6, "ms"), (3, "µs"), (0, "ns")),
    "B/s": ((12, "TB/s"), (9, "GB/s"), (6, "MB/s"), (3, "kB/s"), (0, "B/s")),
    "1/s": ((9, "G/s"), (6, "M/s"), (3, "k/s"), (0, "/s")),
    "instructions": ((0, "instr"),),
    "cycles": ((0, "cycles"),),
    "count": ((0, ""),),
}
_FEWEST, _USUAL, _MOST = 2, 3, 5
NOTHING = "–"
#: A number, and what it is.
Part = tuple[str, str]
#: Levels of a row that are shown; of more the first ones and the last.
MOST_LEVELS = 4
#: Half widths beyond ten times the figure are not shown: then nothing is known.
_WILDEST = 10.0


def format_value(value: float | None, unit: str, half_width: float | None = None) -> str:
    """`value` in `unit`, with a prefix and as many digits as `half_width` allows.

    `unit`: "ns", "B/s", "1/s", "instructions" or "count", which has neither prefix nor name.
    `half_width` is half of the interval's width, in the same unit. None and infinite values become a dash.
    """
    if value is None or not math.isfinite(value):
        return NOTHING
    place = _last_place(value, unit, half_width)
    exponent, word = _scale(value, unit, place)
    return f"{_number(value, exponent, place)} {word}".rstrip()


def format_interval(low: float | None, high: float | None, unit: str) -> str:
    """Both ends with one unit and the same decimals, one digit more than the figure itself: `145.21 – 147.10 ns`."""
    if low is None or high is None or not (math.isfinite(low) and math.isfinite(high)):
        return NOTHING
    largest = max(abs(low), abs(high))
    place = _last_place(largest, unit, abs(high - low) / 20)
    exponent, word = _scale(largest, unit, place)
    return f"{_number(low, exponent, place)} – {_number(high, exponent, place)} {word}".rstrip()


def format_half_width(value: float | None, low: float | None, high: float | None) -> str:
    """The further end of an interval, relative to its value: `±0.8 %`."""
    if value is None or low is None or high is None or not value:
        return NOTHING
    share = max(abs(high - value), abs(value - low)) / abs(value)
    return "±" + format_percent(share) if share <= _WILDEST else f"±>{format_percent(_WILDEST)}"


def format_percent(share: float) -> str:
    """0.0081 as `0.81 %`: two digits, never an exponent."""
    percent = share * 100
    if not math.isfinite(percent):
        return NOTHING
    if percent == 0:
        return "0 %"
    if abs(percent) < 0.01:
        return "<0.01 %" if percent > 0 else ">-0.01 %"
    return f"{_number(percent, 0, _magnitude(percent) - 1)} %"


def format_factor(share: float) -> str:
    """`format_percent` below a hundred per cent, otherwise `a factor of 2.5`."""
    return format_percent(share) if share < 1 else f"a factor of {1 + share:.3g}"


def counted(count: int, what: str) -> str:
    """`1 row`, `2 rows`."""
    return f"{count} {what}{'s' if count != 1 else ''}"


def count_text(value: float) -> str:
    """Whole instructions from 10 up and where the value is whole, else with one decimal; `−` below 0."""
    is_integer = abs(value) >= 10 or abs(value - round(value)) < 0.05
    text = f"{abs(value):,.{0 if is_integer else 1}f}"
    return f"−{text}" if value < 0 and text.strip("0.,") else text


def ratio_text(ratio: float) -> str:
    """A ratio with three decimals near 1, and four digits far from it."""
    return f"{ratio:.3f}" if 0.1 <= ratio < 10 else f"{ratio:.4g}"


def ratio_interval(row: RowComparison) -> str:
    """`[1.095, 1.112]`; "" without an interval."""
    return "" if row.low is None or row.high is None else f"[{ratio_text(row.low)}, {ratio_text(row.high)}]"


def _last_place(value: float, unit: str, half_width: float | None) -> int:
    """The power of ten of the last digit shown."""
    if value == 0:
        return 0
    magnitude = _magnitude(value)
    if unit in ("instructions", "count") and (magnitude >= _USUAL or value == int(value)):  # a count
        return 0
    if half_width is None or not math.isfinite(half_width):
        place = magnitude - _USUAL + 1
        return place + (_magnitude(round(value, -place)) > magnitude)  # 999.96 has three digits as 1.00
    if half_width == 0:
        return magnitude - _MOST + 1
    return min(max(_magnitude(half_width), magnitude - _MOST + 1), magnitude - _FEWEST + 1)


def _scale(value: float, unit: str, place: int) -> tuple[int, str]:
    """The largest prefix for which the number shown is at least 1."""
    scales = _SCALES.get(unit, ((0, unit),))
    rounded = abs(round(value, -place))
    return next((scale for scale in scales if rounded >= 10.0 ** scale[0]), scales[-1])


def _magnitude(value: float) -> int:
    return math.floor(math.log10(abs(value))) if value else 0


def _number(value: float, exponent: int, place: int) -> str:
    text = f"{value / 10.0**exponent:,.{min(max(0, exponent - place), 15)}f}"
    return text.removeprefix("-") if not text.strip("-0.,") else text  # no "-0"


def exact_text(count: RowFigure | RowComparison) -> str:
    """ "exact" with the known floor, for an exact count or a ratio of two, or how many levels; "" for any other."""
    floor = "" if count.floor is None else f" (floor {format_percent(count.floor)})"
    if isinstance(count, RowComparison):
        word = "of means" if count.by_mean else "exact"
    else:
        word = f"{len(count.levels)} levels" if count.levels else "exact"
    return f"{word}{floor}" if count.exact else ""


def parts_of(figure: RowFigure, *, kernel: bool = False) -> tuple[Part, ...]:
    """What stands beside a count: its levels with their shares, their mean, and the kernel's part (`kernel`: however
    large)."""

    def number(value: float) -> str:
        return format_value(value, figure.unit).removesuffix(" instr")

    shown = [(number(level.cost), f"in {100 * level.share:.0f} %") for level in figure.levels]
    if len(shown) > MOST_LEVELS:
        shown[MOST_LEVELS - 1 : -1] = [("…", "")]
    if figure.levels and figure.mean is not None:
        shown.append((number(figure.mean), "mean"))
    if figure.kernel_part is not None and (kernel or figure.much_user):
        shown.append((number(figure.kernel_part), "kernel part"))
    return tuple(shown)
