"""`guest add linux --tree`: what it takes of a tree that is built, and which trees it refuses. The tree is made up."""

from __future__ import annotations

import os
import struct
from pathlib import Path

import pytest

from kernometer.guests import store
from kernometer.guests.kernels import drivers, own, tree
from tests.support.cli.real import kernometer
from tests.support.guests.images import KERNEL, bzimage, with_release

RELEASE = "6.9.1-mine+"
IMAGE = "arch/x86/boot/bzImage"
#: In the order of a build.
PARTS = (".config", "include/config/auto.conf", "include/config/kernel.release", "vmlinux", "System.map", IMAGE)


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path


def symbolled(data: int = 0x2000, banner: bytes = b"Linux version 6.9.1-mine+ (me@here) #1\n\0") -> bytes:
    """An ELF file with code and an object of data at that address, its sections' and symbols' names, and a banner."""
    names, strings = b"\0.text\0.data\0.symtab\0.strtab\0", b"\0work\0counter\0"
    symbols = b"".join(
        struct.pack("<IBBHQQ", *fields) for fields in ((0,) * 6, (1, 2, 0, 1, 0x1000, 16), (6, 1, 0, 2, data, 8))
    )
    parts = (bytes(16), bytes(8), symbols, strings, names, banner)
    at = [64 + sum(map(len, parts[:n])) for n in range(len(parts) + 1)]
    headers = (
        (0,) * 10,
        (1, 1, 6, 0x1000, at[0], 16, 0, 0, 1, 0),
        (7, 1, 3, data, at[1], 8, 0, 0, 1, 0),
        (13, 2, 0, 0, at[2], len(symbols), 4, 1, 8, 24),
        (21, 3, 0, 0, at[3], len(strings), 0, 0, 1, 0),
        (21, 3, 0, 0, at[4], len(names), 0, 0, 1, 0),
    )
    head = b"\x7fELF\x02\x01\x01" + bytes(9)
    head += struct.pack("<HHIQQQIHHHHHH", 2, 62, 1, 0, 0, at[-1], 0, 64, 56, 0, 64, len(headers), 5)
    return head + b"".join(parts) + b"".join(struct.pack("<IIQQQQIIQQ", *fields) for fields in headers)


@pytest.fixture
def built(tmp_path: Path) -> Path:
    """A tree of which each part is a second newer than the one before."""
    folder = tmp_path / "linux"
    contents: tuple[bytes, ...] = (
        b"#\n# Linux/x86 6.9.1 Kernel Configuration\n#\nCONFIG_X86_64=y\n",
        b"CONFIG_X86_64=y\n",
        f"{RELEASE}\n".encode(),
        symbolled(),
        b"".join(b"%x t cpu.%d\n" % (0xFFFFFFFF81000000 + 16 * n, n) for n in range(own.LEAST_FUNCTIONS)),
        with_release(bzimage(), RELEASE),
    )
    for second, (part, content) in enumerate(zip(PARTS, contents, strict=True)):
        file = folder / part
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)
        os.utime(file, (1000 + second,) * 2)
    (folder / "modules.builtin").write_text("kernel/drivers/block/brd.ko\n")
    return folder


def test_a_built_tree_gives_kernel_map_version_and_what_is_built_in(tmp_path: Path, built: Path) -> None:
    """Expected: all of them in the guest, without a boot that checks the map; the options of a kernel from a file.
    Broken: a package is looked for, or the map is of another build."""
    words = ("--tree", str(built), "--name", "next", "--append", "mitigations=off", "--memory", "512")
    done = kernometer(tmp_path, "guest", "add", "linux", *words)
    assert done.stdout == f"next: {built / IMAGE} {RELEASE}\n"
    guest = store.find("next")
    assert guest.manifest.release == RELEASE
    assert (guest.folder / store.SYSTEM_MAP).read_bytes() == (built / "System.map").read_bytes()
    assert drivers.load_order(guest, ("brd",)) == ()
    assert guest.manifest.machine.memory_mib == 512
    assert guest.manifest.command_line.endswith(" mitigations=off")
    assert guest.kernel.read_bytes() == KERNEL


