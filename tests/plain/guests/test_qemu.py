"""QEMU's argument vector: it is part of what a count means, so every word of it is held here."""

from __future__ import annotations

import shlex
from dataclasses import replace
from pathlib import Path
from typing import get_args

import pytest

from kernometer.errors import MissingError, TargetError
from kernometer.guests.emulator.qemu import (
    Accelerator,
    Machine,
    QemuVersion,
    argv,
    detect,
    parse_version,
)
from tests.support.guests.boots import BOOT

RECIPE = """\
qemu-system-x86_64 -no-user-config -nodefaults -display none -no-reboot -machine microvm,pcie=on
-bios qboot.rom -accel tcg -icount shift=0,sleep=off -rtc clock=vm,base=2025-01-01T00:00:00
-smp 1 -cpu max,-x2apic -m 2048 -seed 1
-kernel /k/vmlinux -append COMMANDLINE -initrd initrd -serial file:console -chardev file,id=bulk,path=bulk
-device isa-debugcon,iobase=0xe9,chardev=bulk"""


def expected(*more: str) -> tuple[str, ...]:
    line = "console=ttyS0 quiet nokaslr norandmaps rdinit=/init panic=-1"
    return (*(line if word == "COMMANDLINE" else word for word in shlex.split(RECIPE)), *more)


def test_the_recipe_is_word_for_word_the_exact_one() -> None:
    """Expected: these words. Broken: one that makes counts differ between boots (docs/path.md says which do)."""
    assert argv(BOOT) == expected()


def test_the_plugin_comes_last_and_changes_nothing_else() -> None:
    with_plugin = replace(BOOT, plugin=Path("/c/events.so"), events=Path("events.json"))
    assert argv(with_plugin) == expected("-plugin", "/c/events.so,out=events.json")


@pytest.mark.parametrize(
    ("accelerator", "cpu", "words"),
    [
        ("icount-sleep", "Nehalem", "Nehalem,-x2apic"),
        ("kvm", "max,-erms", "max,-erms"),
        ("tcg", "Nehalem", "Nehalem"),
    ],
)
def test_what_counting_takes_from_a_processor_it_has_by_time(accelerator: Accelerator, cpu: str, words: str) -> None:
    """Expected: no x2APIC where instructions are counted, whatever the model. Broken: a KVM guest goes without one."""
    found = Machine(cpu=cpu).argv(accelerator)
    assert found[found.index("-cpu") + 1] == words


def test_a_comma_in_a_path_is_refused() -> None:
    """Expected: TargetError. Broken: QEMU reads the rest of the path as options."""
    with pytest.raises(TargetError, match="comma"):
        argv(replace(BOOT, kernel=Path("/a,b/vmlinux")))


@pytest.mark.parametrize(
    ("said", "version"),
    [
        ("QEMU emulator version 7.2.22 (Debian 1:7.2+dfsg-7+deb12u18+b3)\nCopyright (c) 2003", (7, 2, 22)),
        ("QEMU emulator version 10.0.13 (Debian 1:10.0.13+ds-0+deb13u1)", (10, 0, 13)),
        ("QEMU emulator version 9.1", (9, 1, 0)),
    ],
)
def test_versions_are_read_as_numbers(said: str, version: tuple[int, int, int]) -> None:
    found = parse_version(said)
    assert (found.major, found.minor, found.micro) == version
    assert found.text == said.split("\n")[0]


@pytest.mark.parametrize("said", ["", "command not found", "version 99999999.1"])
def test_an_answer_that_is_none_is_an_error(said: str) -> None:
    with pytest.raises(TargetError, match="not QEMU's answer"):
        parse_version(said)


def test_the_machine_names_version_and_cpu_and_not_the_package() -> None:
    """Expected: what counts depend on. Broken: a rebuilt package of one version makes two machines."""
    standard = Machine()
    assert standard.text(QemuVersion(7, 2, 22, "a"), "icount") == standard.text(QemuVersion(7, 2, 22, "b"), "icount")
    assert standard.text(QemuVersion(7, 2, 22), "icount") != standard.text(QemuVersion(7, 2, 21), "icount")
    assert "-cpu max;" in standard.text(QemuVersion(7, 2, 22), "icount")
    ways = get_args(Accelerator)
    assert len({standard.text(QemuVersion(7, 2, 22), way) for way in ways}) == len(ways)


def test_without_qemu_the_error_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(MissingError) as caught:
        detect()
    assert "qemu-system-x86" in caught.value.next_step


def test_a_saved_guest_stops_where_a_probe_waits_and_a_restored_one_is_told_its_row() -> None:
    """Expected: both have a debugger's socket and stand at first; a plugin without an output has no argument. Broken: a
    guest that runs on before it has its command."""
    saved = " ".join(argv(replace(BOOT, phase="saved", plugin=Path("/stop.so"))))
    restored = " ".join(argv(replace(BOOT, phase="restored")))
    for words in (saved, restored):
        assert "-chardev socket,id=debugger,fd=1 -gdb chardev:debugger -S" in words
    assert "-plugin /stop.so " in saved
    assert restored.endswith("-incoming defer")
    typed = argv(replace(BOOT, phase="saved", typed=True, debugger=Path("gdb")))
    assert " ".join(typed[-3:]) == "-gdb unix:gdb,server=on,wait=off -S"
