"""KVM is found by booting a guest with it: against a QEMU that works, hangs and dies, and a device that is not there.

Whether a guest really runs under KVM cannot be tried where none works; what is done with the answer is tried here.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from kernometer.errors import BuildError, TargetError
from kernometer.guests.emulator import kvm, remembered
from kernometer.targets import booting, tsc
from kernometer.targets.base import Deadline, Job
from kernometer.targets.qemu import QemuTarget
from tests.support.guests.boots import RUN, WORKLOAD, Boots, left_behind, lines

LISTED = f"#kernometer begin 1\n{lines(WORKLOAD)}#kernometer end 1\n"
MEASURED = f"#kernometer begin 1\n{lines(WORKLOAD, RUN)}#kernometer end 2\n"

Kvm = Callable[..., QemuTarget]


@pytest.fixture
def with_kvm(boots: Boots, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Kvm:
    """A target whose QEMU writes down how it was started, then runs these lines under KVM; emulated it measures."""
    device = tmp_path / "kvm"
    device.touch()
    monkeypatch.setattr(kvm, "DEVICE", device)
    monkeypatch.setattr(kvm, "TRIAL_SECONDS", 5.0)
    monkeypatch.setattr(tsc, "host_khz", lambda: 2_500_000)

    def make(under_kvm: str) -> QemuTarget:
        script = "\n    ".join(under_kvm.splitlines())
        return boots(
            f"with open({str(tmp_path / 'starts')!r}, 'a') as log:\n"
            "    log.write(f\"{sys.argv[sys.argv.index('-accel') + 1]} {os.getpid()}\\n\")\n"
            f"if 'kvm' in sys.argv:\n    {script}\nelse:\n    bulk({MEASURED!r})"
        )

    return make


def starts(tmp_path: Path) -> list[str]:
    log = tmp_path / "starts"
    return [line.split()[0] for line in log.read_text().splitlines()] if log.exists() else []


def processes(tmp_path: Path) -> list[int]:
    """Those of the started that are still there."""
    pids = [int(line.split()[1]) for line in (tmp_path / "starts").read_text().splitlines()]
    return [pid for pid in pids if Path(f"/proc/{pid}").exists()]


def accelerator(target: QemuTarget) -> str:
    words = target.describe(Job((), "time"))
    return words[words.index("-accel") + 1]


def test_a_guest_that_runs_under_kvm_is_measured_so(with_kvm: Kvm, tmp_path: Path) -> None:
    """Expected: no trial for a dry run, then one, then KVM for every session, and no note. Broken: emulation where
    hardware could be had."""
    target = with_kvm(f"bulk({LISTED!r})")
    assert accelerator(target) == "kvm"
    assert starts(tmp_path) == []
    place = target.place("time")
    assert " kvm; " in place.machine
    assert place.notes == ()
    assert "tsc" not in place.command_line
    assert accelerator(target) == "kvm"
    assert starts(tmp_path) == ["kvm"]
    assert left_behind(tmp_path) == []


@pytest.mark.parametrize(
    ("script", "why"),
    [
        ("time.sleep(600)", "was not done when its time was up"),
        ("signal.signal(15, signal.SIG_IGN); time.sleep(600)", "was not done when its time was up"),
        (f"bulk({LISTED[:60]!r}); time.sleep(600)", "was not done when its time was up"),
        ("sys.exit('qemu: failed to initialize kvm: No such file')", "failed to initialize kvm"),
        ("sys.exit(1)", "never began"),
        ("os.kill(os.getpid(), 11)", "never began"),
        ("console('Kernel panic - not syncing: Fatal exception\\n')", "kernel panicked: Fatal exception"),
        ("bulk('KVM internal error. Suberror: 1\\n' * 3); sys.exit(1)", "never began"),
    ],
)
def test_a_device_that_does_not_run_the_guest_is_named_and_the_guest_is_emulated(
    with_kvm: Kvm, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str, why: str
) -> None:
    """Expected: the reason in words, path mode offered, no process left. Broken: a session that hangs, or KVM by the
    device's being there."""
    monkeypatch.setattr(kvm, "TRIAL_SECONDS", 1.5)
    target = with_kvm(script)
    place = target.place("time")
    (note,) = place.notes
    assert f"{kvm.DEVICE} is here and does not run qemu:linux-9.9" in note
    assert why in note
    assert "times are the emulator's" in note
    assert "--by path" in note
    assert " tcg; " in place.machine
    assert starts(tmp_path) == ["kvm"]
    assert processes(tmp_path) == []
    assert left_behind(tmp_path) == []


