"""What a target is: something that runs the probe and gives back its lines."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

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


@dataclass(frozen=True, slots=True)
class Job:
    """One call of the probe: its arguments after the program's name, and how time is taken."""

    arguments: tuple[str, ...]
    by: By = "time"
    max_bytes: int = 256 << 20  #: of output; more is a TargetError


class Target(Protocol):
    """One small interface. Implementations: local.py, wrap.py, qemu.py."""

    @property
    def name(self) -> str:
        """As the user wrote it: `local`, `qemu:linux-6.1`."""
        ...

    @property
    def by(self) -> tuple[By, ...]:
        """Which ways of taking time it can do."""
        ...

    @property
    def machine(self) -> str:
        """What it runs on where that is not this host; else ""."""
        ...

    @property
    def boot(self) -> str:
        """Identifies the boot, or by path the kernel image: what two results must share to be compared as equals."""
        ...

    @property
    def notes(self) -> tuple[str, ...]:
        """What the user should know before measuring: why there are no event vectors, say."""
        ...

    @property
    def quick_start(self) -> bool:
        """Whether a call costs milliseconds, so that blocks may be as short as one run of one row."""
        ...

    def describe(self, job: Job) -> tuple[str, ...]:
        """The exact command that `run` starts. Pure."""
        ...

    def run(self, job: Job, until: Deadline) -> Iterator[bytes]:
        """Yields the probe's lines between the markers as they come, without their newline.

        Raises TargetError (with the last output) when it dies, hangs past `until`, or prints too much or garbage.
        Closing the iterator early ends the target and all its processes.
        """
        ...
