"""QEMU with its guest's serial line on a socket that we hold the other end of."""

from __future__ import annotations

import os
import select
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from kernometer.errors import TargetError
from kernometer.guests.emulator import SAID, end_of, started
from kernometer.targets.base import Deadline
from kernometer.targets.consoles.boot import CONSOLE
from kernometer.targets.stream import LAST_OUTPUT, shown

#: From the start of QEMU until it connects; it has done nothing else by then.
CONNECT_SECONDS = 60.0
POLL_SECONDS = 0.1


@contextmanager
def connected(
    argv: tuple[str, ...], folder: Path, until: Deadline
) -> Iterator[tuple[subprocess.Popen[bytes], socket.socket]]:
    """Starts QEMU in `folder`; it and the connection, which are both gone when the block is left.

    We listen before it starts, so that no byte of the guest's is lost. Raises TargetError with QEMU's words.
    """
    with _listening(folder) as server, started(argv, folder) as process:
        connection = _accepted(server, process, folder, Deadline.after(min(CONNECT_SECONDS, until.left())))
        try:
            yield process, connection
        finally:
            connection.close()


@contextmanager
def _listening(folder: Path) -> Iterator[socket.socket]:
    """Bound by the folder's descriptor: a socket's path may have 107 bytes, and temporary folders lie deep."""
    descriptor = os.open(folder, os.O_PATH | os.O_DIRECTORY)
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as server:
            server.bind(f"/proc/self/fd/{descriptor}/{CONSOLE}")
            server.listen(1)
            yield server
    finally:
        os.close(descriptor)


def _accepted(server: socket.socket, process: subprocess.Popen[bytes], folder: Path, until: Deadline) -> socket.socket:
    while not until.passed:
        if select.select([server], [], [], POLL_SECONDS)[0]:
            return server.accept()[0]
        if process.poll() is not None:
            break
    said = shown(end_of(folder / SAID, LAST_OUTPUT))
    what = said.strip().splitlines()[-1][:300] if said.strip() else "It said nothing."
    raise TargetError(f"QEMU did not start. {what}", "--dry-run prints the command.", said)
