"""What our loader tells the kernels of OpenBSD and FreeBSD, to the byte; which kernels it is for; a root in memory."""

from __future__ import annotations

import struct
import subprocess
from pathlib import Path

import pytest

from kernometer.errors import UsageError
from kernometer.guests import store
from kernometer.guests.inside import programs
from kernometer.guests.kernels import bsd, elf, kernelfile
from tests.support.cli.real import kernometer

INSIDE = Path(programs.__file__).parent
#: A memory map as multiboot has it, an entry larger than usual among them, and as both systems have it.
MAP = ((20, 0, 0x9FC00, 1), (24, 0xF0000, 0x10000, 2), (20, 0x100000, 0x17FF00000, 1))
GIVEN = b"".join(struct.pack("<IQQI", *entry) + bytes(entry[0] - 20) for entry in MAP)
PASSED = b"".join(struct.pack("<QQI", *entry[1:]) for entry in MAP)

DRIVER = """
#include "loader_blocks.h"
#include <stdio.h>
static const uint8_t map[] = {%s};
int main(void)
{
	static uint8_t out[4096];
	struct map given = {map, sizeof map};
	struct file files[] = {{"kernel", "elf kernel", 0x200000, 0x300000}, {"guest/root", "mfs_root", 0x500000, 5}};
	struct told told = {0x1802, 0x600000, 0x601000, 0x602000};
	fwrite(out, 1, (size_t)(openbsd_arguments(out, given) - out), stdout);
	fputs("|", stdout);
	fwrite(out, 1, (size_t)(freebsd_metadata(out, files, 2, told, given) - out), stdout);
	fputs("|", stdout);
	fwrite(out, 1, (size_t)(freebsd_environment(out, "guest/vmlinux  a.b=1,2 -sv c= d-e=-a") - out), stdout);
	return 0;
}
"""


def padded(kind: int, data: bytes) -> bytes:
    return struct.pack("<II", kind, len(data)) + data + bytes(-len(data) % 8)


def test_the_arguments_are_the_systems_own_to_the_byte(tmp_path: Path) -> None:
    """Expected: bootarg32_t of biosvar.h; the records of linker.h in bi_load64's order. Broken: a kernel without
    memory, or one that never says why."""
    (tmp_path / "driver.c").write_text(DRIVER % ",".join(map(str, GIVEN)))
    words = ("gcc", "-std=gnu99", "-Wall", "-Werror", f"-I{INSIDE}", "-o", str(tmp_path / "driver"))
    subprocess.run((*words, str(tmp_path / "driver.c")), check=True, timeout=60)
    done = subprocess.run((tmp_path / "driver",), check=True, timeout=60, capture_output=True)
    arguments, metadata, environment = done.stdout.split(b"|")
    assert arguments == (
        struct.pack("<iii", 0, 12 + 80, 0)
        + (PASSED + bytes(20))
        + struct.pack("<iii", 5, 12 + 32, 0)
        + struct.pack("<iiQiIii", 0x800, 115200, 0x3F8, 0, 0, 0, 0)
        + struct.pack("<iiii", -1, 16, 0, 0)
    )
    assert metadata == (
        padded(1, b"kernel\0")
        + padded(2, b"elf kernel\0")
        + padded(3, struct.pack("<Q", 0x200000))
        + padded(4, struct.pack("<Q", 0x300000))
        + padded(0x8007, struct.pack("<I", 0x1802))
        + padded(0x8006, struct.pack("<Q", 0x600000))
        + padded(0x8008, struct.pack("<Q", 0x602000))
        + padded(0x9006, struct.pack("<Q", 0x601000))
        + padded(0x9001, PASSED)
        + padded(1, b"guest/root\0")
        + padded(2, b"mfs_root\0")
        + padded(3, struct.pack("<Q", 0x500000))
        + padded(4, struct.pack("<Q", 5))
        + bytes(8)
    )
    assert environment == b"a.b=1,2\0c=\0d-e=-a\0\0"


