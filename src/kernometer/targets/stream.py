"""A process's output as lines, with limits of time, silence and size; the probe's records between their markers."""

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

import msgspec

from kernometer.errors import MissingError, TargetError, refused
from kernometer.processes import GRACE, guard, reap
from kernometer.targets.base import Deadline, Job
from kernometer.text import printable

#: Bytes of the last output in an error.
LAST_OUTPUT = 4000
#: Longer lines are not records.
LINE_BYTES = 16 << 20
#: From the last record to the end of the process; a wrapper may have to stop a kernel.
END_SECONDS = 60.0
#: The time for standard error after the output's end.
LAST_SECONDS = 1.0

#: A line, or None while there is none.
_Line = TypeVar("_Line", bytes, bytes | None)

#: A marker ends its line; another program's unfinished line may precede it.
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
    """A child in its own session. The end of the block ends its process group, first with SIGTERM, then with SIGKILL.
    If we are killed, the same happens, and `scratch` is removed.

    With PIPE `stdin` stays open until the block's end, when closing it is the first request to the child to end. Raises
    MissingError if the command does not exist. A TargetError of the block gets the end of the child's standard error,
    its status if it has ended, and `next_step` if it has none.
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
            raise MissingError(f"There is no {argv[0]}.", "Install it, or give its path.") from error
        except OSError as error:
            unusable = TargetError(
                f"{argv[0]} cannot be executed: {error.strerror}.",
                "It must be a program of this machine, executable by you, in directories that you may enter.",
            )
            raise (None if isinstance(error, PermissionError) else refused(error)) or unusable from error
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
    _signal_group(process, signal.SIGKILL)  # also processes that an ended leader left behind
    reap(process)


def _signal_group(process: subprocess.Popen[bytes], number: int) -> None:
    try:
        os.killpg(process.pid, number)
    except (ProcessLookupError, PermissionError):
        return


class Child:
    """A process of `running`. Its standard error is read apart from its output; the end of it is kept."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._process = process
        self._said = b""
        self._selector = selectors.DefaultSelector()
        for stream in filter(None, (process.stdout, process.stderr)):
            os.set_blocking(stream.fileno(), False)
            self._selector.register(stream, selectors.EVENT_READ)

    def lines(self, until: Deadline, max_bytes: int, name: str, silence: float = math.inf) -> Iterator[bytes]:
        """Lines without their newline (and without a carriage return before it), as they come.

        Raises TargetError if `until` passes, after `silence` seconds without output, if there are more than
        `max_bytes`, or if a line is too long.
        """
        splitter = Splitter(name, max_bytes)
        quiet = Deadline.after(silence)
        while (chunk := self._read(until.wait(quiet.left()))) is not None:
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
        """The probe's lines between its markers. Then it must end with status 0, or 1 for failed rows."""
        failed = False
        for line in between_markers(self.lines(until, job.max_bytes, name, job.silence), name):
            failed |= line.startswith(_FAILED)
            yield line
        soon = Deadline.after(END_SECONDS)
        while (status := self._status()) is None:
            if soon.passed:
                raise TargetError(f"{name} gave all records, but did not end within {END_SECONDS:.0f} s.")
            self._read(0.05)
        if status not in (0, int(failed)):
            raise TargetError(f"{name} gave all records, but ended with an error.")

    def explained(self, error: TargetError, next_step: str) -> TargetError:
        """The error with its known cause."""
        said, status = self.said(), self._status()
        how = "" if status is None else f"left with status {status}" if status >= 0 else f"died of signal {-status}"
        text = f"{error.text} It {how}." if how else error.text
        last = "\n".join(filter(None, (error.last_output.rstrip("\n"), said)))[-LAST_OUTPUT:]
        return type(error)(text, error.next_step or next_step, last)

    def said(self) -> str:
        """The end of its standard error since the last call; waits a moment for more."""
        soon = Deadline.after(LAST_SECONDS)
        while self._process.stderr in self._selector.get_map() and not soon.passed:
            self._read(soon.left())
        said, self._said = self._said, b""
        return shown(said).rstrip("\n")

    def close(self) -> None:
        """Stops reading after the process has ended."""
        self._selector.close()
        for stream in filter(None, (self._process.stdout, self._process.stderr)):
            stream.close()

    def _status(self) -> int | None:
        """The exit status, None while it runs; a process whose output has ended gets a moment to end."""
        if self._process.stdout not in self._selector.get_map():
            with suppress(subprocess.TimeoutExpired):
                return self._process.wait(0.05)
        return self._process.poll()

    def _read(self, seconds: float) -> bytes | None:
        """The output that comes within so many seconds; b"" for nothing, None at its end."""
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
    """Splits bytes into lines without LF or CRLF, with limits of size."""

    def __init__(self, name: str, max_bytes: int) -> None:
        self.name = name
        self.max_bytes = max_bytes
        self._total = 0
        self._pending = bytearray()

    def feed(self, chunk: bytes) -> Iterator[bytes]:
        """The lines that `chunk` completes. Raises TargetError if there is too much, or a line is too long."""
        self._total += len(chunk)
        if self._total > self.max_bytes or len(self._pending) > LINE_BYTES:
            raise TargetError(
                f"{self.name} printed more than {self.max_bytes:,} bytes, or a line without end.", "", self.tail
            )
        begun, *others = chunk.split(b"\n")
        self._pending += begun
        for other in others:
            line, self._pending = bytes(self._pending), bytearray(other)
            yield line.removesuffix(b"\r")

    def rest(self, end: bytes = b"") -> tuple[bytes, ...]:
        """The text after the last newline, if there is one and it ends with `end`, which is left out."""
        rest = self._pending
        return (bytes(rest.removesuffix(end)),) if rest and rest.endswith(end) else ()

    @property
    def tail(self) -> str:
        """The unfinished last line, to be shown."""
        return shown(self._pending[-LAST_OUTPUT:])


