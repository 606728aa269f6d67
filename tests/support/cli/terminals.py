"""`guest boot` on a pseudo-terminal of which the test holds the other end."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import subprocess
import sys
import termios
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from kernometer.targets.base import Deadline

COMMAND = (sys.executable, "-m", "kernometer", "guest", "boot")
#: Beyond any machine; nothing here waits for it.
SECONDS = 120.0


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2][0] != "Z"
    except (FileNotFoundError, ProcessLookupError):  # the latter where it ends between open and read
        return False


def wait_for(what: Callable[[], bool], seconds: float = SECONDS) -> None:
    until = Deadline.after(seconds)
    while not what():
        assert not until.passed
        select.select([], [], [], 0.02)


class Terminal:
    """A front end on a pseudo-terminal: what it shows, and what is typed."""

    def __init__(self, process: subprocess.Popen[bytes], ours: int, theirs: int) -> None:
        self.process = process
        self.ours = ours
        self.theirs = theirs
        self.shown = b""

    def see(self, words: bytes, seconds: float = SECONDS) -> bytes:
        """Waits until `words` are shown after what was seen before; all that was shown until then."""
        until = Deadline.after(seconds)
        while words not in self.shown:
            ready, _, _ = select.select([self.ours], [], [], until.left())
            assert ready, self.shown[-2000:]
            self.shown += os.read(self.ours, 1 << 16)
        seen, _, self.shown = self.shown.partition(words)
        return seen + words

    def type(self, text: bytes) -> None:
        os.write(self.ours, text)

    def status(self, seconds: float = SECONDS) -> int:
        """Waits for the end, reading on: a terminal that nobody reads stops its writers."""
        until = Deadline.after(seconds)
        while (status := self.process.poll()) is None:
            assert not until.passed, self.shown[-2000:]
            if select.select([self.ours], [], [], 0.05)[0]:
                self.shown += os.read(self.ours, 1 << 16)
        return status


@contextmanager
def on_terminal(words: tuple[str, ...], environment: Mapping[str, str]) -> Iterator[Terminal]:
    """The command in a session of its own whose terminal is ours; killed at the end."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        words, stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True, env=environment,
        preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
    )  # fmt: skip  # as a command line
    try:
        yield Terminal(process, ours, theirs)
    finally:
        process.kill()
        process.wait()
        os.close(ours)
        os.close(theirs)


def settings(terminal: Terminal) -> tuple[list[object], int]:
    """Of the terminal, and whether its readers block."""
    return termios.tcgetattr(terminal.theirs), fcntl.fcntl(terminal.theirs, fcntl.F_GETFL)
