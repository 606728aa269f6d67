"""What a suite's output contains, for all suites: figures, conditions, and what is not read.

One rule for every reader: what looks like a figure is in `figures`, or named in `left_out`.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime

from kernometer.errors import ResultError
from kernometer.results.reader import UNREADABLE
from kernometer.text import printable

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
    dates: list[str] = field(default_factory=list)  #: between the first and the last of them it was measured
    seconds: float = 0.0  #: how long that took, as far as the file tells
    ended: float = 0.0  #: when it ended, in seconds since the epoch; 0: not known
    column: str = ""  #: host and kernel of a summary: runs that share them share a label


def runs(text: str, begin: re.Pattern[str]) -> Iterator[tuple[str, str]]:
    """The parts of a file, each from one match on, and what the match's group says."""
    begins = [*begin.finditer(text)]
    ends = [*(each.start() for each in begins[1:]), len(text)]
    for each, end in zip(begins, ends, strict=True):
        yield text[each.start() : end], each[1]


@contextlib.contextmanager
def readable(wrong: str, step: str) -> Iterator[None]:
    """Raises ResultError, which says what is wrong with the file and what to do, if JSON is not read in the block."""
    try:
        yield
    except UNREADABLE as error:
        raise ResultError(f"{wrong}: {printable(str(error), 300)}.", step) from None


def number(printed: str) -> float:
    """The value of a NUMBER."""
    return float(printed.replace(",", ""))


#: `Sat Nov 28 11:18:01 UTC 2026`, `Sat Nov 28 2026 11:18:01`
_DATE = re.compile(r"([A-Z][a-z]{2}) +(\d{1,2}) (?:(\d{4}) )?(\d\d:\d\d:\d\d)(?: [A-Z]{2,5}){0,2}(?: (\d{4}))?")


def moment(text: str) -> float | None:
    """The time of a date as the suites write it, in seconds since the epoch; None if it is none. A date without a zone
    counts as UTC: only differences matter."""
    if match := _DATE.search(text):
        text = f"{match[3] or match[5]} {match[1]} {match[2]} {match[4]}"
    for form in ("%Y %b %d %H:%M:%S", "%Y/%m/%d-%H:%M:%S"):
        with contextlib.suppress(ValueError):
            return datetime.strptime(text, form).replace(tzinfo=UTC).timestamp()
    with contextlib.suppress(ValueError, OverflowError):
        said = datetime.fromisoformat(text)
        return (said if said.tzinfo else said.replace(tzinfo=UTC)).timestamp()
    return None


def conditions(said: Iterable[tuple[str, str]]) -> dict[str, str]:
    """By name; a name with several values keeps each."""
    by_name: dict[str, dict[str, None]] = {}
    for name, value in said:
        by_name.setdefault(name, {})[value] = None
    return {name: "; ".join(values) for name, values in by_name.items()}
