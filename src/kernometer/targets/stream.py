"""A process's output as lines, within limits of time and size; and the probe's records between their markers."""

from __future__ import annotations

import os
import re
import selectors
import signal
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, TypeVar, cast

from kernometer.errors import MissingError, TargetError
from kernometer.targets.base import Deadline
from kernometer.text import printable

#: Bytes of the last output that an error holds.
LAST_OUTPUT = 4000
#: A line longer than that is no record of ours.
LINE_BYTES = 16 << 20
#: Seconds that a target has to clean up after SIGTERM before SIGKILL.
GRACE = 5.0

#: A line, or what there is of one yet.
_Line = TypeVar("_Line", bytes, bytes | None)

_BEGIN = re.compile(rb"#kernometer begin (\d{1,6})")
_END = re.compile(rb"#kernometer end (\d{1,9})")


@contextmanager
def running(
    argv: Sequence[str],
    environment: Mapping[str, str] | None = None,
    *,
    stdin: int | IO[bytes] = subprocess.DEVNULL,
    folder: Path | None = None,
) -> Iterator[IO[bytes]]:
    """The output of a child in a session of its own, stderr within stdout; at the end of the block it and all of its
    process group are gone: asked to leave first, then killed.

    With PIPE for `stdin` that is open until the block's end, and its end is the first thing that asks the child to
    leave. Raises MissingError where the command is not there.
    """
    try:
        process = subprocess.Popen(
            argv,
            stdin=stdin,
            cwd=folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            env=environment,
        )
    except FileNotFoundError as error:
        raise MissingError(f"{argv[0]} is not there.", "Install it, or give its path.") from error
    except OSError as error:
        raise TargetError(f"{argv[0]} cannot be executed: {error.strerror}.") from error
    output = cast("IO[bytes]", process.stdout)  # asked for as a pipe
    try:
        yield output
    finally:
        _end(process)
        output.close()


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


def lines_of(stream: IO[bytes], until: Deadline, max_bytes: int, name: str) -> Iterator[bytes]:
    """Lines without their newline (and without a carriage return before it), as they come.

    Raises TargetError when `until` passes, when there are more than `max_bytes`, or when a line is too long to be one.
    """
    splitter = Splitter(name, max_bytes)
    os.set_blocking(stream.fileno(), False)
    with selectors.DefaultSelector() as selector:
        selector.register(stream, selectors.EVENT_READ)
        while True:
            if not selector.select(until.left()):
                raise TargetError(f"{name} gave no sign of life before its time was up.", "", splitter.tail)
            chunk = os.read(stream.fileno(), 1 << 16)
            if not chunk:
                break
            yield from splitter.feed(chunk)
            if until.passed:
                raise TargetError(f"{name} was not done when its time was up.", "", splitter.tail)
    yield from splitter.rest()


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
            if _BEGIN.fullmatch(line):
                records = 0
                continue
        elif line.startswith(b"{"):
            records += 1
            yield line
            continue
        elif (end := _END.fullmatch(line)) is not None:
            if int(end[1]) != records:
                raise TargetError(
                    f"{name}: {end[1].decode()} records were sent and {records} arrived.", "", _last(other)
                )
            if records == 0:  # not even a header: it says why in words
                raise TargetError(f"{name}: the probe could not begin.", "Its words are below.", _last(other))
            return
        other = [*other[-50:], line]
    begun = "stopped in the middle" if records >= 0 else "never began"
    raise TargetError(f"{name}: the probe's output {begun}.", "", _last(other))


def _last(lines: list[bytes]) -> str:
    return shown(b"\n".join(lines)[-LAST_OUTPUT:])
