"""What a target is: something that runs the probe and gives back its lines."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
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

    @property
    def passed(self) -> bool:
        return time.monotonic() >= self.at


#: A target that prints nothing for so long hangs: a guest boots in seconds, and the probe gives a row a minute.
SILENCE_SECONDS = 300.0

#: What measures: the probe, or its engine with the units of Trio's own (trio/user/probe-trio). Each has one registry.
Program = Literal["probe", "probe-trio"]


@dataclass(frozen=True, slots=True)
class Call:
    """By path: what measures one row, where each has a guest of its own. It depends on that row alone."""

    row: str
    arguments: tuple[str, ...]
    needs: frozenset[str] = frozenset()  #: the row's in the registry; a guest provides it


@dataclass(frozen=True, slots=True)
class Job:
    """One call of a measuring program: its arguments after the program's name, and how time is taken."""

    arguments: tuple[str, ...]
    by: By = "time"
    needs: frozenset[str] = frozenset()  #: what the rows' `needs` in the registry name together; a guest provides it
    max_bytes: int = 256 << 20  #: of output; more is a TargetError
    silence: float = SILENCE_SECONDS  #: without a word, of a process; more is a TargetError
    program: Program = "probe"  #: one of the target's `programs`
    calls: tuple[Call, ...] = ()  #: the same rows, each by itself; none: `arguments` are no rows by path
    rows: frozenset[str] = frozenset()  #: of each a run, a failure, or why it is unsupported must come
    allowed: frozenset[str] = frozenset()  #: records of these may come too


@dataclass(frozen=True, slots=True)
class Place:
    """Where a session runs, as its first record keeps it; fields as in results/model.Session."""

    machine: str = ""  #: what it runs on where that is not this host itself: a virtual machine, another host
    board: str = ""  #: the virtual machine without its memory's size and its seed, where we make it
    image: str = ""  #: the kernel image, where we boot it
    state: Literal["", "saved", "booted"] = ""  #: what each row goes on from, where each has a guest of its own
    boot: str = ""  #: identifies the boot; "" where nobody can tell, or every session is a boot of its own
    host_id: str = ""  #: identifies the hardware; "" where nobody can tell, or by path, where it does not matter
    command_line: str = ""  #: that the kernel was booted with, where we boot it
    notes: tuple[str, ...] = ()  #: what the user should know before measuring: why there are no event vectors, say
    here: bool = True  #: whether this host's own condition bears on it


class Target(Protocol):
    """One small interface. Implementations: local.py, ssh.py, qemu.py, console.py."""

    @property
    def name(self) -> str:
        """As the user wrote it: `local`, `qemu:linux-6.1`."""
        ...

    @property
    def by(self) -> tuple[By, ...]:
        """Which ways of taking time it can do."""
        ...

    @property
    def programs(self) -> tuple[Program, ...]:
        """Which measuring programs mean something there."""
        ...

    @property
    def quick_start(self) -> bool:
        """Whether a call costs milliseconds, so that blocks may be as short as one run of one row."""
        ...

    def place(self, by: By) -> Place:
        """Where a session by time or by path would run. It may have to look (connect, try a boot): TargetError."""
        ...

    def describe(self, job: Job) -> tuple[str, ...]:
        """The exact command that `run` starts."""
        ...

    def run(self, job: Job, until: Deadline) -> Iterator[bytes]:
        """Yields the probe's lines between the markers as they come, without their newline.

        Raises TargetError (with the last output) when it dies, hangs past `until`, or prints too much or garbage.
        Closing the iterator early ends the target and all its processes.
        """
        ...

    def close(self) -> None:
        """Lets go of what calls share (a connection). May be called twice; nothing is left behind after it."""
        ...
