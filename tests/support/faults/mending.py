"""What a power cut may leave on a disk with MINIX FS, besides its content, and the disk without it."""

from __future__ import annotations

import posixpath
import stat
import struct
from collections import Counter

from kernometer.faults.minixfs import ENTRY, ROOT, Image


class Mendable(Image):
    """`loose` is what a cut may leave and `mended` repairs: marks without an owner, link counts. `twice` has the
    directories with more than one name."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.loose: list[str] = []
        self.names = Counter(self.paths.values())  #: of each inode, "." and ".." included
        folders = {number for number, file in self.files.items() if stat.S_ISDIR(file.mode)}
        self.twice = {number for number in folders if self.names[number] > 1}
        firsts = {number: path for path, number in reversed(self.paths.items())}
        for number in folders & self.data.keys() & firsts.keys():
            self._dots(firsts[number], number)
        if self.files:
            self._owners()
            self._links()

    def _dots(self, path: str, number: int) -> None:
        data = self.data[number]
        entries = struct.iter_unpack("<I60s", data[: len(data) // ENTRY * ENTRY])
        named = [(to, name.rstrip(b"\0")) for to, name in entries]
        self.names.update(to for to, name in named if name in (b".", b"..") and 0 < to <= self.inodes)
        above = self.paths[posixpath.dirname(path)]
        begins = [name for _, name in named[:2]] == [b".", b".."]
        if begins and [to for to, _ in named[:2]] != [number, above]:
            # A directory that moves to another parent has the two entries on the disk at different times.
            self.loose.append(f"directory {path} has . or .. of another")

    def _owners(self) -> None:
        for number in range(1, self.inodes + 1):
            if self._is_marked(number) and number not in self.files:
                self.loose.append(f"inode {number} is marked and not in use")
            if not self._is_marked(number) and self._file(number).mode:
                self.loose.append(f"inode {number} is not cleared")
        for zone in range(self.first, self.zones):
            if self._is_marked_zone(zone) and zone not in self.owner:
                self.loose.append(f"zone {zone} is marked and not in use")

    def _links(self) -> None:
        for number, file in self.files.items():
            if file.links != self.names[number] - (number == ROOT):
                self.loose.append(f"inode {number} has {file.links} links and {self.names[number]} names")

    def mended(self) -> bytes:
        """The image with marks cleared and links counted, as fsck.minix's answers would make it.

        fsck.minix itself (util-linux 2.38 to 2.42 at least) cannot do it: with -a or -r it writes bitmaps and inodes of
        a version 3 to wherever it read last.
        """
        image = bytearray(self.raw)

        def clear(block: int, bit: int) -> None:
            image[block * self.size + bit // 8] &= ~(1 << bit % 8)

        for number in range(1, self.inodes + 1):
            at = self._table + (number - 1) * 64
            if number in self.files:
                struct.pack_into("<H", image, at + 2, self.names[number] - (number == ROOT))
            else:
                clear(2, number)
                image[at : at + 64] = bytes(64)
        for zone in set(range(self.first, self.zones)) - set(self.owner):
            clear(2 + self.imap, zone - self.first + 1)
        return bytes(image)
