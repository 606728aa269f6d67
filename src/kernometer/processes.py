"""The end of child processes: of one that was killed, and of all if we are killed, when our own code cannot do it."""

from __future__ import annotations

import os
import shlex
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


def reap(process: subprocess.Popen[bytes]) -> None:
    """Waits for a process that has been killed, without Popen's lock.

    An exception of a signal handler (Ctrl-C, SIGTERM) between the lines of Popen.wait or Popen.poll leaves that lock
    taken for good, and Popen.wait would then never return.
    """
    if process.returncode is None:
        with suppress(ChildProcessError):  # Popen reaped it before the exception came
            process.returncode = os.waitstatus_to_exitcode(os.waitpid(process.pid, 0)[1])


#: Seconds that a target has to clean up after SIGTERM before SIGKILL.
GRACE = 5


@contextmanager
def guard(scratch: Path | None) -> Iterator[Callable[[int], None]]:
    """A shell that waits for our end during the block. Then it ends the process group that it was given, first with
    SIGTERM, then with SIGKILL, and removes the directory `scratch`."""
    remove = f"rm -rf -- {shlex.quote(str(scratch))}" if scratch else ":"
    script = f'read -r group; read -r _ && exit; kill -s TERM -- "-$group" && sleep {GRACE}; '
    script += f'kill -s KILL -- "-$group"; {remove}'
    nowhere = subprocess.DEVNULL
    words = ("/bin/sh", "-c", script)
    shell = subprocess.Popen(
        words, stdin=subprocess.PIPE, stdout=nowhere, stderr=nowhere, text=True, start_new_session=True
    )

    def watch(group: int) -> None:
        with suppress(OSError):  # the shell has ended
            print(group, file=shell.stdin, flush=True)

    try:
        yield watch
    finally:
        with suppress(subprocess.TimeoutExpired):
            shell.communicate("\n\n", GRACE)
