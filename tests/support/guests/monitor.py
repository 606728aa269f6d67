"""QEMU's monitor."""

from __future__ import annotations

import json
import socket
from pathlib import Path

import numpy as np


def ppm(path: Path) -> np.ndarray:
    kind, size, most, pixels = path.read_bytes().split(b"\n", 3)
    width, height = map(int, size.split())
    assert (kind, most) == (b"P6", b"255")
    return np.frombuffer(pixels, np.uint8).reshape(height, width, 3)


class Monitor:
    """QEMU's machine protocol, as far as screenshots and commands without an answer."""

    def __init__(self, path: Path) -> None:
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(60)
        self.socket.connect(str(path))
        self.lines = self.socket.makefile("rb")
        self.lines.readline()
        self.ask("qmp_capabilities")

    def ask(self, command: str, **arguments: str | int) -> None:
        self.socket.sendall(json.dumps({"execute": command, "arguments": arguments}).encode() + b"\n")
        while "return" not in (answer := json.loads(self.lines.readline())):
            assert "error" not in answer, answer

    def screen(self, folder: Path) -> np.ndarray:
        self.ask("screendump", filename=str(folder / "screen.ppm"))
        return ppm(folder / "screen.ppm")
