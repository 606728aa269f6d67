"""The rules of the order in which changes reach the disk, one by one: the power fails after each write of a batch."""

from __future__ import annotations

import errno
import struct
from collections.abc import Iterator
from pathlib import Path

import pytest

from kernometer.faults.minixfs import ROOT, Image
from tests.support.trio.host_programs import NEEDS_GCC
from tests.support.trio.minixfs import Driver, make, pattern, sound

pytestmark = NEEDS_GCC

#: Of writes that no flush has followed, which are lost: one seed each.
CUTS = 2
LINKS_MOST = 65530
KEPT = pattern(1, 0, 700)

#: The folder's first block is full, and `other` is in its second one: 16 entries a block of 1 KiB.
FULL = [
    "create 1 100644 kept", "write 2 0 700 1", *(f"create 1 100644 f{each}" for each in range(13)),
    "create 1 100644 other", "create 1 40755 d",
]  # fmt: skip  # as a table

#: What a batch does, each with the rule that it needs. The first change is of the block that is to be written first.
BATCHES = {
    "a name is replaced whose file has got another one": [
        "rename 1 f0 1 g0", "link 17 2 more", "unlink 1 0 kept", "create 1 100644 kept",
    ],
    "a rename replaces a name whose file has got another one": [
        "rename 1 f0 1 g0", "link 17 2 more", "rename 1 other 1 kept",
    ],
    "a name that was renamed away is given to a new file": [
        "rename 1 other 1 o", "rename 1 kept 1 new", "create 1 100644 kept",
    ],
    "a name that was renamed away is given by a rename": [
        "rename 1 other 1 o", "rename 1 kept 1 new", "rename 1 o 1 kept",
    ],
    "a name that a new file has got by a rename is removed": [
        "create 1 100644 new", "release 18", "rename 1 new 1 f0", "unlink 1 0 f0",
    ],
    "a name that was given to a new file is removed": [
        "unlink 1 0 f0", "release 3", "create 1 100644 f0", "release 18", "unlink 1 0 f0",
    ],
    "a name that was given to a new file is removed, and its inode is used again": [
        "unlink 1 0 f0", "release 3", "create 1 100644 f0", "release 18", "unlink 1 0 f0", "create 1 100644 new",
        "write 18 0 100 3",
    ],
}  # fmt: skip  # as a table


def after_each_write(program: Path, path: Path, batch: list[str]) -> Iterator[Image]:
    """What the disk holds where the power failed after the first, the second ... of the batch's writes."""
    after, writes, all_of_them = path.with_suffix(".cut"), 0, 1
    while writes < all_of_them:
        for seed in range(CUTS):
            make(path, 256)
            with Driver(program, path) as driver:
                for line in ["mount 0", *FULL, "sync 0"]:
                    assert driver.do(line) >= 0, line
                before = int(driver.say("writes")[0])
                assert driver.do(f"power {writes}") == 0
                for line in [*batch, "sync 0"]:
                    assert driver.do(line) >= 0, line
                all_of_them = int(driver.say("writes")[0]) - before
                assert driver.do(f"cut {seed}") == 0
                assert driver.do(f"save {after}") == 0
            yield Image(after.read_bytes())
        writes += 1


@pytest.mark.parametrize("rule", BATCHES)
def test_a_batch_may_be_cut_short_anywhere(program: Path, tmp_path: Path, rule: str) -> None:
    """Expected: the file that was synced has a name and its content, no name is there twice, and what is left to mend
    are marks and counts. Broken: without the rule, a name is gone, there twice, of a file that is not there or of
    another one, after some of the writes."""
    count = 0
    for count, image in enumerate(after_each_write(program, tmp_path / "image", BATCHES[rule]), 1):
        assert image.wrong == [], count
        assert image.data.get(2) == KEPT, count
        assert image.paths.get("/f0", 0) != image.paths.get("/new"), count
    assert count > 3 * CUTS


def test_a_file_has_no_more_links_than_its_field_can_tell(program: Path, tmp_path: Path) -> None:
    """Expected: EMLINK of the link, of the directory made, and of the one moved there, and nothing has changed."""
    path = tmp_path / "image"
    make(path, 256)
    with Driver(program, path) as driver:
        for line in ["mount 0", "create 1 100644 file", "create 1 40755 full", "create 1 40755 d", "unlink 1 0 none"]:
            assert driver.do(line) in (0, -errno.ENOENT), line
        assert [driver.do(f"release {number}") for number in (2, 3, 4)] == [0, 0, 0]
        assert driver.say("unmount") == ["0", "0"]
        assert driver.do(f"save {path}") == 0
    raw = bytearray(path.read_bytes())
    table = 4 * 1024
    for number in (2, 3):
        struct.pack_into("<H", raw, table + (number - 1) * 64 + 2, LINKS_MOST)
    path.write_bytes(raw)
    with Driver(program, path) as driver:
        assert driver.do("mount 0") == 0
        before = driver.say("numbers")
        assert driver.do(f"link {ROOT} 2 more") == -errno.EMLINK
        assert driver.do("create 3 40755 more") == -errno.EMLINK
        assert driver.do(f"rename {ROOT} d 3 d") == -errno.EMLINK
        assert driver.say("numbers") == before
        assert driver.say("unmount") == ["0", "0"]
        assert driver.do(f"save {path}") == 0
    raw = bytearray(path.read_bytes())
    struct.pack_into("<H", raw, table + 64 + 2, 1)
    struct.pack_into("<H", raw, table + 2 * 64 + 2, 2)
    path.write_bytes(raw)
    assert set(sound(path).tree()) == {"/", "/file", "/full", "/d"}
