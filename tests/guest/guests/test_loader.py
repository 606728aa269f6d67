"""Kernels of OpenBSD and FreeBSD by our loader: stand-ins for them (bsd.c), by path and measured the whole way."""

from __future__ import annotations

import json
import struct
import subprocess
from pathlib import Path

import pytest

from kernometer.guests.kernels import elf
from kernometer.results.store import Store
from tests.support.cli.real import kernometer
from tests.support.guests import tiny

HERE = Path(__file__).parent
MIB = 1 << 20
#: OpenBSD's start in memory; the bytes of the segment that is filled for it, and of its bss.
START, FILLED, CLEARED = 0x1001000, 8, 8


def compiled(folder: Path, *flags: str) -> bytes:
    """bsd.c, which prints a probe's records."""
    words = ("gcc", "-std=gnu99", "-O2", "-ffreestanding", "-nostdlib", "-static", "-fno-pic", "-no-pie", "-DSERIAL")
    more = (
        "-fno-stack-protector",
        "-fno-asynchronous-unwind-tables",
        "-Wl,-N,--build-id=none",
        f"-DTEXT={json.dumps(tiny.said().decode())}",
    )
    subprocess.run((*words, *more, *flags, "-o", "bsd", str(HERE / "bsd.c")), cwd=folder, check=True, timeout=60)
    return (folder / "bsd").read_bytes()


def openbsd(folder: Path) -> Path:
    """Its code is of 32 bits, in an ELF file of 64 that loads it at other addresses than those where it starts."""
    place = f"-Wl,-Ttext={START:#x},--defsym=random={START - FILLED:#x},-e,_start"
    narrow = compiled(folder, "-m32", place)
    ((address, code),) = elf.segments(narrow, elf.LOADED)
    entry, headers = struct.unpack_from("<II", narrow, 24)
    size, high = struct.unpack_from("<I", narrow, headers + 20)[0], 0xFFFFFFFF80000000
    head = b"\x7fELF\x02\x01\x01" + bytes(9)
    head += struct.pack("<HHIQQQIHHHHHH", 2, 62, 1, high + entry, 64, 0, 0, 64, 56, 3, 0, 0, 0)
    head += struct.pack("<IIQQQQQQ", 1, 5, 4096, high + address, address, len(code), size, 4096)
    head += struct.pack("<IIQQQQQQ", 1, 5, 0, high + START - 4096, START - 4096, 4096, 4096, 4096)
    head += struct.pack("<IIQQQQQQ", 0x65A3DBE6, 5, 4096 - FILLED, high + START - FILLED, 0, FILLED, FILLED, 1)
    (folder / "bsd.rd").write_bytes(head.ljust(4096, b"\0") + code + b"@(#)OpenBSD 7.8 (STAND_IN) #1")
    return folder / "bsd.rd"


def freebsd(folder: Path) -> Path:
    kernel = compiled(
        folder, "-mcmodel=kernel", "-mno-red-zone", "-mgeneral-regs-only", "-DFREEBSD", "-Wl,-Ttext=0xffffffff80200000"
    )
    (folder / "kernel").write_bytes(kernel[:7] + b"\x09" + kernel[8:] + b"@(#)FreeBSD 13.0-STAND_IN GENERIC")
    return folder / "kernel"


def told(folder: Path, name: str) -> bytes:
    """What the kernel was given, of a guest that was saved and restored."""
    done = kernometer(folder, "run", "--by", "path", "--on", f"qemu:{name}", "--seed", "1", "syscall/getppid@")
    assert "cannot be saved" not in done.stderr
    result = Store(folder).load("@last")
    assert (result.session.state, result.runs[0].samples) == ("saved", (tiny.REGION,) * 3)
    assert result.header is not None
    words, _, given = result.header.uname["version"].rpartition("|")
    assert "syscall/getppid@" in words
    return bytes.fromhex(given)


def of_map(entries: bytes) -> int:
    """The bytes of memory that are free, of entries as the firmware has them."""
    return sum(size for _, size, kind in struct.iter_unpack("<QQI", entries) if kind == 1)


