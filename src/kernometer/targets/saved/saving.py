"""Stops and saves a guest; restores it in another QEMU, in exactly the same state."""

from __future__ import annotations

import socket
import struct
from collections.abc import Iterator
from pathlib import Path

from kernometer.errors import TargetError
from kernometer.guests.emulator import qemu
from kernometer.guests.emulator.process import talking
from kernometer.targets.base import Deadline
from kernometer.targets.saved.wire import Debugger, LostError, Monitor

#: For QEMU to write or read a state, which takes a tenth of a second.
STATE_SECONDS = 60.0
#: The next QEMU maps the file with the memory, which is not in the state.
_CAPABILITIES = {"capabilities": [{"capability": "x-ignore-shared", "state": True}]}
#: The machine's run state in the saved state: the section's name, two numbers, the length of a text, and the text, in
#: 100 bytes.
_DOING, _SKIPPED, _WORDS = b"\x0bglobalstate", 8, 100


def save(words: tuple[str, ...], folder: Path, ready: int, into: Path, until: Deadline) -> Iterator[int]:
    """Boots by `words` (of phase `saved`) in `folder`, up to the instruction at `ready`, and saves the guest `into`.
    Yields the emulator's process id during that time. Raises TargetError, or LostError if QEMU ended or hung."""
    (into / qemu.MEMORY).touch()
    (folder / qemu.MEMORY).symlink_to(into / qemu.MEMORY)
    with talking(words, folder, 2) as (process, (monitor, debugger)):
        ask = Monitor(monitor, until)
        at = Debugger(debugger, until)
        at.run_to(ready)
        while not at.stopped():
            if until.passed:
                raise LostError("The guest was not ready when its time was up.")
            yield process.pid
        soon = Deadline.after(min(STATE_SECONDS, until.left()))
        ask.execute("migrate-set-capabilities", **_CAPABILITIES)
        ask.execute("migrate", uri=f"exec:cat >{qemu.STATE}.part && mv {qemu.STATE}.part {qemu.STATE}")
        while not (folder / qemu.STATE).exists():
            if ask.execute("query-migrate").get("status") == "failed":
                raise TargetError("QEMU could not save the guest.")
            if soon.passed:
                raise LostError("QEMU did not save the guest in time.")
            yield process.pid
    (into / qemu.STATE).write_bytes(as_running((folder / qemu.STATE).read_bytes()))


def as_running(state: bytes) -> bytes:
    """The state with the machine running: QEMU 7.2 aborts if it restores a machine that a debugger stopped. Raises
    TargetError if the state is not that of a stopped machine."""
    at = state.find(_DOING) + len(_DOING) + _SKIPPED
    if at < len(_DOING) + _SKIPPED or state[at + 4 : at + 10] != b"debug\0":
        raise TargetError("QEMU saved the guest in an unknown form.")
    words = b"running\0"
    return state[:at] + struct.pack(">I", len(words)) + words.ljust(_WORDS, b"\0") + state[at + 4 + _WORDS :]


def restore(monitor: socket.socket, until: Deadline) -> Monitor:
    """Lets a QEMU of phase `restored` continue from STATE and MEMORY in its directory. Raises TargetError."""
    ask = Monitor(monitor, Deadline.after(min(STATE_SECONDS, until.left())))
    ask.execute("migrate-set-capabilities", **_CAPABILITIES)
    ask.execute("migrate-incoming", uri=f"exec:cat {qemu.STATE}")
    return ask
