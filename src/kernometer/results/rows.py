"""Rows and their names: the only place in Python that takes a name apart, or matches it with a pattern. Pure.

A *row* is a workload at one point of its parameters: `ctx/ring@procs=8,token=0,same-cpu` is the workload `ctx/ring`, of
the family `ctx`, at the point `procs=8,token=0,same-cpu`. The probe has the same rules for patterns (probe/rows.c), for
it runs without Python.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

from kernometer.results.model import Result

#: Separates a workload's name from the point of its row. At the end of an argument, it means the row without a point.
AT = "@"
#: The family of a user's command (`run -- COMMAND`), and those of unit costs, which no workload of the probe has.
COMMAND, UNIT_COSTS = "cmd", ("trio", "mach")


@dataclass(frozen=True, slots=True)
class Row:
    """A row by its name, which may also be that of a workload, or have a `*` in place of a value."""

    name: str

    @property
    def workload(self) -> str:
        """The name without the point. A user's command may contain an @ itself."""
        return f"{COMMAND}/{self.command}" if self.command else self.name.partition(AT)[0]

    @property
    def point(self) -> str:
        """What follows the workload's name; "" for a row without parameters."""
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
        """Whether it is a call of Trio or of GNU Mach, which `--unit-costs` measures."""
        return self.family in UNIT_COSTS

    @property
    def argument(self) -> str:
        """The argument that means this row only: the name of a row without a point is also its workload's."""
        return self.name if AT in self.name else self.name + AT

    @classmethod
    def of_argument(cls, word: str) -> Row:
        """The row of `argument`."""
        return cls(word.removesuffix(AT))

    def along(self, parameter: str) -> str:
        """The name with `*` for the value of that parameter, the same for all points of a curve."""
        parts = (f"{parameter}=*" if part.startswith(f"{parameter}=") else part for part in self.point.split(","))
        return self.workload + AT + ",".join(parts) if self.point else self.name

    def is_named(self, word: str) -> bool:
        """Whether a user's word means it: its name or its workload, a pattern of one of these, or `argument`."""
        return word == self.argument or self.is_like(word) or Row(self.workload).is_like(word)

    def is_like(self, *patterns: str) -> bool:
        """Whether it matches one of these patterns: `*` is any number of characters, all others are themselves."""
        return any(_pattern(pattern, ".*").fullmatch(self.name) for pattern in patterns)

    def values(self, pattern: str) -> tuple[str, ...] | None:
        """What its name has at each `*` of the pattern, if that is one value: `bytes=*` does not match `bytes=4,ext4`.
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
