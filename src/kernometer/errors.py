"""Every error that a user may meet, and the exit status of each. The CLI prints `text` and `next_step`.

KernometerError
├── UsageError            2   the command line is wrong
├── TargetError           3   a target died, hung, or printed something other than records
│   └── BuildError        4   the probe does not compile
├── ResultError           5   a result file or the store cannot be read or written
├── MissingError          6   something that must be installed first
└── StoppedError        130   the user stopped it; what was measured is kept
Also: 0 done; 1 done, and at least one row failed; 7 done, and the gate that was asked for failed.
"""

from __future__ import annotations

from enum import IntEnum


class Status(IntEnum):
    """Exit statuses. The docs and the man page print this list."""

    DONE = 0
    ROWS_FAILED = 1
    USAGE = 2
    TARGET = 3
    BUILD = 4
    RESULT = 5
    MISSING = 6
    GATE = 7
    INTERRUPTED = 130

    @property
    def meaning(self) -> str:
        """One sentence for the man page and the docs."""
        return _MEANINGS[self]


_MEANINGS = {
    Status.DONE: "Done.",
    Status.ROWS_FAILED: "Done, and at least one row failed; the others are there.",
    Status.USAGE: "The words on the command line are wrong.",
    Status.TARGET: "A target died, hung, or printed what is not the probe's.",
    Status.BUILD: "The probe does not build.",
    Status.RESULT: "A result file or the store cannot be read or written.",
    Status.MISSING: "Something must be installed first.",
    Status.GATE: "Done, and the gate failed: a row is slower, failed, or missing on one side (--strict: or undecided).",
    Status.INTERRUPTED: "Interrupted; what was measured is kept.",
}


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
