"""Guests in parallel: as many as there are processors, in one thread, with their lines in a fixed order."""

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from functools import cache
from pathlib import Path
from threading import BoundedSemaphore

from kernometer.errors import TargetError
from kernometer.targets.base import Deadline

#: Seconds between two reads of the guests' output, which is in files, so that reading does not disturb them.
POLL_SECONDS = 0.01
#: The memory of an emulator, with the part of its guest's memory that most rows touch.
BYTES_EACH = 1536 << 20

#: A guest's lines; None while it prints nothing.
Lines = Generator[bytes | None, None, None]


@cache
def slots() -> BoundedSemaphore:
    """One slot for each guest that may run now, for all sessions together."""
    return BoundedSemaphore(room())


def room() -> int:
    """How many guests run at once: by processors, and by the memory that was free at the start."""
    free = [line for line in Path("/proc/meminfo").read_text().splitlines() if line.startswith("MemAvailable:")]
    by_memory = int(free[0].split()[1]) * 1024 // BYTES_EACH if free else 1
    return max(1, min(len(os.sched_getaffinity(0)), by_memory))


class _Task:
    def __init__(self, lines: Lines, hear: Callable[[bytes], None] | None) -> None:
        self._lines, self._hear = lines, hear
        self.said: deque[bytes] = deque()
        self.done = False

    def step(self) -> bool:
        """Reads new lines; returns whether there were any."""
        for line in self._lines:
            if line is None:
                return bool(self.said)
            self.said.append(line)
            if self._hear is not None:
                self._hear(line)
        self.done = True
        return True

    def close(self) -> None:
        """Ends its guest."""
        self._lines.close()


def side_by_side(
    guests: Iterable[Lines],
    allowed: BoundedSemaphore,
    until: Deadline,
    name: str,
    hear: Callable[[bytes], None] | None = None,
) -> Iterator[bytes]:
    """The lines of all guests: those of the first as they come, then those of the second, and so on; `hear` gets each
    when it comes. The guests begin in this order. An error of one ends all. Raises TargetError if `until` passes before
    one can begin."""
    waiting, begun = deque(guests), deque[_Task]()
    try:
        while waiting or begun:
            while waiting and allowed.acquire(blocking=False):
                begun.append(_Task(waiting.popleft(), hear))
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
