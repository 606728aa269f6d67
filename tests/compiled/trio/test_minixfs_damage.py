"""Power that fails and disks that are damaged: what of Trio's file system is left, and is the kernel?"""

from __future__ import annotations

import errno
import struct
from pathlib import Path
from random import Random

import pytest

from kernometer.faults.minixfs import INODE, MAGIC, SUPER, Image
from tests.support.faults.mending import Mendable
from tests.support.trio.host_programs import NEEDS_GCC
from tests.support.trio.minixfs import Driver, make, pattern, sound
from tests.support.trio.minixfs_model import Model, Node
from tests.support.turns import some

pytestmark = NEEDS_GCC

SYNCS = 3


class Synced:
    """What the disk was told to keep: after how many writes, and what each file had then."""

    def __init__(self, model: Model, writes: int) -> None:
        self.writes, self.at = writes, model.count
        self.content = {id(node): bytes(node.data) for node in model.paths().values() if node.kind != "dir"}
        # Each name with what it goes through.
        self.names: dict[str, list[Node]] = {}
        paths = model.paths()
        for path in paths:
            parts = path.split("/")
            self.names[path] = [paths["/".join(parts[:count]) or "/"] for count in range(1, len(parts) + 1)]

    def kept(self) -> dict[str, bytes]:
        """Files that nothing has touched since, nor a folder above them."""
        return {
            path: self.content[id(way[-1])]
            for path, way in self.names.items()
            if id(way[-1]) in self.content and all(each.touched <= self.at for each in way)
        }


def cut(program: Path, path: Path, seed: int) -> tuple[list[Synced], Model, Path]:
    """Operations with syncs between them; the power fails somewhere, and the image of that is saved."""
    random = Random(seed)
    after = path.with_suffix(".cut")
    with Driver(program, path) as driver:
        model = Model(driver, seed, most=6000, moves=seed % 4 > 0)
        synced: list[Synced] = []
        assert driver.do(f"waits {seed % 2}") == 0
        assert driver.do("mount 0") == 0
        assert driver.do(f"power {random.randrange(1, 400)}") == 0
        for _ in range(SYNCS):
            for _ in range(random.randrange(5, 60)):
                model.step()
            assert driver.do("sync 0") == 0
            synced.append(Synced(model, int(driver.say("writes")[0])))
        for _ in range(random.randrange(60)):
            model.step()
        assert driver.do(f"cut {seed}") == 0
        assert driver.do(f"save {after}") == 0
    return synced, model, after


@pytest.mark.parametrize("seed", some(range(40), 0.01, every=4))
def test_after_a_power_cut_the_disk_is_repairable_and_keeps_what_was_synced(
    program: Path,
    tmp_path: Path,
    seed: int,
) -> None:
    """Expected: no zone has two owners, no name leads to a file that is not there, nothing in use is unmarked; what is
    left to mend are counts and marks, or one of two names of a directory that was moved to another. Files that were
    synced and not touched since have their content; those that were renamed since have some name. Broken: an order of
    writes that loses one of these."""
    path = tmp_path / "image"
    make(path, 1024, 1024 if seed % 3 else 2048)
    power = Random(seed).randrange(1, 400)
    synced, model, after = cut(program, path, seed)
    image = Mendable(after.read_bytes())
    assert image.wrong == []
    # With the last write that it allows the power is gone: no flush follows.
    durable = [each for each in synced if each.writes < power]
    if durable:
        tree = image.tree()
        for name, content in durable[-1].kept().items():
            assert tree.get(name) == content, name
        for node in model.paths().values():
            if id(node) in durable[-1].content and node.written <= durable[-1].at:
                assert image.data.get(node.number) == durable[-1].content[id(node)], "lost on its way to another name"
    assert image.twice <= model.moved
    if image.twice:
        return
    after.write_bytes(image.mended())
    assert sound(after).tree() == image.tree()


def test_each_superblock_that_cannot_be_is_refused(program: Path, tmp_path: Path) -> None:
    """Expected: EINVAL for each field that is out of range, and no page kept."""
    path = tmp_path / "image"
    make(path, 1024)
    good = path.read_bytes()
    fields = list(struct.unpack_from(SUPER, good, 1024))
    wrong = {
        0: (0, 100_000, 2**32 - 1), 2: (0,), 3: (0, 65535), 4: (3, 65535), 5: (1,), 7: (0, 2**32 - 1),
        8: (5, 4096, 2**32 - 1), 9: (0, MAGIC + 1), 11: (0, 512, 1000, 8192),
    }  # fmt: skip  # as a table
    for at, value in ((at, value) for at, values in wrong.items() for value in values):
        changed = fields.copy()
        changed[at] = value
        image = bytearray(good)
        struct.pack_into(SUPER, image, 1024, *changed)
        path.write_bytes(image)
        with Driver(program, path) as driver:
            assert driver.do("mount 0") == -errno.EINVAL, (at, value)
            assert driver.say("unmount")[1] == "0"


