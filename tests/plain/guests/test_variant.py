"""Variants: a name says all that differs from the guest, and means one thing."""

from __future__ import annotations

import pytest

from kernometer.cli.commands.guests import ARCHITECTURES
from kernometer.errors import UsageError
from kernometer.explain import machines
from kernometer.guests import variant
from kernometer.guests.architecture import ALL, X86_64
from kernometer.guests.emulator.qemu import COMMAND_LINE, Machine, QemuVersion
from kernometer.guests.variant import Variant
from kernometer.targets import guest_runs


def test_explain_tells_the_same_words_and_architectures_apart() -> None:
    """It may not import this: names of a session's guest are taken apart there, too."""
    assert set(machines.MACHINE_WORDS) == {f"{word}=" for word in variant._OURS}
    assert tuple(one.debian for one in ALL if one is not X86_64) == machines.ARCHITECTURES


def test_the_command_line_names_all_architectures() -> None:
    """It may not load them for its help. Broken: one that `guest add kernel --arch` does not take."""
    assert tuple(one.name for one in ALL) == ARCHITECTURES


def test_a_plain_name_changes_nothing() -> None:
    found = variant.parse("linux-6.1")
    assert (found.guest, found.words, found.name) == ("linux-6.1", (), "linux-6.1")
    assert found.machine(Machine()) == Machine()
    assert found.command_line(COMMAND_LINE) == COMMAND_LINE


def test_words_are_the_machines_or_the_kernels() -> None:
    """Expected: four keys make the machine, all else goes to the kernel. Broken: `memory=` on its command line too."""
    found = variant.parse("linux-6.1+mitigations=off+machine=pc+memory=1024+cpu=Nehalem,-erms+seed=2+nosmp")
    assert found.machine(Machine()) == Machine(type="pc", cpu="Nehalem,-erms", memory_mib=1024, seed=2)
    assert found.command_line("quiet") == "quiet mitigations=off nosmp"


def test_the_guests_own_machine_is_what_is_changed() -> None:
    """Expected: a guest on pc stays there. Broken: any word moves it to the standard machine."""
    own = Machine(type="pc", memory_mib=512)
    assert variant.parse("xen+seed=3").machine(own) == Machine(type="pc", memory_mib=512, seed=3)


def test_devices_are_added_to_the_guests_own_and_named() -> None:
    """Expected: both, for QEMU and in the machine's name. Broken: counts with a VGA pass for those without."""
    found = variant.parse("minix+device=virtio-rng-pci").machine(Machine(type="pc", devices=("VGA",)))
    assert found.devices == ("VGA", "virtio-rng-pci")
    assert " ".join(found.argv("tcg")).endswith("-device VGA -device virtio-rng-pci")
    assert "; pc with VGA with virtio-rng-pci; " in found.text(QemuVersion(7, 2, 22), "icount")
    assert variant.parse("minix+device=VGA").command_line("") == ""


@pytest.mark.parametrize("spec", ["linux-6.1+b=2+a=1", "linux-6.1+a=1+b=2", "linux-6.1+a=1+a=1", "linux-6.1+cpu=max"])
def test_a_name_is_kept_as_it_was_given(spec: str) -> None:
    """Expected: the words' order stays, since the kernel reads them in it. Broken: two command lines under a name."""
    assert variant.parse(spec).name == spec


def test_the_kernel_gets_repeated_words_repeated() -> None:
    """Expected: `console=` twice means two consoles. Broken: one is dropped."""
    assert variant.parse("k+console=tty0+console=ttyS0").command_line("quiet") == "quiet console=tty0 console=ttyS0"


def test_a_kernel_without_a_command_line_gets_the_words_alone() -> None:
    """Expected: no space before them. Broken: a multiboot kernel's first word is empty."""
    assert variant.parse("tiny+a=1").command_line("") == "a=1"
    assert variant.parse("tiny").command_line("") == ""


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ("linux-6.1+machine=pc+machine=q35", "machine is given twice"),
        ("linux-6.1+memory=1024+seed=2+memory=1024", "memory is given twice"),
        ("linux-6.1+machine=virt", "no such machine"),
        ("linux-6.1+device=vfio-pci,host=0", "no such device"),
        ("linux-6.1+device=", "no such device"),
        ("linux-6.1+machine", "no such machine"),
        ("linux-6.1+cpu=", "no processor model"),
        ("linux-6.1+memory=31", "not from 32"),
        ("linux-6.1+memory=1G", "not from 32"),
        ("linux-6.1+memory=-1024", "not from 32"),
        ("linux-6.1+seed=4294967296", "not from 0 to 4294967295"),
        ("linux-6.1+seed=", "not from 0"),
        ("linux-6.1+", "is invalid"),
        ("linux-6.1++quiet", "is invalid"),
        ("linux-6.1+a b", "is invalid"),
        ("linux-6.1+a\nb", "is invalid"),
        ("linux-6.1+a=$(id)", "is invalid"),
        ("linux-6.1+-device", "is invalid"),
        ("linux-6.1+memory=١٠٢٤", "is invalid"),
        ("linux-6.1+" + "a" * 201, "is invalid"),
    ],
)
def test_what_means_nothing_is_refused_before_anything_starts(spec: str, words: str) -> None:
    """Expected: UsageError. Broken: QEMU refuses it minutes later, or one of two contradicting words wins silently."""
    with pytest.raises(UsageError, match=words):
        variant.parse(spec)


def test_rotated_machines_differ_in_seed_memory_and_history_alone() -> None:
    """Expected: as many different machines as there are rotations, of one board. Broken: a floor of fewer layouts."""
    named = Variant("k", ("quiet", "seed=5"))
    found = [named.rotated(number, Machine(), history=True) for number in range(variant.ROTATIONS)]
    machines = [one.machine(Machine()) for one in found]
    assert len({(one.seed, one.memory_mib) for one in machines}) == variant.ROTATIONS
    assert [one.history for one in machines] == list(range(variant.ROTATIONS))
    assert 2 * len(guest_runs.FAMILIES) >= variant.ROTATIONS
    assert not any(named.rotated(number, Machine(), history=False).machine(Machine()).history for number in range(3))
    assert {one.command_line("") for one in found} == {"quiet"}
    assert {(one.type, one.cpu) for one in machines} == {("microvm", "max")}
    assert 1024 <= min(one.memory_mib for one in machines) < max(one.memory_mib for one in machines) <= 3072
