"""Cuts of a log of writes: what of it is on the disk, and what may be."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from random import Random

import pytest

from tests.support.faults.cuts import MODES, SECTOR, cut, drawn, logged

BASE = bytes(16 * SECTOR)
FLUSH, DISCARD = 1, 4


def entry(sector: int, data: bytes, flags: int = 0, count: int | None = None) -> bytes:
    count = len(data) // SECTOR if count is None else count
    return struct.pack("<4Q", sector, count, flags, 0).ljust(SECTOR, b"\0") + data


def log(*entries: bytes) -> bytes:
    return bytes(SECTOR) + b"".join(entries)


def filled(byte: int, count: int = 2) -> bytes:
    return bytes([byte]) * SECTOR * count


LOG = log(entry(0, filled(1)), entry(0, b"", FLUSH), entry(4, filled(2)), entry(0, filled(3)), entry(8, filled(4, 4)))


def found(image: bytes) -> list[int]:
    """Each sector's byte; -1: of more than one."""
    sectors = [set(image[at : at + SECTOR]) for at in range(0, len(image), SECTOR)]
    return [next(iter(sector)) if len(sector) == 1 else -1 for sector in sectors]


def cuts(count: int, mode: str, lies: int = 0) -> set[tuple[int, ...]]:
    """All that there may be, as many draws show."""
    return {tuple(found(cut(BASE, logged(LOG), count, mode, Random(seed), lies).image)) for seed in range(200)}


def test_the_log_is_read_as_qemu_writes_it() -> None:
    """Expected: writes and flushes in order; no discard, whose entry has no data; nothing after what is not whole."""
    writes = logged(log(entry(3, filled(1)), entry(9, b"", DISCARD, 4), entry(0, b"", FLUSH), entry(5, filled(2, 1))))
    assert [(write.sector, len(write.data), write.is_flush) for write in writes] == [
        (3, 2 * SECTOR, False), (0, 0, True), (5, SECTOR, False),
    ]  # fmt: skip  # as a table
    assert writes[-1].end == SECTOR * 8
    assert len(logged(LOG[:-1])) == 4
    assert len(logged(LOG + bytes(4 * SECTOR))) == 5
    assert logged(b"") == []


@pytest.mark.parametrize("mode", MODES)
def test_what_a_flush_has_followed_is_there(mode: str) -> None:
    """Expected: in every draw, while nothing was written over it since."""
    assert {each[:2] for each in cuts(3, mode)} == {(1, 1)}
    assert cuts(2, mode) == {(1, 1, *[0] * 14)}
    assert mode == MODES[0] or {each[:2] for each in cuts(2, mode, lies=1)} > {(1, 1)}


def kinds(all_cuts: set[tuple[int, ...]], at: Sequence[int]) -> set[tuple[int, ...]]:
    return {tuple(each[sector] for sector in at) for each in all_cuts}


def test_the_modes_lose_what_they_say() -> None:
    """Expected: only the end is torn; whole writes in any choice; sectors in any choice, each whole."""
    torn, some, sectors = (cuts(5, mode) for mode in MODES)
    assert kinds(torn, [0, 1, 4, 5]) == {(3, 3, 2, 2)}
    assert kinds(torn, [8, 9, 10, 11]) == {(4,) * n + (0,) * (4 - n) for n in range(5)}
    assert kinds(some, [0, 1]) == {(1, 1), (3, 3)}
    assert kinds(some, [4, 8]) == {(0, 0), (2, 0), (0, 4), (2, 4)}
    assert kinds(sectors, [0, 1]) == {(1, 1), (1, 3), (3, 1), (3, 3)}
    assert len(kinds(sectors, [8, 9, 10, 11])) == 16


def test_equal_seeds_are_equal_cuts() -> None:
    assert drawn(BASE, logged(LOG), Random(3)) == drawn(BASE, logged(LOG), Random(3))
    assert {drawn(BASE, logged(LOG), Random(seed)).count for seed in range(100)} == set(range(6))
