"""MINIX FS version 3 read independently of Trio, and Trio's service for it driven on the host.

The reader believes nothing: what does not fit together is in `Image.wrong`. Layout after Linux's <linux/minix_fs.h>.
"""

from __future__ import annotations

import os
import shutil
import stat
import struct
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

MAGIC = 0x4D5A
SUPER = "<IHHHHHHIIHHHB"
INODE = "<HHHHIIII10I"
ROOT = 1
ENTRY = 64
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


@dataclass
class File:
    number: int
    mode: int
    links: int
    size: int
    zone: tuple[int, ...]
    names: int = 0


@dataclass
class Image:
    """A file system's content: path to file, and what is wrong with it. A directory's second name is not followed."""

    raw: bytes
    wrong: list[str] = field(default_factory=list)
    files: dict[int, File] = field(default_factory=dict)
    paths: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        read = struct.unpack_from(SUPER, self.raw, 1024)
        self.inodes, self.imap, self.zmap, self.first, self.zones, self.size = (read[i] for i in (0, 2, 3, 4, 8, 11))
        self.owner: dict[int, int] = {}
        self.data: dict[int, bytes] = {}
        # Names "." and ".." that lead to an inode; directories that have more than one other name.
        self.dots: dict[int, int] = {}
        self.twice: set[int] = set()
        self._walk(ROOT, "", set())
        self._counts()

    @classmethod
    def of(cls, path: Path) -> Image:
        return cls(path.read_bytes())

    def block(self, number: int) -> bytes:
        return self.raw[number * self.size : (number + 1) * self.size]

    def _file(self, number: int) -> File:
        table = (2 + self.imap + self.zmap) * self.size
        mode, links, _, _, size, _, _, _, *zone = struct.unpack_from(INODE, self.raw, table + (number - 1) * 64)
        return File(number, mode, links, size, tuple(zone))

    def _zones(self, file: File, zone: int, levels: int) -> Iterator[int]:
        """Zones of data in order, 0 for holes; indirect ones are claimed on the way."""
        per = self.size // 4
        if zone == 0:
            yield from (0 for _ in range(per**levels))
            return
        if not self._claim(file, zone):
            return
        if levels == 0:
            yield zone
            return
        for each in struct.unpack(f"<{per}I", self.block(zone)):
            yield from self._zones(file, each, levels - 1)

    def _claim(self, file: File, zone: int) -> bool:
        if not self.first <= zone < self.zones:
            self.wrong.append(f"inode {file.number} names zone {zone}")
            return False
        if zone in self.owner:
            self.wrong.append(f"zone {zone} belongs to {self.owner[zone]} and {file.number}")
            return False
        self.owner[zone] = file.number
        return True

    def content(self, file: File) -> bytes:
        blocks = -(-file.size // self.size)
        data: list[bytes] = []
        for index, zone in enumerate(file.zone):
            if index >= 7 and zone == 0:
                data += [bytes(self.size)] * min((self.size // 4) ** (index - 6), max(blocks - len(data), 0))
                continue
            data += [
                self.block(each) if each else bytes(self.size) for each in self._zones(file, zone, max(index - 6, 0))
            ]
        return b"".join(data)[: file.size].ljust(file.size, b"\0")

    def _walk(self, number: int, path: str, above: set[int]) -> None:
        known = number in self.files
        file = self.files.setdefault(number, self._file(number))
        file.names += 1
        self.paths[path or "/"] = number
        if known:
            if stat.S_ISDIR(file.mode):
                self.twice.add(number)
            return
        if stat.S_IFMT(file.mode) not in (stat.S_IFREG, stat.S_IFDIR, stat.S_IFLNK, stat.S_IFCHR, stat.S_IFIFO):
            self.wrong.append(f"{path} is inode {number} of mode {file.mode:o}")
            return
        if stat.S_ISREG(file.mode) or stat.S_ISDIR(file.mode) or stat.S_ISLNK(file.mode):
            self.data[number] = self.content(file)
        if stat.S_ISDIR(file.mode):
            self._directory(file, path, above | {number})

    def _directory(self, file: File, path: str, above: set[int]) -> None:
        seen: set[str] = set()
        entries = list(struct.iter_unpack("<I60s", self.data[file.number][: file.size // ENTRY * ENTRY]))
        if [name.rstrip(b"\0") for _, name in entries[:2]] != [b".", b".."]:
            self.wrong.append(f"directory {file.number} does not begin with . and ..")
        for number, raw in entries:
            name = os.fsdecode(raw.split(b"\0")[0])
            if number == 0:
                continue
            if name in seen:
                self.wrong.append(f"{path}/{name} is there twice")
            seen.add(name)
            if name in (".", ".."):
                self.dots[number] = self.dots.get(number, 0) + 1
            elif not 0 < number <= self.inodes:
                self.wrong.append(f"{path}/{name} is inode {number}")
            elif number in above:
                self.wrong.append(f"{path}/{name} is in itself")
            else:
                self._walk(number, f"{path}/{name}", above)

    def _bit(self, block: int, bit: int) -> bool:
        return bool(self.raw[block * self.size + bit // 8] >> bit % 8 & 1)

    def _counts(self) -> None:
        """What fsck.minix mends goes to `loose`: marks without an owner, link counts."""
        self.loose: list[str] = []
        for number, file in self.files.items():
            file.names += self.dots.get(number, 0)
        for number in range(1, self.inodes + 1):
            marked, used = self._bit(2, number), number in self.files
            if used and not marked:
                self.wrong.append(f"inode {number} is in use and not marked")
            if marked and not used:
                self.loose.append(f"inode {number} is marked and not in use")
            if not marked and self._file(number).mode:
                self.loose.append(f"inode {number} is not cleared")
        for zone in range(self.first, self.zones):
            marked = self._bit(2 + self.imap, zone - self.first + 1)
            if zone in self.owner and not marked:
                self.wrong.append(f"zone {zone} is in use and not marked")
            if marked and zone not in self.owner:
                self.loose.append(f"zone {zone} is marked and not in use")
        for number, file in self.files.items():
            if file.links != file.names - (number == ROOT):
                self.loose.append(f"inode {number}: {file.links} links, {file.names} names")

    def tree(self) -> dict[str, bytes | None]:
        """Path to content; None for directories."""
        return {
            path: None if stat.S_ISDIR(self.files[number].mode) else self.data.get(number, b"")
            for path, number in self.paths.items()
        }

    def mended(self) -> bytes:
        """What fsck.minix's answers to what is in `loose` make of it: marks are cleared, links counted.

        fsck.minix itself (util-linux 2.38 to 2.42 at least) cannot be let do it: with -a or -r it writes bitmaps and
        inodes of a version 3 to wherever it read last.
        """
        image = bytearray(self.raw)
        table = (2 + self.imap + self.zmap) * self.size

        def clear(block: int, bit: int) -> None:
            image[block * self.size + bit // 8] &= ~(1 << bit % 8)

        for number in range(1, self.inodes + 1):
            at = table + (number - 1) * 64
            if number in self.files:
                struct.pack_into("<H", image, at + 2, self.files[number].names - (number == ROOT))
            else:
                clear(2, number)
                image[at : at + 64] = bytes(64)
        for zone in set(range(self.first, self.zones)) - set(self.owner):
            clear(2 + self.imap, zone - self.first + 1)
        return bytes(image)


def fsck(path: Path) -> subprocess.CompletedProcess[str]:
    """Checks only; exit status 0: nothing found."""
    assert FSCK is not None
    return subprocess.run(
        [FSCK, "-f", str(path)], capture_output=True, text=True, errors="replace", check=False, timeout=60
    )


class Driver:
    """The service on an image: tests/trio/host/fs_driver.c. Answers are words; a negative first one is an errno."""

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
