"""Where guests are kept: what is listed, found, rewritten and removed, and what is not a guest."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

from kernometer.errors import MissingError, ResultError, TargetError, UsageError
from kernometer.guests import store, variant
from kernometer.guests.emulator.qemu import Machine
from kernometer.guests.kernels import linux
from tests.support.guests.stored import made


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path


def test_guests_are_listed_by_number_found_and_removed() -> None:
    for name in ("linux-6.12", "linux-6.2", "mine"):
        made(name)
    assert [guest.name for guest in store.listed()] == ["linux-6.2", "linux-6.12", "mine"]
    store.remove("linux-6.2")
    assert [guest.name for guest in store.listed()] == ["linux-6.12", "mine"]
    with pytest.raises(MissingError, match=r"linux-6\.12") as caught:
        store.find("linux-6.2")
    assert "guest add linux 6.2" in caught.value.next_step
    with pytest.raises(MissingError):
        store.remove("linux-6.2")


@pytest.mark.parametrize(
    ("name", "step"),
    [
        ("linux", "guest add linux'"),
        ("linux-6.1-cloud", "guest add linux 6.1-cloud'"),
        ("xen", "guest add xen'"),
        ("xen-linux-6.12", "guest add xen --dom0 linux-6.12'"),
        ("trio-micro", "guest add trio micro'"),
        ("trio-micro+together=vfs,fs", "guest add trio micro+together=vfs,fs'"),
        ("my-kernel", "guest add kernel FILE --name my-kernel'"),
    ],
)
def test_the_command_that_is_named_adds_the_guest(name: str, step: str) -> None:
    """Expected: words that guest add takes. Broken: 'guest add trio-micro', which is refused."""
    with pytest.raises(MissingError) as caught:
        store.find(name)
    assert step in caught.value.next_step


def test_a_changed_kernel_is_not_booted() -> None:
    """Expected: TargetError before a boot. Broken: counts of a damaged kernel under the name of another."""
    guest = made("linux-6.1")
    guest.check()
    guest.kernel.write_bytes(b"kernel!")
    with pytest.raises(TargetError, match="SHA-256 differs"):
        guest.check()


@pytest.mark.parametrize("name", ["../outside", ".hidden", "", "a/b", "a b", "ä", "a+b"])
def test_no_name_leads_out_of_the_folder(cache: Path, name: str) -> None:
    """Expected: UsageError. Broken: `guest rm ../..` removes what is not ours."""
    for use in (store.find, store.remove, linux.check_name):
        with pytest.raises(UsageError, match="not the name of a guest"):
            use(name)
    assert cache.is_dir()


@pytest.mark.parametrize("content", [b"", b"{", b'{"name": 3}', b"\xff" * 100, b" " * (1 << 17)])
def test_a_damaged_manifest_is_an_error_of_ours(content: bytes) -> None:
    folder = store.guests_folder() / "linux-6.1"
    folder.mkdir(parents=True)
    (folder / "manifest.json").write_bytes(content)
    with pytest.raises(TargetError, match=r"manifest\.json"):
        store.find("linux-6.1")


def test_a_manifest_of_an_earlier_version_is_read() -> None:
    """Expected: no suite, no drivers. Broken: guests that were added yesterday are gone."""
    folder = store.guests_folder() / "linux-6.1"
    folder.mkdir(parents=True)
    (folder / "manifest.json").write_text(
        '{"name": "linux-6.1", "package": "p", "version": "1", "release": "6.1", "package_sha256": "0",'
        ' "kernel_sha256": "0", "kernel_bytes": 1}'
    )
    found = store.find("linux-6.1").manifest
    assert (found.suite, found.parts, found.remarks, found.drivers_sha256) == ("", (), (), "")


@pytest.mark.parametrize(("stored", "read"), [("max,-erms", "max"), ("Nehalem,-erms", "Nehalem,-erms")])
def test_the_standard_processor_of_earlier_is_that_of_today(stored: str, read: str) -> None:
    """Expected: one standard machine for all guests, and any other as it was asked for. Broken: guests that were added
    yesterday are on another machine than those of today."""
    machine = Machine(type="q35", cpu=stored)
    added = store.add(
        store.Manifest(name="mine", package="p", version="1", release="6", package_sha256="", machine=machine),
        {store.KERNEL: b"k"},
    )
    assert added.manifest.machine.cpu == stored
    assert store.find("mine").manifest.machine == Machine(type="q35", cpu=read)


def test_variants_are_listed_once_and_forgotten() -> None:
    """Expected: the guest keeps all else. Broken: half a manifest, or a variant listed twice."""
    before = made("linux-6.1")
    for _ in range(2):
        linux.record(variant.parse("linux-6.1+mitigations=off"))
    linux.record(variant.parse("linux-6.1"))
    linux.record(variant.parse("linux-6.1+machine=pc"))
    after = store.find("linux-6.1")
    assert after.manifest.variants == ("linux-6.1+mitigations=off", "linux-6.1+machine=pc")
    assert after.manifest.kernel_sha256 == before.manifest.kernel_sha256
    assert sorted(path.name for path in after.folder.iterdir()) == ["manifest.json", "vmlinux"]
    linux.forget("linux-6.1+mitigations=off")
    assert store.find("linux-6.1").manifest.variants == ("linux-6.1+machine=pc",)
    with pytest.raises(MissingError, match="not listed"):
        linux.forget("linux-6.1+mitigations=off")


def test_two_may_keep_the_same_guest_at_once(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The other one is kept whenever the old one has just been removed, or removed it first. Expected: a whole guest.
    Broken: a folder cannot be renamed onto one that is there, or there is none to remove."""
    kernels = iter(b"abcdef")
    made("linux-6.1")
    discard = store._discard
    others = iter(("removes", "keeps"))

    def raced(folder: Path) -> None:
        other = next(others, "")
        if other == "removes":
            discard(folder)
        discard(folder)
        if other == "keeps":
            made("linux-6.1", b"%d" % next(kernels))

    monkeypatch.setattr(store, "_discard", raced)
    for _ in range(3):
        made("linux-6.1", b"%d" % next(kernels)).check()
    assert [path.name for path in store.guests_folder().iterdir()] == ["linux-6.1"]
    assert cache.is_dir()


