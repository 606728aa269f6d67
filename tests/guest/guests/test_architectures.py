"""Guests of other architectures: where their kernels come from, how they boot, and whether counts are as exact."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest

from kernometer.campaign.plan import plan_of
from kernometer.errors import MissingError, TargetError, UsageError
from kernometer.guests import store, variant
from kernometer.guests.architecture import AARCH64, ALL, RISCV64, X86_64, Architecture, of_version
from kernometer.guests.emulator import qemu
from kernometer.guests.inside import programs, tools
from kernometer.guests.kernels import drivers, linux
from kernometer.guests.packages import suites
from kernometer.guests.plugins import events
from kernometer.guests.plugins.events import recounted
from kernometer.targets.attended import Console
from kernometer.targets.base import Deadline, Job
from kernometer.targets.qemu import QemuTarget
from tests.support.checkout import alone
from tests.support.guests.repeated import repeated
from tests.support.guests.repository import Repository

FOREIGN = (AARCH64, RISCV64)
VERSIONS = {AARCH64: "6.1-arm64", RISCV64: "6.12-riscv64"}
#: Beyond any machine.
BOOT_SECONDS = 900
#: Of one process, whose page faults it counts itself.
ALONE = ("syscall/getppid@", "sig/catch@", "mem/touch")
FEW = (*ALONE, "ctx/pipe-pair@same-cpu", "proc/fork-exit@")


@pytest.mark.parametrize(
    ("version", "found"),
    [
        ("6.1", ("6.1", X86_64)),
        ("6.1-cloud", ("6.1-cloud", X86_64)),
        ("6.1-arm64", ("6.1", AARCH64)),
        ("6.1-cloud-arm64", ("6.1-cloud", AARCH64)),
        ("6.12-riscv64", ("6.12", RISCV64)),
    ],
)
def test_a_version_ends_with_its_architecture(version: str, found: tuple[str, Architecture]) -> None:
    assert of_version(version) == found


def boot(machine: qemu.Machine) -> qemu.Boot:
    here = Path("x")
    return qemu.Boot(machine, "icount", here, "initrd", "words", console=here, bulk=Path("bulk"))


@pytest.mark.parametrize("of", FOREIGN, ids=lambda of: of.debian)
def test_each_has_its_own_emulator_and_machine_and_no_debug_port(of: Architecture) -> None:
    """Expected: its own words. Broken: an option of x86's processors, or a device that QEMU does not have."""
    machine = qemu.Machine(type=of.machines[0], cpu=of.cpu)
    words = qemu.argv(boot(machine))
    assert words[0] == of.emulator
    assert words[words.index("-machine") + 1] == "virt"
    assert words[words.index("-cpu") + 1] == of.cpu
    assert not any("debugcon" in word or "bulk" in word for word in words)
    assert f"{of.name} virt; -cpu {of.cpu};" in machine.text(qemu.QemuVersion(7, 2, 22), "icount")


def test_every_machine_has_one_architecture() -> None:
    machines = [machine for one in ALL for machine in one.machines]
    assert len(machines) == len(set(machines))
    assert [qemu.Machine(type=machine).architecture for one in ALL for machine in one.machines].count(X86_64) == 3


def test_another_architectures_machine_is_no_word_of_a_variant() -> None:
    with pytest.raises(UsageError, match="no such machine"):
        variant.parse("linux-6.1-arm64+machine=q35").machine(qemu.Machine(type="arm-virt"))
    with pytest.raises(UsageError, match="no such machine"):
        variant.parse("linux-6.1+machine=arm-virt")


# Packages ------------------------------------------------------------------------------------------------------------

needs_apt = pytest.mark.skipif(shutil.which("apt-get") is None, reason="the guests' packages come through apt")