@pytest.mark.parametrize("line", ["fs/minix/minix.ko", "kernel/fs/minix/minix.ko", "fs/minix/minix.o"])
def test_its_modules_are_those_that_the_build_lists(tmp_path: Path, built: Path, line: str) -> None:
    """Expected: read where they were built, in any form of modules.order; one that is not built is not there.
    Broken: `make modules_install` is needed, or the whole tree is searched."""
    info = b"vermagic=6.9.1-mine+ SMP\0"
    names = b"\0.modinfo\0.shstrtab\0"
    end = 64 + len(info) + len(names)
    headers = (
        (0,) * 10,
        (1, 1, 2, 0, 64, len(info), 0, 0, 1, 0),
        (10, 3, 0, 0, 64 + len(info), len(names), 0, 0, 1, 0),
    )
    head = b"\x7fELF\x02\x01\x01" + bytes(9) + struct.pack("<HHIQQQIHHHHHH", 1, 62, 1, 0, 0, end, 0, 64, 0, 0, 64, 3, 2)
    module = head + info + names + b"".join(struct.pack("<IIQQQQIIQQ", *fields) for fields in headers)
    (built / "fs/minix").mkdir(parents=True)
    (built / "fs/minix/minix.ko").write_bytes(module)
    (built / "modules.order").write_text(f"{line}\nfs/ext4/ext4.ko\n")
    kernometer(tmp_path, "guest", "add", "linux", "--tree", str(built))
    assert drivers.load_order(store.find("mine"), ("minix",)) == (("minix", module),)


@pytest.mark.parametrize("part", [".config", "include/config/kernel.release", "System.map", IMAGE])
def test_a_tree_that_is_not_built_is_said_with_the_next_step(tmp_path: Path, built: Path, part: str) -> None:
    (built / part).unlink()
    done = kernometer(tmp_path, "guest", "add", "linux", "--tree", str(built), status=2)
    assert part in done.stderr
    assert f"make -C {built}" in " ".join(done.stderr.split())
    assert store.listed() == ()


@pytest.mark.parametrize("part", [".config", "System.map"])
def test_a_part_of_another_build_is_out_of_date(tmp_path: Path, built: Path, part: str) -> None:
    """Expected: refused, whether the kernel was configured or linked again and then not built. Broken: an older kernel
    under the newer commit's name."""
    os.utime(built / part, (2000, 2000))
    done = kernometer(tmp_path, "guest", "add", "linux", "--tree", str(built), status=2)
    assert f"out of date: its {part} is newer" in " ".join(done.stderr.split())


def test_a_kernel_of_another_version_is_out_of_date(tmp_path: Path, built: Path) -> None:
    (built / IMAGE).write_bytes(with_release(bzimage(), "6.9.0"))
    done = kernometer(tmp_path, "guest", "add", "linux", "--tree", str(built), status=2)
    assert f"is Linux 6.9.0, and the tree {RELEASE}" in " ".join(done.stderr.split())


def test_a_tree_for_an_architecture_without_guests_names_those_with(tmp_path: Path, built: Path) -> None:
    (built / ".config").write_text("# Linux/powerpc 6.9.1 Kernel Configuration\n")
    done = kernometer(tmp_path, "guest", "add", "linux", "--tree", str(built), status=2)
    assert "configured for powerpc" in done.stderr
    assert "x86, arm64, riscv" in done.stderr


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("linux", "6.1", "--tree", "."), "Leave 6.1 out"),
        (("kernel", "bzImage", "--tree", "."), "--tree is for linux"),
        (("linux", "--tree", "nowhere"), "nowhere"),
    ],
)
def test_what_does_not_go_with_a_tree(tmp_path: Path, words: tuple[str, ...], said: str) -> None:
    done = kernometer(tmp_path, "guest", "add", *words, status=2)
    assert said in " ".join(done.stderr.split())


def test_builds_that_differ_in_code_alone_have_one_layout(tmp_path: Path, built: Path) -> None:
    """Expected: equal for other code in the same place, another one for moved data and for another version's text, from
    which Linux draws random numbers. Broken: a floor hides a change of the code, or data that moved are its change."""
    layouts = []
    for vmlinux in (
        symbolled(),
        symbolled().replace(bytes(16), b"\x90" * 16, 1),
        symbolled(data=0x2040),
        symbolled(banner=b"Linux version 6.9.1-mine+ (me@here) #2\n\0"),
    ):
        (built / "vmlinux").write_bytes(vmlinux)
        kernometer(tmp_path, "guest", "add", "linux", "--tree", str(built))
        layouts.append(store.find("mine").layout)
    assert layouts[0] == layouts[1] != ""
    assert len(set(layouts)) == 3
    assert tree.layout(KERNEL) == ""


def test_an_elf_file_beyond_all_bounds_is_not_read(built: Path) -> None:
    """Expected: the tree, without a layout. Broken: as many bytes of memory as the file seems to have."""
    with (built / "vmlinux").open("wb") as file:
        file.truncate(1 << 40)
    assert tree.read(built).layout == ""
