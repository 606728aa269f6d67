"""Guests side by side: as many at once as there are processors for them, in one thread, their lines in a set order."""

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import Generator, Iterable, Iterator
from functools import cache
from pathlib import Path
from threading import BoundedSemaphore

from kernometer.errors import TargetError
from kernometer.targets.base import Deadline

#: Between two looks at what guests have written. They do not notice: they write to files.
POLL_SECONDS = 0.01
#: An emulator with what most rows touch of its guest's memory.
BYTES_EACH = 1536 << 20

#: What a guest has to say: its lines, and None where there is none yet.
Lines = Generator[bytes | None, None, None]


@cache
def slots() -> BoundedSemaphore:
    """One for each guest that may run now, whatever session it belongs to."""
    return BoundedSemaphore(room())


def room() -> int:
    """How many guests run at once: by processors, and by the memory that was free at first."""
    free = [line for line in Path("/proc/meminfo").read_text().splitlines() if line.startswith("MemAvailable:")]
    by_memory = int(free[0].split()[1]) * 1024 // BYTES_EACH if free else 1
    return max(1, min(len(os.sched_getaffinity(0)), by_memory))


class _Task:
    def __init__(self, lines: Lines) -> None:
        self._lines = lines
        self.said: deque[bytes] = deque()
        self.done = False

    def step(self) -> bool:
        """Takes what has come; whether anything did."""
        for line in self._lines:
            if line is None:
                return bool(self.said)
            self.said.append(line)
        self.done = True
        return True

    def close(self) -> None:
        """Ends its guest."""
        self._lines.close()


def side_by_side(guests: Iterable[Lines], allowed: BoundedSemaphore, until: Deadline, name: str) -> Iterator[bytes]:
    """What all of them say: all of the first, as it comes, then all of the second, and so on. They begin in this order.

    An error of one ends all. Raises TargetError where time is up before `allowed` lets one begin.
    """
    waiting, begun = deque(guests), deque[_Task]()
    try:
        while waiting or begun:
            while waiting and allowed.acquire(blocking=False):
                begun.append(_Task(waiting.popleft()))
            moved = False
            for task in begun:
                if not task.done:
                    moved |= task.step()
                    if task.done:
                        allowed.release()
            while begun:
                while begun[0].said:
                    yield begun[0].said.popleft()
                if not begun[0].done:
                    break
                begun.popleft()
            if not moved:
                if until.passed and not begun:
                    raise TargetError(f"{name} could not begin before its time was up.")
                time.sleep(POLL_SECONDS)
    finally:
        for task in begun:
            if not task.done:
                task.close()
                allowed.release()
