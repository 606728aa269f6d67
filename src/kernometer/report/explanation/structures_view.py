"""What table and page show of structures, and of what servers cost: plain values, of structures.py and costs.py."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Step:
    """A bar of a waterfall: from and to in percent of its width."""

    what: str
    text: str
    share: str
    left: float
    width: float
    kind: str  #: a CSS class: end, more, less


@dataclass(frozen=True, slots=True)
class Waterfall:
    """One operation."""

    row: str
    ratio: str
    steps: tuple[Step, ...]


@dataclass(frozen=True, slots=True)
class StructuresView:
    """All that terminal and page show. All text is printable."""

    title: str
    caption: str
    heads: tuple[str, ...]
    rows: tuple[tuple[str, tuple[str, ...]], ...]  #: an operation, its cells
    answer: tuple[str, ...]  #: sentences
    left_out: tuple[tuple[str, str, str], ...]  #: what, why, what to do
    prices: tuple[tuple[str, str, str], ...]  #: kind, instructions, what it is
    waterfalls: tuple[Waterfall, ...]
