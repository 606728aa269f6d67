"""Ends what was started should we be killed: SIGKILL lets nothing of ours run, and a target may not notice it."""

from __future__ import annotations

import shlex
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

#: Seconds that a target has to clean up after SIGTERM before SIGKILL.
GRACE = 5


@contextmanager
def guard(scratch: Path | None) -> Iterator[Callable[[int], None]]:
    """A shell that waits beside the block for our end, and is told the process group that it then has to end: first
    asked to leave, then killed. After that it removes the folder `scratch`."""
    remove = f"rm -rf -- {shlex.quote(str(scratch))}" if scratch else ":"
    script = f'read -r group; read -r _ && exit; kill -s TERM -- "-$group" && sleep {GRACE}; '
    script += f'kill -s KILL -- "-$group"; {remove}'
    nowhere = subprocess.DEVNULL
    words = ("/bin/sh", "-c", script)
    shell = subprocess.Popen(
        words, stdin=subprocess.PIPE, stdout=nowhere, stderr=nowhere, text=True, start_new_session=True
    )

    def watch(group: int) -> None:
        with suppress(OSError):  # it has gone itself
            print(group, file=shell.stdin, flush=True)

    try:
        yield watch
    finally:
        with suppress(subprocess.TimeoutExpired):
            shell.communicate("\n\n", GRACE)
