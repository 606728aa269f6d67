"""Trio's disk file system on the host: does it do what is asked, and is what it leaves a sound MINIX file system?"""

from __future__ import annotations

import errno
import subprocess
from pathlib import Path

import pytest

from kernometer.faults.minixfs import ROOT, Image
from tests.support.trio.host_programs import NEEDS_GCC
from tests.support.trio.minixfs import FSCK, MKFS, Driver, make, sound
from tests.support.trio.minixfs_model import Model

SEEDS = range(12)

pytestmark = NEEDS_GCC
needs_mkfs = pytest.mark.skipif(MKFS is None or FSCK is None, reason="mkfs.minix and fsck.minix are not installed")


@pytest.fixture
def image(tmp_path: Path) -> Path:
    path = tmp_path / "image"
    make(path, 2048)
    return path


def left(driver: Driver, path: Path) -> Image:
    """Unmounted, with every page given back."""
    assert driver.say("unmount") == ["0", "0"]
    assert driver.do(f"save {path}") == 0
    return sound(path)


@pytest.mark.parametrize("seed", SEEDS)
def test_random_operations_leave_what_they_should(program: Path, tmp_path: Path, seed: int) -> None:
    """Expected: each answers as the model, and image and model hold the same tree. Broken: seen in the first answer
    or the first file that differs. Block sizes and ways of the disk to answer take turns."""
    path = tmp_path / "image"
    make(path, 1024 if seed % 3 else 2048, 4096 if seed % 3 == 1 else 1024)
    with Driver(program, path) as driver:
        model = Model(driver, seed)
        assert driver.do(f"waits {seed % 2}") == 0
        assert driver.do("mount 0") == 0
        for _ in range(400):
            model.step()
        model.release_all()
        image = left(driver, path)
    assert image.tree() == model.tree()


@needs_mkfs
def test_what_mkfs_minix_makes_is_mounted_and_what_is_left_is_clean(program: Path, tmp_path: Path) -> None:
    """Expected: fsck.minix -f finds nothing; a second mount finds the files."""
    path = tmp_path / "image"
    path.write_bytes(bytes(4 << 20))
    assert MKFS is not None
    subprocess.run([MKFS, "-3", str(path)], check=True, capture_output=True, timeout=60)
    with Driver(program, path) as driver:
        model = Model(driver, 99)
        assert driver.do("mount 0") == 0
        for _ in range(300):
            model.step()
        model.release_all()
        assert driver.say("unmount") == ["0", "0"]
        assert driver.do("mount 0") == 0
        for _ in range(100):
            model.step()
        model.release_all()
        assert left(driver, path).tree() == model.tree()


def test_a_large_file_goes_through_all_levels_and_gives_all_back(program: Path, tmp_path: Path) -> None:
    """Expected: direct, one, two and three levels of indirect blocks, holes between; truncation frees them all."""
    path = tmp_path / "image"
    make(path, 4096)
    with Driver(program, path) as driver:
        assert driver.do("mount 0") == 0
        free = driver.say("numbers")
        assert driver.say("create 1 100644 large") == ["0", "2"]
        offsets = [0, 6 << 10, 7 << 10, 262 << 10, 263 << 10, 60_000_000, 70_000_000, 2**31 - 1 - 5000]
        for offset in offsets:
            assert driver.do(f"write 2 {offset} 5000 3") == 5000
        assert driver.do("write 2 2147483640 100 3") == 7
        assert driver.do("write 2 2147483647 100 3") == -errno.EFBIG
        assert driver.do("truncate 2 2147483648") == -errno.EFBIG
        read = [driver.say(f"read 2 {offset} 5000")[1] for offset in offsets]
        assert len(set(read)) == len(offsets)
        assert driver.say("read 2 100000 16")[1] == "00" * 16
        for offset in reversed(offsets):
            assert driver.do(f"truncate 2 {offset + 100}") == 0
            assert driver.say(f"read 2 {offset} 200")[1] == read[offsets.index(offset)][:200]
            assert driver.do("sync 2") == 0
        assert driver.do("unlink 1 0 large") == 0
        assert driver.do("release 2") == 0
        assert driver.say("numbers") == free
        left(driver, path)


