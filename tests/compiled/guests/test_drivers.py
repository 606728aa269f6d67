"""Kernel modules: what they need, in which order they are loaded, and what is missing; on objects compiled here."""

from __future__ import annotations

import lzma
import subprocess
from pathlib import Path

import pytest

from kernometer.errors import MissingError, TargetError
from kernometer.guests import store
from kernometer.guests.kernels import drivers
from kernometer.guests.kernels.drivers import Modinfo, modinfo, name_of, resolved, uncompressed
from tests.support.guests.fixtures import Compile
from tests.support.guests.stored import made


def test_a_module_says_what_it_needs(module: Compile) -> None:
    """Expected: dependencies, soft ones that come before, aliases; with _ for -. Broken: post: taken for pre:."""
    content = module(
        "depends=jbd2,crc-16,mbcache", "softdep=pre: crc32c x-y post: later", "alias=fs-ext4", "alias=ext3", "depends="
    )
    wanted = Modinfo(("jbd2", "crc_16", "mbcache"), ("crc32c", "x_y"), ("fs_ext4", "ext3"))
    assert modinfo(content) == wanted


@pytest.mark.parametrize("content", [b"", b"\x7fELF", b"\x7fELF\x02\x01" + bytes(58), b"\x7fELF\x01\x01" + bytes(90)])
def test_what_is_no_module_is_said(content: bytes) -> None:
    with pytest.raises(TargetError, match="x is not a kernel module"):
        modinfo(content, "x")


def test_an_object_without_the_section_is_no_module(tmp_path: Path) -> None:
    (tmp_path / "m.c").write_text("int x;\n")
    subprocess.run(["gcc", "-c", "-o", str(tmp_path / "m.o"), str(tmp_path / "m.c")], check=True, timeout=60)
    with pytest.raises(TargetError, match=r"no section \.modinfo"):
        modinfo((tmp_path / "m.o").read_bytes())


def test_what_is_needed_is_loaded_first(module: Compile) -> None:
    """Expected: dependencies of dependencies, each once, before who needs them; the order of names asked for is no
    matter. Broken: `Unknown symbol` in the guest, or other counts for the same rows."""
    found = {
        "ext4": module("depends=mbcache,jbd2", "softdep=pre: crc32c"),
        "jbd2": module("depends=lib"),
        "mbcache": module("depends="),
        "lib": module(),
        "crc32c_generic": module("alias=crypto-crc32c", "alias=crc32c"),
        "crc32c_intel": module("alias=crc32c", "depends=lib"),
        "brd": module(),
    }
    order, missing = resolved(("ext4", "brd"), found, ())
    assert order == ("brd", "crc32c_generic", "lib", "crc32c_intel", "mbcache", "jbd2", "ext4")
    assert missing == ()
    assert resolved(("brd", "ext4", "brd"), dict(reversed(found.items())), ())[0] == order


def test_what_is_built_in_is_left_out(module: Compile) -> None:
    """Expected: neither loaded nor missing, asked for or needed. Broken: a file that is not there is wanted."""
    found = {"ext4": module("depends=jbd2", "softdep=pre: crc32c")}
    assert resolved(("ext4", "brd"), found, ("brd", "jbd2")) == (("ext4",), ())


def test_what_the_kernel_lacks_is_named(module: Compile) -> None:
    found = {"ext4": module("depends=jbd2")}
    assert resolved(("ext4", "minix"), found, ()) == (("ext4",), ("jbd2", "minix"))


def test_a_circle_ends(module: Compile) -> None:
    """Expected: each once. Broken: endless recursion over a package's modules."""
    found = {"a": module("depends=b"), "b": module("depends=a")}
    assert resolved(("a",), found, ()) == (("b", "a"), ())


@pytest.mark.parametrize(
    ("file", "name"),
    [
        ("kernel/crypto/crc32c-intel.ko", "crc32c_intel"),
        ("kernel/fs/ext4/ext4.ko.xz", "ext4"),
        ("brd.ko.zst", "brd"),
        ("brd.ko.gz", "brd"),
        ("brd.ko.bz2", ""),
        ("modules.order", ""),
        (".ko", ""),
        ("a.kod", ""),
    ],
)
def test_a_modules_name_is_its_files(file: str, name: str) -> None:
    assert name_of(file) == name


def test_modules_are_unpacked_by_their_ending() -> None:
    """Expected: the same object from each form the distributions use. Broken: a packed file for finit_module."""
    content = b"\x7fELF object" * 1000
    packed = lzma.compress(content, check=lzma.CHECK_CRC32)
    zstd = subprocess.run(["zstd", "-qc"], input=content, capture_output=True, check=True, timeout=60).stdout
    assert uncompressed("x.ko", content) == content
    assert uncompressed("x.ko.xz", packed) == content
    assert uncompressed("x.ko.zst", zstd) == content
    for name, damaged in (("x.ko.xz", packed[:-20]), ("x.ko.xz", b"no"), ("x.ko.zst", zstd[:-9]), ("x.ko.zst", b"no")):
        with pytest.raises(TargetError):
            uncompressed(name, damaged)


@pytest.fixture
def guest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, module: Compile) -> store.Guest:
    """A guest with ext4 and jbd2 as modules, and brd built in."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    found = {"ext4": module("depends=jbd2"), "jbd2": module()}
    manifest = store.Manifest(
        name="linux-6.1",
        package="linux-image-6.1.0-9-amd64",
        version="1",
        release="6.1.0-9-amd64",
        package_sha256="0",
        drivers_sha256=drivers.digest(found),
    )
    return store.add(manifest, {store.KERNEL: b"kernel"} | drivers.files(found, ("brd", "tmpfs")))


def test_a_guests_modules_come_with_their_contents(guest: store.Guest, module: Compile) -> None:
    assert drivers.load_order(guest, ("ext4", "brd")) == (("jbd2", module()), ("ext4", module("depends=jbd2")))
    assert drivers.load_order(guest, ()) == ()
    with pytest.raises(MissingError, match=r"linux-6\.1 has no minix"):
        drivers.load_order(guest, ("minix", "ext4"))


def test_a_changed_module_is_not_loaded(guest: store.Guest) -> None:
    """Expected: TargetError. Broken: counts of another file system under the name of this kernel."""
    path = guest.folder / store.DRIVERS / "jbd2.ko"
    path.write_bytes(path.read_bytes() + b"!")
    with pytest.raises(TargetError, match="SHA-256 differs"):
        drivers.load_order(guest, ("ext4",))


def test_a_guest_from_before_modules_were_kept_is_to_be_added_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Expected: the command. Broken: the row fails in the guest, and nobody knows why."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    with pytest.raises(MissingError, match="added before") as caught:
        drivers.load_order(made("linux-6.1"), ("ext4",))
    assert "guest add linux 6.1" in caught.value.next_step