def shown(data: bytes | bytearray) -> str:
    """A target's output as text that is safe to print."""
    text = bytes(data).decode("utf-8", "replace")
    text = text.replace("\r\n", "\n").replace("\n\r", "\n")  # GNU Mach ends its lines in the second way too
    return printable(text, keep="\n")


def between_markers(lines: Iterator[_Line], name: str) -> Iterator[_Line]:
    """The probe's records: the lines between the two markers that begin with a brace.

    None, for "nothing yet", is passed on. Other lines are kept for errors. Raises TargetError if a marker is missing,
    or if the end marker counts more records than arrived.
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
                    "Other programs must end their lines, or use standard error.",
                    _last(other),
                )
            if records == 0:  # without a header the other lines give the reason
                raise TargetError(f"{name}: the probe could not begin.", "Its output is below.", _last(other))
            return
        other = [*other[-50:], line]
    begun = "stopped in the middle" if records >= 0 else "never began"
    raise TargetError(f"{name}: the probe's output {begun}.", "", _last(other))


def unbroken(lines: Iterator[_Line], name: str) -> Iterator[_Line]:
    """The lines of a console. Raises TargetError if other output, for example a kernel's message, broke a record."""
    for line in lines:
        broken = line is not None and not line.startswith(b"{") and b'{"type":' in line
        if line is not None and line.startswith(b"{"):
            try:
                msgspec.json.decode(line)
            except msgspec.DecodeError:
                broken = True
        if line is not None and broken:
            raise TargetError(
                f"{name}: run: a record was broken by other words on the console.",
                "Run it again, or keep such output away: 'setup' of [shell] in the description.",
                shown(line[-LAST_OUTPUT:]),
            )
        yield line


def _last(lines: list[bytes]) -> str:
    return shown(b"\n".join(lines)[-LAST_OUTPUT:])
