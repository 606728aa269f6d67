"""Where a fault can strike in a Linux guest, which faults are drawn there, and what a run with one showed. Pure.

Nothing here judges: an Observation is what was seen from outside.
"""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, get_args

import msgspec

#: What is made faulty: a driver or a file system, each with the disk that run.sh gives it.
Subject = Literal["virtio_blk", "brd", "ext4", "minix", "8250"]
SUBJECTS: tuple[Subject, ...] = get_args(Subject)
#: In km_fault.c. The first six stop what they strike. Wrong answers are the next three. A bad message is a call with a
#: damaged argument: Linux's parts call each other where Trio's send messages.
Kind = Literal[
    "null-write",
    "wild-jump",
    "infinite-loop",
    "leak",
    "stack-overflow",
    "use-after-free",
    "wrong-value",
    "wrong-data",
    "not-done",
    "bad-message",
]
KINDS: tuple[Kind, ...] = get_args(Kind)
#: The function that sees the data of a driver's reads: the place of wrong data.
DATA: Mapping[Subject, str] = {"brd": "brd:brd_do_bvec", "virtio_blk": "virtio_blk:virtblk_request_done"}
#: How a run ended: by its script's last line; by a panic; by an emulator that computed long without any output; by an
#: emulator that ended for another reason.
Ended = Literal["end", "panic", "quiet", "stopped"]

_SYMBOL = re.compile(r"(?P<name>[\w.$]{1,200})(?: \[(?P<module>\w{1,60})\])?")


class Place(msgspec.Struct, frozen=True):
    """A function that a fault can strike, and how often it was entered while the worker ran without a fault."""

    subject: Subject
    symbol: str  #: "ext4:ext4_readdir", "serial8250_tx_chars"
    entries: int
    in_tasks: int  #: of them outside interrupts
    reads: int = 0  #: that passed it with their data; 0 of a function that is not in DATA


class Fault(msgspec.Struct, frozen=True):
    """At the n-th entry of a function; a leak also at each later one. `seed`: what the kind draws from."""

    subject: Subject
    symbol: str
    n: int
    kind: Kind
    seed: int
    panic_on_oops: bool = False

    @property
    def words(self) -> tuple[str, ...]:
        """The module's parameters."""
        return (f"symbol={self.symbol}", f"kind={self.kind}", f"n={self.n}", f"seed={self.seed}")


class Observation(msgspec.Struct, frozen=True):
    """What one run showed."""

    events: tuple[Mapping[str, Any], ...]  #: the worker's and run.sh's lines, in order
    struck: Mapping[str, Any] | None  #: the module's line; None: the function was entered less than n times
    console: str  #: its last part
    ended: Ended
    fsck: int | None = None  #: the exit status of fsck on the disk after the run; None: its disk is not a file
    after: tuple[Mapping[str, Any], ...] = ()  #: the lines of a guest that was started on the same disk afterwards


def places_of(subject: Subject, counted: Iterable[Mapping[str, Any]]) -> tuple[Place, ...]:
    """From the module's lines, by symbol. A name that several functions have is left out: the kernel would take any."""
    lines = list(counted)
    found: list[Place] = []
    for one in lines:
        match = _SYMBOL.fullmatch(str(one.get("symbol", "")))
        if match is not None and one.get("event") == "entries":
            symbol = ":".join(part for part in (match["module"], match["name"]) if part)
            found.append(Place(subject, symbol, int(one["entries"]), int(one["in_tasks"])))
    times = Counter(place.symbol for place in found)
    places = {one.symbol: one for one in found if times[one.symbol] == 1}
    for one in lines:
        if one.get("event") == "reads" and (symbol := DATA.get(subject, "")):
            place = places.get(symbol, Place(subject, symbol, 0, 0))
            places[symbol] = msgspec.structs.replace(place, reads=int(one["reads"]))
    return tuple(places[symbol] for symbol in sorted(places))


def drawn(places: Sequence[Place], kind: Kind, seed: int) -> Fault | None:
    """A fault of this kind at one of these places, at one of the entries that were counted; None if it has no place.

    Every function that was entered is equally likely, and each of its entries.
    """
    data = kind == "wrong-data"
    able = [(one, entries) for one in places if (entries := one.reads if data else one.entries) > 0]
    if not able:
        return None
    dice = random.Random(f"{kind} {seed}")
    place, entries = dice.choice(able)
    return Fault(place.subject, place.symbol, dice.randint(1, entries), kind, dice.getrandbits(32))