@pytest.mark.guest
@pytest.mark.slow(minutes=0.2)
def test_openbsds_kernel_gets_what_boot_gives_it(added: str, tmp_path: Path) -> None:
    """Expected: entered in 32 bits, its segments, its filled bytes and cleared bss in place, the memory map and the
    console. Broken: 'invalid /boot', no memory, or nothing at all."""
    done = kernometer(
        tmp_path,
        "guest",
        "add",
        "openbsd",
        "--kernel",
        str(openbsd(tmp_path)),
        "--name",
        added,
    )
    assert f"{added}: an ELF file of 64 bits of OpenBSD 7.8 (STAND_IN), which our loader starts" in done.stderr
    given = told(tmp_path, added)
    howto, device, version, symbols, upper, lower, size = struct.unpack_from("<7I", given)
    assert (howto, device, version, symbols, size) == (0, 0xA0000000, 10, 0, len(given) - 28 - FILLED - CLEARED)
    assert 600 < lower <= 640 < upper
    kind, length, _ = struct.unpack_from("<3i", given, 28)
    entries, console = given[40 : 28 + length], given[28 + length : -FILLED - CLEARED]
    assert (kind, entries[-20:]) == (0, bytes(20))
    assert 2000 * MIB < of_map(entries) <= 2048 * MIB
    assert console == struct.pack("<3i2iQ4i4i", 5, 44, 0, 0x800, 115200, 0x3F8, 0, 0, 0, 0, -1, 16, 0, 0)
    assert (len(set(given[-16:-8])), given[-8:]) == (8, bytes(8))


def test_a_probe_that_is_not_in_the_root_is_refused(tmp_path: Path) -> None:
    """Expected: an error. Broken: a profile with the names of another program."""
    (tmp_path / "root.ufs").write_bytes(b"the root" * 1000)
    (tmp_path / "probe").write_bytes(b"a newer probe" * 500)
    words = ("--root", f"disk:{tmp_path / 'root.ufs'}", "--probe", str(tmp_path / "probe"))
    done = kernometer(tmp_path, "guest", "add", "freebsd", "--kernel", str(freebsd(tmp_path)), *words, status=2)
    assert "the probe is not in it" in done.stderr


@pytest.mark.guest
@pytest.mark.slow(minutes=0.2)
def test_freebsds_kernel_gets_what_loader_gives_it(added: str, tmp_path: Path) -> None:
    """Expected: entered in 64 bits at its own address, with the metadata and the environment, and its root in memory
    behind it. Broken: no root, or one at an address that is not mapped."""
    (tmp_path / "root.ufs").write_bytes(b"the root" * 1000)
    (tmp_path / "probe").write_bytes(b"the root" * 500)
    words = ("--kernel", str(freebsd(tmp_path)), "--name", added, "--root", f"disk:{tmp_path / 'root.ufs'}")
    named = ("--probe", str(tmp_path / "probe"))  # which is in the root: a profile takes its names
    done = kernometer(tmp_path, "guest", "add", "freebsd", *words, *named, "--append", "kern.hz=100")
    assert f"{added}: it gets its root in memory" in done.stderr
    given = told(tmp_path, added)
    metadata, end = struct.unpack_from("<II", given)
    records, at = list[tuple[int, bytes]](), 8
    while given[at : at + 8] != bytes(8):
        kind, size = struct.unpack_from("<II", given, at)
        records.append((kind, given[at + 8 : at + 8 + size]))
        at += 8 + (size + 7) // 8 * 8
    numbers = [int.from_bytes(data, "little") for _, data in records]
    assert [kind for kind, _ in records] == [1, 2, 3, 4, 0x8007, 0x8006, 0x8008, 0x9006, 0x9001, 1, 2, 3, 4]
    assert [data for _, data in records[:2]] == [b"kernel\0", b"elf kernel\0"]
    assert (numbers[2], numbers[4], numbers[6], numbers[7]) == (0x200000, 0x1000, end, metadata)
    assert 2000 * MIB < of_map(records[8][1]) <= 2048 * MIB
    assert ([data for _, data in records[9:11]], numbers[12]) == ([b"root\0", b"mfs_root\0"], 8000)
    assert numbers[2] + numbers[3] <= numbers[11] < numbers[5] < metadata < end
    environment = b"kern.hz=100 hw.uart.console=io:0x3f8,br:115200 vfs.root.mountfrom=ufs:/dev/md0"
    assert given[at + 8 :] == environment.replace(b" ", b"\0") + b"\0\0" + b"the root" + bytes(8)
