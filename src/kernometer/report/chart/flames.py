"""Flame graphs as static SVG: a rectangle is a function, as wide as its share of the instructions, above its caller.

Without stacks of calls there is one row of functions. No script: a rectangle's name and count are its title.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from html import escape

from kernometer.explain.functions import Breakdown
from kernometer.report.chart.axis import Plot
from kernometer.text import printable

WIDTH, HEIGHT = 960, 16
#: Narrower rectangles are left out: their callers' rectangles are as wide as ever.
NARROWEST = 0.7
#: A character's width in pixels, and characters that fit nowhere.
CHARACTER, FEWEST = 6.2, 3
DEEPEST = 60
LONGEST = 120


@dataclass(slots=True)
class _Node:
    count: int = 0
    below: dict[str, _Node] = field(default_factory=dict)


def flame(profile: Breakdown) -> Plot | None:
    """The drawing; None if there is nothing to draw."""
    root = _Node()
    for frames, count in profile.paths.items():
        node = root
        node.count += count
        for frame in frames[:DEEPEST]:
            node = node.below.setdefault(frame, _Node())
            node.count += count
    if not root.count:
        return None
    kernel = {function.name for function in profile.functions if function.kernel}
    parts: list[str] = []
    depth = _draw(root, 0.0, 0, root.count, kernel, parts)
    height = HEIGHT * depth
    words = f"Flame graph of {printable(profile.row, LONGEST)}: the table of functions has its figures"
    svg = (
        f'<svg class="flame" role="img" aria-label="{escape(words)}" viewBox="0 0 {WIDTH} {height}" '
        f'width="{WIDTH}" height="{height}" preserveAspectRatio="none">{"".join(parts)}</svg>'
    )
    return Plot(svg, WIDTH)


def _draw(node: _Node, left: float, depth: int, total: int, kernel: set[str], parts: list[str]) -> int:
    """Adds what is called from `node`, and returns how many rows that takes."""
    deepest = depth
    for name, child in sorted(node.below.items()):
        width = WIDTH * child.count / total
        if width >= NARROWEST:
            parts.append(_rectangle(name, child.count, left, depth, width, total, name in kernel))
            deepest = max(deepest, _draw(child, left, depth + 1, total, kernel, parts), depth + 1)
        left += width
    return deepest


def _rectangle(name: str, count: int, left: float, depth: int, width: float, total: int, kernel: bool) -> str:
    shown = printable(name, LONGEST)
    fits = int(width / CHARACTER) - 1
    text = ""
    if fits >= FEWEST:
        short = shown if len(shown) <= fits else shown[: fits - 1] + "…"
        text = f'<text x="{left + 3:.1f}" y="{depth * HEIGHT + 12}">{escape(short)}</text>'
    return (
        f'<g class="{"k" if kernel else "u"}"><title>{escape(shown)}: {count:,} ({100 * count / total:.2f} %)</title>'
        f'<rect x="{left:.2f}" y="{depth * HEIGHT}" width="{width:.2f}" height="{HEIGHT - 1}"/>{text}</g>'
    )
