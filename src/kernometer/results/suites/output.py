"""What a suite's output contains, for all suites: figures, conditions, and what is not read.

One rule for every reader: what looks like a figure is in `figures`, or named in `left_out`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

#: It is bounded, for a file may come from anywhere. Thousands may have commas.
NUMBER = r"(?<![\d.])-?(?:\d{1,3}(?:,\d{3}){1,4}|\d{1,15})(?:\.\d{1,18})?(?:e[+-]?\d{1,2})?(?![\d.])"
CUT = "its end: the run was aborted, or the file cut off"


@dataclass(frozen=True, slots=True)
class Figure:
    """One number of a suite, as printed."""

    row: str
    printed: str
    unit: str
    note: str = ""
    samples: tuple[tuple[float, ...], ...] = ()  #: what it summarises, in its unit: a tuple for each process or run


@dataclass(slots=True)
class Output:
    """One run of a suite."""

    suite: str
    version: str = ""
    figures: list[Figure] = field(default_factory=list)
    conditions: dict[str, str] = field(default_factory=dict)
    left_out: list[str] = field(default_factory=list)  #: what looks like a figure and is not read; a missing end
    notes: list[str] = field(default_factory=list)  #: sentences about the whole


def number(printed: str) -> float:
    """The value of a NUMBER."""
    return float(printed.replace(",", ""))


def conditions(said: Iterable[tuple[str, str]]) -> dict[str, str]:
    """By name; a name with several values keeps each."""
    by_name: dict[str, dict[str, None]] = {}
    for name, value in said:
        by_name.setdefault(name, {})[value] = None
    return {name: "; ".join(values) for name, values in by_name.items()}