def test_a_guest_that_is_added_again_stays_where_it_is() -> None:
    """Expected: a run beside it finds its kernel at every moment. Broken: its directory is away for a moment, and QEMU
    finds no kernel; or a damaged file stays."""
    guest = made("linux-6.1")
    was = guest.folder.stat().st_ino
    assert made("linux-6.1") == guest
    assert guest.folder.stat().st_ino == was
    guest.kernel.write_bytes(b"damaged")
    made("linux-6.1").check()
    assert guest.folder.stat().st_ino != was


def test_a_guest_in_use_is_neither_replaced_nor_removed() -> None:
    """Expected: an error with what to do, and the same again is no replacement. Broken: a session whose rows were
    measured on two kernels."""
    guest = made("linux-6.1")
    with guest.in_use(), guest.in_use():
        made("linux-6.1")
        for change in (lambda: made("linux-6.1", b"another"), lambda: store.remove("linux-6.1")):
            with pytest.raises(ResultError, match="in use") as caught:
                change()
            assert "XDG_CACHE_HOME" in caught.value.next_step
        guest.check()
    made("linux-6.1", b"another")
    with pytest.raises(TargetError, match="not what was added"), guest.in_use():
        pass
    store.remove("linux-6.1")


def test_a_cache_that_cannot_be_written_is_said(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Expected: ResultError with the variable to set. A file stands in the way, which stops root too."""
    (cache / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(cache / "file"))
    with pytest.raises(ResultError) as caught:
        made("linux-6.1")
    assert "XDG_CACHE_HOME" in caught.value.next_step


def test_other_drivers_are_another_image() -> None:
    """Rows on disks count them. Expected: not one image. Broken: a guest that was added again passes for the same."""
    plain = made("linux-6.1")
    names = {replace(plain, manifest=msgspec.structs.replace(plain.manifest, drivers_sha256=d)).image for d in "ab"}
    assert len(names | {plain.image}) == 3
