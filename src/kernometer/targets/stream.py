"""A process's output as lines, within limits of time, silence and size; the probe's records between their markers."""

from __future__ import annotations

import math
import os
import re
import selectors
import signal
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, TypeVar

from kernometer.errors import MissingError, TargetError
from kernometer.targets.base import Deadline, Job
from kernometer.targets.guard import GRACE, guard
from kernometer.text import printable

#: Bytes of the last output that an error holds.
LAST_OUTPUT = 4000
#: A line longer than that is no record of ours.
LINE_BYTES = 16 << 20
#: From the last record to the end of the process: a wrapper may have a kernel to stop.
END_SECONDS = 60.0
#: For what comes on the error stream after the output's end.
LAST_SECONDS = 1.0

#: A line, or what there is of one yet.
_Line = TypeVar("_Line", bytes, bytes | None)

#: A marker ends its line; a line that another program did not end may stand before it.
BEGIN = re.compile(rb"#kernometer begin (\d{1,6})$")
_END = re.compile(rb"#kernometer end (\d{1,9})$")
_FAILED = b'{"type":"error"'


@contextmanager
def running(
    argv: Sequence[str],
    environment: Mapping[str, str] | None = None,
    *,
    stdin: int | IO[bytes] = subprocess.DEVNULL,
    folder: Path | None = None,
    scratch: Path | None = None,
    next_step: str = "",
) -> Iterator[Child]:
    """A child in a session of its own; at the end of the block it and all of its process group are gone: asked to leave
    first, then killed. So they are should we be killed, and `scratch` is removed then.

    With PIPE for `stdin` that is open until the block's end, and its end is the first thing that asks the child to
    leave. Raises MissingError where the command is not there. A TargetError of the block comes out with the end of the
    child's error stream, its status where it has ended, and `next_step` where it has none.
    """
    with guard(scratch) as watch:
        try:
            process = subprocess.Popen(
                argv,
                stdin=stdin,
                cwd=folder,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,
                env=environment,
            )
        except FileNotFoundError as error:
            raise MissingError(f"{argv[0]} is not there.", "Install it, or give its path.") from error
        except OSError as error:
            raise TargetError(f"{argv[0]} cannot be executed: {error.strerror}.") from error
        watch(process.pid)
        child = Child(process)
        try:
            yield child
        except TargetError as error:
            raise child.explained(error, next_step) from error
        finally:
            _end(process)
            child.close()


def _end(process: subprocess.Popen[bytes]) -> None:
    if process.stdin is not None:
        process.stdin.close()
        with suppress(subprocess.TimeoutExpired):
            process.wait(GRACE)
    if process.poll() is None:
        _signal_group(process, signal.SIGTERM)
        with suppress(subprocess.TimeoutExpired):
            process.wait(GRACE)
    _signal_group(process, signal.SIGKILL)  # what a leader that left has left behind, too
    process.wait()


def _signal_group(process: subprocess.Popen[bytes], number: int) -> None:
    try:
        os.killpg(process.pid, number)
    except (ProcessLookupError, PermissionError):
        return


