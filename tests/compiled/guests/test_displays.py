"""Displays of a guest: what the variant's word changes, and that without it nothing changes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

from kernometer.errors import MissingError, TargetError, UsageError
from kernometer.guests import store, variant
from kernometer.guests.emulator.qemu import Machine, QemuVersion, argv
from kernometer.guests.images import displays, initramfs
from kernometer.guests.inside.programs import Provided
from kernometer.guests.kernels import drivers
from kernometer.targets.base import Job
from kernometer.targets.qemu import QemuTarget
from tests.support.guests.boots import BOOT
from tests.support.guests.fixtures import Compile

BOCHS, VESA = Machine(type="pc", display="bochs-drm"), Machine(type="pc", display="vesafb")
KERNEL, PACKED = b"kernel", b"packed kernel"


@pytest.fixture
def guest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, module: Compile) -> store.Guest:
    """With the display's driver, and with its packed image."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    found = {"bochs": module("depends=drm"), "drm": module(), "brd": module()}
    manifest = store.Manifest(
        name="linux-6.1",
        package="linux-image-6.1.0-9-amd64",
        version="1",
        release="6.1.0-9-amd64",
        package_sha256="0",
        drivers_sha256=drivers.digest(found),
    )
    return store.add(manifest, {store.KERNEL: KERNEL, store.PACKED: PACKED} | drivers.files(found, ()))


def target(guest: store.Guest, words: str) -> QemuTarget:
    return QemuTarget(guest, variant.parse(f"{guest.name}{words}"), QemuVersion(7, 2, 22))


def replace_manifest(manifest: store.Manifest, **changes: str) -> store.Manifest:
    return msgspec.structs.replace(manifest, **changes)


@pytest.mark.slow(minutes=0.15)
def test_without_a_display_the_machine_is_word_for_word_what_it_was(guest: store.Guest) -> None:
    """Expected: no word of a display in arguments, command line, machine or initramfs. Broken: other counts for every
    row, on every guest."""
    plain = target(guest, "+machine=pc")
    words = plain.describe(Job((), "path"))
    assert not any(word in each for each in words for word in ("VGA", "bochs", "vga=", "vt."))
    assert "; pc; -cpu" in plain.place("path").machine
    assert displays.provide(guest, Machine()) == Provided({}, ())
    assert displays.kernel(guest, Machine()) == guest.kernel


def test_a_display_adds_a_device_and_a_word(guest: store.Guest) -> None:
    """Expected: what differs from the guest without it is the device, the console's cursor and the machine's name.
    Broken: two things are compared at once."""
    plain, shown = (target(guest, f"+machine=pc{word}") for word in ("", "+display=bochs-drm"))
    without, having = (each.describe(Job((), "path")) for each in (plain, shown))
    at = having.index("bochs-display,xres=1024,yres=768")
    rest = (*having[: at - 1], *having[at + 1 :])
    assert [pair for pair in zip(without, rest, strict=True) if pair[0] != pair[1]] == [
        (
            "console=ttyS0 quiet nokaslr norandmaps rdinit=/init panic=-1",
            "console=ttyS0 quiet nokaslr norandmaps rdinit=/init panic=-1 vt.global_cursor_default=0",
        )
    ]
    assert "; pc with bochs-drm; -cpu" in shown.place("path").machine


def test_vesafb_boots_the_packed_image_in_a_vesa_mode(guest: store.Guest) -> None:
    """Expected: the image whose real-mode code asks the firmware for a mode. Broken: the kernel has no display."""
    boot = target(guest, "+machine=pc+display=vesafb").boot("path")
    assert boot.kernel == guest.packed
    assert f"vga={displays.VESA_MODE}" in boot.command_line.split()
    assert "VGA" in argv(boot)
    guest.packed.write_bytes(PACKED + b"!")
    with pytest.raises(TargetError, match="SHA-256 differs"):
        guest.check()


def test_a_guest_without_the_packed_image_is_to_be_added_again(guest: store.Guest) -> None:
    """Expected: the command. Broken: a kernel without a display, whose rows say that there is none."""
    before = store.Guest(guest.folder, replace_manifest(guest.manifest, packed_sha256=""))
    with pytest.raises(MissingError, match="no packed image") as caught:
        displays.kernel(before, VESA)
    assert "guest add linux 6.1" in caught.value.next_step


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("+display=vesafb", "needs a firmware"),
        ("+display=vesafb+machine=microvm", "needs a firmware"),
        ("+display=", "no such display"),
        ("+display=sdl", "no such display"),
        ("+display=bochs-drm+display=vesafb+machine=pc", "display is given twice"),
    ],
)
def test_a_display_that_cannot_be_is_refused(words: str, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        variant.parse(f"linux-6.1{words}")


def test_the_displays_driver_is_loaded_after_what_it_needs_and_before_the_disks(guest: store.Guest) -> None:
    """Expected: one list for init, the disks' parameters as they were. Broken: the second list replaces the first."""
    shown = displays.provide(guest, BOCHS)
    assert shown.files[initramfs.DRIVERS] == b"/lib/drivers/drm.ko\n/lib/drivers/bochs.ko\n"
    disk = Provided(
        {initramfs.DRIVERS: b"/lib/drivers/brd.ko rd_nr=2\n", "lib/drivers/brd.ko": b"brd"}, ("--disk", "x")
    )
    both = displays.together(shown, disk)
    assert both.files[initramfs.DRIVERS].decode().splitlines() == [
        *("/lib/drivers/drm.ko", "/lib/drivers/bochs.ko", "/lib/drivers/brd.ko rd_nr=2")
    ]
    assert set(both.files) == {*shown.files, *disk.files}
    assert both.arguments == ("--disk", "x")
    assert displays.together(Provided({}, ()), disk) == disk
    assert displays.provide(guest, VESA) == Provided({}, ())


def test_a_kernel_without_the_driver_is_said_before_it_boots(guest: store.Guest) -> None:
    """Expected: MissingError that names the driver. Broken: it boots, and no row has a display."""
    for path in (guest.folder / store.DRIVERS).glob("*.ko"):
        path.unlink()
    bare = store.Guest(guest.folder, replace_manifest(guest.manifest, drivers_sha256=drivers.digest({})))
    with pytest.raises(MissingError, match="has no bochs"):
        displays.provide(bare, BOCHS)


def test_the_recipe_of_a_display_is_held() -> None:
    """Expected: these words, behind the machine's. Broken: another resolution, and with it other counts."""
    words = argv(replace(BOOT, machine=BOCHS))
    at = words.index("-seed")
    assert words[at + 2 : at + 5] == ("-device", "bochs-display,xres=1024,yres=768", "-kernel")
