"""Calls of an `ssh:` target, and what its records are."""

from __future__ import annotations

import json

from kernometer.targets.base import Deadline, Job
from kernometer.targets.ssh import SshTarget

ROW = "syscall/getppid@"
TINY = Job(("--runs", "1", "--seconds", "0.01", ROW))
#: Far longer than any test waits, so that what is gone was ended.
LONG = Job(("--runs", "600", "--seconds", "1", "--half-width", "0", "--samples", "4096", ROW))


def lines(target: SshTarget, job: Job = TINY, seconds: float = 300) -> list[bytes]:
    return list(target.run(job, Deadline.after(seconds)))


def whole(host: str, job: Job = TINY) -> list[dict[str, object]]:
    """The records of a session of one call."""
    target = SshTarget(host)
    try:
        return [json.loads(line) for line in lines(target, job)]
    finally:
        target.close()
