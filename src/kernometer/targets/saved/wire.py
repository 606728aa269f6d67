"""QEMU's monitor and its debugger's stub, each on a socket: the few messages that save and restore a guest. Each wait
has a deadline; each answer is checked for size and form.

Formats: QEMU, docs/interop/qmp-spec.rst; GDB manual, "Remote Protocol". QEMU's own library for the monitor needs
asyncio, and its synchronous part works only in the main thread, whereas several threads measure here.
"""

from __future__ import annotations

import re
import socket
from typing import Any

import msgspec

from kernometer.errors import TargetError
from kernometer.targets.base import Deadline

#: The most bytes of an answer; usual ones have some hundred.
MAX_ANSWER = 1 << 20
#: Bytes of memory in one packet of the debugger's, whose most are 4,096 characters in QEMU.
PIECE = 1024
#: The most events before an answer.
MAX_EVENTS = 1000

_STOPPED = re.compile(rb"[TS]05.*", re.DOTALL)


class LostError(TargetError):
    """The other end closed, hung, or sent invalid data."""


class _Wire:
    def __init__(self, end: socket.socket, until: Deadline) -> None:
        self._end, self._until = end, until
        self._come = bytearray()

    def send(self, data: bytes) -> None:
        try:
            self._end.settimeout(max(0.001, self._until.left()))
            self._end.sendall(data)
        except OSError as error:
            raise LostError(f"QEMU does not take input: {error}.") from error

    def take(self, end: bytes, more: int = 0, seconds: float | None = None) -> bytes:
        """The bytes up to `end` and `more` bytes after it, without waiting longer than `seconds`."""
        while (at := self._come.find(end)) < 0 or len(self._come) < at + len(end) + more:
            if len(self._come) > MAX_ANSWER:
                raise LostError(f"QEMU answered with more than {MAX_ANSWER:,} bytes.")
            self._fill(self._until.left() if seconds is None else seconds)
        size = at + len(end) + more
        taken = bytes(self._come[:size])
        del self._come[:size]
        return taken

    def _fill(self, seconds: float) -> None:
        try:
            self._end.settimeout(max(0.001, seconds))
            data = self._end.recv(1 << 16)
        except TimeoutError:
            raise
        except OSError as error:
            raise LostError(f"QEMU's connection broke: {error}.") from error
        if not data:
            raise LostError("QEMU ended, or closed its connection.")
        self._come += data


class Monitor:
    """QMP: one JSON object per line."""

    def __init__(self, end: socket.socket, until: Deadline) -> None:
        """Waits for the greeting."""
        self._wire = _Wire(end, until)
        self._answer("QMP")
        self.execute("qmp_capabilities")

    def execute(self, command: str, **arguments: object) -> Any:  # each command has its own type of answer
        """QEMU's answer. Raises LostError, or TargetError with QEMU's message if it refuses."""
        self._wire.send(msgspec.json.encode({"execute": command, "arguments": arguments}) + b"\n")
        return self._answer("return")

    def _answer(self, key: str) -> Any:  # as above
        for _ in range(MAX_EVENTS):
            try:
                said = msgspec.json.decode(self._wire.take(b"\n"), type=dict[str, Any])
            except msgspec.DecodeError as error:
                raise LostError(f"QEMU's monitor sent an invalid answer: {error}.") from error
            except TimeoutError:
                raise LostError("QEMU's monitor does not answer.") from None
            if "error" in said:
                raise TargetError(f"QEMU refused: {str(said['error'])[:300]}.")
            if key in said:
                return said[key]
        raise LostError("QEMU's monitor sends events and no answer.")


class Debugger:
    """The remote protocol: `$data#checksum`, each acknowledged with a plus."""

    def __init__(self, end: socket.socket, until: Deadline) -> None:
        self._wire = _Wire(end, until)

    def run_to(self, address: int) -> None:
        """Lets the guest run up to the instruction at `address`: see `stopped`."""
        self._ask(b"Z1,%x,1" % address)
        self._send(b"c")

    def leave(self, address: int) -> None:
        """After `run_to` and `stopped`: executes that instruction, and no longer stops there."""
        self._ask(b"z1,%x,1" % address)
        self._send(b"s")
        if not self.stopped(None):
            raise LostError("QEMU's debugger does not answer.")

    def proceed(self) -> None:
        self._send(b"c")

    def register(self, place: int) -> int:
        """A register of 64 bits of the stopped guest, by its place in gdb's list. Little-endian, as all guests are."""
        self._send(b"g")
        return int.from_bytes(self._bytes()[8 * place : 8 * place + 8], "little")

    def read(self, address: int, size: int) -> bytes:
        """At most so many bytes of the process that runs in the stopped guest; b"" if it has no memory there."""
        self._send(b"m%x,%x" % (address, size))
        return self._bytes()

    def put(self, address: int, data: bytes) -> None:
        """Writes to the memory of the process that runs in the stopped guest."""
        for at in range(0, len(data), PIECE):
            piece = data[at : at + PIECE]
            self._ask(b"M%x,%x:%s" % (address + at, len(piece), piece.hex().encode()))

    def write(self, address: int, data: bytes) -> None:
        """Writes to a physical address of the stopped guest; QEMU translates code there anew."""
        self._ask(b"Qqemu.PhyMemMode:1")
        self._ask(b"M%x,%x:%s" % (address, len(data), data.hex().encode()))
        self._ask(b"Qqemu.PhyMemMode:0")

    def stopped(self, seconds: float | None = 0.0) -> bool:
        """Whether it is there, after at most `seconds`; None: until the time is up."""
        try:
            answer = self._packet(seconds)
        except TimeoutError:
            return False
        if not _STOPPED.fullmatch(answer):
            raise LostError(f"The guest stopped for another reason: {answer[:100]!r}.")
        return True

    def _bytes(self) -> bytes:
        """An answer of bytes in hexadecimal; b"" for an error. Registers that are not available are zero."""
        answer = self._answer()
        try:
            return b"" if answer.startswith(b"E") else bytes.fromhex(answer.replace(b"x", b"0").decode())
        except ValueError:
            raise LostError(f"QEMU's debugger sent no bytes: {answer[:100]!r}.") from None

    def _answer(self) -> bytes:
        try:
            return self._packet(None)
        except TimeoutError:
            raise LostError("QEMU's debugger does not answer.") from None

    def _ask(self, data: bytes) -> None:
        self._send(data)
        answer = self._answer()
        if answer != b"OK":
            raise LostError(f"QEMU's debugger refuses {data[:20]!r}: {answer[:100]!r}.")

    def _send(self, data: bytes) -> None:
        self._wire.send(b"$%s#%02x" % (data, sum(data) & 0xFF))

    def _packet(self, seconds: float | None) -> bytes:
        answer = self._wire.take(b"#", 2, seconds).lstrip(b"+")
        data, _, check = answer[1:].rpartition(b"#")
        if answer[:1] != b"$" or b"%02x" % (sum(data) & 0xFF) != check:
            raise LostError(f"QEMU's debugger sent an invalid packet: {answer[:100]!r}.")
        self._wire.send(b"+")
        return data
