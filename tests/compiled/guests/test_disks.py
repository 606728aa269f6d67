"""Disks of memory for a guest: are their images sound and always the same, and is it said why there is none?"""

from __future__ import annotations

import shutil
import struct
import subprocess
import time
from collections.abc import Iterable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernometer.errors import MissingError, TargetError
from kernometer.guests import store
from kernometer.guests.images import disks
from kernometer.guests.images.disks import BLOCK, KINDS, SIZE, image, provide, sparse
from kernometer.guests.inside import programs
from kernometer.guests.inside.programs import Provided
from kernometer.guests.kernels import drivers


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache"


def whole(form: bytes) -> bytes:
    """What init writes to the disk: a reader of our own."""
    (size,) = struct.unpack_from("<Q", form)
    disk, at = bytearray(size), 8
    while at < len(form):
        offset, length = struct.unpack_from("<QQ", form, at)
        disk[offset : offset + length] = form[at + 16 : at + 16 + length]
        at += 16 + length
    assert at == len(form)
    assert len(disk) == size
    return bytes(disk)


@pytest.mark.parametrize("kind", KINDS)
def test_two_images_are_equal_to_the_byte(kind: str, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Expected: equality over time, folder and the host's configuration. Broken: a time or a random identity lies on
    the disk, and counts differ between sessions."""
    first = image(kind)
    shutil.rmtree(cache)
    config = cache.with_name("mke2fs.conf")
    config.write_text("[defaults]\n\tbase_features = sparse_super\n\tblocksize = 1024\n\tinode_size = 128\n")
    monkeypatch.setenv("MKE2FS_CONFIG", str(config))
    monkeypatch.setenv("XDG_CACHE_HOME", str(cache.with_name("another-and-longer")))
    time.sleep(1.1)  # file systems keep seconds
    assert image(kind) == first


@pytest.mark.parametrize(("kind", "check"), [("ext4", ("fsck.ext4", "-f", "-n")), ("minix", ("fsck.minix",))])
def test_an_image_is_a_sound_file_system(kind: str, check: tuple[str, ...], tmp_path: Path) -> None:
    """Expected: the checker of its kind finds nothing. Broken: a block was lost, or times put elsewhere."""
    disk = tmp_path / "disk"
    disk.write_bytes(whole(image(kind)))
    program = shutil.which(check[0], path="/usr/sbin:/sbin:/usr/bin")
    assert program is not None
    done = subprocess.run((program, *check[1:], str(disk)), capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("kind", KINDS)
def test_an_image_is_carried_without_its_holes(kind: str) -> None:
    """Expected: some kilobytes for a disk of megabytes. Broken: the guest unpacks zeros by emulation, for seconds."""
    form = image(kind)
    assert len(whole(form)) == SIZE
    assert len(form) < 300_000


def test_minix_fs_is_version_3_and_roots() -> None:
    """Expected: 0x4D5A, what the guest's kernel mounts; root's folder. Broken: version 1, or the user who made it."""
    disk = whole(image("minix"))
    assert struct.unpack_from("<H", disk, 1024 + 24) == (0x4D5A,)
    inode_blocks, zone_blocks = struct.unpack_from("<HH", disk, 1024 + 6)
    mode, links, user, group, _, *times = struct.unpack_from("<HHHHIIII", disk, (2 + inode_blocks + zone_blocks) * 1024)
    assert (mode & 0o777, links, user, group) == (0o755, 2, 0, 0)
    assert times == [disks.MADE] * 3


@given(st.lists(st.sampled_from((b"\0" * BLOCK, b"x" * BLOCK, b"\0" * (BLOCK - 1) + b"y")), max_size=9), st.booleans())
def test_the_form_holds_every_block(blocks: list[bytes], end: bool) -> None:
    """Expected: what went in comes out, a last block that is not whole too."""
    disk = b"".join(blocks) + (b"tail" if end else b"")
    assert whole(sparse(disk)) == disk


def test_an_image_is_made_once(cache: Path) -> None:
    """Expected: one file, nothing beside it. Broken: mkfs before every boot, or its leftovers."""
    image("ext4")
    (made,) = (cache / "kernometer" / "disks").iterdir()
    before = made.stat().st_mtime_ns
    image("ext4")
    assert [path.stat().st_mtime_ns for path in (cache / "kernometer" / "disks").iterdir()] == [before]


def fake_mkfs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str) -> None:
    program = tmp_path / "bin" / "mkfs.ext4"
    program.parent.mkdir()
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:/usr/bin:/bin")


def test_mkfs_that_fails_is_an_error_with_its_words(
    tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Expected: TargetError, nothing in the cache. Broken: an empty disk, and init that cannot mount it."""
    fake_mkfs(tmp_path, monkeypatch, '[ "$1" = -V ] && exit 0\necho no space in the attic >&2\nexit 3')
    with pytest.raises(TargetError, match="status 3") as caught:
        image("ext4")
    assert "attic" in caught.value.last_output
    assert list((cache / "kernometer" / "disks").iterdir()) == []


def test_another_mkfs_makes_another_image(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Expected: the tool's version is part of the cache's key. Broken: after an upgrade the old disk is used on."""
    first = image("ext4")
    fake_mkfs(tmp_path, monkeypatch, '[ "$1" = -V ] && echo 9.9 && exit 0\nfor last; do :; done\necho other >"$last"')
    assert image("ext4") != first


GUEST = store.Guest(
    Path("/nowhere"),
    store.Manifest(
        name="linux-9.9", package="p", version="1", release="9.9", package_sha256="", kernel_sha256="", kernel_bytes=1
    ),
)
LINE = "console=ttyS0"


def kernel_with(monkeypatch: pytest.MonkeyPatch, *loadable: str, built_in: tuple[str, ...] = ()) -> None:
    """A kernel with these drivers, none of which needs another."""

    def load_order(_: store.Guest, names: Iterable[str]) -> tuple[tuple[str, bytes], ...]:
        wanted = sorted(set(names))
        if lacking := [name for name in wanted if name not in (*loadable, *built_in)]:
            raise MissingError(f"The kernel of linux-9.9 has no {', '.join(lacking)}.")
        return tuple((name, name.encode()) for name in wanted if name in loadable)

    monkeypatch.setattr(drivers, "load_order", load_order)


def test_a_guest_gets_drivers_images_and_words(monkeypatch: pytest.MonkeyPatch) -> None:
    """Expected: what init and the probe are told fits together. Broken: a disk that nobody mounts or nobody uses."""
    kernel_with(monkeypatch, "brd", "ext4", "minix")
    given = provide(GUEST, {"ext4", "minix", "something else"}, LINE)
    assert given.arguments == ("--disk", "ext4=/disk/ext4", "--disk", "minix=/disk/minix")
    listed = given.files["etc/kernometer/drivers"].decode().splitlines()
    assert listed == [f"/lib/drivers/brd.ko rd_nr=2 rd_size={SIZE // 1024}", *map("/lib/drivers/{}.ko".format, KINDS)]
    assert all(line.split()[0].removeprefix("/") in given.files for line in listed)
    assert {name.rpartition("/")[2] for name in given.files if name.startswith("etc/kernometer/disk/")} == set(KINDS)


def test_without_a_need_there_is_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Expected: no driver is looked for. Broken: every boot loads them, and every count moves."""
    kernel_with(monkeypatch)
    assert provide(GUEST, {"something else"}, LINE) == Provided({}, ())


def test_what_the_kernel_lacks_is_the_reason_of_that_kind_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    kernel_with(monkeypatch, "brd", "ext4")
    given = provide(GUEST, KINDS, LINE)
    assert given.arguments == ("--disk", "ext4=/disk/ext4", "--no-disk", "minix=The kernel of linux-9.9 has no minix.")
    assert "etc/kernometer/disk/minix" not in given.files
    assert b"minix" not in given.files["etc/kernometer/drivers"]


def test_without_mkfs_the_reason_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Expected: rows unsupported with the package's name. Broken: no figure of any row, or no word of why."""
    kernel_with(monkeypatch, "brd", "ext4", "minix")
    monkeypatch.setattr(disks, "ADMIN_FOLDERS", ())
    monkeypatch.setenv("PATH", str(tmp_path))
    given = provide(GUEST, KINDS, LINE)
    assert given.files == {}
    assert given.arguments[:3:2] == ("--no-disk", "--no-disk")
    assert "apt-get install e2fsprogs" in given.arguments[1]
    assert "mkfs.minix" in given.arguments[3]


@pytest.mark.parametrize(
    ("line", "fits"),
    [
        (LINE, False),
        (f"{LINE} ramdisk_size={SIZE // 1024}", True),
        (f"{LINE} brd.rd_size={SIZE // 1024}", True),
        (f"{LINE} ramdisk_size={SIZE // 1024 - 1}", False),
        (f"{LINE} ramdisk_size={SIZE // 1024} ramdisk_size=4", False),
        (f"{LINE} xramdisk_size={SIZE // 1024}", False),
    ],
)
def test_disks_of_a_built_in_driver_must_be_said_to_fit(line: str, fits: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Expected: where the driver takes no parameter of ours, the command line must give the size; else a reason that
    says which variant does. Broken: init finds the disk too small, and no row of the session is measured."""
    kernel_with(monkeypatch, "ext4", built_in=("brd",))
    given = provide(GUEST, ["ext4"], line)
    assert (given.arguments[0] == "--disk") is fits
    if not fits:
        assert f"linux-9.9+ramdisk_size={SIZE // 1024}" in given.arguments[1]


def test_names_are_those_of_init() -> None:
    """Expected: what init_devices.c knows. Broken: one was changed alone."""
    source = Path(programs.__file__).with_name("init_devices.c").read_text()
    assert f'#define DISK_FOLDER "/{disks.IMAGES}/"\n' in source
    for kind in KINDS:
        assert f'{{ "{kind}", DISK_FOLDER "{kind}", "{disks.MOUNTED}/{kind}",' in source