def explore(driver: Driver, random: Random) -> None:
    """Everything that can be asked, of inodes that there may be."""
    for _ in range(120):
        one, two = random.randrange(1, 40), random.randrange(1, 12)
        name, other = random.choice("abcd"), random.choice("abcd")
        at, to = random.randrange(3_000_000), random.randrange(1, 12)
        asked = [
            f"entries {one}", f"attributes {one}", f"read {one} {at} 3000", f"lookup {two} {name}", f"readlink {one}",
            f"write {one} {at} 2000 1", f"truncate {one} {at % 9000}", f"create {two} 100644 {name}",
            f"create {two} 40755 {name}", f"unlink {two} 0 {name}", f"unlink {two} 1 {name}",
            f"rename {two} {name} {to} {other}", f"link {two} {one} {other}", f"release {one}",
            f"symlink {two} {name} target", "sync 0", "numbers", "tick",
        ]  # fmt: skip  # as a table
        driver.say(random.choice(asked))


def filled(program: Path, path: Path) -> bytes:
    make(path, 1024)
    with Driver(program, path) as driver:
        model = Model(driver, 1)
        assert driver.do("mount 0") == 0
        for _ in range(200):
            model.step()
        number = driver.say("create 1 100644 large")[1]
        assert driver.do(f"write {number} 0 20000 1") == 20000
        assert driver.do(f"write {number} 1000000 20000 1") == 20000
        assert driver.do(f"release {number}") == 0
        model.release_all()
        assert driver.do("unmount") == 0
        assert driver.do(f"save {path}") == 0
    return path.read_bytes()


def damage(image: bytearray, random: Random, first: int) -> None:
    """Bytes of inode table and blocks become others; numbers become near ones, which do more harm than wild ones."""
    table = 4 * 1024
    for _ in range(random.randrange(1, 30)):
        kind = random.randrange(4)
        if kind == 0:
            struct.pack_into("<I", image, table + random.randrange(40 * 16) * 4, random.randrange(first + 120))
        elif kind == 1:
            struct.pack_into(
                "<I", image, (first + random.randrange(100)) * 1024 + random.randrange(16) * 64, random.randrange(300)
            )
        elif kind == 2:
            image[random.randrange(2048, (first + 200) * 1024)] = random.randrange(256)
        else:
            at = table + random.randrange(40) * 64
            read = list(struct.unpack_from(INODE, image, at))
            read[10 + random.randrange(7)] = random.randrange(first - 2, first + 120)
            read[random.choice([0, 1, 4])] = random.choice([0, 0o40755, 0o100644, 0xFFFF, 65530])
            struct.pack_into(INODE, image, at, *read)


@pytest.mark.parametrize("seed", range(6))
def test_a_damaged_disk_gives_errors_and_no_wild_access(program: Path, tmp_path: Path, seed: int) -> None:
    """Expected: answers, whatever they are, of a program that the sanitizers find nothing in, and in time."""
    path = tmp_path / "image"
    good = filled(program, path)
    first = struct.unpack_from(SUPER, good, 1024)[4]
    random = Random(seed)
    for _ in range(12):
        image = bytearray(good)
        damage(image, random, first)
        path.write_bytes(image)
        with Driver(program, path) as driver:
            if driver.do("mount 0") < 0:
                continue
            explore(driver, random)


def test_a_sector_that_cannot_be_read_or_written_is_an_error(program: Path, tmp_path: Path) -> None:
    """Expected: EIO for what needs it; where a write fails nothing is changed any more; unmounting gives all back."""
    path = tmp_path / "image"
    filled(program, path)
    first = struct.unpack_from(SUPER, path.read_bytes(), 1024)[4]
    for waits in (0, 1):
        with Driver(program, path) as driver:
            assert driver.do(f"waits {waits}") == 0
            assert driver.do(f"bad {first * 2}") == 0
            assert driver.do("mount 0") == 0
            assert driver.do("lookup 1 a") == -errno.EIO
            assert driver.do("bad 1000000") == 0
            number = driver.say("create 1 100644 new")[1]
            assert driver.do(f"bad {first * 2}") == 0
            assert driver.do("sync 0") == -errno.EIO
            assert driver.do("create 1 100644 newer") == -errno.EIO
            assert driver.do(f"release {number}") == 0
            assert driver.say("unmount") == ["0", "0"]


@pytest.mark.parametrize("waits", [0, 1])
def test_a_bad_sector_spoils_no_other_block(program: Path, tmp_path: Path, waits: int) -> None:
    """Expected: EIO for the block that it is in; those before and after, which one request reads with it, have their
    content. Broken: all that was read with it is an error."""
    path = tmp_path / "image"
    make(path, 256)
    wanted = pattern(1, 0, 7000)
    with Driver(program, path) as driver:
        for line in ("mount 0", "create 1 100644 file", "write 2 0 7000 1", "release 2", "unmount", f"save {path}"):
            assert driver.do(line) >= 0, line
    bad = Image(path.read_bytes()).files[2].zone[3]
    with Driver(program, path) as driver:
        for line in (f"waits {waits}", "mount 0", "lookup 1 file", f"bad {bad * 2}"):
            assert driver.do(line) == 0, line
        assert driver.say("read 2 0 7000") == ["3072", wanted[:3072].hex()]
        assert driver.say("read 2 4096 7000") == ["2904", wanted[4096:].hex()]
        assert driver.do("read 2 3500 10") == -errno.EIO
        assert driver.do("bad 1000000") == 0
        assert driver.say("read 2 3500 10") == ["10", wanted[3500:3510].hex()]
