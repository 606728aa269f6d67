"""Every error that a user may meet, and the exit status of each. The CLI prints `text` and `next_step`.

KernometerError
├── UsageError            2   the command line is wrong
├── TargetError           3   a target died, hung, or printed something other than records
│   └── BuildError        4   the probe does not compile
├── ResultError           5   a result file or the store cannot be read or written
├── FailedError           1   the command of the user that was to be timed failed; nothing is stored
├── MissingError          6   something that must be installed first, or a limit that must be raised
└── StoppedError        130   the user stopped it; what was measured is kept
Also: 0 done; 1 done, and at least one row failed; 7 done, and the gate that was asked for failed.
"""

from __future__ import annotations

import errno
from enum import IntEnum


class Status(IntEnum):
    """Exit statuses, each with a sentence for the man page and the docs, which print this list."""

    meaning: str

    def __new__(cls, number: int, meaning: str) -> Status:
        made = int.__new__(cls, number)
        made._value_, made.meaning = number, meaning
        return made

    DONE = 0, "Done."
    ROWS_FAILED = 1, "Done, and at least one row failed (the others are there), or the command after -- did."
    USAGE = 2, "The words on the command line are wrong."
    TARGET = 3, "A target died, hung, or printed what is not the probe's."
    BUILD = 4, "The probe does not build."
    RESULT = 5, "A result file or the store cannot be read or written."
    MISSING = 6, "Something must be installed first, or a limit of this process raised."
    GATE = 7, "Done, and the gate failed: a row is slower, failed, or missing on one side (--strict: or undecided)."
    INTERRUPTED = 130, "Interrupted; what was measured is kept."


class KernometerError(Exception):
    """`text` says what is wrong, `next_step` what to do about it."""

    status = Status.TARGET

    def __init__(self, text: str, next_step: str = "") -> None:
        super().__init__(text)
        self.text = text
        self.next_step = next_step


class UsageError(KernometerError):
    status = Status.USAGE


class TargetError(KernometerError):
    """Holds the last output, which is data: shown escaped, and cut."""

    status = Status.TARGET

    def __init__(self, text: str, next_step: str = "", last_output: str = "") -> None:
        super().__init__(text, next_step)
        self.last_output = last_output


class BuildError(TargetError):
    status = Status.BUILD


class ResultError(KernometerError):
    status = Status.RESULT


class StoppedError(KernometerError):
    """The user stopped it; what was measured is kept."""

    status = Status.INTERRUPTED


class MissingError(KernometerError):
    status = Status.MISSING


class LibraryError(MissingError):
    """A library that only some need, an extra of pyproject.toml, is not installed."""

    def __init__(self, what: str, library: str, extra: str) -> None:
        how = f"pip install 'kernometer[{extra}]' (in a checkout: .venv/bin/pip install {library})"
        super().__init__(f"{what} needs {library}.", how)


class FailedError(KernometerError):
    """The command of the user that was to be timed failed."""

    status = Status.ROWS_FAILED


_LIMITS = {
    errno.EMFILE: "Raise the limit of open files (ulimit -n).",
    errno.ENFILE: "Close files: the whole system has no more.",
    errno.ENOMEM: "Raise the limit of memory (ulimit -v), or end other programs.",
    errno.EAGAIN: "Raise the limit of processes (ulimit -u), or end other programs.",
}
_WRITING = {
    errno.EFBIG: "Raise the limit of file sizes (ulimit -f), or write elsewhere.",
    errno.EBADF: "It is closed: leave >&- out.",
    errno.EIO: "Look at the device (dmesg), or write elsewhere.",
    **dict.fromkeys((errno.ENOSPC, errno.EDQUOT), "Free some space there, or write elsewhere."),
}
_PERMISSION = (errno.EACCES, errno.EPERM, errno.EROFS)


def refused(error: OSError) -> KernometerError | None:
    """The error for what the system refused; None if that should never happen, and is a fault of the program."""
    number, why = error.errno or 0, error.strerror
    if number in _LIMITS:
        return MissingError(f"The system refuses this process something: {why}.", _LIMITS[number])
    if number in _WRITING:
        what = error.filename or "The output (or a temporary file)"
        return ResultError(f"{what} cannot be written: {why}.", _WRITING[number])
    if number in _PERMISSION and error.filename:
        return ResultError(f"{error.filename} cannot be used: {why}.", "Change its permissions, or name another.")
    if number == errno.ENOENT and error.filename is None:  # tempfile's: it tried to write in each
        return ResultError(f"{why}.", "Name a folder that you may write with TMPDIR; is a limit set (ulimit -f)?")
    return None