def test_the_guest_is_measured_after_a_trial_that_hung(
    with_kvm: Kvm, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Expected: the emulated guest's records; one trial for both calls. Broken: every session pays for it."""
    monkeypatch.setattr(kvm, "TRIAL_SECONDS", 1.5)
    target = with_kvm("time.sleep(600)")
    for _ in range(2):
        assert len(list(target.run(Job((), "time"), Deadline.after(60)))) == 2
    assert starts(tmp_path) == ["kvm", "tcg", "tcg"]


def test_without_a_device_nothing_is_booted(with_kvm: Kvm, tmp_path: Path) -> None:
    target = with_kvm("pass")
    kvm.DEVICE.unlink()
    (note,) = target.place("time").notes
    assert note.startswith(f"There is no {kvm.DEVICE} here, so the guest is emulated")
    assert accelerator(target) == "tcg"
    assert starts(tmp_path) == []


@pytest.mark.parametrize(("mode", "step"), [(0o660, "usermod -aG"), (0o600, "chgrp kvm")])
def test_a_device_that_may_not_be_opened_says_who_may(
    with_kvm: Kvm, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mode: int, step: str
) -> None:
    """Expected: the step that gives the right. Broken: it passes for a host without KVM."""
    target = with_kvm("pass")
    kvm.DEVICE.chmod(mode)
    really = os.open

    def refused(path: os.PathLike[str] | str, *rest: int) -> int:
        if Path(path) == kvm.DEVICE:  # root, as which tests may run, is never refused
            raise PermissionError(13, "Permission denied", str(path))
        return really(path, *rest)

    monkeypatch.setattr("kernometer.guests.emulator.kvm.os.open", refused)
    (note,) = target.place("time").notes
    assert f"{kvm.DEVICE} is here and this user may not open it" in note
    assert step in note
    assert starts(tmp_path) == []


def test_a_device_without_a_driver_is_said_to_be_none(with_kvm: Kvm, tmp_path: Path) -> None:
    target = with_kvm("pass")
    kvm.DEVICE.unlink()
    kvm.DEVICE.mkdir()  # opening it fails with EISDIR, as ENODEV does where the driver is not there
    (note,) = target.place("time").notes
    assert "cannot be opened (Is a directory)" in note
    assert starts(tmp_path) == []


def test_what_was_found_holds_until_the_host_boots_again(
    with_kvm: Kvm, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Expected: tried anew after a boot, and what earlier boots found is gone. Broken: the first finding for ever."""
    target = with_kvm("sys.exit(1)")
    boot = tmp_path / "boot_id"
    monkeypatch.setattr(remembered, "BOOT_ID", boot)
    for number in (1, 1, 2):
        boot.write_text(f"boot-{number}\n")
        target.place("time")
    assert starts(tmp_path) == ["kvm"] * 2
    assert [path.name[:6] for path in remembered.folder().iterdir()] == ["boot-2"]


def test_another_device_variant_or_kernel_is_tried_anew(with_kvm: Kvm, tmp_path: Path) -> None:
    """Expected: a trial each. Broken: one guest's answer stands for all, or a driver loaded later is never seen."""
    target = with_kvm("sys.exit(1)")
    target.place("time")
    QemuTarget.from_spec("linux-9.9+cpu=Nehalem").place("time")
    kvm.DEVICE.rename(tmp_path / "old")
    kvm.DEVICE.touch()
    target.place("time")
    assert starts(tmp_path) == ["kvm"] * 3


@pytest.mark.parametrize("damage", [b"", b"{", b'{"why": 7}', b"x" * (1 << 17)])
def test_a_damaged_finding_is_found_anew(with_kvm: Kvm, tmp_path: Path, damage: bytes) -> None:
    target = with_kvm(f"bulk({LISTED!r})")
    target.place("time")
    (kept,) = remembered.folder().iterdir()
    kept.write_bytes(damage)
    assert target.place("time").notes == ()
    assert starts(tmp_path) == ["kvm"] * 2


def test_a_cache_that_cannot_be_written_costs_a_trial_and_no_more(with_kvm: Kvm) -> None:
    target = with_kvm(f"bulk({LISTED!r})")
    remembered.folder().parent.mkdir(parents=True, exist_ok=True)
    remembered.folder().write_text("in the way")
    assert " kvm; " in target.place("time").machine


def test_a_probe_that_does_not_build_is_no_fault_of_kvms(with_kvm: Kvm, monkeypatch: pytest.MonkeyPatch) -> None:
    """Expected: BuildError, nothing remembered. Broken: the guest is emulated until the host boots again."""
    target = with_kvm("pass")

    def broken(*_: object) -> bytes:
        raise BuildError("The probe does not compile.")

    monkeypatch.setattr(booting, "initrd", broken)
    with pytest.raises(BuildError):
        target.place("time")
    target.guest.kernel.write_bytes(b"another kernel")
    with pytest.raises(TargetError, match="SHA-256 differs"):
        target.place("time")
    assert not remembered.folder().exists()


def test_by_path_nobody_asks_for_kvm(with_kvm: Kvm, tmp_path: Path) -> None:
    target = with_kvm("time.sleep(600)")
    assert " icount; " in target.place("path").machine
    assert starts(tmp_path) == []


def test_the_trial_is_limited_as_a_whole(with_kvm: Kvm, monkeypatch: pytest.MonkeyPatch) -> None:
    """Expected: records that trickle for ever do not make it longer. Broken: each begins the wait anew."""
    monkeypatch.setattr(kvm, "TRIAL_SECONDS", 2.0)
    target = with_kvm("bulk('#kernometer begin 1\\n')\nwhile True:\n    bulk('{}\\n')\n    time.sleep(0.1)")
    assert "was not done when its time was up" in target.place("time").notes[0]
