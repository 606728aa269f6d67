"""One machine for all that is compared: what differs is named, and refused unless it is asked for."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernometer.cache import sha256
from kernometer.cli.planning import check_machines
from kernometer.errors import UsageError
from kernometer.guests import store
from kernometer.guests.emulator.qemu import Machine, QemuVersion
from kernometer.guests.store import Manifest
from kernometer.results.store import Store
from kernometer.stats.differences import machine_differences
from kernometer.targets.qemu import QemuTarget
from tests.support.checkout import share_compiled
from tests.support.cli.real import kernometer
from tests.support.cli.storing import call
from tests.support.results import make

QEMU = QemuVersion(7, 2, 22)


def text(**given: object) -> str:
    return Machine(**given).text(QEMU, "icount")  # type: ignore[arg-type]  # the tests' own words


def test_only_what_differs_is_named() -> None:
    """Expected: two words. Broken: two lines of options, alike but for one, for the reader to find it."""
    with pytest.raises(UsageError) as caught:
        check_machines({"A": {text()}, "B": {text(type="pc")}})
    assert caught.value.text == "These are not of one machine (A: microvm,pcie=on; B: pc)."
    assert "--different-machines" in caught.value.next_step


def test_all_that_differs_is_named() -> None:
    with pytest.raises(UsageError) as caught:
        check_machines({"A": {text(memory_mib=1024)}, "B": {text(seed=2, cpu="Nehalem")}})
    assert "A: -cpu max, 1024 MiB, seed 1;" in caught.value.text
    assert "B: -cpu Nehalem, 2048 MiB, seed 2)" in caught.value.text


def test_a_side_of_several_machines_names_each() -> None:
    with pytest.raises(UsageError, match=r"old: microvm,pcie=on and pc; new: pc\)"):
        check_machines({"old": {text(), text(type="pc")}, "new": {text(type="pc")}})


def test_versions_of_qemu_are_different_machines() -> None:
    machines = [Machine().text(QemuVersion(7, 2, micro), "icount") for micro in (21, 22)]
    assert machine_differences(machines) == dict(
        zip(machines, ("QEMU 7.2.21 tcg icount", "QEMU 7.2.22 tcg icount"), strict=True)
    )


def test_a_guest_beside_the_host_itself_is_named_whole() -> None:
    """Expected: words for the host, whose machine is an empty text. Broken: nothing stands there."""
    with pytest.raises(UsageError, match=r"A: this host itself; B: QEMU 7\.2\.22 tcg icount; microvm"):
        check_machines({"A": {""}, "B": {text()}})


def test_equal_machines_are_no_matter() -> None:
    check_machines({"A": {text()}, "B": {text()}})
    check_machines({"A": {""}, "B": {""}})


@pytest.fixture
def guest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, guest_cache: Path) -> str:
    """A guest whose kernel is never booted, in a cache of its own but for what is compiled."""
    for folder in (guest_cache / "kernometer/probes", tmp_path / "cache/kernometer"):
        folder.mkdir(parents=True, exist_ok=True)
    (tmp_path / "cache/kernometer/probes").symlink_to(guest_cache / "kernometer/probes")
    share_compiled(tmp_path / "cache")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    with store.new_folder() as folder:
        (folder / store.KERNEL).write_bytes(b"a kernel")
        manifest = Manifest(
            name="linux-9.9",
            package="linux-image-9.9",
            version="9.9-1",
            release="9.9",
            package_sha256="",
            kernel_sha256=sha256(b"a kernel"),
            kernel_bytes=8,
        )
        store.keep(folder, manifest)
    return "qemu:linux-9.9"


def test_ab_refuses_guests_of_different_machines(guest: str, tmp_path: Path) -> None:
    """Expected: status 2 with the difference, before any boot. Broken: a verdict on two machines, not two kernels."""
    words = ("ab", "--by", "path", guest, f"{guest}+machine=pc", "syscall/getppid")
    done = kernometer(tmp_path, *words, status=2)
    assert "A (qemu:linux-9.9): microvm,pcie=on; B (qemu:linux-9.9+machine=pc): pc" in " ".join(done.stderr.split())
    done = kernometer(tmp_path, *words, "--different-machines", "--dry-run")
    first, second = done.stdout.splitlines()
    assert "-machine microvm,pcie=on,memory-backend=ram " in first
    assert "-machine pc,memory-backend=ram " in second


def test_kernels_of_one_machine_are_not_refused(guest: str, tmp_path: Path) -> None:
    """Expected: the kernel's words are what is compared. Broken: they count as a machine's."""
    done = kernometer(tmp_path, "ab", "--by", "path", guest, f"{guest}+mitigations=off", "--dry-run")
    assert len(done.stdout.splitlines()) == 2


def test_compare_refuses_sessions_of_different_machines(tmp_path: Path) -> None:
    """Expected: status 2 with the difference; figures where they are asked for, the difference named with them.

    Broken: a machine's line cut before the word that differs.
    """
    results = Store(tmp_path)
    ids = []
    for machine in (text(), text(memory_mib=1024)):
        session = make.session(by="path", machine=machine, target="qemu:linux-6.1")
        with results.create(session) as writer:
            for record in (make.header(by="path"), make.workload(), make.run()):
                writer.add(record)
        ids.append(session.id)
    done = kernometer(tmp_path, "compare", *ids, status=2)
    said = " ".join(done.stderr.split())
    assert f"{ids[0]}: 2048 MiB; {ids[1]}: 1024 MiB" in said
    done = kernometer(tmp_path, "compare", "--different-machines", *ids)
    assert "machine: 2048 MiB | 1024 MiB" in " ".join(done.stdout.split())


def test_machines_are_compared_before_any_guest_is_tried(
    guest: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Expected: the difference at once. Broken: both guests boot first, to find out whether they can be saved."""

    def never(_target: QemuTarget) -> None:
        pytest.fail("a guest was tried")

    monkeypatch.setattr(QemuTarget, "_try_saving", never)
    monkeypatch.setattr(QemuTarget, "_try_kvm", never)
    for by, *targets in (
        ("path", guest, f"{guest}+memory=512"),
        ("time", guest, f"{guest}+cpu=Nehalem"),
        ("time", "local", guest),
    ):
        call(Store(tmp_path), capsys, "ab", "--by", by, *targets, "syscall/getppid", status=2)
        on = ",".join(targets)
        said = call(Store(tmp_path), capsys, "matrix", "--by", by, "--on", on, status=2)
        assert "These are not of one machine" in said and "kvm" not in said
    words = ("predict", "--by", "path", "--on", guest, "--on", f"{guest}+cpu=Nehalem", "--", "true")
    assert "-cpu max; " in call(Store(tmp_path), capsys, *words, status=2)
