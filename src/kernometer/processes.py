"""The end of a child process."""

from __future__ import annotations

import os
import subprocess
from contextlib import suppress


def reap(process: subprocess.Popen[bytes]) -> None:
    """Waits for a process that has been killed, without Popen's lock.

    An exception of a signal handler (Ctrl-C, SIGTERM) between the lines of Popen.wait or Popen.poll leaves that lock
    taken for good, and Popen.wait would then never return.
    """
    if process.returncode is None:
        with suppress(ChildProcessError):  # Popen reaped it before the exception came
            process.returncode = os.waitstatus_to_exitcode(os.waitpid(process.pid, 0)[1])
