"""MINIX FS version 3 read as fsck reads it, from bytes; pure. Layout after Linux's <linux/minix_fs.h>.

The reader trusts nothing, and takes no more time or memory for a damaged image than for a sound one of its size.
"""

from __future__ import annotations

import os
import stat
import struct
from collections.abc import Iterator
from dataclasses import dataclass, field

MAGIC = 0x4D5A
SUPER_AT = 1024
SUPER = "<IHHHHHHIIHHHB"
INODE = "<HHHHIIII10I"
ROOT = 1
ENTRY = 64
DIRECT = 7
#: Limits on the depth of directories and on the sentences in `wrong`, both of which a damaged image could exceed.
DEEPEST, MOST_WRONG = 100, 1000
_KINDS = (stat.S_IFREG, stat.S_IFDIR, stat.S_IFLNK, stat.S_IFCHR, stat.S_IFBLK, stat.S_IFIFO, stat.S_IFSOCK)


@dataclass
class File:
    """An inode that has a name."""

    number: int
    mode: int
    links: int
    size: int
    zone: tuple[int, ...]


@dataclass
class Image:
    """A file system's content, and its damage in plain sentences: an inode or zone in use that is not marked or used
    twice, a name of no inode, an impossible size. What a power cut may leave (marks without an owner, link counts, a
    directory with two names, of which only the first one is followed) is no damage. Without a superblock of this file
    system `wrong` has one sentence, and everything else is empty.
    """

    raw: bytes
    wrong: list[str] = field(default_factory=list)
    #: The inodes in use; each path's inode; the content of regular files, directories and symbolic links.
    files: dict[int, File] = field(default_factory=dict)
    paths: dict[str, int] = field(default_factory=dict)
    data: dict[int, bytes] = field(default_factory=dict)
    #: The inode of each zone in use.
    owner: dict[int, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        read = struct.unpack_from(SUPER, self.raw.ljust(SUPER_AT + struct.calcsize(SUPER), b"\0"), SUPER_AT)
        self.inodes, self.imap, self.zmap, self.first, self.zones, self.size = (read[i] for i in (0, 2, 3, 4, 8, 11))
        if reason := self._misfit(read[9], read[5]):
            self.wrong.append(f"the superblock {reason}")
            return
        self._table = (2 + self.imap + self.zmap) * self.size
        self._walk(ROOT, "", ())
        self._marks()
        del self.wrong[MOST_WRONG:]

    def _misfit(self, magic: int, zone_shift: int) -> str:
        """Why this superblock is impossible; "" if it is possible."""
        if magic != MAGIC or self.size not in (1024, 2048, 4096) or zone_shift != 0:
            return "is not one of MINIX FS version 3"
        tables = 2 + self.imap + self.zmap + -(-self.inodes * 64 // self.size)
        if not tables <= self.first < self.zones <= len(self.raw) // self.size or self.inodes == 0:
            return "names blocks that are not there"
        bits = self.size * 8
        if self.inodes >= self.imap * bits or self.zones - self.first >= self.zmap * bits:
            return "has too small bitmaps"
        return ""

    def block(self, number: int) -> bytes:
        return self.raw[number * self.size : (number + 1) * self.size]

    def _file(self, number: int) -> File:
        mode, links, _, _, size, _, _, _, *zone = struct.unpack_from(INODE, self.raw, self._table + (number - 1) * 64)
        return File(number, mode, links, size, tuple(zone))

    # Zones ----------------------------------------------------------------------------------------------------------

    def _claim(self, file: File, zone: int) -> bool:
        if not self.first <= zone < self.zones:
            self.wrong.append(f"inode {file.number} names zone {zone}, which is not there")
        elif zone in self.owner:
            self.wrong.append(f"zone {zone} belongs to inodes {self.owner[zone]} and {file.number}")
        else:
            self.owner[zone] = file.number
            return True
        return False

    def _zones(self, file: File, zone: int, index: int, levels: int) -> Iterator[tuple[int, int]]:
        """The data zones below `zone`, each with its index among the file's blocks; claims the indirect ones too."""
        if zone == 0 or not self._claim(file, zone):
            return
        if levels == 0:
            yield index, zone
            return
        per = self.size // 4
        for at, each in enumerate(struct.unpack(f"<{per}I", self.block(zone))):
            yield from self._zones(file, each, index + at * per ** (levels - 1), levels - 1)

    def content(self, file: File) -> bytes:
        """Claims all zones, even those beyond the file's end. A size that the image cannot have is cut."""
        per, index = self.size // 4, 0
        if file.size > 16 * len(self.raw):
            self.wrong.append(f"inode {file.number} has a size of {file.size}")
        data = bytearray(min(file.size, 16 * len(self.raw)))
        for number, zone in enumerate(file.zone):
            levels = max(number - DIRECT + 1, 0)
            for place, each in self._zones(file, zone, index, levels):
                begin = place * self.size
                data[begin : begin + self.size] = self.block(each)[: max(len(data) - begin, 0)]
            index += per**levels
        return bytes(data)

    # Names ----------------------------------------------------------------------------------------------------------

    def _walk(self, number: int, path: str, above: tuple[int, ...]) -> None:
        self.paths[path or "/"] = number
        if number in self.files:
            return
        file = self.files[number] = self._file(number)
        if stat.S_IFMT(file.mode) not in _KINDS or (number == ROOT and not stat.S_ISDIR(file.mode)):
            self.wrong.append(f"{path or '/'} is inode {number} of mode {file.mode:o}")
            return
        if stat.S_ISREG(file.mode) or stat.S_ISDIR(file.mode) or stat.S_ISLNK(file.mode):
            self.data[number] = self.content(file)
        if stat.S_ISDIR(file.mode):
            self._directory(file, path, (*above, number))

    def _directory(self, file: File, path: str, above: tuple[int, ...]) -> None:
        seen: set[str] = set()
        data = self.data[file.number]
        if len(data) % ENTRY:
            self.wrong.append(f"directory {path or '/'} has a size of {len(data)}")
        entries = list(struct.iter_unpack("<I60s", data[: len(data) // ENTRY * ENTRY]))
        if [name.rstrip(b"\0") for _, name in entries[:2]] != [b".", b".."]:
            self.wrong.append(f"directory {path or '/'} does not begin with . and ..")
        for number, raw in entries:
            name = os.fsdecode(raw.split(b"\0")[0])
            if number == 0:
                continue
            if name in seen:
                self.wrong.append(f"{path}/{name} is there twice")
            seen.add(name)
            if not 0 < number <= self.inodes:
                self.wrong.append(f"{path}/{name} is inode {number}, which is not there")
            elif name in (".", ".."):
                continue
            elif not name or "/" in name:
                self.wrong.append(f"directory {path or '/'} has a name that cannot be")
            elif number in above or len(above) > DEEPEST:
                self.wrong.append(f"{path}/{name} is in itself")
            else:
                self._walk(number, f"{path}/{name}", above)

    # Marks ----------------------------------------------------------------------------------------------------------

    def _is_marked(self, number: int) -> bool:
        return self._bit(2, number)

    def _is_marked_zone(self, zone: int) -> bool:
        return self._bit(2 + self.imap, zone - self.first + 1)

    def _bit(self, block: int, bit: int) -> bool:
        return bool(self.raw[block * self.size + bit // 8] >> bit % 8 & 1)

    def _marks(self) -> None:
        unmarked = (number for number in sorted(self.files) if not self._is_marked(number))
        self.wrong += (f"inode {number} is in use and not marked" for number in unmarked)
        zones = (zone for zone in sorted(self.owner) if not self._is_marked_zone(zone))
        self.wrong += (f"zone {zone} is in use and not marked" for zone in zones)

    def tree(self) -> dict[str, bytes | None]:
        """Path to content; None for directories."""
        return {
            path: None if stat.S_ISDIR(self.files[number].mode) else self.data.get(number, b"")
            for path, number in self.paths.items()
        }
