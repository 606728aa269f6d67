"""Guests by time: the boot is the unit, boots of the two sides alternate in random order, and what a guest cannot do is
said and no failure. With a QEMU of the test's own; and on a real kernel, emulated or not.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

from kernometer.campaign.alternate import measure_pair
from kernometer.campaign.plan import EFFORTS, Plan, plan_of
from kernometer.campaign.session import measure
from kernometer.guests import store
from kernometer.guests.emulator import kvm
from kernometer.results.model import AnyRecord, Result, RowInfo
from kernometer.results.store import Store
from kernometer.stats.alternate import ab
from kernometer.stats.compare import compare
from kernometer.stats.history import History
from kernometer.stats.model import Comparison, RowComparison
from kernometer.targets import tsc
from kernometer.targets.qemu import QemuTarget
from tests.support.guests.boots import Boots
from tests.support.results import make

ROW, LACKING = "syscall/getppid", "ctx/pipe-pair@other-cpu"
PLAN = Plan("time", "quick", (ROW, LACKING), (ROW, LACKING), replace(EFFORTS["quick"], runs=5), seed=3)

#: Writes down what the boot was asked for (by what init is told), then answers as a probe does.
ANSWER = """
import re
job = repr(Path('initrd').read_bytes().decode().split(chr(0)))
def option(name, default): return int((re.findall(f"'--{name}', '(\\\\d+)'", job) or [default])[0])
first, runs, block = option('first-run', 0), option('runs', 5), option('block', 0)
phase = (re.findall("'--only', '([a-z]+)'", job) or ['all'])[0]
options = sys.argv[sys.argv.index('-append') + 1]
with open(LOG, 'a') as log:
    print(options, phase, runs, block, ROW in job and LACKING in job, file=log)
slow = 1 + ('slow=1' in options)
lines = [] if '--continue' in job else [HEADER, WORKLOAD]
lines += [UNSUPPORTED] if LACKING in job else []
lines += [CALIBRATION] if phase == 'calibrate' else []
for number in range(first, first + runs) if phase in ('all', 'time') else ():
    wobble = 1 + 0.001 * (number * 7 % 5)
    lines.append(RUN % (number, block, ','.join(str(int(slow * wobble * (150_000 + each))) for each in range(20))))
