"""A serial console on a socket: waits for a guest's output, always with a limit.

All input is untrusted: limited in size, and shown escaped.
"""

from __future__ import annotations

import re
import socket
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from kernometer.errors import LibraryError, TargetError
from kernometer.targets.base import Deadline
from kernometer.targets.stream import LAST_OUTPUT, Splitter, shown

try:
    import pexpect
    from pexpect.socket_pexpect import SocketSpawn
except ImportError as error:
    raise LibraryError("console:", "pexpect", "console") from error

PIECE = 1 << 16
#: The most output of one step: a hundred times the messages of a boot.
STEP_BYTES = 8 << 20
#: Patterns are searched only at the end: a prompt is short, and a flood must not be searched repeatedly.
WINDOW = 4096
#: QEMU takes input only as fast as the guest reads it.
SEND_SECONDS = 60.0
#: The Enter key.
ENTER = b"\r"
#: Seconds without output after which QEMU is woken.
WAKE_SECONDS = 1.0


if TYPE_CHECKING:
    _Spawn = SocketSpawn[bytes]
else:  # pexpect's own class has no type of its input
    _Spawn = SocketSpawn


class _Bounded(_Spawn):
    """Counts and stores what is read, and wakes QEMU while there is no output: a counting one may sleep for good
    (qemu.Accelerator)."""

    def __init__(self, line: socket.socket, wake: Callable[[], object]) -> None:
        super().__init__(line, searchwindowsize=WINDOW, maxread=PIECE)
        self._wake = wake
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


class _FloodError(Exception):
    """A step printed too much."""


class Console:
    """Input and output of the line. Every error names the step, and contains the last output."""

    def __init__(
        self, line: socket.socket, name: str, panics: Sequence[str] = (), wake: Callable[[], object] = lambda: None
    ) -> None:
        line.settimeout(SEND_SECONDS)
        self.name = name
        self._spawn = _Bounded(line, wake)
        self._panics = [re.compile(pattern.encode()) for pattern in panics]

    def expect(self, step: str, patterns: Sequence[re.Pattern[bytes]], until: Deadline) -> int:
        """Waits for the first of the patterns in the output; returns its index. `before` is the output before it.
        Raises TargetError if `until` passes first, if the kernel panics, or if the line is closed."""
        self._spawn.total = 0
        every = [*patterns, *self._panics]
        seconds = until.left()
        try:
            index = int(self._spawn.expect_list([*every], timeout=seconds))
        except pexpect.TIMEOUT:
            wanted = " or ".join(shown(pattern.pattern) for pattern in patterns)
            raise self.error(step, f"{wanted!r} did not come in {seconds:.0f} s") from None
        except pexpect.EOF:
            raise self.error(step, "the machine stopped") from None
        except _FloodError:
            raise self.error(step, f"more than {STEP_BYTES:,} bytes were printed") from None
        except OSError as failure:
            raise self.error(step, f"the console broke: {failure.strerror}") from None
        if index >= len(patterns):
            line = self._found + self._spawn.buffer.partition(b"\n")[0]
            raise self.error(step, f"the kernel died: {shown(line).strip()[:300]}")
        return index

    @property
    def before(self) -> bytes:
        """The output before the last pattern that was found."""
        return bytes(self._spawn.before or b"")

    @property
    def _found(self) -> bytes:
        after = self._spawn.after
        return after if isinstance(after, bytes) else b""

    def send(self, step: str, text: str) -> None:
        """Types `text` and Enter."""
        try:
            self._spawn.send(text.encode() + ENTER)
        except OSError as failure:
            raise self.error(step, f"nothing more can be typed: {failure.strerror or 'no room'}") from None

    def lines(self, step: str, end: bytes, until: Deadline, silence: float, max_bytes: int) -> Iterator[bytes]:
        """Lines without LF or CRLF, as they come, until an unfinished line ends with `end` (a prompt). Raises
        TargetError if `until` passes, after `silence` seconds without output, or for more than `max_bytes`."""
        splitter = Splitter(self.name, max_bytes)
        self._spawn.expect_list([re.compile(rb"(?s).*")], timeout=0)  # what has come already
        chunk = self.before + self._found
        while True:
            for line in splitter.feed(chunk):
                self._look_for_panic(step, line)
                yield line
            if last := splitter.rest(end):
                yield from last
                return
            self._spawn.total = 0
            left = min(silence, until.left())
            try:
                chunk = self._spawn.read_nonblocking(PIECE, max(left, 0.001))
            except pexpect.TIMEOUT:
                when = "when its time was up" if until.passed else f"after {silence:.0f} s without output"
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
        """The error that `what` went wrong in this step, with the console's last output."""
        last = shown(b"".join(self._spawn.last)[-LAST_OUTPUT:])
        return TargetError(f"{self.name}: {step}: {what}.", "The console's last output is below.", last)

    def _look_for_panic(self, step: str, line: bytes) -> None:
        if not line.startswith(b"{"):
            for pattern in self._panics:
                if match := pattern.search(line):
                    raise self.error(step, f"the kernel died: {shown(line[match.start() :])[:300]}")
