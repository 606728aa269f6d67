"""From cycles to time: how near the cycles of a modelled processor come where the times are known too. Pure.

A row's time is its cycles times the host's seconds a cycle, which rows that stay in user mode give: no row of a kernel
moves it, and nothing else is fitted. docs/path-to-time.md.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from kernometer.explain.cycles import Cycles, Modelled
from kernometer.results.model import Result
from kernometer.results.rows import Row
from kernometer.stats.figures import figures

#: Families of operations of the kernel; those whose rows without a system call tell how long a cycle is.
FAMILIES = ("syscall", "ctx", "ipc", "proc", "sig", "mem", "fs")
USER = ("clock", "cpu")
#: How near a prediction must be; how many of all rows, and of each family of so many rows or more; the median error.
FACTOR, ENOUGH, OF_A_FAMILY, LEAST, MEDIAN_ERROR = 1.5, 0.8, 0.65, 5, 0.2


@dataclass(frozen=True, slots=True)
class Timed:
    """A row whose cycles and time are both known."""

    row: str
    cycles: Cycles
    time: float  #: ns of one operation
    predicted: float  #: the same, by its cycles

    @property
    def family(self) -> str:
        return Row(self.row).family

    @property
    def ratio(self) -> float:
        """Predicted by measured."""
        return self.predicted / self.time

    @property
    def near(self) -> bool:
        return 1 / FACTOR <= self.ratio <= FACTOR

    @property
    def error(self) -> float:
        """How far it is off: 0.2 is 1.2 times, or 1/1.2."""
        return math.exp(abs(math.log(self.ratio))) - 1


@dataclass(frozen=True, slots=True)
class Group:
    """The rows of one family, or of several."""

    rows: int
    near: int
    ratio: float  #: the median
    error: float  #: the median
    passes: bool  #: whether enough rows are near: of one family fewer than of several


@dataclass(frozen=True, slots=True)
class Judgement:
    """All rows of the kernel's families."""

    rate: float  #: ns a cycle
    user: tuple[Timed, ...]  #: the rows in user mode that give it
    rows: tuple[Timed, ...]

    def group(self, *families: str) -> Group | None:
        """None without rows of these families."""
        rows = [row for row in self.rows if row.family in families]
        if not rows:
            return None
        near, bar = sum(row.near for row in rows), OF_A_FAMILY if len(families) == 1 else ENOUGH
        middle, error = median(row.ratio for row in rows), median(row.error for row in rows)
        return Group(len(rows), near, middle, error, near >= bar * len(rows))

    @property
    def families(self) -> dict[str, Group]:
        """Those that have rows."""
        return {family: group for family in FAMILIES if (group := self.group(family)) is not None}


def judge(by_path: Mapping[str, Modelled], by_time: Sequence[Result]) -> Judgement | None:
    """Rows that both have. None without rows in user mode."""
    timed = [figures(result) for result in by_time]
    both, in_user_mode = [], set()
    for row, modelled in by_path.items():
        if Row(row).family in USER and modelled.counts.get("syscalls", 0) < 1:
            in_user_mode.add(row)
        times = [cost for of_session in timed if row in of_session and (cost := of_session[row].cost)]
        if times and modelled.cycles.value > 0:
            both.append((row, modelled.cycles, median(times)))
    seconds = [time / of_row.value for row, of_row, time in both if row in in_user_mode]
    if not seconds:
        return None
    rate = median(seconds)
    rows = [Timed(row, of_row, time, of_row.value * rate) for row, of_row, time in both]
    return Judgement(
        rate,
        tuple(row for row in rows if row.row in in_user_mode),
        tuple(row for row in rows if row.family in FAMILIES),
    )
