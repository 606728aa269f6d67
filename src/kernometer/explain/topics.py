"""A difference by topic instead of by function: what one kernel does and the other does not. Pure.

The topics are data, topics.toml; a function's name tells its topic.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from kernometer.explain.functions import Difference, difference, newest
from kernometer.results.model import Result
from kernometer.results.rows import in_registry_order
from kernometer.tables import packaged

#: The topics of instructions in user mode, of a profile's named lines, and of all other functions.
PROGRAM, NAMED, OTHERS = "the program", "named lines", "other functions"


@dataclass(frozen=True, slots=True)
class Topic:
    """What functions are for."""

    what: str
    trio: bool  #: whether Trio has anything of the kind
    names: tuple[str, ...]  #: beginnings of functions' names


@dataclass(frozen=True, slots=True)
class Share:
    """One topic's part of both figures: instructions of an operation."""

    what: str
    trio: bool
    a: float
    b: float

    @property
    def more(self) -> float:
        return self.b - self.a


@dataclass(frozen=True, slots=True)
class Topical:
    """One operation: both figures, and the parts of their difference, the largest first."""

    row: str
    a: float
    b: float
    shares: tuple[Share, ...]

    @property
    def more(self) -> float:
        return self.b - self.a


def of_results(a: Sequence[Result], b: Sequence[Result]) -> tuple[Topical, ...]:
    """The operations whose profile of an iteration both sides have, in the registry's order."""
    of_a, of_b = newest(a), newest(b)
    made = []
    for row in in_registry_order([*a, *b], [row for row in of_a if row in of_b]):
        breakdown_a, breakdown_b = of_a[row], of_b[row]
        differs = difference(breakdown_a, breakdown_b)
        if differs is not None:
            shares = by_topic(differs, {**breakdown_a.named, **breakdown_b.named})
            made.append(Topical(row, breakdown_a.total / breakdown_a.ops, breakdown_b.total / breakdown_b.ops, shares))
    return tuple(made)


@cache
def topics() -> tuple[Topic, ...]:
    """In the order in which they are tried."""
    known = packaged(__package__, "topics.toml").values()
    return tuple(Topic(each["what"], each.get("trio", True), tuple(each["names"])) for each in known)


def topic_of(function: str) -> Topic | None:
    """The first topic with a name that the function's name begins with."""
    return next((topic for topic in topics() if function.startswith(topic.names)), None)


def by_topic(differs: Difference, named: Mapping[str, object]) -> tuple[Share, ...]:
    """The shares of a difference, which sum to it, the largest first. `named` has the lines of the profiles that are
    not functions. Functions of which both kernels have as much are not in the difference."""
    sums: dict[tuple[str, bool], tuple[float, float]] = {}
    for change in differs.changes:
        topic = topic_of(change.name) if change.kernel else None
        if topic is not None:
            key = (topic.what, topic.trio)
        else:
            key = (NAMED if change.name in named else OTHERS if change.kernel else PROGRAM, True)
        a, b = sums.get(key, (0.0, 0.0))
        sums[key] = (a + change.a, b + change.b)
    shares = (Share(what, trio, a, b) for (what, trio), (a, b) in sums.items())
    return tuple(sorted(shares, key=lambda each: -abs(each.more)))
