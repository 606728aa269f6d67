"""What became of a disk: one whose power was cut, once more in a guest; one with a sector that cannot be read."""

from __future__ import annotations

import hashlib
import re
import stat
from dataclasses import dataclass, field
from pathlib import Path

from kernometer.faults.minixfs import Image
from kernometer.faults.promises import Judgement, Promises, events, judge
from tests.support.faults.mending import Mendable
from tests.support.faults.recording import MOUNTED, inside
from tests.support.trio.boot import Kernel, Machine, Outcome, boot, virtio_disk

SECTOR = 512
SECONDS = 120.0
#: The worker's second run, on what the first has left.
AGAIN = ("--seed", "1000000", "--operations", "100")
_SUMS = f"for f in {MOUNTED}/w*/[ab]/s*; do [ -f $f ] && md5sum $f; done"
_SCRIPT = (
    f"mkdir -p {MOUNTED}; mount -t minix /dev/vda {MOUNTED} || {{ echo refused; exit; }}; {_SUMS}; "
    f"/bin/worker {' '.join(AGAIN)} {MOUNTED}; echo status $?; umount {MOUNTED}; echo unmounted $?"
)
_SUM = re.compile(rb"^([0-9a-f]{32})  (\S+)$", re.MULTILINE)


@dataclass
class Disk:
    """An image, what is wrong with it, and whether it keeps promises."""

    image: Mendable
    judged: Judgement

    @classmethod
    def of(cls, raw: bytes, promises: Promises) -> Disk:
        image = Mendable(raw)
        return cls(image, judge(promises, image.tree(), MOUNTED))

    @property
    def outcome(self) -> str:
        """The worst that there is to say."""
        if self.judged.lost:
            return "lost"
        if self.judged.wrong:
            return "wrong"
        if self.image.wrong or self.image.twice or not self._mends():
            return "damaged"
        return "mended" if self.image.loose else "clean"

    def _mends(self) -> bool:
        if not self.image.loose:
            return True
        mended = Mendable(self.image.mended())
        return mended.wrong + mended.loose == [] and mended.tree() == self.image.tree()

    @property
    def sentences(self) -> list[str]:
        return [*self.judged.lost, *self.judged.wrong, *self.image.wrong]


@dataclass
class Again:
    """A guest that has used a disk once more."""

    disk: Disk
    found: list[str] = field(default_factory=list)  #: what should not be
    refused: bool = False  #: it could not be mounted
    unread: set[str] = field(default_factory=set)  #: files that were there, and could not be read whole
    errors: int = 0  #: that the worker was told


def used_again(kernel: Kernel, raw: bytes, promises: Promises, folder: Path, bad_sector: int | None = None) -> Again:
    """The guest mounts the disk, reads all files, lets the worker work, and unmounts it.

    Expected of it: what it reads is what the disk holds, the worker finds nothing wrong, and after it old and new
    promises hold.
    """
    before, path = Image(raw), folder / "image"
    path.write_bytes(raw)
    ended = _booted(kernel, path, bad_sector)
    told = list(events(ended.bulk))
    again = Again(Disk.of(path.read_bytes(), promises), refused=b"refused" in ended.bulk)
    again.found += again.disk.sentences
    if again.refused:
        return again
    new = judge(Promises.after(told), again.disk.image.tree(), MOUNTED)
    again.found += [*new.lost, *new.wrong]
    again.errors = sum(event.event == "error" for event in told)
    # Where it may not read a directory, the worker cannot begin.
    again.errors += b"status 1" in ended.bulk
    well = (b"status 0",) if bad_sector is None else (b"status 0", b"status 1")
    if b"unmounted 0" not in ended.bulk or not any(status in ended.bulk for status in well):
        again.found.append(f"it did not end well: {ended}")
    sums = {path.decode(errors="replace"): digest.decode() for digest, path in _SUM.findall(ended.bulk)}
    for name, number in before.paths.items():
        if not stat.S_ISREG(before.files[number].mode) or not re.fullmatch(r"/w\d+/[ab]/s\d+", name):
            continue
        said = sums.get(MOUNTED + name)
        if said is None:
            again.unread.add(name)
        elif said != hashlib.md5(before.data[number], usedforsecurity=False).hexdigest():
            again.found.append(f"{name} was read, and not as it is")
    return again


def _booted(kernel: Kernel, path: Path, bad_sector: int | None) -> Outcome:
    machine = Machine(more=virtio_disk(path, bad_sector))
    return boot(kernel, inside(kernel, _SCRIPT), machine, seconds=SECONDS)


def sectors(image: Image) -> dict[str, list[int]]:
    """By what they hold, the sectors of a sound image that are in use."""
    per = image.size // SECTOR
    table = 2 + image.imap + image.zmap
    kinds: dict[str, list[int]] = {
        "superblock": [1024 // SECTOR],
        "bitmaps": list(range(2 * per, table * per)),
        "inodes": sorted({table * per + (number - 1) * 64 // SECTOR for number in image.files}),
        "directories": [],
        "files": [],
    }
    for zone, number in sorted(image.owner.items()):
        kind = "directories" if stat.S_ISDIR(image.files[number].mode) else "files"
        kinds[kind] += range(zone * per, (zone + 1) * per)
    return kinds


def may_be_unread(image: Image, sector: int) -> set[str] | None:
    """Files that a sector of a file's is part of; None: of a table, which all files need."""
    owner = image.owner.get(sector * SECTOR // image.size)
    if owner is None or stat.S_ISDIR(image.files[owner].mode):
        return None
    return {path for path, number in image.paths.items() if number == owner}
