"""Real guests: a row's count by path does not depend on what else is asked for, nor on when its guest was saved."""

from __future__ import annotations

import statistics
import tempfile
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import pytest

from kernometer.campaign.plan import plan_of
from kernometer.guests import store
from kernometer.guests.kernels import trio
from kernometer.results.model import Events, Run
from kernometer.results.reader import parse_record
from kernometer.results.rows import Row
from kernometer.targets import guest_runs
from kernometer.targets.base import Deadline
from kernometer.targets.qemu import QemuTarget
from kernometer.targets.saved import states
from tests.support.checkout import alone

#: Beyond any machine: the families take a minute on an idle one.
SECONDS = 1700
#: Those that moved most with their company when all rows shared a guest, and some that did not.
ROWS = (
    *("syscall/getppid", "ctx/pipe-pair@same-cpu", "proc/fork-exit", "proc/fork-exec", "proc/thread", "proc/execl"),
    *("mem/alloc@bytes=262144", "mem/touch@pages=64", "fs/create-delete@bytes=0"),
    "fs/read@bufsize=1024,blocks=2000,minix",
)
FAMILIES = ("syscall/*", "ctx/*", "proc/*", "mem/alloc", "mem/touch", "ipc/tcp-connect", "fs/create-delete", "fs/read")

Counts = dict[str, tuple[Run | Events, ...]]


@pytest.fixture(params=["linux-6.1", "trio-mono"])
def target(request: pytest.FixtureRequest, linux_6_1: store.Guest) -> QemuTarget:
    if request.param == "trio-mono":
        with alone("trio-mono"):
            return QemuTarget.from_spec(trio.add("mono").name)
    return QemuTarget.from_spec(linux_6_1.name)


def counts(target: QemuTarget, words: Sequence[str], profile: str = "quick") -> Counts:
    """By row all that was counted."""
    job = plan_of(target, "path", profile, words, 1).job()
    records = [parse_record(line) for line in target.run(job, Deadline.after(SECONDS))]
    found: Counts = {}
    for record in records:
        if isinstance(record, Run | Events):
            found[record.row] = (*found.get(record.row, ()), record)
    return found


@pytest.mark.guest
@pytest.mark.slow(minutes=1.1)
@pytest.mark.timeout(SECONDS)
def test_ten_rows_in_three_companies_count_the_same(target: QemuTarget) -> None:
    """Expected: alone, in a family, with others in another order: equal samples and events. Broken: a kernel that is
    compared with itself is faster than itself, by which rows were asked for."""
    alone = {row: counted for row in ROWS for row, counted in counts(target, (Row(row).argument,)).items()}
    among = counts(target, FAMILIES, "full")
    other = counts(target, tuple(Row(row).argument for row in ("sig/catch", *reversed(ROWS), "proc/spawn")))
    assert len(alone) == len(ROWS)
    assert len(among) > 2 * len(ROWS)
    assert {row: among[row] for row in alone} == alone
    assert {row: other[row] for row in alone} == alone


@pytest.mark.guest
@pytest.mark.slow(minutes=0.11)
def test_two_saved_guests_and_two_that_go_on_from_one_count_the_same(
    target: QemuTarget, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Expected: equal. Broken: a guest that was saved at another moment each time, or one that writes into the saved
    memory."""
    words = tuple(Row(row).argument for row in ROWS[:4])
    first, again = counts(target, words), counts(target, words)
    assert again == first
    monkeypatch.setattr(states, "folder", lambda: tmp_path / "states")
    assert counts(target, words) == first
    assert len(first) == 4


@pytest.mark.guest
@pytest.mark.slow(minutes=0.2)
def test_a_guest_with_another_history_is_another_and_as_exact(target: QemuTarget) -> None:
    """Expected: fork's count of a guest that ran other rows before differs from the usual one's, and is the same twice.
    Broken: floors that never see what ran before."""
    words = ("proc/fork-exit", "mem/alloc")
    usual = counts(target, words)
    before = QemuTarget.from_spec(f"{target.name.removeprefix('qemu:')}+history=3")
    first, again = counts(before, words), counts(before, words)
    assert first == again
    assert first.keys() == usual.keys()
    assert "; history 3" in before.place("path").machine
    if not trio.is_trio(target.guest):
        assert first != usual


@pytest.mark.guest
@pytest.mark.slow(minutes=0.14)
def test_leaving_in_the_middle_leaves_nothing(
    target: QemuTarget, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Expected: no QEMU that runs on, no temporary folder, the saved guest as it was. Broken: Ctrl-C leaves two rows'
    emulators behind."""
    words = tuple(Row(row).argument for row in ROWS)
    first = counts(target, words)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    stream = target.run(plan_of(target, "path", "quick", words, 1).job(), Deadline.after(SECONDS))
    begun: list[Path] = []
    with closing(stream):  # type: ignore[type-var]  # a generator
        while not begun:  # Trio's emulators are gone before one looks, at times
            next(stream)
            begun = [each for each in Path("/proc").glob("[0-9]*/cwd") if leads_below(each, tmp_path)]
    assert [each for each in begun if leads_below(each, tmp_path)] == []
    assert list(tmp_path.iterdir()) == []
    assert counts(target, words) == first


def leads_below(link: Path, folder: Path) -> bool:
    try:
        return link.readlink().is_relative_to(folder)
    except OSError:
        return False


@pytest.mark.guest
@pytest.mark.slow(minutes=0.3)
def test_a_guest_is_saved_when_it_has_come_to_rest(linux_6_1: store.Guest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Expected: what the boot leaves behind is over before a row begins. Broken: a thread of the kernel (7.3 tests its
    ciphers for a second) has its turns in every sample."""
    row = "proc/fork-exec"
    busy = "(i=0; while [ $i -lt 300000 ]; do i=$((i + 1)); done) </dev/null >/dev/null 2>&1 &"
    means = []
    for before in ((), ("/bin/busybox", "sh", "-c", busy)):
        monkeypatch.setattr(guest_runs, "_before", lambda *_, words=before: words)
        [run] = (
            each
            for each in counts(QemuTarget.from_spec(linux_6_1.name), (Row(row).argument,))[row]
            if isinstance(each, Run)
        )
        means.append(statistics.fmean(run.samples))
    assert means[1] == pytest.approx(means[0], rel=0.05)