def test_a_full_disk_is_an_error_and_nothing_else(program: Path, image: Path) -> None:
    """Expected: ENOSPC for zones and for inodes; after removal as much is free as before."""
    with Driver(program, image) as driver:
        assert driver.do("mount 0") == 0
        free = driver.say("numbers")
        assert driver.do("create 1 100644 a") == 0
        assert 0 < driver.do("write 2 0 4000000 1") < 4_000_000
        assert driver.do("write 2 4000000 10 1") == -errno.ENOSPC
        assert driver.do("create 1 40755 d") == -errno.ENOSPC
        assert driver.do("truncate 2 10") == 0
        made = 0
        while driver.do(f"create 1 100644 f{made}") == 0:
            made += 1
        assert driver.do(f"create 1 100644 f{made}") == -errno.ENOSPC
        assert made == int(free[4]) - 1
        for number in range(3, 3 + made):
            assert driver.do(f"release {number}") == 0
        for each in range(made):
            assert driver.do(f"unlink 1 0 f{each}") == 0
        assert driver.do("unlink 1 0 a") == 0
        assert driver.do("release 2") == 0
        # The folder keeps the blocks that its entries took; it had one, and has an indirect one now.
        assert int(driver.say("numbers")[2]) == int(free[2]) - -(-(made + 3) // 16)
        left(driver, image)


def test_names_and_links_have_limits(program: Path, image: Path) -> None:
    """Expected: 60 bytes are a name and 61 are not; names that are no files' are refused."""
    with Driver(program, image) as driver:
        assert driver.do("mount 0") == 0
        assert driver.do(f"create 1 100644 {'n' * 60}") == 0
        assert driver.do(f"create 1 100644 {'n' * 61}") == -errno.ENAMETOOLONG
        assert driver.do(f"lookup 1 {'n' * 61}") == -errno.ENAMETOOLONG
        assert driver.do("release 2") == 0
        assert driver.do("create 2 100644 x") == -errno.ENOTDIR
        assert driver.do("entries 2") == -errno.ENOTDIR
        assert driver.do("read 1 0 10") == -errno.EISDIR
        assert driver.do("attributes 200") == -errno.ESTALE
        assert driver.do("attributes 4000000") == -errno.ESTALE
        assert driver.do("unlink 1 1 ..") == -errno.ENOTEMPTY
        assert driver.do("unlink 1 1 .") == -errno.EINVAL
        assert driver.do(f"rename 1 . 1 {'n' * 60}") == -errno.EBUSY
        assert driver.do("link 1 1 root") == -errno.EPERM
        assert driver.do("entries 1 20") == -errno.EINVAL
        assert driver.do(f"symlink 1 s {'t' * 1024}") == -errno.ENAMETOOLONG
        left(driver, image)


def test_a_read_only_mount_writes_nothing(program: Path, image: Path) -> None:
    """Expected: EROFS for each change, and not one sector written, the time of access neither."""
    with Driver(program, image) as driver:
        assert driver.do("mount 1") == 0
        changes = ["create 1 100644 a", "symlink 1 a b", "truncate 1 0", "unlink 1 0 a", "rename 1 a 1 b", "chmod 1 0"]
        for change in changes:
            assert driver.do(change) == -errno.EROFS, change
        assert driver.say("entries 1")[:2] == ["1:.", "1:.."]
        assert driver.do("sync 0") == 0
        assert driver.say("unmount") == ["0", "0"]
        assert driver.say("writes") == ["0", "0"]


def test_with_little_memory_it_goes_on(program: Path, tmp_path: Path) -> None:
    """Expected: with the least cache, and none to be had beyond it, the same answers; with less, ENOMEM and no leak."""
    path = tmp_path / "image"
    make(path, 4096)
    with Driver(program, path) as driver:
        assert driver.do("memory 20") == 0
        assert driver.do("mount 0") == -errno.ENOMEM
        assert driver.do("memory 60") == 0
        assert driver.do("mount 0") == 0
        model = Model(driver, 5)
        for _ in range(400):
            model.step()
        model.release_all()
        assert driver.do("create 1 100644 long-file") == 0
        number = driver.say("lookup 1 long-file")[1]
        assert driver.do(f"write {number} 0 3000000 9") == 3_000_000
        assert driver.do(f"unlink {ROOT} 0 long-file") == 0
        assert driver.do(f"release {number}") == 0
        assert driver.do(f"release {number}") == 0
        assert left(driver, path).tree() == model.tree()


def test_an_unlinked_file_lives_while_it_is_held(program: Path, image: Path) -> None:
    """Expected: read and written until released; unmount says EBUSY until then."""
    with Driver(program, image) as driver:
        assert driver.do("mount 0") == 0
        free = driver.say("numbers")
        assert driver.do("create 1 100644 a") == 0
        assert driver.do("write 2 0 3000 1") == 3000
        assert driver.do("unlink 1 0 a") == 0
        assert driver.do("sync 0") == 0
        assert driver.do("write 2 3000 3000 1") == 3000
        assert driver.say("read 2 2990 20")[0] == "20"
        assert driver.do("link 1 2 b") == -errno.ENOENT
        assert driver.say("unmount")[0] == str(-errno.EBUSY)
        assert driver.do("release 2") == 0
        assert driver.say("numbers") == free
        left(driver, image)


@pytest.mark.parametrize("doing", ["write 2 0 4096 1", "sync 0", "mount 0"])
@pytest.mark.parametrize("begins_anew", [False, True])
def test_a_disk_that_tells_to_go_on_and_does_nothing_is_reported(
    program: Path, image: Path, doing: str, begins_anew: bool
) -> None:
    """Expected: a driver's next process does what was asked; without one it is EIO. Broken: fs asks for ever."""
    with Driver(program, image) as driver:
        assert driver.do("waits 1") == 0
        if doing != "mount 0":
            assert driver.do("mount 0") == 0
            assert driver.say("create 1 100644 a") == ["0", "2"]
        assert driver.do(f"stuck {1 + begins_anew}") == 0
        assert (driver.do(doing) >= 0) == (begins_anew or doing.startswith("write"))
        assert (driver.do("sync 0") >= 0) == begins_anew
        assert driver.do("stuck 0") >= 1
