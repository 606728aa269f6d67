"""Saves a guest in which a probe waits, and restores it in another QEMU, in exactly the same state, with a command.

What can run the probe once can be saved: it loops over a marker, whose register has the address of its room
(probe/wait.c). A plugin stops the machine there, wherever the marker is, and the debugger writes the command into the
room of the restored guest, where the processor has the address space of the probe.
"""

from __future__ import annotations

import re
import socket
import struct
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from kernometer.errors import TargetError, UsageError
from kernometer.guests.architecture import Architecture
from kernometer.guests.emulator import qemu
from kernometer.guests.emulator.process import talking
from kernometer.guests.inside import programs
from kernometer.targets.base import Deadline
from kernometer.targets.saved.wire import Debugger, LostError, Monitor

#: For QEMU to write or read a state, which takes a tenth of a second.
STATE_SECONDS = 60.0
#: The next QEMU maps the file with the memory, which is not in the state.
_CAPABILITIES = {"capabilities": [{"capability": "x-ignore-shared", "state": True}]}
#: The machine's run state in the saved state: the section's name, two numbers, the length of a text, and the text, in
#: 100 bytes.
_DOING, _SKIPPED, _WORDS = b"\x0bglobalstate", 8, 100
#: A subsection of the clock's section, which only `sleep=on` has: its version and two numbers follow.
_WARP, _WARP_BYTES = b"\x05\x17timer/icount/warp_timer", 20
#: The beginning of a waiting probe's room.
_READY = re.compile(rb"#kernometer ready (\d{1,9})\n")
#: Between two questions whether QEMU has read the state.
POLL_SECONDS = 0.01


def lay_out(folder: Path, into: Path) -> None:
    """Makes the memory of a guest in `folder` a file in `into`."""
    (into / qemu.MEMORY).touch()
    (folder / qemu.MEMORY).symlink_to(into / qemu.MEMORY)


def save(words: tuple[str, ...], folder: Path, into: Path, until: Deadline) -> Iterator[int]:
    """Boots by `words` (of phase `saved`) in `folder` until a probe waits, and saves the guest `into`. Yields the
    emulator's process id during that time. Raises TargetError, or LostError if QEMU ended or hung."""
    lay_out(folder, into)
    with talking(words, folder, 2) as (process, (monitor, debugger)):
        ask = Monitor(monitor, until)
        at = Debugger(debugger, until)
        at.proceed()
        while not at.stopped():
            if until.passed:
                raise LostError("No probe waited in the guest when its time was up.")
            yield process.pid
        yield from keep(ask, process.pid, folder, into, until)


def keep(ask: Monitor, pid: int, folder: Path, into: Path, until: Deadline) -> Iterator[int]:
    """Writes the state of the machine that stands where a probe waits. Yields and raises as `save`."""
    soon = Deadline.after(min(STATE_SECONDS, until.left()))
    ask.execute("migrate-set-capabilities", **_CAPABILITIES)
    ask.execute("migrate", uri=f"exec:cat >{qemu.STATE}.part && mv {qemu.STATE}.part {qemu.STATE}")
    while not (folder / qemu.STATE).exists():
        if ask.execute("query-migrate").get("status") == "failed":
            raise TargetError("QEMU could not save the guest.")
        if soon.passed:
            raise LostError("QEMU did not save the guest in time.")
        yield pid
    (into / qemu.STATE).write_bytes(as_running((folder / qemu.STATE).read_bytes()))


def as_running(state: bytes) -> bytes:
    """The state with the machine running: QEMU 7.2 aborts if it restores a machine that a debugger stopped; and without
    the timer of an emulator that waits in the host's time, since restored ones do not. Raises TargetError if the state
    is not that of a stopped machine."""
    at = state.find(_WARP)
    if at >= 0:
        state = state[:at] + state[at + len(_WARP) + _WARP_BYTES :]
    at = state.find(_DOING) + len(_DOING) + _SKIPPED
    if at < len(_DOING) + _SKIPPED or state[at + 4 : at + 10] != b"debug\0":
        raise TargetError("QEMU saved the guest in an unknown form.")
    words = b"running\0"
    return state[:at] + struct.pack(">I", len(words)) + words.ljust(_WORDS, b"\0") + state[at + 4 + _WORDS :]


def restore(
    monitor: socket.socket, debugger: socket.socket, architecture: Architecture, words: Sequence[str], until: Deadline
) -> tuple[Monitor, Debugger]:
    """Lets a QEMU of phase `restored` take STATE and MEMORY in its directory, and gives the command `words` to the
    probe that waits there. The guest still stands: Debugger.proceed. Raises TargetError."""
    ask = Monitor(monitor, Deadline.after(min(STATE_SECONDS, until.left())))
    ask.execute("migrate-set-capabilities", **_CAPABILITIES)
    ask.execute("migrate-incoming", uri=f"exec:cat {qemu.STATE}")
    while ask.execute("query-status")["status"] == "inmigrate":
        time.sleep(POLL_SECONDS)
    at = Debugger(debugger, until)
    room = at.register(architecture.room) if architecture.room is not None else 0
    ready = _READY.match(at.read(room, 64))
    if ready is None:
        raise TargetError("The guest was not saved where a probe waits, or its addresses are not those of its pages.")
    command = programs.encoded(words)
    if len(command) > int(ready[1]):
        raise UsageError(f"A command of {len(command)} bytes does not fit into a guest.", "Name fewer rows.")
    at.put(room, command)
    return ask, at
