"""The front end's reader of MINIX FS: what it must find in a damaged image, and nothing in a sound one."""

from __future__ import annotations

import struct
import subprocess
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest

from kernometer.faults.minixfs import ENTRY, INODE, ROOT, SUPER, SUPER_AT, Image
from tests.support.faults.mending import Mendable
from tests.support.trio.minixfs import FSCK, MKFS, fsck, make

BLOCKS, SIZE = 256, 1024
TABLE = 4 * SIZE
FIRST = 8
DIRECTORY, FILE, HARD, LARGE = 2, 3, 4, 5
ZONE = "<I"


def inode(image: bytearray, number: int, mode: int, links: int, size: int, *zones: int) -> None:
    fields = (mode, links, 0, 0, size, 1, 1, 1, *zones, *[0] * (10 - len(zones)))
    struct.pack_into(INODE, image, TABLE + (number - 1) * 64, *fields)
    image[2 * SIZE + number // 8] |= 1 << number % 8


def mark(image: bytearray, *zones: int) -> None:
    for zone in zones:
        bit = zone - FIRST + 1
        image[3 * SIZE + bit // 8] |= 1 << bit % 8


def enter(image: bytearray, zone: int, slot: int, number: int, name: bytes) -> None:
    struct.pack_into("<I60s", image, zone * SIZE + slot * ENTRY, number, name)


@pytest.fixture
def sound(tmp_path: Path) -> bytearray:
    """A directory with a file; a file with two names; one with a hole, and a zone behind an indirect one."""
    make(tmp_path / "image", BLOCKS, SIZE, 64)
    image = bytearray((tmp_path / "image").read_bytes())
    root = FIRST
    assert struct.unpack_from(SUPER, image, SUPER_AT)[4] == FIRST
    inode(image, ROOT, 0o40755, 3, 5 * ENTRY, root)
    inode(image, DIRECTORY, 0o40755, 2, 3 * ENTRY, 10)
    inode(image, FILE, 0o100644, 1, 5, 11)
    inode(image, HARD, 0o100644, 2, 0)
    inode(image, LARGE, 0o100644, 1, 9 * SIZE, 0, 12, 0, 0, 0, 0, 0, 13)
    enter(image, root, 2, DIRECTORY, b"d")
    enter(image, root, 3, HARD, b"hard")
    enter(image, root, 4, HARD, b"link")
    for slot, number, name in ((0, DIRECTORY, b"."), (1, ROOT, b".."), (2, FILE, b"file")):
        enter(image, 10, slot, number, name)
    enter(image, root, 5, LARGE, b"large")
    struct.pack_into(INODE, image, TABLE, 0o40755, 3, 0, 0, 6 * ENTRY, 1, 1, 1, root, *[0] * 9)
    image[11 * SIZE : 11 * SIZE + 5] = b"bytes"
    image[12 * SIZE : 13 * SIZE] = b"1" * SIZE
    struct.pack_into(ZONE, image, 13 * SIZE + 4, 14)
    image[14 * SIZE : 15 * SIZE] = b"2" * SIZE
    mark(image, *range(10, 15))
    return image


def test_a_sound_image_is_read_whole(sound: bytearray, tmp_path: Path) -> None:
    """Expected: content with its holes, names, nothing to find; fsck.minix agrees."""
    image = Mendable(bytes(sound))
    assert image.wrong + image.loose == []
    assert image.tree() == {
        "/": None,
        "/d": None,
        "/d/file": b"bytes",
        "/hard": b"",
        "/link": b"",
        "/large": bytes(SIZE) + b"1" * SIZE + bytes(6 * SIZE) + b"2" * SIZE,
    }
    if FSCK is not None:
        (tmp_path / "image").write_bytes(sound)
        assert fsck(tmp_path / "image").returncode == 0


def unmark_zone(image: bytearray) -> None:
    image[3 * SIZE + 4 // 8] &= ~(1 << 4 % 8)


def unmark_inode(image: bytearray) -> None:
    image[2 * SIZE] &= ~(1 << FILE)


#: What is done to the image; what must be said; whether fsck.minix says something too.
DAMAGE: dict[str, tuple[Callable[[bytearray], None], str, bool]] = {
    "a zone is used twice": (
        lambda image: inode(image, HARD, 0o100644, 2, 5, 11), "zone 11 belongs to inodes 3 and 4", True),
    "a zone is beyond the disk": (
        lambda image: inode(image, FILE, 0o100644, 1, 5, BLOCKS),
        f"inode 3 names zone {BLOCKS}, which is not there", True),
    "a zone is in the tables": (
        lambda image: inode(image, FILE, 0o100644, 1, 5, 4), "inode 3 names zone 4, which is not there", True),
    "a zone in use is not marked": (unmark_zone, "zone 11 is in use and not marked", True),
    "an inode in use is not marked": (unmark_inode, "inode 3 is in use and not marked", True),
    "a name leads nowhere": (
        lambda image: enter(image, 10, 2, 999, b"file"), "/d/file is inode 999, which is not there", True),
    "a name leads to an empty inode": (
        lambda image: enter(image, 10, 2, 30, b"file"), "/d/file is inode 30 of mode 0", True),
    "a name is there twice": (lambda image: enter(image, FIRST, 3, HARD, b"link"), "/link is there twice", False),
    "a directory is in itself": (
        lambda image: enter(image, 10, 2, DIRECTORY, b"file"), "/d/file is in itself", True),
    "a directory does not begin with its dots": (
        lambda image: enter(image, 10, 0, DIRECTORY, b"x"), "directory /d does not begin with . and ..", True),
    "a size is no directory's": (
        lambda image: inode(image, DIRECTORY, 0o40755, 2, 3 * ENTRY + 1, 10), "directory /d has a size of 193", False),
    "a size is beyond sense": (
        lambda image: inode(image, FILE, 0o100644, 1, 2**32 - 1, 11), "inode 3 has a size of 4294967295", False),
    "there are more links": (
        lambda image: inode(image, FILE, 0o100644, 2, 5, 11), "inode 3 has 2 links and 1 names", True),
    "a zone is marked and unused": (lambda image: mark(image, 40), "zone 40 is marked and not in use", True),
    "an inode is marked and unused": (
        lambda image: inode(image, 40, 0, 0, 0), "inode 40 is marked and not in use", True),
    "it is no file system": (
        lambda image: struct.pack_into("<H", image, SUPER_AT + 24, 0),
        "the superblock is not one of MINIX FS version 3", True),
    "its tables are too large": (
        lambda image: struct.pack_into("<I", image, SUPER_AT, 2**32 - 1),
        "the superblock names blocks that are not there", True),
}  # fmt: skip  # as a table


@pytest.mark.parametrize("what", DAMAGE)
def test_each_damage_is_found(sound: bytearray, tmp_path: Path, what: str) -> None:
    """Expected: its sentence; fsck.minix, a second witness, finds something too, but for names that are there twice
    and sizes, which it does not look at. Broken: a reader that would call a lost disk sound."""
    damage, sentence, fsck_finds = DAMAGE[what]
    damage(sound)
    image = Mendable(bytes(sound))
    assert sentence in image.wrong + image.loose
    if FSCK is None:
        return
    (tmp_path / "image").write_bytes(sound)
    done = fsck(tmp_path / "image")
    assert (done.returncode != 0 or "?" in done.stdout or done.stderr != "") == fsck_finds, done


def test_what_may_be_mended_is_mended_and_nothing_else(sound: bytearray) -> None:
    """Expected: marks and counts are right after, the tree is the same."""
    mark(sound, 40, 41)
    inode(sound, 40, 0o100644, 0, 5, 41)
    inode(sound, FILE, 0o100644, 7, 5, 11)
    image = Mendable(bytes(sound))
    assert image.wrong == []
    assert len(image.loose) == 4
    mended = Mendable(image.mended())
    assert mended.wrong + mended.loose == []
    assert mended.tree() == image.tree()


def test_any_bytes_are_read_in_bounded_time_and_memory(sound: bytearray) -> None:
    """Expected: an answer for each of many damaged images. Broken: a recursion or a size that the image chooses."""
    random = Random(1)
    for _ in range(300):
        image = bytearray(sound)
        for _ in range(random.randrange(1, 20)):
            at = random.choice([random.randrange(SUPER_AT, 15 * SIZE), random.randrange(TABLE, TABLE + 6 * 64)])
            image[at] = random.choice([0, 0xFF, random.randrange(256)])
        for number in Image(bytes(image)).data.values():
            assert len(number) <= 16 * len(image)
    for length in (0, 1, SUPER_AT, SUPER_AT + 20, 5 * SIZE):
        assert Image(bytes(sound[:length])).wrong


@pytest.mark.skipif(MKFS is None, reason="mkfs.minix is not installed")
def test_what_mkfs_minix_makes_is_sound(tmp_path: Path) -> None:
    path = tmp_path / "image"
    path.write_bytes(bytes(1 << 20))
    subprocess.run([str(MKFS), "-3", str(path)], check=True, capture_output=True, timeout=60)
    image = Mendable(path.read_bytes())
    assert image.wrong + image.loose == []
    assert image.tree() == {"/": None}