def openbsd(folder: Path, source: str) -> bytes:
    """An ELF file of 64 bits with symbols, and with the segment that OpenBSD's kernel has."""
    (folder / "rd.c").write_text(source)
    (folder / "rd.ld").write_text(
        "PHDRS { all PT_LOAD; random 0x65a3dbe6; }\n"
        "SECTIONS { . = 0xffffffff81001000; .text : { *(.text*) *(.rodata*) } :all\n"
        ".random : { QUAD(0) QUAD(0) } :all :random .data : { *(.data*) } :all\n"
        "/DISCARD/ : { *(.note*) *(.eh_frame*) *(.comment) } }\n"
    )
    words = (
        "gcc",
        "-nostdlib",
        "-static",
        "-fno-pic",
        "-mcmodel=kernel",
        "-Wl,--build-id=none,-e,start",
        "-T",
        "rd.ld",
        "rd.c",
    )
    subprocess.run((*words, "-o", "rd"), cwd=folder, check=True, timeout=60)
    return (folder / "rd").read_bytes()


def filled(kernel: bytes) -> bytes:
    """With bytes in the segment that OpenBSD's loader fills."""
    ((offset, _, size),) = elf.extents(kernel, 0x65A3DBE6)
    assert size == 16
    made = bsd.loaded(kernel, lambda: None, drive=False).files[store.LOADED][offset : offset + size]
    assert len(set(made)) > 8
    return kernel[:offset] + made + kernel[offset + size :]


def ramdisk(kernel: bytes) -> int:
    """Where it is in the file."""
    return next(at.offset + to - at.address for name, at, to, _ in elf.symbols(kernel) if name == "rd_root_image")


BANNER = (
    'const char version[] = "@(#)OpenBSD 7.8 (RAMDISK_CD) #54: Sun Oct 12 12:00:00 MDT 2025";\nvoid start(void) {}\n'
)
RAMDISK = "unsigned rd_root_size = 2048;\nchar rd_root_image[2048] = {1};\n"


def test_a_kernel_is_known_by_its_head(tmp_path: Path) -> None:
    """Expected: whose it is, its version from its banner, and that our loader starts it. Broken: no PVH entry, or
    FreeBSD's, which is Xen's."""
    kernel = openbsd(tmp_path, BANNER)
    read = kernelfile.read(kernel, "bsd")
    assert (read.way, bsd.version_of(kernel)) == ("openbsd", "OpenBSD 7.8 (RAMDISK_CD)")
    assert "of OpenBSD 7.8 (RAMDISK_CD), which our loader starts" in read.what
    other = kernel[:7] + b"\x09" + kernel[8:]
    other = other.replace(b"OpenBSD 7.8 (RAMDISK_CD) #54:", b"FreeBSD 13.2-RELEASE-p1 releng")
    read = kernelfile.read(other, "kernel")
    assert (read.way, bsd.version_of(other)) == ("freebsd", "FreeBSD 13.2-RELEASE-p1")
    assert bsd.version_of(b"OpenBSD") == ""


@pytest.mark.parametrize(
    ("root", "kind"),
    [(bytes(1080) + b"\x53\xef" + bytes(454), 17), (bytes(2048), 7), (b"\1" * 600, 0)],
    ids=["ext2", "ffs", "labelled"],
)
def test_a_root_replaces_the_ramdisk(tmp_path: Path, root: bytes, kind: int) -> None:
    """Expected: in the kernel's own array, with a disklabel whose partition is all of it, unless something is where
    that goes. Broken: the kernel has a root of another size, or asks for one."""
    kernel = openbsd(tmp_path, BANNER + RAMDISK)
    made = bsd.loaded(kernel, lambda: root, drive=False)
    assert (made.has_root, made.on_drive, [module.file for module in made.modules]) == (True, False, [store.LOADED])
    at, disk = ramdisk(kernel), made.files[store.LOADED]
    whole = filled(kernel)
    assert (disk[:at], disk[at + 2048 :]) == (whole[:at], whole[at + 2048 :])
    disk = disk[at : at + 2048]
    if not kind:
        assert disk == root.ljust(2048, b"\0")
        return
    assert (disk[:512], disk[1024:]) == (root[:512], root.ljust(2048, b"\0")[1024:])
    words = struct.unpack_from("<202H", disk, 512)  # sys/disklabel.h: 148 bytes, and 16 of each partition
    total = 0
    for word in words:
        total ^= word
    assert total == 0
    assert struct.unpack_from("<I", disk, 512) == struct.unpack_from("<I", disk, 512 + 132) == (0x82564557,)
    assert struct.unpack_from("<HH", disk, 512 + 114)[0] == 1
    assert struct.unpack_from("<H", disk, 512 + 138) == (16,)
    assert struct.unpack_from("<IIHHB", disk, 512 + 148) == (4, 0, 0, 0, kind)


