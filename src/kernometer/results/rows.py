"""Rows and their names: the one place in Python that takes a name apart, or matches it with a pattern. Pure.

A *row* is a workload at one point of its parameters: `ctx/ring@procs=8,token=0,same-cpu` is the workload `ctx/ring`, of
the family `ctx`, at the point `procs=8,token=0,same-cpu`. The probe matches rows too (probe/rows.c), by the same rules,
since it has to run without Python.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

from kernometer.results.model import Result

#: What separates a workload's name from the point of its row. At the end of an argument: that row without a point.
AT = "@"
#: The family of a user's command (`run -- COMMAND`), and those of unit costs, which no workload of the probe has.
COMMAND, UNIT_COSTS = "cmd", ("trio", "mach")


@dataclass(frozen=True, slots=True)
class Row:
    """A row by its name, which may also be a workload's alone, or have a `*` in the place of a value."""

    name: str

    @property
    def workload(self) -> str:
        """The name without the point. A user's command may contain an @ itself."""
        return f"{COMMAND}/{self.command}" if self.command else self.name.partition(AT)[0]

    @property
    def point(self) -> str:
        """What stands behind the workload's name; "" for a row without parameters."""
        return self.name.removeprefix(self.workload).removeprefix(AT)

    @property
    def family(self) -> str:
        return self.name.partition("/")[0]

    @property
    def parameters(self) -> dict[str, str]:
        """The point as names and values: `same-cpu` and `cold` have the value ""."""
        parts = (part.partition("=") for part in self.point.split(","))
        return {name: value for name, _, value in parts if name}

    @property
    def command(self) -> str:
        """The user's command that the row times; "" if it times a workload."""
        family, _, rest = self.name.partition("/")
        return (rest.rpartition(AT)[0] or rest) if family == COMMAND else ""

    @property
    def is_unit_cost(self) -> bool:
        """Whether it is one of the calls of a kernel of ours or of GNU Mach, which `--unit-costs` measures."""
        return self.family in UNIT_COSTS

    @property
    def argument(self) -> str:
        """The argument that means this row alone: a row without a point has the same name as its whole workload."""
        return self.name if AT in self.name else self.name + AT

    @classmethod
    def of_argument(cls, word: str) -> Row:
        """The row of `argument`."""
        return cls(word.removesuffix(AT))

    def along(self, parameter: str) -> str:
        """The name with `*` for the value of that parameter: the same for all points of a curve."""
        parts = (f"{parameter}=*" if part.startswith(f"{parameter}=") else part for part in self.point.split(","))
        return self.workload + AT + ",".join(parts) if self.point else self.name

    def is_named(self, word: str) -> bool:
        """Whether a word of a user means it: its name or its workload, a pattern of one of these, or `argument`."""
        return word == self.argument or self.is_like(word) or Row(self.workload).is_like(word)

    def is_like(self, *patterns: str) -> bool:
        """Whether it matches one of these patterns: `*` is any number of characters, every other one is itself."""
        return any(_pattern(pattern, ".*").fullmatch(self.name) for pattern in patterns)

    def values(self, pattern: str) -> tuple[str, ...] | None:
        """What its name has at each `*` of the pattern, if it is one value: `bytes=*` does not match `bytes=4,ext4`.
        None if the name does not match."""
        match = _pattern(pattern, "([^@,]*)").fullmatch(self.name)
        return match.groups() if match else None


@lru_cache(maxsize=1024)
def _pattern(text: str, star: str) -> re.Pattern[str]:
    return re.compile(star.join(map(re.escape, text.split("*"))), re.DOTALL)


def in_registry_order(results: Iterable[Result], rows: Iterable[str]) -> tuple[str, ...]:
    """Rows by their number in the registry; rows that no result defines come last, in the given order."""
    place = {
        info.row: info.id for result in results for workload in result.workloads.values() for info in workload.rows
    }
    return tuple(sorted(rows, key=lambda row: place.get(row, math.inf)))
