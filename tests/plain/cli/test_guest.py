"""guest add, list and rm from the command line: what they keep, print and refuse. No network, no boot."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kernometer.guests import store
from kernometer.guests.emulator.qemu import COMMAND_LINE, Device, Machine
from kernometer.guests.kernels import own
from tests.support.cli.real import kernometer
from tests.support.guests.images import KERNEL
from tests.support.guests.stored import made


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path


@pytest.fixture
def kernel(tmp_path: Path) -> Path:
    file = tmp_path / "vmlinux"
    file.write_bytes(KERNEL + b"Linux version 6.9.1-mine (me@here)\0")
    return file


def test_a_kernel_from_a_file_keeps_what_was_given_as_its_own(tmp_path: Path, kernel: Path) -> None:
    """Expected: words, machine, memory and processor in the manifest and in the list. Broken: the standard machine."""
    words = ("--append", "mitigations=off  nosmt", "--machine", "q35", "--memory", "512", "--cpu", "Nehalem,-erms")
    more = ("--device", "VGA", "--device", "virtio-rng-pci")
    done = kernometer(tmp_path, "guest", "add", "kernel", str(kernel), *words, *more)
    assert done.stdout == f"mine: {kernel} 6.9.1-mine\n"
    manifest = store.find("mine").manifest
    devices: tuple[Device, ...] = ("VGA", "virtio-rng-pci")
    assert manifest.machine == Machine(type="q35", memory_mib=512, cpu="Nehalem,-erms", devices=devices)
    assert manifest.command_line == f"{COMMAND_LINE} mitigations=off nosmt"
    listed = kernometer(tmp_path, "guest", "list").stdout
    for part in ("6.9.1-mine", "q35", "512 MiB", "Nehalem,-erms", *devices, "mitigations=off nosmt"):
        assert part in listed
    assert max(map(len, listed.splitlines())) <= 80
    assert str(kernel) in listed.replace("\n    ", "")
    assert kernometer(tmp_path, "guest", "rm", "mine").stdout == "mine: removed\n"
    assert store.listed() == ()


def test_a_variant_of_a_guest_that_is_here_is_listed_and_nothing_fetched(tmp_path: Path) -> None:
    """Expected: one more name, its words joined by +, in `list` and out again by `rm`. Broken: a download."""
    made("linux-6.1")
    words = ("--append", "mitigations=off vdso=0", "--memory", "1024")
    done = kernometer(tmp_path, "guest", "add", "linux", "6.1", *words)
    name = "linux-6.1+mitigations=off+vdso=0+memory=1024"
    assert done.stdout == f"{name}: a variant of linux-6.1\n"
    assert store.find("linux-6.1").manifest.variants == (name,)
    assert "+mitigations=off+vdso=0+memory=1024" in kernometer(tmp_path, "guest", "list").stdout
    (document,) = json.loads(kernometer(tmp_path, "guest", "list", "--json").stdout)
    assert (document["variants"], document["suite"], document["remarks"]) == ([name], "", [])
    assert kernometer(tmp_path, "guest", "rm", name).stdout == f"{name}: removed\n"
    assert store.find("linux-6.1").manifest.variants == ()


@pytest.mark.parametrize(
    ("words", "status", "said"),
    [
        (("add",), 2, "SYSTEM"),
        (("add", "linux", ""), 2, "not a Linux series"),
        (("add", "linux", "6.1", "six"), 2, "not a Linux series"),
        (("add", "plan9", "4"), 2, "no system 'plan9'"),
        (("add", "freebsd"), 2, "with the image of its disk"),
        (("add", "freebsd", "/nowhere"), 2, "/nowhere: No such file"),
        (("add", "linux", "--kernel", "KERNEL"), 2, "--kernel is for openbsd and freebsd"),
        (("add", "openbsd", "7.8", "--kernel", "KERNEL"), 2, "--kernel is for openbsd and freebsd"),
        (("add", "openbsd", "--kernel", "KERNEL"), 2, "and no kernel of OpenBSD"),
        (("add", "freebsd", "KERNEL", "--name", "linux-6.1"), 2, "for guests from packages"),
        (("add", "minix-3", "qemu:minix"), 6, "no guest minix"),
        (("add", "nothing.toml", "KERNEL"), 2, "nothing.toml: No such file"),
        (("add", "linux", "6.1", "--append", "a+b"), 2, "'a+b' cannot be an option"),
        (("add", "linux", "6.1", "--append", "x;y"), 2, "is invalid"),
        (("add", "linux", "6.1", "--machine", "z80"), 2, "no such machine"),
        (("add", "linux", "6.1", "--memory", "1"), 2, "memory"),
        (("add", "linux", "6.1", "--module", "x"), 2, "--module"),
        (("add", "linux", "6.1", "--dom0", "x"), 2, "--dom0"),
        (("add", "xen", "4.17"), 2, "no version"),
        (("add", "xen", "--append", "x"), 2, "--append"),
        (("add", "kernel", "KERNEL", "--name", "linux-6.1"), 2, "for guests from packages"),
        (("add", "kernel", "KERNEL", "--name", "a+b"), 2, "not the name of a guest"),
        (("add", "kernel"), 2, "from one file"),
        (("add", "kernel", "KERNEL", "KERNEL"), 2, "from one file"),
        (("add", "kernel", "/nowhere"), 2, "/nowhere"),
        (("add", "kernel", "/dev/null"), 2, "not a regular file"),
        (("add", "kernel", "KERNEL", "--module", "x"), 2, "takes modules by multiboot, and this is an ELF file"),
        (("add", "kernel", "KERNEL", "--arch", "aarch64"), 2, "not for aarch64"),
        (("add", "linux", "6.1", "--as", "Mine 1"), 2, "--as is for a kernel from a file"),
        (("add", "linux", "6.1", "--modules", "."), 2, "for a kernel from a file"),
        (("add", "kernel", "KERNEL", "--modules", "."), 2, "no modules"),
        (("add", "kernel", "KERNEL", "--symbols", "KERNEL"), 2, "too few functions for a kernel (0)"),
        (("rm", "linux-0.99"), 6, "no guest linux-0.99"),
        (("rm", "linux-6.1+vdso=0"), 6, "not listed"),
        (("rm", "trio-micro+apart=fs"), 6, "no guest trio-micro+apart=fs"),
        (("add", "trio", "micro", "micro+apart="), 2, "no structure 'micro+apart='"),
    ],
)
def test_what_is_refused(tmp_path: Path, kernel: Path, words: tuple[str, ...], status: int, said: str) -> None:
    """Expected: the word that is wrong, before anything is fetched or kept. Broken: a guest under a wrong name."""
    made("linux-6.1")
    done = kernometer(tmp_path, "guest", *(str(kernel) if word == "KERNEL" else word for word in words), status=status)
    assert said in done.stderr
    assert "Traceback" not in done.stderr
    assert [guest.name for guest in store.listed()] == ["linux-6.1"]


def test_a_list_of_nothing_says_how_to_add_one(tmp_path: Path) -> None:
    done = kernometer(tmp_path, "guest", "list")
    assert done.stdout == ""
    assert "guest add linux'" in done.stderr


def test_a_name_from_a_file_cannot_clear_the_screen(tmp_path: Path, kernel: Path) -> None:
    """Expected: escapes as text: a path and a release are data. Broken: a kernel sets the window's title."""
    odd = tmp_path / "k\x1b[2J"
    kernel.rename(odd)
    own.add("mine", odd)
    assert "\x1b" not in kernometer(tmp_path, "guest", "list").stdout
