"""Which faults a campaign has: drawn by a seed from the places that the worker passes in every structure. Pure."""

from __future__ import annotations

import random
from collections.abc import Collection, Mapping, Sequence

import msgspec

from kernometer.faults.kinds import Kind


class Fault(msgspec.Struct, frozen=True):
    """At the offset of a service's code, from the beginning of the worker's n-th operation on."""

    service: str
    offset: int
    function: str  #: the same in words: "transfer+0x40"
    kind: Kind
    operation: int
    value: int  #: 64 bits, for what the kind draws


def drawn(
    places: Mapping[tuple[Kind, str], Sequence[tuple[int, str]]],
    drivers: Collection[str],
    count: int,
    seed: int,
    operations: int,
) -> tuple[Fault, ...]:
    """`places`: (offset, function) by kind and service. Kinds take turns, in an order of their own for each turn; turns
    of drivers and of other services alternate. The service is drawn among those that have a place of the kind, then the
    place, then the operation, from the first half of them.

    The first faults of a longer campaign are those of a shorter one.
    """
    dice = random.Random(seed)  # noqa: S311  # repeatable, not secret
    groups: tuple[dict[Kind, list[str]], ...] = ({}, {})
    for (kind, service), found in places.items():
        if found:
            groups[service not in drivers].setdefault(kind, []).append(service)
    faults: list[Fault] = []
    while any(groups) and len(faults) < count:
        for able in groups:
            turn = sorted(able)
            dice.shuffle(turn)
            for kind in turn:
                service = dice.choice(able[kind])
                offset, function = dice.choice(places[kind, service])
                operation = dice.randint(1, max(1, operations // 2))
                faults.append(Fault(service, offset, function, kind, operation, dice.getrandbits(64)))
    return tuple(faults[:count])