@pytest.fixture
def tools_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether the emulators are installed is not the question."""
    monkeypatch.setattr(programs, "need", lambda *_given: None)


@needs_apt
@pytest.mark.usefixtures("tools_here")
def test_a_kernel_of_another_architecture_becomes_a_guest(mirror: Repository) -> None:
    """Expected: its own package though the system's has the same version, its busybox, its machine. Broken: amd64's."""
    lib = "lib/modules/6.1.0-9-arm64"
    files = {
        "boot/vmlinuz-6.1.0-9-arm64": b"MZ an image",
        f"{lib}/modules.builtin": "".join(f"kernel/x/{name}.ko\n" for name in drivers.KEPT).encode(),
    }
    mirror.suite(
        "bookworm",
        [
            mirror.package("linux-image-6.1.0-9-amd64", "6.1.27-1"),
            mirror.package("linux-image-6.1.0-9-arm64", "6.1.27-1", files, "arm64"),
            mirror.package("busybox-static", "1", {"bin/busybox": b"busybox of arm64"}, "arm64"),
        ],
    )
    mirror.system("bookworm")
    guest = linux.add("6.1-arm64")
    made = guest.manifest
    assert (guest.name, made.package, made.release) == (
        *("linux-6.1-arm64", "linux-image-6.1.0-9-arm64", "6.1.0-9-arm64"),
    )
    assert (guest.architecture, made.output, made.machine.cpu) == (AARCH64, "serial", AARCH64.cpu)
    assert made.command_line.startswith("console=ttyAMA0 ")
    assert guest.kernel.read_bytes() == b"MZ an image"
    assert guest.busybox() == b"busybox of arm64"
    guest.check()
    (guest.folder / store.BUSYBOX).write_bytes(b"another")
    with pytest.raises(TargetError, match="busybox is not what was added"):
        guest.check()
    assert tools.provide({"busybox"}, guest) == programs.Provided()
    assert tools.provide({"tcc"}, guest).arguments == ("--no-program", "tcc=Guests of aarch64 have no tcc.")


@needs_apt
@pytest.mark.usefixtures("tools_here")
def test_one_that_the_systems_suite_lacks_is_of_a_later_one_and_lacks_a_busybox(mirror: Repository) -> None:
    """Expected: of trixie, on a system of bookworm, which has no riscv64; vmlinux is its image. Broken: no mirror known
    where the system's lists have no package."""
    files = {"boot/vmlinux-6.12.9-riscv64": b"an image", "lib/modules/6.12.9-riscv64/modules.builtin": b""}
    mirror.suite("bookworm", [mirror.package("linux-image-6.1.0-9-amd64", "6.1.27-1")])
    mirror.suite("trixie", [mirror.package("linux-image-6.12.9-riscv64", "6.12.9-1", files, "riscv64")])
    mirror.system("bookworm")
    said: list[str] = []
    guest = linux.add("6.12-riscv64", said.append)
    assert (guest.manifest.suite, guest.kernel.read_bytes(), guest.busybox()) == ("trixie", b"an image", b"")
    assert any("busybox-static for riscv64" in line for line in said)
    assert "busybox=Guests of riscv64 have no busybox." in tools.provide({"busybox"}, guest).arguments
    with pytest.raises(MissingError, match=r"no Linux 6\.13"):
        suites.fetch("6.13", "", mirror.folder, said.append, RISCV64)


def test_without_its_compiler_the_error_names_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nonexistent")
    with pytest.raises(MissingError, match="aarch64-linux-gnu-gcc") as caught:
        programs.static_compiler(AARCH64)
    assert "libc6-dev-arm64-cross" in caught.value.next_step


# Counts of the emulator ----------------------------------------------------------------------------------------------


def run_of(row: str, samples: list[int], **changes: Any) -> bytes:
    fields = {"type": "run", "row": row, "samples": samples, "loop_cost": [0, 1], **changes}
    return msgspec.json.encode(fields)


def known(row: str) -> events.Rows:
    rows = events.Rows()
    rows._ids[row] = 14
    return rows


def region(*each: int) -> events.Region:
    return events.Region(len(each), 0, {}, each, (0,) * len(each))


def test_samples_of_a_coarse_clock_become_the_emulators_counts() -> None:
    """Expected: samples, bracket and baseline, each of its own region; nothing else changes."""
    line = run_of("a/b", [3, 4], baseline={"batch": 1, "samples": [1]}, seconds=0.5)
    regions = {"0": region(15, 15), "14": region(377, 378), "15": region(99)}
    header = b'{"type":"header"}'
    first, found = recounted([header, line], known("a/b"), regions, clock=False)
    assert first == header
    wanted = {"samples": [377, 378], "loop_cost": [15, 15], "baseline": {"batch": 1, "samples": [99]}}
    assert json.loads(found) == json.loads(line) | wanted


def test_what_counts_no_instructions_stays() -> None:
    """Expected: a row of counts has no bracket. Broken: the largest number of processes becomes instructions."""
    line = run_of("limit/processes", [128], loop_cost=[])
    assert [*recounted([line], known("limit/processes"), {}, clock=False)] == [line]


def test_a_lost_region_is_a_failure_and_no_figure() -> None:
    """Expected: the row's failure in place of its run. Broken: counts of other iterations, in silence."""
    regions = {"0": region(15, 15), "14": region(377)}
    [line] = recounted([run_of("a/b", [3, 4])], known("a/b"), regions, clock=False)
    assert json.loads(line)["type"] == "error"
    assert "saw 1 regions, and the probe 2" in json.loads(line)["text"]


# Real guests ---------------------------------------------------------------------------------------------------------


def added(of: Architecture) -> QemuTarget:
    """The guest, added once a checkout."""
    version = VERSIONS[of]
    with alone(f"linux-{version}"):
        if not any(each.name == f"linux-{version}" for each in store.listed()):
            linux.add(version)
    return QemuTarget.from_spec(f"linux-{version}")


