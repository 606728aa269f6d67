"""A serial console on a socket: waiting for what a guest prints, and for nothing longer than it may take.

All that is read is untrusted: limited in size, and shown escaped.
"""

from __future__ import annotations

import re
import socket
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

import pexpect
from pexpect.socket_pexpect import SocketSpawn

from kernometer.errors import TargetError
from kernometer.targets.base import Deadline
from kernometer.targets.stream import LAST_OUTPUT, Splitter, shown

PIECE = 1 << 16
#: What a guest may print within one step: a boot's messages are a hundredth of it.
STEP_BYTES = 8 << 20
#: A pattern is looked for in so much of the end: a prompt is short, and a flood must not be searched over and over.
WINDOW = 4096
#: QEMU takes what is typed as fast as the guest reads it.
SEND_SECONDS = 60.0
#: What Enter sends.
ENTER = b"\r"
#: After so much silence QEMU is woken.
WAKE_SECONDS = 1.0


if TYPE_CHECKING:
    _Spawn = SocketSpawn[bytes]
else:  # pexpect itself knows no type of what is read
    _Spawn = SocketSpawn


class _Bounded(_Spawn):
    """Counts and remembers what is read, and wakes QEMU while nothing is.

    One that counts may have fallen asleep for good (see qemu.Accelerator). An empty line for its monitor wakes it, and
    no guest sees that. (The monitor for people: QMP's is read by a thread of its own, and wakes nobody.)
    """

    def __init__(self, line: socket.socket, monitor: socket.socket) -> None:
        super().__init__(line, searchwindowsize=WINDOW, maxread=PIECE)
        self._monitor = monitor
        self.total = 0
        self.last: deque[bytes] = deque()
        self.kept = 0

    def read_nonblocking(self, size: int = 1, timeout: float | None = -1) -> bytes:
        until = Deadline.after(timeout or 0.0)
        while True:
            try:
                chunk: bytes = super().read_nonblocking(size, min(max(until.left(), 0.001), WAKE_SECONDS))
                break
            except pexpect.TIMEOUT:
                if until.passed:
                    raise
                self._wake()
        self.total += len(chunk)
        self.last.append(chunk)
        self.kept += len(chunk)
        while self.kept - len(self.last[0]) > LAST_OUTPUT:
            self.kept -= len(self.last.popleft())
        if self.total > STEP_BYTES:
            raise _FloodError
        return chunk

    def _wake(self) -> None:
        with suppress(OSError):  # full, or gone: then the console says so
            self._monitor.send(b"\n", socket.MSG_DONTWAIT)
            self._monitor.recv(PIECE, socket.MSG_DONTWAIT)


class _FloodError(Exception):
    """More than a step may print."""


class Console:
    """What is said and heard on the line. Every error names the step, and holds the last output."""

    def __init__(self, line: socket.socket, monitor: socket.socket, name: str, panics: Sequence[str] = ()) -> None:
        line.settimeout(SEND_SECONDS)
        self.name = name
        self._spawn = _Bounded(line, monitor)
        self._panics = [re.compile(pattern.encode()) for pattern in panics]

    def expect(self, step: str, patterns: Sequence[re.Pattern[bytes]], until: Deadline) -> int:
        """Waits for one of the patterns, the first in what comes; its index. What came before it is `before`.

        Raises TargetError when `until` passes first, when the kernel panics, or when the line is closed.
        """
        self._spawn.total = 0
        every = [*patterns, *self._panics]
        seconds = until.left()
        try:
            found = int(self._spawn.expect_list([*every], timeout=seconds))
        except pexpect.TIMEOUT:
            wanted = " or ".join(shown(pattern.pattern) for pattern in patterns)
            raise self.error(step, f"{wanted!r} did not come in {seconds:.0f} s") from None
        except pexpect.EOF:
            raise self.error(step, "the machine stopped") from None
        except _FloodError:
            raise self.error(step, f"more than {STEP_BYTES:,} bytes were printed") from None
        except OSError as failure:
            raise self.error(step, f"the console broke: {failure.strerror}") from None
        if found >= len(patterns):
            line = self._found + self._spawn.buffer.partition(b"\n")[0]
            raise self.error(step, f"the kernel died: {shown(line).strip()[:300]}")
        return found

    @property
    def before(self) -> bytes:
        """What came before the last pattern that was found."""
        return bytes(self._spawn.before or b"")

    @property
    def _found(self) -> bytes:
        after = self._spawn.after
        return after if isinstance(after, bytes) else b""

    def send(self, step: str, text: str) -> None:
        """Types it, and Enter."""
        try:
            self._spawn.send(text.encode() + ENTER)
        except OSError as failure:
            raise self.error(step, f"nothing more can be typed: {failure.strerror or 'no room'}") from None

    def lines(self, step: str, end: bytes, until: Deadline, silence: float, max_bytes: int) -> Iterator[bytes]:
        """Lines without LF or CRLF, as they come, until a line ends, so far, with `end` (a prompt).

        Raises TargetError when `until` passes, after `silence` seconds without a word, or for more than `max_bytes`.
        """
        splitter = Splitter(self.name, max_bytes)
        self._spawn.expect_list([re.compile(rb"(?s).*")], timeout=0)  # what has come already
        chunk = self.before + self._found
        while True:
            for line in splitter.feed(chunk):
                self._look_for_panic(step, line)
                yield line
            pending = b"".join(splitter.rest())
            if pending.endswith(end):
                yield pending.removesuffix(end)
                return
            self._spawn.total = 0
            left = min(silence, until.left())
            try:
                chunk = self._spawn.read_nonblocking(PIECE, max(left, 0.001))
            except pexpect.TIMEOUT:
                when = "when its time was up" if until.passed else f"after {silence:.0f} s without a word"
                raise self.error(step, f"it was not done {when}") from None
            except pexpect.EOF:
                raise self.error(step, "the machine stopped") from None
            except OSError as failure:
                raise self.error(step, f"the console broke: {failure.strerror}") from None

    def wait_for_end(self, step: str, until: Deadline) -> None:
        """Reads until the line is closed."""
        self._spawn.total = 0
        try:
            self._spawn.expect_exact([pexpect.EOF], timeout=until.left())
        except pexpect.TIMEOUT:
            raise self.error(step, "the machine did not stop") from None
        except _FloodError:
            raise self.error(step, f"more than {STEP_BYTES:,} bytes were printed") from None
        except OSError:  # reset by the end of QEMU
            return

    def error(self, step: str, what: str) -> TargetError:
        """`what` went wrong in this step, with the console's last output."""
        last = shown(b"".join(self._spawn.last)[-LAST_OUTPUT:])
        return TargetError(f"{self.name}: {step}: {what}.", "The console's last output is below.", last)

    def _look_for_panic(self, step: str, line: bytes) -> None:
        if not line.startswith(b"{"):
            for pattern in self._panics:
                if found := pattern.search(line):
                    raise self.error(step, f"the kernel died: {shown(line[found.start() :])[:300]}")
