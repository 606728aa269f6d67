"""A machine that a test talks with while it runs: by its serial line, and by QEMU's monitor."""

from __future__ import annotations

import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from kernometer.guests.emulator.process import SAID, end_of, started
from tests.support.trio.boot import BULK, Inside, Kernel, Machine, argv

#: For what a machine does at once, on a host that is busy.
SECONDS = 60.0
LINE, MONITOR = "line", "qmp"


@dataclass
class Live:
    """The test's end of the line. What has come and was not yet asked for is kept."""

    folder: Path
    process: subprocess.Popen[bytes]
    line: socket.socket
    heard: bytes = field(default=b"")

    def hear(self, words: bytes) -> bytes:
        """All that comes up to and with these words. Fails where the line ends, or nothing comes any more."""
        while words not in self.heard:
            piece = self.line.recv(4096)
            assert piece, self.end() + self.heard.decode(errors="replace")
            self.heard += piece
        before, _, self.heard = self.heard.partition(words)
        return before + words

    def say(self, words: bytes) -> None:
        self.line.sendall(words)

    def ended(self) -> int:
        """QEMU's status, once the machine is off."""
        while piece := self.line.recv(4096):
            self.heard += piece
        return self.process.wait(timeout=SECONDS)

    def end(self) -> str:
        """QEMU's own last words."""
        return end_of(self.folder / SAID, 4000).decode(errors="replace")


@contextmanager
def live(kernel: Kernel, inside: Inside, machine: Machine, folder: Path) -> Iterator[Live]:
    """It begins once both ends of the line are connected; it is killed when the block ends."""
    inside.lay_out(folder)
    (folder / BULK).write_bytes(b"")
    words = list(argv(kernel, machine))
    at = words.index("-serial")
    words[at : at + 2] = ("-chardev", f"socket,id=line,path={LINE},server=on,wait=on", "-serial", "chardev:line")
    words += ("-qmp", f"unix:{MONITOR},server=on,wait=off")
    with started(tuple(words), folder) as process, socket.socket(socket.AF_UNIX) as line:
        line.settimeout(SECONDS)
        _connect(line, folder / LINE, process)
        yield Live(folder, process, line)


def _connect(line: socket.socket, path: Path, process: subprocess.Popen[bytes]) -> None:
    while True:
        try:
            return line.connect(str(path))
        except (FileNotFoundError, ConnectionRefusedError):
            try:
                process.wait(timeout=0.05)
            except subprocess.TimeoutExpired:
                continue
            raise