bulk('#kernometer begin 1\\n' + ''.join(each + '\\n' for each in lines) + f'#kernometer end {len(lines)}\\n')
"""


def text(record: AnyRecord) -> str:
    return msgspec.json.encode(record).decode()


def run_text() -> str:
    """A run with room for its number, its block and its samples."""
    record = json.loads(text(make.run(row=ROW)))
    record |= {"run": 1_000_001, "block": 1_000_002, "samples": [1_000_003], "warnings": []}
    made = json.dumps(record).replace("%", "%%")
    return made.replace("1000001", "%d").replace("1000002", "%d").replace("[1000003]", "[%s]")


@pytest.fixture
def guest(boots: Boots, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], QemuTarget]:
    """Gives a variant whose kernel answers, and takes twice as long with `slow=1` on its command line."""
    monkeypatch.setattr(kvm, "DEVICE", tmp_path / "no kvm")
    monkeypatch.setattr(tsc, "host_khz", lambda: 2_500_000)
    rows = (RowInfo(row=ROW, id=2), RowInfo(row=LACKING, id=4, unsupported="there is one CPU only"))
    constants = {
        "LOG": str(tmp_path / "log"),
        "ROW": ROW,
        "LACKING": LACKING,
        "HEADER": text(make.header()),
        "WORKLOAD": text(make.workload(rows=rows)),
        "UNSUPPORTED": json.dumps({"type": "unsupported", "row": LACKING, "reason": "there is one CPU only"}),
        "CALIBRATION": json.dumps({"type": "calibration", "row": ROW, "workload": ROW, "batch": 1000}),
        "RUN": run_text(),
    }
    boots("".join(f"{name} = {value!r}\n" for name, value in constants.items()) + ANSWER)
    return QemuTarget.from_spec


def started(tmp_path: Path) -> list[list[str]]:
    """(last option of the kernel's, phase, runs, block, whether all rows were asked for) of each boot."""
    return [line.split()[-5:] for line in (tmp_path / "log").read_text().splitlines()]


def nothing(_: AnyRecord) -> None:
    """Listens to no record."""


def pair(guest: Callable[[str], QemuTarget], tmp_path: Path, blocks: int) -> tuple[Result, Result]:
    targets = (guest("linux-9.9+slow=0"), guest("linux-9.9+slow=1"))
    plan = replace(PLAN, effort=replace(PLAN.effort, runs=1))
    first, second = measure_pair(plan, targets, Store(tmp_path / "results"), "", blocks, nothing)
    return first.result, second.result


def row_of(comparison: Comparison) -> RowComparison:
    (row,) = (one for one in comparison.rows if one.row == ROW)
    return row


@pytest.mark.slow(minutes=0.06)
def test_boots_of_both_sides_alternate_in_random_order(guest: Callable[[str], QemuTarget], tmp_path: Path) -> None:
    """Expected: in each block one boot of each side with all rows, in either order. Broken: first all of A, or A
    always first, so that what drifts or what a first boot costs is taken for the difference."""
    pair(guest, tmp_path, 12)
    ready, found = started(tmp_path)[:4], started(tmp_path)[4:]
    assert [(phase, rows) for _, phase, _, _, rows in ready] == [("calibrate", "True")] * 2 + [("count", "False")] * 2
    assert len(found) == 24
    assert {(phase, runs) for _, phase, runs, *_ in found} == {("time", "1")}
    orders = []
    for block in range(12):
        of_block = found[2 * block : 2 * block + 2]
        assert [number for *_, number, _ in of_block] == [str(block)] * 2
        orders.append(tuple(side for side, *_ in of_block))
    assert set(orders) == {("slow=0", "slow=1"), ("slow=1", "slow=0")}


def test_a_block_of_boots_is_the_unit_of_ab(guest: Callable[[str], QemuTarget], tmp_path: Path) -> None:
    """Expected: as many units as boots a side, and the factor of two found. Broken: samples or rows are counted."""
    a, b = pair(guest, tmp_path, 4)
    assert [(run.row, run.block) for run in a.runs] == [(ROW, block) for block in range(4)]
    assert a.session.boot == b.session.boot == ""
    row = row_of(ab(a, b))
    assert (row.units_a, row.units_b) == (4, 4)
    assert row.verdict.value == "slower"
    assert row.ratio is not None and 1.9 < row.ratio < 2.1


def test_each_session_is_a_boot_and_a_set_of_sessions_a_set_of_boots(
    guest: Callable[[str], QemuTarget], tmp_path: Path
) -> None:
    """Expected: five runs of each row in one boot; `compare` of two sets has a unit a boot. Broken: a unit a run."""
    kept = Store(tmp_path / "results")
    sides = []
    for name in ("linux-9.9+slow=0", "linux-9.9+slow=1"):
        sides.append([measure(PLAN, guest(name), kept, name[-1], nothing).result for _ in range(3)])
    assert [(phase, runs, rows) for _, phase, runs, _, rows in started(tmp_path)] == [("all", "5", "True")] * 6
    assert all(len(result.runs) == 5 for side in sides for result in side)
    row = row_of(compare(*sides, history=History(())))
    assert (row.units_a, row.units_b) == (3, 3)


def test_a_row_that_the_guest_lacks_is_said_and_no_failure(guest: Callable[[str], QemuTarget], tmp_path: Path) -> None:
    """The plan is made from this host's list, which may have more CPUs. Expected: said once. Broken: the session
    fails, or waits for the row."""
    seen: list[AnyRecord] = []
    result = measure(PLAN, guest("linux-9.9"), Store(tmp_path / "results"), "", seen.append).result
    assert [(one.row, one.reason) for one in result.unsupported] == [(LACKING, "there is one CPU only")]
    assert result.failures == ()
    assert result.end is not None and result.end.complete
    a, b = pair(guest, tmp_path, 2)
    assert len(a.unsupported) == len(b.unsupported) == 1
    assert a.failures == b.failures == ()


def test_the_command_line_tells_an_emulated_linux_the_rate_of_its_clock(
    guest: Callable[[str], QemuTarget], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Expected: on microvm, which has no timer to find it by; the session keeps it. Not by path, not on pc, nor where
    this host has no such counter. Broken: on a busy host the guest does not boot, or keeps time by ticks of 4 ms."""
    told = guest("linux-9.9+quiet").place("time").command_line
    assert told.endswith("panic=-1 tsc=reliable tsc_early_khz=2500000 quiet")  # the variant's words can undo it
    assert "tsc" not in guest("linux-9.9").place("path").command_line
    assert "tsc" not in guest("linux-9.9+machine=pc").place("time").command_line
    monkeypatch.setattr(tsc, "host_khz", lambda: 0)
    assert "tsc" not in guest("linux-9.9").place("time").command_line


# Real ones -----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def target(linux_6_1: store.Guest) -> QemuTarget:
    return QemuTarget.from_spec(linux_6_1.name)


@pytest.mark.guest
def test_this_processors_rate_is_found_and_remembered(guest_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Expected: a rate that a processor has, to the MHz; asked for once. Broken: the wrong unit."""
    assert guest_cache.is_dir()
    khz = tsc.host_khz()
    assert khz == 0 or (500_000 < khz < 10_000_000 and khz % 1000 == 0)
    monkeypatch.setattr(tsc, "_measured", lambda: 1)
    assert tsc.host_khz() == khz


@pytest.mark.guest
@pytest.mark.slow(minutes=0.32)
def test_a_real_guest_is_measured_by_time(target: QemuTarget, tmp_path: Path) -> None:
    """Expected: five runs or more of each row in one boot, a clock finer than ticks; rows for two CPUs unsupported."""
    plan = plan_of(target, "time", "quick", (ROW, "ctx/pipe-pair", "proc/fork-exit"), 1)
    result = measure(plan, target, Store(tmp_path), "", nothing).result
    assert result.failures == ()
    rows = {run.row for run in result.runs}
    assert {ROW, "ctx/pipe-pair@same-cpu", "proc/fork-exit"} <= rows
    assert all(len([run for run in result.runs if run.row == row]) >= 5 for row in rows)
    assert result.header is not None
    assert result.header.clocks[0]["resolution_ns"] < 1e6
    assert result.header.cpu["online"] == 1
    assert "@other-cpu" not in "".join(rows)


@pytest.mark.guest
@pytest.mark.slow(minutes=0.9)
def test_the_quick_profile_of_a_real_guest_by_time_ends(target: QemuTarget, tmp_path: Path) -> None:
    """Expected: every row measured or unsupported, none failed. Broken: one that runs into its limit when emulated."""
    plan = plan_of(target, "time", "quick", (), 1)
    result = measure(plan, target, Store(tmp_path), "", nothing).result
    assert result.failures == ()
    assert {run.row for run in result.runs} | {one.row for one in result.unsupported} >= set(plan.rows)