def test_a_root_that_has_no_place_is_refused_or_a_drive(tmp_path: Path) -> None:
    """Expected: the sizes; without a ramdisk a disk is a drive, which is not read. Broken: half a file system."""
    with pytest.raises(UsageError, match="has 2,049 bytes, and the kernel's ramdisk 2,048"):
        bsd.loaded(openbsd(tmp_path, BANNER + RAMDISK), lambda: bytes(2049), drive=False)
    kernel = openbsd(tmp_path, BANNER)
    made = bsd.loaded(kernel, pytest.fail, drive=True)
    assert (made.has_root, made.on_drive, made.files[store.LOADED]) == (False, True, filled(kernel))
    assert made.drive is None


def test_a_made_root_is_a_drive_of_a_kernel_without_a_ramdisk(tmp_path: Path) -> None:
    """Expected: an image with a disklabel of its size. Broken: refused, or a drive without partition a."""
    made = bsd.loaded(openbsd(tmp_path, BANNER), lambda: bytes(2048), drive=False)
    assert (made.has_root, made.on_drive) == (False, True)
    assert made.drive is not None
    assert (made.drive[:512], made.drive[1024:]) == (bytes(512), bytes(1024))
    assert struct.unpack_from("<I", made.drive, 512 + 60) == struct.unpack_from("<I", made.drive, 512 + 148) == (4,)


def test_freebsds_root_is_a_module(tmp_path: Path) -> None:
    """Expected: a module, and the words that mount it. Broken: mountroot> asks."""
    kernel = openbsd(tmp_path, BANNER + RAMDISK)
    kernel = kernel[:7] + b"\x09" + kernel[8:]
    made = bsd.loaded(kernel, lambda: b"root", drive=True)
    assert [module.file for module in made.modules] == ["kernel", "root.image"]
    assert (made.files[store.LOADED], made.files["root.image"]) == (filled(kernel), b"root")
    assert made.words == "hw.uart.console=io:0x3f8,br:115200 vfs.root.mountfrom=ufs:/dev/md0"
    assert "mountroot" not in bsd.loaded(kernel, lambda: None, drive=False).words


def test_a_ramdisk_gets_the_systems_own_init_and_probe(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Expected: our loader with the kernel as its module, in whose ramdisk are both programs, the command and the
    console; ours are refused, which are Linux's. Broken: a kernel without a first process."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    openbsd(tmp_path, BANNER + "unsigned rd_root_size = 3 << 20;\nchar rd_root_image[3 << 20] = {1};\n")
    for name in ("its-init", "its-probe"):
        (tmp_path / name).write_text(name)
    add = ("guest", "add", "openbsd", "--kernel", str(tmp_path / "rd"), "--root", "ext2:size=3")
    refused = kernometer(tmp_path, *add, "--init", "ours", "--probe", str(tmp_path / "its-probe"), status=2)
    assert "programs of Linux" in refused.stderr
    words = ("--init", str(tmp_path / "its-init"), "--probe", str(tmp_path / "its-probe"))
    done = kernometer(tmp_path, *add, *words)
    assert "it boots on pc with no words" in done.stderr
    assert "it gets its root in memory" in done.stderr
    guest = store.find("openbsd")
    assert (guest.initrd("initrd"), guest.waits, guest.manifest.root) == ("guest/kernel", True, "none")
    assert (guest.manifest.version, guest.code) == ("OpenBSD 7.8 (RAMDISK_CD)", guest.folder / "kernel")
    kernel = guest.code.read_bytes()
    (tmp_path / "root").write_bytes(kernel[ramdisk(kernel) :][: 3 << 20])
    for name, content in (
        ("init", "its-init"),
        ("bin/probe", "its-probe"),
        (programs.COMMAND, "/bin/probe\0--wait\0"),
    ):
        said = subprocess.run(("debugfs", "-R", f"cat {name}", "root"), cwd=tmp_path, check=True, capture_output=True)
        assert said.stdout.rstrip(b"\0") == content.encode().rstrip(b"\0")
    for name, numbers in (("console", b"00:00"), ("tty", b"01:00"), ("null", b"02:02"), ("zero", b"02:12")):
        said = subprocess.run(
            ("debugfs", "-R", f"stat dev/{name}", "root"), cwd=tmp_path, check=True, capture_output=True
        )
        assert b"Type: character special" in said.stdout
        assert b"Device major/minor number: " + numbers in said.stdout
