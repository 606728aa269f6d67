"""Files on memory disks of Debian's kernel, booted for real: three named rows, exact; what a broken disk leads to."""

from __future__ import annotations

from typing import Any

import pytest

from kernometer.campaign.plan import plan_of
from kernometer.guests import store
from kernometer.guests.images import disks
from kernometer.guests.kernels import drivers
from kernometer.targets.base import Job
from kernometer.targets.qemu import QemuTarget
from tests.support.guests.booted import boot, figure, of
from tests.support.guests.repeated import repeated

GUEST = "linux-6.1"
#: Instructions that the quick profile may execute by path, the processes between its rows apart.
QUICK_INSTRUCTIONS = 1.5e9


@pytest.fixture(scope="module")
def guest(linux_6_1: store.Guest) -> QemuTarget:
    return QemuTarget.from_spec(linux_6_1.name)


def job(*words: str, profile: str = "quick") -> Job:
    """As `kernometer run --by path` makes it."""
    return plan_of(None, "path", profile, words, 1).job()


@pytest.fixture(scope="module")
def two_boots(guest: QemuTarget) -> tuple[list[bytes], list[bytes]]:
    return boot(guest, job("fs/*")), boot(guest, job("fs/*"))


@pytest.mark.guest
@pytest.mark.slow(minutes=0.27)
def test_two_boots_with_disks_count_the_same(two_boots: tuple[list[bytes], list[bytes]]) -> None:
    """Expected: equality, samples and events and all, and a figure of every row by path. Broken: something on a disk
    or in its driver depends on time or chance."""
    first, second = two_boots
    assert of(first, "error") == {}
    assert all("by path" in each["reason"] for each in of(first, "unsupported").values())
    assert len([row for row in of(first, "run") if row.endswith((",ext4", ",minix"))]) >= 10
    assert repeated(first) == repeated(second)


@pytest.mark.guest
@pytest.mark.slow(minutes=0.4)
def test_the_three_file_systems_cost_what_they_are_known_to(two_boots: tuple[list[bytes], list[bytes]]) -> None:
    """Expected: making a file costs most with a journal, and on MINIX FS little more than on tmpfs (create and unlink:
    69,195, 15,949 and 15,291 were seen). Broken: all three rows run on one file system."""
    runs = of(two_boots[0], "run")
    row = "fs/create-read@files=10,reads=10"
    ext4, minix, tmpfs = (figure(runs[name]) for name in (f"{row},ext4", f"{row},minix", row))
    assert tmpfs < minix < ext4
    assert ext4 - tmpfs > 3 * (minix - tmpfs)
    where = {name: run["warnings"][0]["text"] for name, run in runs.items() if run["warnings"]}
    assert "ext4" in where[f"{row},ext4"]
    assert "minix" in where[f"{row},minix"]
    assert "tmpfs" in where[row]


@pytest.mark.guest
@pytest.mark.slow(minutes=0.08)
def test_a_kernel_without_a_driver_has_a_reason_in_the_result(
    guest: QemuTarget, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Expected: that row is unsupported for the kernel's sake, its twins have figures. Broken: a guest that fails."""
    loaded = drivers.load_order

    def without_minix(of_guest: store.Guest, names: tuple[str, ...]) -> tuple[tuple[str, bytes], ...]:
        return loaded(of_guest, ["no_such_driver" if name == "minix" else name for name in names])

    monkeypatch.setattr(drivers, "load_order", without_minix)
    row = "fs/create-read@files=10,reads=10"
    lines = boot(guest, job("fs/create-read"))
    assert set(of(lines, "run")) == {row, f"{row},ext4"}
    reason = of(lines, "unsupported")[f"{row},minix"]["reason"]
    assert f"The kernel of {GUEST} has no no_such_driver." in reason


@pytest.mark.guest
@pytest.mark.parametrize(
    ("form", "words"),
    [
        (lambda form: form[:-1], "a disk's image is cut"),
        (lambda form: (disks.SIZE * 8).to_bytes(8, "little") + form[8:], "/dev/ram0: No space left"),
        (lambda form: form[:8], "/disk/ext4: Invalid argument"),
    ],
    ids=["cut", "too-large", "empty"],
)
@pytest.mark.slow(minutes=0.11)
def test_a_disk_that_cannot_be_made_is_inits_error(
    guest: QemuTarget, monkeypatch: pytest.MonkeyPatch, form: Any, words: str
) -> None:
    """Expected: init's word on what failed, as the row's failure. Broken: a wait, or figures of another file system."""
    good = disks.image("ext4")
    monkeypatch.setattr(disks, "image", lambda _: form(good))
    lines = boot(guest, job("fs/read@bufsize=1024,blocks=2000,ext4"))
    assert of(lines, "run") == {}
    (failure,) = of(lines, "error").values()
    assert f"init failed: {words}" in failure["text"]


@pytest.mark.guest
@pytest.mark.slow(minutes=1.8)
def test_the_full_profile_is_equal_and_the_quick_one_fits(guest: QemuTarget) -> None:
    """Expected: all rows of files in two boots alike; the quick profile, with all its file systems, below its limit of
    instructions. Broken: a longer row meets the journal's timer; or a row was added that takes seconds."""
    first, second = (boot(guest, job("fs/*", profile="full")) for _ in range(2))
    assert of(first, "error") == {}
    assert repeated(first) == repeated(second)
    quick = of(boot(guest, job()), "run")
    assert len(quick) > 70
    assert sum(run["seconds"] for run in quick.values()) * 1e9 < QUICK_INSTRUCTIONS
