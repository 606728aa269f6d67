"""The end of a child process: kernometer.processes."""

from __future__ import annotations

import signal
import subprocess

from kernometer.processes import reap


def started() -> subprocess.Popen[bytes]:
    return subprocess.Popen(["sleep", "600"])


def test_a_killed_process_is_reaped() -> None:
    process = started()
    process.kill()
    reap(process)
    assert process.wait() == -signal.SIGKILL


def test_a_lock_that_a_signal_left_taken_holds_nobody() -> None:
    """Expected: the end. Broken: the wait never ends, as Popen.wait's would (which CI met once in `guest boot`)."""
    process = started()
    process._waitpid_lock.acquire()  # type: ignore[attr-defined]  # Popen's own, at the wrong instant
    process.kill()
    reap(process)
    assert process.returncode == -signal.SIGKILL


def test_a_process_that_popen_has_reaped_is_no_error() -> None:
    process = started()
    process.kill()
    process.wait()
    process.returncode = None
    reap(process)
