"""The interface of a target, which runs the probe and returns its lines."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal, Protocol

from kernometer.results.model import By


@dataclass(frozen=True, slots=True)
class Deadline:
    """A point in time that consecutive waits share. `at` is on the monotonic clock, in seconds."""

    at: float

    @classmethod
    def after(cls, seconds: float) -> Deadline:
        return cls(time.monotonic() + seconds)

    def left(self) -> float:
        """Seconds left, never below 0."""
        return max(0.0, self.at - time.monotonic())

    def wait(self, seconds: float) -> float:
        """How long to wait for something that takes at most so many seconds, within the deadline."""
        return min(seconds, self.left())

    @property
    def passed(self) -> bool:
        return time.monotonic() >= self.at


#: A target that prints nothing for so long hangs: a guest boots in seconds, and the probe gives a row a minute.
SILENCE_SECONDS = 300.0

#: The measuring programs, each with its registry: the probe; its engine with units of kernels (trio/user/probe-trio; on
#: GNU Mach probe/mach stands in for it, with the same list).
Program = Literal["probe", "probe-trio"]


@dataclass(frozen=True, slots=True)
class Call:
    """The call that measures one row by path, if each row has its own guest. It depends on that row only."""

    row: str
    arguments: tuple[str, ...]
    needs: frozenset[str] = frozenset()  #: the row's `needs` in the registry, which a guest provides


#: Which profile each row gets: none, of the iteration that is its figure, or of all iterations together.
Profiled = Literal["", "median", "totals"]


@dataclass(frozen=True, slots=True)
class Job:
    """One call of a measuring program: its arguments after the program's name, and what is measured."""

    arguments: tuple[str, ...]
    by: By = "time"
    needs: frozenset[str] = frozenset()  #: all rows' `needs` in the registry, which a guest provides
    max_bytes: int = 256 << 20  #: of output; more is a TargetError
    silence: float = SILENCE_SECONDS  #: without output from a process; more is a TargetError
    program: Program = "probe"  #: one of the target's `programs`
    calls: tuple[Call, ...] = ()  #: by path, one call for each row; empty: `arguments` contain no rows by path
    rows: frozenset[str] = frozenset()  #: each must have a run, a failure, or a reason why it is unsupported
    allowed: frozenset[str] = frozenset()  #: other rows whose records are allowed
    geometry: str = ""  #: by path: of the processor whose memory system is counted, as Geometry.word; "": none is
    profiled: Profiled = ""  #: by path, on a guest of ours: each row is measured once more, for this profile
    hear: Callable[[bytes], None] | None = None  #: gets each line when it comes, where `run` yields it in its turn


@dataclass(frozen=True, slots=True)
class Place:
    """Where a session runs, for its first record; fields as in results/model.Session."""

    machine: str = ""  #: what it runs on, if that is not this host: a virtual machine, another host
    board: str = ""  #: the virtual machine without its memory's size and its seed, if we make it
    image: str = ""  #: the kernel image, if we boot it
    layout: str = ""  #: where its data lie, if that is known: see results/model.Session
    state: Literal["", "saved", "booted", "typed"] = ""  #: in which each row begins, if each has its own guest
    boot: str = ""  #: identifies the boot; "" if not known, or if every session has its own boot
    host_id: str = ""  #: identifies the hardware; "" if not known, or by path, where it does not matter
    command_line: str = ""  #: the kernel's, if we boot it
    notes: tuple[str, ...] = ()  #: for the user before measuring: for example why there are no event vectors
    here: bool = True  #: whether this host's condition affects it
    told: Mapping[str, str] = field(default_factory=dict)  #: another host's files about itself: see host/tree.Told


class Target(Protocol):
    """Kinds: local.py, ssh.py, qemu.py, console.py. Each defines what differs from the defaults here."""

    @property
    def name(self) -> str:
        """As the user wrote it: `local`, `qemu:linux-6.1`."""
        ...

    @property
    def by(self) -> tuple[By, ...]:
        """The ways of measuring that it supports."""
        return ("time",)

    @property
    def programs(self) -> tuple[Program, ...]:
        """The measuring programs that it supports."""
        return ("probe",)

    @property
    def quick_start(self) -> bool:
        """Whether a call costs milliseconds, so that blocks may be as short as one run of one row."""
        return False

    @property
    def profiles(self) -> bool:
        """Whether it can tell which functions a row's instructions go to."""
        return False

    @property
    def counts_memory(self) -> bool:
        """Whether it can count what a processor's caches, TLBs and predictors would do."""
        return False

    def machine(self, by: By) -> str:  # noqa: ARG002  # kinds that run elsewhere answer by it
        """The machine of its place, as far as it is known without booting or connecting; "" is this host itself. Two
        targets with different texts are on different machines."""
        return ""

    def place(self, by: By) -> Place:
        """Where a session by time or by path would run. It may connect or boot, and raise TargetError."""
        ...

    def describe(self, job: Job) -> tuple[str, ...]:
        """The exact command that `run` starts."""
        ...

    def run(self, job: Job, until: Deadline) -> Iterator[bytes]:
        """Yields the probe's lines between the markers as they come, without their newline.

        Raises TargetError (with the last output) if it dies, hangs past `until`, or prints too much or garbage.
        Closing the iterator early ends the target and all its processes.
        """
        ...

    def close(self) -> None:
        """Frees what calls share (a connection). May be called twice; leaves nothing behind."""
        return  # most kinds share nothing
