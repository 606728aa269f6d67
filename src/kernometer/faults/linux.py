"""Where a fault can strike in a Linux guest, which faults are drawn there, and what a run with one showed. Pure.

Nothing here judges: an Observation is what was seen from outside.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import Any, Literal, get_args

import msgspec

from kernometer.faults.promises import Event, Promises, judge

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
#: The places of wrong data: functions that each read of a driver passes.
DATA = ("brd:brd_do_bvec", "virtio_blk:virtio_queue_rq")
#: How a run ended: by its script's last line; by a panic; by an emulator that computed long without any output; by an
#: emulator that ended for another reason.
Ended = Literal["finished", "panic", "quiet", "stopped"]


Outcome = Literal["masked", "delayed", "error returned", "data lost", "hung", "dead"]
OUTCOMES: tuple[Outcome, ...] = get_args(Outcome)
#: Where the worker's disk is mounted.
WORK = "/work"
#: A run is delayed if an operation took so many times as long as the slowest without fault, and so much longer.
DELAYED, DELAYED_NS = 10, 100_000_000


class Place(msgspec.Struct, frozen=True):
    """A function that was entered, so that a fault can strike it, and how often while the worker ran without fault."""

    subject: Subject
    symbol: str  #: "ext4:ext4_readdir", "serial8250_tx_chars"
    entries: int


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
    files: Mapping[str, bytes] | None = None  #: of the disk, as another guest read it; None: it could not


def outcome(seen: Observation, usual_ns: int) -> Outcome | None:
    """The worst of what was seen; None if the fault never happened. `usual_ns`: the slowest operation without fault.

    What no step of run.sh outlived is hung; a system that ended is dead.
    """
    if seen.struck is None:
        return None
    if seen.ended in ("panic", "stopped"):
        return "dead"
    steps = {one["event"]: one["status"] for one in seen.events if "status" in one}
    if seen.ended == "quiet" or None in steps.values():
        return "hung"
    if is_data_lost(seen):
        return "data lost"
    if any(steps.values()) or any(one["event"] == "error" for one in seen.events):
        return "error returned"
    slowest = max((int(one["slowest_ns"]) for one in seen.events if one["event"] == "end"), default=0)
    return "delayed" if slowest > max(DELAYED * usual_ns, usual_ns + DELAYED_NS) else "masked"


def is_data_lost(seen: Observation) -> bool:
    """Whether the worker read wrong bytes, or the disk does not keep what was promised (promises.py), or cannot be
    mounted. Of a memory disk that went with its guest nothing can be said, and nothing is."""
    promises = Promises.after(msgspec.convert(one, Event) for one in seen.events)
    if promises.wrong:
        return True
    if seen.files is None:
        return seen.fsck is not None
    judged = judge(promises, seen.files, WORK)
    return bool(judged.lost or judged.wrong)


def drawn(places: Sequence[Place], kind: Kind, seed: int) -> Fault | None:
    """A fault of this kind at one of these places, at one of the entries that were counted; None if it has no place.

    Every function is equally likely, and each of its entries.
    """
    able = [one for one in places if kind != "wrong-data" or one.symbol in DATA]
    if not able:
        return None
    dice = random.Random(f"{kind} {seed}")  # noqa: S311 - an experiment, not a secret
    place = dice.choice(able)
    return Fault(place.subject, place.symbol, dice.randint(1, place.entries), kind, dice.getrandbits(32))
