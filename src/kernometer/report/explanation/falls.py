"""Waterfalls: from one system's figure to the other's, part by part."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from kernometer.report.words.units import count_text, format_percent
from kernometer.report.write.terminal import Block, Line


@dataclass(frozen=True, slots=True)
class Step:
    """A bar of a waterfall: from and to in percent of its width."""

    what: str
    how: str  #: it comes about
    text: str
    share: str
    left: float
    width: float
    kind: str  #: a CSS class: end, more, less


@dataclass(frozen=True, slots=True)
class Waterfall:
    """The steps of one operation."""

    row: str
    ratio: str
    steps: tuple[Step, ...]


def _text(value: float, is_end: bool) -> str:
    return count_text(value) if is_end else f"{value:+,.0f}"


def fall(
    row: str,
    ratio: str,
    first: tuple[str, float],
    parts: Iterable[tuple[str, str, float]],
    last: tuple[str, float],
    text: Callable[[float, bool], str] = _text,
) -> Waterfall:
    """From the first figure by its parts (what, how, value) to the last. `text`: of a part's value, or of an end's."""
    at, difference = first[1], last[1] - first[1]
    steps = [(first[0], "", first[1], 0.0, "end")]
    for what, how, cost in parts:
        steps.append((what, how, cost, min(at, at + cost), "more" if cost >= 0 else "less"))
        at += cost
    steps.append((last[0], "", last[1], 0.0, "end"))
    longest = max(left + abs(value) for _, _, value, left, _ in steps) or 1.0
    made = []
    for what, how, value, left, kind in steps:
        share = "" if kind == "end" or not difference else format_percent(value / difference)
        shown = text(value, kind == "end")
        made.append(Step(what, how, shown, share, 100 * left / longest, 100 * abs(value) / longest, kind))
    return Waterfall(row, ratio, tuple(made))


def blocks(falls: Sequence[Waterfall]) -> Iterator[Block]:
    """For the terminal: of each operation both figures and the shares of the difference."""
    for each in falls:
        first, *parts, last = each.steps
        yield Line(f"{each.row}: {first.text} to {last.text}, {each.ratio}")
        told = ", ".join(f"{part.what} {part.share} ({part.how or part.text})" for part in parts if part.share)
        yield Line(told or "no difference", "dim", indent=4)
