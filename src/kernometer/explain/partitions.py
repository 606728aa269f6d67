"""The partitions of Trio's services that show what each boundary costs, and their names. Pure.

A *boundary* is between two services of which one may call the other. docs/trio.md, "The price of each boundary".
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

#: A service, and one that it may call.
Pair = tuple[str, str]

MONO, HYBRID, MICRO, ONE_SERVER = "mono", "hybrid", "micro", "one-server"
_TARGET = "qemu:trio-"
_APART, _TOGETHER, _WITH = "apart=", "together=", "with="


@dataclass(frozen=True, slots=True)
class Plan:
    """What to measure: all services and boundaries of a kernel."""

    services: tuple[str, ...]
    pairs: tuple[Pair, ...]  #: caller first
    refused: tuple[tuple[Pair, str], ...]  #: pairs that cannot be one process, and the service between the two

    @property
    def structures(self) -> tuple[str, ...]:
        """All partitions, mono first."""
        between = {pair for pair, _ in self.refused}
        return (
            MONO,
            *(cut(service) for service in self.services),
            *(cut(*pair) for pair in self.pairs),
            MICRO,
            *(merged(pair) for pair in self.pairs if pair not in between),
            ONE_SERVER,
            HYBRID,
        )


def plan(services: Sequence[str], calls: Iterable[Pair]) -> Plan:
    """The plan for these services, whose calls form no circle. Two of them in one process would wait for each other if
    one also calls the other by way of a third."""
    pairs = tuple(calls)
    ways = ((pair, _between(pair, pairs)) for pair in pairs)
    return Plan(tuple(services), pairs, tuple((pair, third) for pair, third in ways if third))


def cut(*services: str) -> str:
    """The structure with these services out of the kernel, each in a process."""
    return f"{MONO}+{_APART}{','.join(services)}"


def merged(pair: Pair) -> str:
    """The structure of processes in which these two share one."""
    return f"{MICRO}+{_TOGETHER}{','.join(pair)}"


def switched(structure: str, switches: Iterable[str]) -> str:
    """The structure with these switches on."""
    on = ",".join(switches)
    return f"{structure}+{_WITH}{on}" if on else structure


def switches_of(structure: str) -> tuple[str, frozenset[str]]:
    """The structure without its switches, and the switches."""
    words = structure.split("+")
    on = (switch for word in words if word.startswith(_WITH) for switch in word.removeprefix(_WITH).split(","))
    return "+".join(word for word in words if not word.startswith(_WITH)), frozenset(on)


def target(structure: str, machine: str = "") -> str:
    """The target that measures it; `machine` has further options of the guest, each after a `+`."""
    return f"{_TARGET}{structure}{machine}"


def structure_of(name: str) -> tuple[str, str] | None:
    """The structure that a target's name means, and the options of its machine; None if it is not Trio."""
    if not name.startswith(_TARGET):
        return None
    first, *words = name.removeprefix(_TARGET).split("+")
    changes = [word for word in words if word.startswith((_APART, _TOGETHER, _WITH))]
    return "+".join((first, *changes)), "".join(f"+{word}" for word in words if word not in changes)


def cut_of(structure: str) -> tuple[str, ...]:
    """The services that `cut` took out; () for another structure."""
    return _words(structure, f"{MONO}+{_APART}")


def merged_of(structure: str) -> tuple[str, ...]:
    """The services that `merged` put together; () for another structure."""
    return _words(structure, f"{MICRO}+{_TOGETHER}")


def _words(structure: str, before: str) -> tuple[str, ...]:
    services = structure.removeprefix(before)
    return tuple(services.split(",")) if services != structure and "+" not in services else ()


def _between(pair: Pair, pairs: Sequence[Pair]) -> str:
    """The first service on a longer way from one to the other; "" without such a way."""
    caller, callee = pair
    firsts = [below for above, below in pairs if above == caller]
    return next((first for first in firsts if _reaches(first, callee, pairs)), "")


def _reaches(start: str, end: str, pairs: Sequence[Pair]) -> bool:
    below = [callee for caller, callee in pairs if caller == start]
    return end in below or any(_reaches(service, end, pairs) for service in below)