class Child:
    """A process of `running`. What it says on its error stream is apart from its output, and its end is kept."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._process = process
        self._said = b""
        self._selector = selectors.DefaultSelector()
        for stream in filter(None, (process.stdout, process.stderr)):
            os.set_blocking(stream.fileno(), False)
            self._selector.register(stream, selectors.EVENT_READ)

    def lines(self, until: Deadline, max_bytes: int, name: str, silence: float = math.inf) -> Iterator[bytes]:
        """Lines without their newline (and without a carriage return before it), as they come.

        Raises TargetError when `until` passes, after `silence` seconds without output, when there are more than
        `max_bytes`, or when a line is too long to be one.
        """
        splitter = Splitter(name, max_bytes)
        quiet = Deadline.after(silence)
        while (chunk := self._read(min(until.left(), quiet.left()))) is not None:
            if chunk:
                quiet = Deadline.after(silence)
                yield from splitter.feed(chunk)
            if until.passed and chunk:
                raise TargetError(f"{name} was not done when its time was up.", "", splitter.tail)
            if until.passed or quiet.passed:
                how_long = "before its time was up" if until.passed else f"for {silence:.0f} s"
                raise TargetError(f"{name} gave no sign of life {how_long}.", "", splitter.tail)
        yield from splitter.rest()

    def records(self, job: Job, until: Deadline, name: str) -> Iterator[bytes]:
        """What the probe says between its markers. Then it must end, and well: 1 is the status of failed rows."""
        failed = False
        for line in between_markers(self.lines(until, job.max_bytes, name, job.silence), name):
            failed |= line.startswith(_FAILED)
            yield line
        soon = Deadline.after(END_SECONDS)
        while (status := self._status()) is None:
            if soon.passed:
                raise TargetError(f"{name} gave all records, and did not end within {END_SECONDS:.0f} s.")
            self._read(0.05)
        if status not in (0, int(failed)):
            raise TargetError(f"{name} gave all records, and did not end well.")

    def explained(self, error: TargetError, next_step: str) -> TargetError:
        """The same error with what is known of its cause."""
        said, status = self.said(), self._status()
        how = "" if status is None else f"left with status {status}" if status >= 0 else f"died of signal {-status}"
        text = f"{error.text} It {how}." if how else error.text
        last = "\n".join(filter(None, (error.last_output.rstrip("\n"), said)))[-LAST_OUTPUT:]
        return type(error)(text, error.next_step or next_step, last)

    def said(self) -> str:
        """The end of what it said on its error stream since this was asked; waits a moment for more."""
        soon = Deadline.after(LAST_SECONDS)
        while self._process.stderr in self._selector.get_map() and not soon.passed:
            self._read(soon.left())
        said, self._said = self._said, b""
        return shown(said).rstrip("\n")

    def close(self) -> None:
        """Its process has ended; nothing more is read."""
        self._selector.close()
        for stream in filter(None, (self._process.stdout, self._process.stderr)):
            stream.close()

    def _status(self) -> int | None:
        """None as long as it runs; where its output has ended the process does so in a moment."""
        if self._process.stdout not in self._selector.get_map():
            with suppress(subprocess.TimeoutExpired):
                return self._process.wait(0.05)
        return self._process.poll()

    def _read(self, seconds: float) -> bytes | None:
        """What comes of its output within so many seconds, b"" for nothing, None at its end."""
        come: bytes | None = b""
        timeout = None if math.isinf(seconds) else seconds
        for key, _ in self._selector.select(timeout) or self._selector.select(0):  # again: we may have been stopped
            chunk = os.read(key.fd, 1 << 16)
            if not chunk:
                self._selector.unregister(key.fileobj)
            if key.fileobj is self._process.stdout:
                come = chunk or None
            else:
                self._said = (self._said + chunk)[-LAST_OUTPUT:]
        return come


class Splitter:
    """Bytes as they come to lines without LF or CRLF, within limits of size."""

    def __init__(self, name: str, max_bytes: int) -> None:
        self.name = name
        self.max_bytes = max_bytes
        self._total = 0
        self._pending = bytearray()

    def feed(self, chunk: bytes) -> Iterator[bytes]:
        """The lines that `chunk` completes. Raises TargetError when there is too much, or a line is too long."""
        self._total += len(chunk)
        if self._total > self.max_bytes or len(self._pending) > LINE_BYTES:
            raise TargetError(
                f"{self.name} printed more than {self.max_bytes:,} bytes, or a line without end.", "", self.tail
            )
        *whole, self._pending = (self._pending + chunk).split(b"\n")
        for line in whole:
            yield bytes(line).removesuffix(b"\r")

    def rest(self) -> tuple[bytes, ...]:
        """What stands after the last newline, if anything does: to be asked for at the end."""
        return (bytes(self._pending),) if self._pending else ()

    @property
    def tail(self) -> str:
        """What of the last line has come, to be shown."""
        return shown(self._pending[-LAST_OUTPUT:])


def shown(data: bytes | bytearray) -> str:
    """What a target said, as text that does no harm."""
    return printable(bytes(data).decode("utf-8", "replace").replace("\r\n", "\n"), keep="\n")


def between_markers(lines: Iterator[_Line], name: str) -> Iterator[_Line]:
    """The probe's records: what stands between the two marker lines and begins with a brace.

    None, for "nothing yet", is handed on. Other lines are what else was on the console; they are kept for the error.
    Raises TargetError where a marker is missing, or the end marker counts more records than came.
    """
    other: list[bytes] = []
    records = -1
    for line in lines:
        if line is None:
            yield line
            continue
        if records < 0:
            if BEGIN.search(line):
                records = 0
                continue
        elif line.startswith(b"{"):
            records += 1
            yield line
            continue
        elif (end := _END.search(line)) is not None:
            if int(end[1]) != records:
                raise TargetError(
                    f"{name}: {end[1].decode()} records were sent and {records} arrived.",
                    "Whatever prints beside the probe must end its lines, or use the error stream.",
                    _last(other),
                )
            if records == 0:  # not even a header: it says why in words
                raise TargetError(f"{name}: the probe could not begin.", "Its words are below.", _last(other))
            return
        other = [*other[-50:], line]
    begun = "stopped in the middle" if records >= 0 else "never began"
    raise TargetError(f"{name}: the probe's output {begun}.", "", _last(other))


def _last(lines: list[bytes]) -> str:
    return shown(b"\n".join(lines)[-LAST_OUTPUT:])
