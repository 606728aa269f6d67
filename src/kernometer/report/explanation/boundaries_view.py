"""What table and page show of the price of each boundary: plain values, built by boundaries.py."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class PriceCell:
    """A count of instructions; `colour` is a CSS class of the heat map, "" without one."""

    value: float | None
    text: str
    colour: str = ""


@dataclass(frozen=True, slots=True)
class PriceTable:
    """A row for each operation."""

    title: str
    anchor: str
    words: str  #: what a cell is
    heads: tuple[str, ...]
    rows: tuple[tuple[str, tuple[PriceCell, ...]], ...]


@dataclass(frozen=True, slots=True)
class BoundariesView:
    """All that terminal and page show. All text is printable."""

    cuts: PriceTable
    sums: PriceTable  #: do prices add up, as they are
    once: PriceTable  #: and where what any cut costs is counted once
    pairs: PriceTable
    merges: PriceTable
    named: tuple[tuple[str, tuple[str, ...]], ...]  #: by operation the largest interactions, the largest savings
    legend: tuple[tuple[str, str], ...]  #: a step's number, its shares
    notes: tuple[str, ...]  #: what is missing
    refused: str  #: which pairs have no merge; "" if all have
    failures: tuple[tuple[str, str], ...]  #: system, why it is not whole
