"""QEMU as a process: started in its own directory, and always ended at the end of the block that uses it."""

from __future__ import annotations

import ctypes
import os
import signal
import socket
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from kernometer.errors import TargetError
from kernometer.processes import reap

#: In the directory: QEMU's own messages.
SAID = "said"

_LIBC = ctypes.CDLL(None)
_PR_SET_PDEATHSIG = 1


def die_with_parent(by: signal.Signals = signal.SIGKILL) -> None:
    """In the child, before QEMU: makes the kernel end it if we are killed, so that no QEMU is left behind."""
    _LIBC.prctl(_PR_SET_PDEATHSIG, by)


@contextmanager
def started(
    argv: tuple[str, ...], folder: Path, sockets: Sequence[socket.socket] = ()
) -> Iterator[subprocess.Popen[bytes]]:
    """QEMU in its own session, so that Ctrl-C reaches only us; always killed and waited for at the end.

    `sockets`, at most two, become its descriptors 0 and 1.
    """
    with (folder / SAID).open("wb") as said:
        try:
            process = subprocess.Popen(
                argv,
                cwd=folder,
                stdin=sockets[0].fileno() if sockets else subprocess.DEVNULL,
                stdout=sockets[1].fileno() if len(sockets) > 1 else said,
                stderr=said,
                start_new_session=True,
                preexec_fn=die_with_parent,
            )
        except OSError as error:
            raise TargetError(
                f"{argv[0]} cannot be started: {error.strerror}.", "Reinstall qemu-system-x86."
            ) from error
    try:
        yield process
    finally:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        reap(process)


@contextmanager
def talking(
    words: tuple[str, ...], folder: Path, sockets: int
) -> Iterator[tuple[subprocess.Popen[bytes], list[socket.socket]]]:
    """QEMU, from `started`, and our ends of the sockets that are its first descriptors."""
    pairs = [socket.socketpair() for _ in range(sockets)]
    try:
        with started(words, folder, [theirs for _, theirs in pairs]) as process:
            for _, theirs in pairs:
                theirs.close()
            yield process, [ours for ours, _ in pairs]
    finally:
        for pair in pairs:
            for end in pair:
                end.close()


def end_of(path: Path, limit: int) -> bytes:
    """The last bytes of a file that a guest or QEMU wrote; none without the file."""
    try:
        with path.open("rb") as file:
            file.seek(max(0, path.stat().st_size - limit))
            return file.read()
    except FileNotFoundError:
        return b""
