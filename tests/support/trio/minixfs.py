"""MINIX FS version 3 made independently of Trio, and Trio's service for it driven on the host.

What it leaves is read by the front end's reader, kernometer.faults.minixfs, and by mending.py of tests/support/faults.
"""

from __future__ import annotations

import shutil
import struct
import subprocess
from pathlib import Path

from kernometer.faults.minixfs import ENTRY, INODE, MAGIC, SUPER
from tests.support.faults.mending import Mendable

SYSTEM_PATH = "/usr/sbin:/sbin:/usr/bin"
MKFS = shutil.which("mkfs.minix", path=SYSTEM_PATH)
FSCK = shutil.which("fsck.minix", path=SYSTEM_PATH)


def super_block(inodes: int, blocks: int, size: int) -> dict[str, int]:
    bits = size * 8
    imap = -(-(inodes + 1) // bits)
    zmap = -(-(blocks + 1) // bits)
    first = 2 + imap + zmap + -(-inodes * 64 // size)
    return {"inodes": inodes, "imap": imap, "zmap": zmap, "first": first, "zones": blocks, "size": size}


def make(path: Path, blocks: int, size: int = 1024, inodes: int = 256) -> None:
    """An empty file system of any block size; mkfs.minix makes those of 1024 bytes only."""
    s = super_block(inodes, blocks, size)
    image = bytearray(blocks * size)
    fields = (inodes, 0, s["imap"], s["zmap"], s["first"], 0, 0, 2**31 - 1, blocks, MAGIC, 0, size, 0)
    struct.pack_into(SUPER, image, 1024, *fields)

    def bitmap(block: int, count: int, used: int, bits: int) -> None:
        for bit in range(count * size * 8):
            if bit < used or bit >= bits:
                image[block * size + bit // 8] |= 1 << bit % 8

    bitmap(2, s["imap"], 2, inodes + 1)
    bitmap(2 + s["imap"], s["zmap"], 2, blocks - s["first"] + 1)
    table = (2 + s["imap"] + s["zmap"]) * size
    struct.pack_into(INODE, image, table, 0o40755, 2, 0, 0, 2 * ENTRY, 1, 1, 1, s["first"], *[0] * 9)
    struct.pack_into("<I60s", image, s["first"] * size, 1, b".")
    struct.pack_into("<I60s", image, s["first"] * size + ENTRY, 1, b"..")
    path.write_bytes(image)


def fsck(path: Path) -> subprocess.CompletedProcess[str]:
    """Checks only; exit status 0: nothing found."""
    assert FSCK is not None
    return subprocess.run(
        [FSCK, "-f", str(path)], capture_output=True, text=True, errors="replace", check=False, timeout=60
    )


class Driver:
    """The service on an image: host/fs_driver.c. Answers are words; a negative first one is an errno."""

    def __init__(self, program: Path, image: Path) -> None:
        pipe = subprocess.PIPE
        self._process = subprocess.Popen(
            [str(program), str(image)], stdin=pipe, stdout=pipe, stderr=pipe, text=True, errors="surrogateescape"
        )

    def __enter__(self) -> Driver:
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    def say(self, line: str) -> list[str]:
        process = self._process
        assert process.stdin and process.stdout and process.stderr
        try:
            process.stdin.write(line + "\n")
            process.stdin.flush()
        except BrokenPipeError:
            pass
        answer = process.stdout.readline()
        if not answer:
            raise AssertionError(f"{line}: {process.stderr.read()}")
        return answer.split()

    def do(self, line: str) -> int:
        return int(self.say(line)[0])

    def end(self) -> None:
        """Raises AssertionError where a sanitizer has found something."""
        process = self._process
        if process.stdin and not process.stdin.closed:
            process.stdin.close()
            process.stdin = None
            _, errors = process.communicate(timeout=60)
            assert process.returncode == 0, errors


def pattern(seed: int, offset: int, length: int) -> bytes:
    """What the driver writes: byte_at of fs_driver.c."""
    out = bytearray(length)
    for at in range(offset, offset + length):
        x = ((at >> 2) * 2654435761 + (seed * 40503 & 0xFFFFFFFF) + (at & 3) * 97) & 0xFFFFFFFFFFFFFFFF
        out[at - offset] = (x >> 29 ^ x >> 13 ^ x) & 0xFF
    return bytes(out)


def sound(path: Path) -> Mendable:
    """The image as a sound file system: by the reader here, and by fsck.minix where it can."""
    image = Mendable(path.read_bytes())
    assert image.wrong + image.loose + [*image.twice] == []
    if FSCK is not None and image.size == 1024:
        checked = fsck(path)
        assert (checked.returncode, checked.stderr) == (0, ""), checked.stdout + checked.stderr
        assert "?" not in checked.stdout and len(checked.stdout.splitlines()) <= 2, checked.stdout
    return image
