"""Makes this process independent of what its parent left it: closed streams, ignored and blocked signals.

Output to a stream that is closed, full or no longer read is lost, but nothing stops: the measurement goes on, results
and report are kept, and the exit status is that of the command. A message at the end tells of lost output.
"""

from __future__ import annotations

import io
import os
import signal
import sys
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from typing_extensions import Buffer


class Stream(io.FileIO):
    """A descriptor whose first failed write is kept in `lost`; later ones are not tried."""

    lost: OSError | None = None

    def write(self, data: Buffer, /) -> int:
        if self.lost is None:
            try:
                return super().write(data) or 0
            except OSError as error:
                self.lost = error
        return memoryview(data).nbytes


def own() -> Stream:
    """Gives this process streams and signals of its own; returns its output."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:  # closed: the next file that is opened would be this stream
            os.open(os.devnull, os.O_RDONLY if number == 1 else os.O_RDWR)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)  # ignored, it hides how children end
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    out = Stream(1, "w", closefd=False)
    sys.stdout, sys.stderr = _text(out, sys.stdout), _text(Stream(2, "w", closefd=False), sys.stderr, lines=True)
    if sys.stdin is None:
        sys.stdin = open(0, closefd=False)  # noqa: SIM115  # for as long as the process lives
    return out


def _text(raw: Stream, like: TextIO | None, *, lines: bool = False) -> io.TextIOWrapper:
    """A text stream as the interpreter makes it; what its encoding does not know becomes an escape."""
    encoding = getattr(like, "encoding", None) or "utf-8"
    return io.TextIOWrapper(
        io.BufferedWriter(raw), encoding=encoding, errors="backslashreplace", line_buffering=lines or raw.isatty()
    )