def lines(target: QemuTarget, job: Job) -> list[bytes]:
    """Of one session; no row may have failed."""
    found = list(target.run(job, Deadline.after(BOOT_SECONDS)))
    assert [line for line in found if line.startswith(b'{"type":"error"')] == []
    return found


@pytest.mark.guest
@pytest.mark.slow(minutes=0.9)
@pytest.mark.parametrize("of", FOREIGN, ids=lambda of: of.debian)
@pytest.mark.usefixtures("guest_cache")
def test_two_sessions_count_the_same(of: Architecture) -> None:
    """Expected: equality, samples and events and all; a getppid is one system call. Broken: not exact, coarse."""
    target = added(of)
    plan = plan_of(target, "path", "quick", FEW, 1)
    first, second = (lines(target, plan.job()) for _ in range(2))
    assert repeated(first) == repeated(second)
    vector = next(json.loads(one) for one in first if b'"events","row":"syscall/getppid"' in one)
    assert vector["counts"]["syscalls"] == vector["regions"]
    run = next(json.loads(one) for one in first if one.startswith(b'{"type":"run","row":"syscall/getppid"'))
    assert sorted(run["samples"])[len(run["samples"]) // 2] > 100


@pytest.mark.guest
@pytest.mark.slow(minutes=0.03)
@pytest.mark.usefixtures("guest_cache")
def test_plugin_and_guest_agree_on_aarch64() -> None:
    """The second witness of what riscv64's figures are taken from. Expected: net of their brackets they are equal, and
    the plugin has one more for each page fault. Broken: regions of another row, or the wrong half of the pairs."""
    target = added(AARCH64)
    found = lines(target, Job(("--by", "path", "--seed", "1", *ALONE), "path"))
    runs = {one["row"]: one for one in map(json.loads, found) if one["type"] == "run"}
    vectors = {one["row"]: one for one in map(json.loads, found) if one["type"] == "events"}
    assert len(runs) >= len(ALONE)
    for row, run in runs.items():
        counts, empty = vectors[row]["counts"], vectors[row]["empty"]
        bracket = empty["instructions"] / vectors[row]["empty_regions"]
        by_plugin = counts["instructions"] - bracket * vectors[row]["regions"]
        by_guest = sum(run["samples"]) - run["loop_cost"][0] * len(run["samples"])
        assert by_plugin - by_guest == run["happened"]["faults"], row


@pytest.mark.guest
@pytest.mark.slow(minutes=1.3)
@pytest.mark.usefixtures("guest_cache")
def test_every_row_of_the_quick_profile_is_counted_on_aarch64() -> None:
    """Expected: all, disks, shell and display apart. Broken: a row that only x86 can do, and that does not say so."""
    target = added(AARCH64)
    plan = plan_of(target, "path", "quick", (), 1)
    found = [json.loads(line) for line in lines(target, plan.job())]
    assert len([one for one in found if one["type"] == "run"]) > 90
    assert [one for one in found if one["type"] == "unsupported" and "display" not in one["reason"]] == []


@pytest.mark.parametrize("of", [X86_64, *FOREIGN], ids=lambda of: of.debian)
def test_without_a_plugin_there_is_no_figure_by_path(
    of: Architecture, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Expected: refused before anything boots, with the next step; by time it measures. Broken: figures in which each
    iteration of a string instruction is one, or of a clock of 10 MHz."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("CC", "no-such-compiler")
    machine, words = qemu.standard(of)
    manifest = store.Manifest(
        name="linux-6.12", package="p", version="1", release="6.12", package_sha256="", machine=machine,
        command_line=words,
    )  # fmt: skip  # a line a kind
    guest = store.add(manifest, {store.KERNEL: b"an image"})
    monkeypatch.setattr("kernometer.targets.qemu.detect", lambda program: qemu.QemuVersion(7, 2, 22, program))
    target = replace(QemuTarget.from_spec(guest.name), saved=False)
    with pytest.raises(MissingError, match=r"By path the emulator's plugin is needed\..*no-such-compiler") as caught:
        target.describe(Job((), "path"))
    assert caught.value.next_step
    assert target.boot("path").plugin is None


@pytest.mark.parametrize("of", FOREIGN, ids=lambda of: of.debian)
def test_at_its_console_it_is_emulated_and_says_so(
    of: Architecture, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Expected: its own emulator with the terminal, and a note. Broken: a trial of KVM, or this host's programs."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    machine, words = qemu.standard(of)
    name = f"linux-6.12-{of.debian}"
    guest = store.add(
        store.Manifest(
            name=name, package="p", version="1", release="6.12", package_sha256="", machine=machine, command_line=words
        ),
        {store.KERNEL: b"an image"},
    )
    console = Console(QemuTarget(guest, variant.parse(name), qemu.QemuVersion(7, 2, 22)))
    assert console.argv[0] == of.emulator
    assert "chardev:terminal" in console.argv and "kvm" not in console.argv
    assert "no KVM runs another architecture's kernel" in console.note
