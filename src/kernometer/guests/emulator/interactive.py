"""QEMU on the user's terminal, for interactive use. It ends when the guest powers off or the user leaves, without a
time limit. If our process ends, QEMU ends too, and the terminal gets its old settings.

Without a terminal (a script on standard input) the input is typed into the guest, one line at each prompt: a serial
line has no room for more, and loses input from before the guest reads.
"""

from __future__ import annotations

import fcntl
import os
import re
import select
import signal
import subprocess
import termios
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import NoReturn

from kernometer.errors import TargetError
from kernometer.guests.emulator.process import die_with_parent
from kernometer.processes import reap

STDIN, STDOUT, STDERR = 0, 1, 2
#: A shell's prompt: `/tmp # `, or `> ` to continue a command. A kernel's messages do not begin like this.
PROMPT = re.compile(rb"(\S{1,200} )?[#>] ")
#: The next line is typed after so many seconds without output, as the reading program may not prompt.
QUIET_SECONDS = 2.0
#: Typed at the end of the input, so that a script need not contain it.
LAST_WORD = b"exit\n"
#: The most bytes of a terminal's line.
LINE_BYTES = 4000
PIECE = 1 << 16


def attended(argv: Sequence[str], folder: Path, *, shell: bool) -> None:
    """Runs QEMU in `folder` with the caller's standard streams until it ends. `shell`: the guest has a prompting shell.

    Raises TargetError if QEMU cannot be started or ends with an error, and for a line that is too long for a terminal.
    """
    terminal = os.isatty(STDIN)
    with _streams_as_they_were(), _gone_with_signals():
        process = _started(argv, folder, terminal=terminal)
        try:
            if not terminal:
                _type(process, shell=shell)
            status = _awaited(process)
        finally:
            process.kill()
            reap(process)
    if status != 0:
        raise TargetError(f"QEMU ended with status {status}.", "Its output is above; --dry-run prints the command.")


def _started(argv: Sequence[str], folder: Path, *, terminal: bool) -> subprocess.Popen[bytes]:
    """Starts QEMU in our process group, which the terminal controls. If we are killed, a QEMU on a terminal gets
    SIGTERM, so that it restores the terminal, and any other is killed."""
    pipe = None if terminal else subprocess.PIPE
    die = partial(die_with_parent, signal.SIGTERM if terminal else signal.SIGKILL)
    try:
        return subprocess.Popen(argv, cwd=folder, stdin=pipe, stdout=pipe, preexec_fn=die)
    except OSError as error:
        raise TargetError(f"{argv[0]} cannot be started: {error.strerror}.", "Reinstall qemu-system-x86.") from error


def _awaited(process: subprocess.Popen[bytes]) -> int:
    """Waits for QEMU's status, and wakes QEMU meanwhile, as it may sleep for good (see qemu.Accelerator)."""
    while True:
        try:
            return process.wait(QUIET_SECONDS)
        except subprocess.TimeoutExpired:
            _wake(process)


def _wake(process: subprocess.Popen[bytes]) -> None:
    """Wakes QEMU's main loop, by a signal that otherwise only makes it set the terminal again."""
    process.send_signal(signal.SIGCONT)


@contextmanager
def _streams_as_they_were() -> Iterator[None]:
    """Restores the terminal and the streams: a killed QEMU leaves them raw and non-blocking."""
    flags = {}
    for stream in (STDIN, STDOUT, STDERR):
        with suppress(OSError):  # closed by our parent
            flags[stream] = fcntl.fcntl(stream, fcntl.F_GETFL)
    settings = termios.tcgetattr(STDIN) if os.isatty(STDIN) else None
    try:
        yield
    finally:
        if settings is not None:
            with suppress(termios.error):  # the terminal may be gone
                termios.tcsetattr(STDIN, termios.TCSADRAIN, settings)
        for stream, flag in flags.items():
            with suppress(OSError):
                fcntl.fcntl(stream, fcntl.F_SETFL, flag)


@contextmanager
def _gone_with_signals() -> Iterator[None]:
    """Makes SIGTERM and SIGHUP exceptions in the block, so that the clean-up runs."""

    def leave(number: int, _frame: object) -> NoReturn:
        raise SystemExit(128 + number)

    before = {number: signal.signal(number, leave) for number in (signal.SIGTERM, signal.SIGHUP)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _type(process: subprocess.Popen[bytes], *, shell: bool) -> None:
    """Passes QEMU's output on until it ends, and types the standard input into the guest."""
    assert process.stdin is not None and process.stdout is not None  # noqa: S101  # both are pipes
    typist = _Typist(process.stdin.fileno(), shell=shell)
    output = process.stdout.fileno()
    while True:
        wanted = [output] if typist.done else [output, *typist.waits_for]
        readable, _, _ = select.select(wanted, [], [], QUIET_SECONDS)
        if output in readable:
            piece = os.read(output, PIECE)
            if not piece:
                return
            _write(STDOUT, piece)
            typist.hear(piece)
        elif readable:
            typist.read()
        else:
            _wake(process)
            typist.hear_nothing()


class _Typist:
    """Types lines into the guest, one at each prompt."""

    def __init__(self, keyboard: int, *, shell: bool) -> None:
        self.keyboard = keyboard
        self.shell = shell
        self.done = False
        self._read = bytearray()
        self._at_end = False  #: of the standard input
        self._line: bytes | None = b""  #: the output's unfinished last line; None: it shows typed text
        self._listens = False  #: the guest has prompted once, or without a shell printed anything
        self._may = False  #: whether the next line may be typed

    @property
    def waits_for(self) -> tuple[int, ...]:
        """The standard input, if a line may be typed but is not read yet."""
        return (STDIN,) if self._may and not self._at_end and b"\n" not in self._read else ()

    def hear(self, piece: bytes) -> None:
        _, newline, last = piece.rpartition(b"\n")
        if newline or self._line is not None:
            self._line = last if newline else ((self._line or b"") + last)[:LINE_BYTES]
        if not self.shell or (self._line is not None and PROMPT.match(self._line)):
            self._listens = self._may = True
            self._next()

    def hear_nothing(self) -> None:
        self._may = self._listens
        self._next()

    def read(self) -> None:
        try:
            piece = os.read(STDIN, PIECE)
        except OSError:  # closed by our parent: an empty input
            piece = b""
        self._read += piece
        self._at_end = not piece
        self._next()

    def _next(self) -> None:
        """Types a line, if it may and there is one."""
        if self.done or not self._may:
            return
        line, newline, rest = self._read.partition(b"\n")
        if len(line) > LINE_BYTES:
            raise TargetError(f"A line of more than {LINE_BYTES} bytes cannot be typed into a guest.", "Break it up.")
        if newline or (self._at_end and line):
            self._read = rest
            _write(self.keyboard, line + b"\n")
        elif self._at_end:
            _write(self.keyboard, LAST_WORD * self.shell)
            self.done = True
        else:
            return
        self._may, self._line = False, None


def _write(stream: int, data: bytes | bytearray) -> None:
    """Writes all of `data`; ignores that QEMU has ended."""
    with suppress(BrokenPipeError):
        while data:
            data = data[os.write(stream, data) :]
