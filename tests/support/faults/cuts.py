"""What a disk may hold after its power was cut, from a log of its writes; pure.

QEMU's block driver blklogwrites keeps the log (the format is that of Linux's drivers/md/dm-log-writes.c): it notes each
write and flush when the disk has done it. A flush makes lasting what was noted before it; of what was noted after the
last flush before the cut, anything may be there or not, to the sector. It notes no FUA, which virtio disks do not have.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

SECTOR = 512
_FLUSH, _DISCARD = 1, 4
#: What is left of the writes since the last flush: all, the last one torn; some, whole; some sectors.
MODES = ("torn at the end", "some writes", "some sectors")


@dataclass(frozen=True, slots=True)
class Write:
    """One entry of the log: a write, or, without data, a flush. `end`: of the entry, in the log's bytes."""

    sector: int
    data: bytes
    end: int

    @property
    def is_flush(self) -> bool:
        return not self.data


@dataclass(frozen=True, slots=True)
class Cut:
    """The power fails after `count` entries of the log, of which those after `lasting` may be there or not."""

    count: int
    lasting: int
    mode: str
    image: bytes


def logged(log: bytes) -> list[Write]:
    """Up to the first entry that is not whole. A discard, which leaves a sector as it likes, is left out."""
    writes = []
    at = SECTOR
    while at + SECTOR <= len(log):
        sector, count, flags, _ = struct.unpack_from("<4Q", log, at)
        size = 0 if flags & _DISCARD else count * SECTOR
        data = log[at + SECTOR : at + SECTOR + size]
        if len(data) < size or (count == 0 and not flags & _FLUSH):
            break
        at += SECTOR + size
        if not flags & _DISCARD:
            writes.append(Write(sector, data, at))
    return writes


def cut(base: bytes, writes: Sequence[Write], count: int, mode: str, random: Random, lies: int = 0) -> Cut:
    """What `base` is after the first `count` entries, and a loss of the kind `mode`.

    A disk that lies has done nothing for the last `lies` flushes before the cut.
    """
    flushes = [0, *(at + 1 for at in range(count) if writes[at].is_flush)]
    lasting = flushes[max(len(flushes) - 1 - lies, 0)]
    image = bytearray(base)
    for at, write in enumerate(writes[:count]):
        loose = at >= lasting
        if not loose or (mode == MODES[0] and at < count - 1) or (mode == MODES[1] and random.randrange(2)):
            _put(image, write, range(len(write.data) // SECTOR))
        elif mode == MODES[0]:
            _put(image, write, range(random.randrange(len(write.data) // SECTOR + 1)))
        elif mode == MODES[2]:
            _put(image, write, [each for each in range(len(write.data) // SECTOR) if random.randrange(2)])
    return Cut(count, lasting, mode, bytes(image))


def drawn(base: bytes, writes: Sequence[Write], random: Random, lies: int = 0) -> Cut:
    """A cut anywhere, of any kind."""
    return cut(base, writes, random.randrange(len(writes) + 1), random.choice(MODES), random, lies)


def _put(image: bytearray, write: Write, sectors: Sequence[int]) -> None:
    for each in sectors:
        to = (write.sector + each) * SECTOR
        image[to : to + SECTOR] = write.data[each * SECTOR : (each + 1) * SECTOR]
