"""The two arms of an `ab`: one batch for both, and what is asked of each in which order."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from kernometer.campaign.alternate import common_batches, measure_pair
from kernometer.campaign.plan import EFFORTS, Plan
from kernometer.results.model import By, RowInfo, Workload
from kernometer.results.store import Store, read_file
from kernometer.targets.base import Deadline, Job, Place, Program
from kernometer.targets.local import from_spec
from tests.support.results import make

ROWS = ("syscall/getppid", "proc/fork-exit", "syscall/getppid@cold")
ONE = replace(EFFORTS["quick"], runs=1)
IDS = {row: 2 * number + 2 for number, row in enumerate(ROWS)}


@dataclass
class Pretended:
    """A probe that answers at once. `batches`: what it calibrates; a row without one cannot be calibrated."""

    batches: dict[str, int]
    name: str = "pretended"
    by: tuple[By, ...] = ("time",)
    programs: tuple[Program, ...] = ("probe",)
    quick_start: bool = True
    profiles: bool = False
    counts_memory: bool = False
    calls: list[tuple[str, ...]] = field(default_factory=list)

    def machine(self, by: By) -> str:  # noqa: ARG002  # the protocol's signature
        return ""

    def place(self, by: By) -> Place:
        return Place(boot=by)

    def describe(self, job: Job) -> tuple[str, ...]:
        return job.arguments

    def close(self) -> None:
        """Nothing is open."""

    def run(self, job: Job, until: Deadline) -> Iterator[bytes]:
        assert not until.passed
        words = job.arguments
        self.calls.append(words)
        phase = words[words.index("--only") + 1]
        asked = [row for row in ROWS if row in words or f"{row}@" in words] or list(ROWS)  # no word: the profile
        if "--continue" not in words:
            yield from make.lines([make.header(), *(self._defined(row) for row in asked)])
        for row in asked:
            yield from self._answers(row, phase, words)

    def _defined(self, row: str) -> Workload:
        return make.workload(row.partition("@")[0], rows=(RowInfo(row=row, id=IDS[row]),))

    def _answers(self, row: str, phase: str, words: tuple[str, ...]) -> Iterator[bytes]:
        which = {"row": row, "workload": row.partition("@")[0]}
        if row.endswith("@cold") and phase != "time":
            return
        if phase == "calibrate" and row not in self.batches:
            yield json.dumps({"type": "error", "row": row, "text": "fork: EAGAIN"}).encode()
        elif phase == "calibrate":
            yield json.dumps({"type": "calibration", **which, "batch": self.batches[row], "baseline_batch": 3}).encode()
        elif phase == "count":
            yield json.dumps({"type": "count", **which, "batch": 1, "samples": [9], "iterations": 1}).encode()
        else:
            block, first, runs = (int(words[words.index(f"--{what}") + 1]) for what in ("block", "first-run", "runs"))
            made = (make.run(first + turn, row, block=block, workload=which["workload"]) for turn in range(runs))
            yield from make.lines([*made])


def given(call: tuple[str, ...]) -> dict[str, str]:
    """Row to batch, as the last --batch of a call has it."""
    word = call[len(call) - 1 - call[::-1].index("--batch") + 1]
    rows = {str(number): row for row, number in IDS.items()}
    return {rows[one.partition("=")[0]]: one.partition("=")[2] for one in word.split(",") if "=" in one}


def measured(tmp_path: Path, a: Pretended, b: Pretended, words: tuple[str, ...] = ROWS) -> tuple[Path, Path]:
    plan = Plan("time", "quick", words, ROWS, ONE, 7)
    first, second = measure_pair(plan, (a, b), Store(tmp_path), "", 2, lambda _: None)
    assert [read_file(side.path) for side in (first, second)] == [first.result, second.result]
    return first.path, second.path


@pytest.mark.parametrize("words", [ROWS, ()], ids=["rows", "profile"])
def test_both_arms_have_the_larger_batch(words: tuple[str, ...], tmp_path: Path) -> None:
    """Expected: calibrated once each, then the same batch in every call. Broken: each side has one of its own, or none
    where the profile is measured and so no row is named.
    """
    a = Pretended({"syscall/getppid": 500, "proc/fork-exit": 1})
    b = Pretended({"syscall/getppid": 900, "proc/fork-exit": 2})
    paths = measured(tmp_path, a, b, words)
    for arm in (a, b):
        phases = [call[call.index("--only") + 1] for call in arm.calls]
        assert phases[:2] == ["calibrate", "count"]
        assert set(phases[2:]) == {"time"}
        assert given(arm.calls[1]) == {"syscall/getppid": "900/3", "proc/fork-exit": "2/3"}
        for call in arm.calls[2:]:
            assert given(call).items() <= {"syscall/getppid": "900/3", "proc/fork-exit": "2/3"}.items()
    for path in paths:
        result = read_file(path)
        assert len(result.calibrations) == len(result.countings) == 2
        assert len(result.runs) == 2 * len(ROWS)
        assert result.damage == ()


def test_batches_more_than_ten_times_apart_stay_apart() -> None:
    """Expected: up to tenfold one for both, beyond it each its own. Broken: the slow side's samples take minutes."""
    a, b = common_batches({"x": (10, 2), "y": (10, 2), "z": (7, 0)}, {"x": (100, 1), "y": (101, 1)})
    assert (a["x"], b["x"]) == ((100, 2), (100, 2))
    assert (a["y"], b["y"]) == ((10, 2), (101, 1))
    assert a["z"] == (7, 0)


def test_a_row_that_one_arm_cannot_calibrate_is_measured_in_neither(tmp_path: Path) -> None:
    """Expected: its failure once, and no block of it. Broken: it fails again in every block."""
    a, b = Pretended({"syscall/getppid": 500, "proc/fork-exit": 1}), Pretended({"syscall/getppid": 500})
    results = [read_file(path) for path in measured(tmp_path, a, b)]
    assert [failure.row for result in results for failure in result.failures] == ["proc/fork-exit"]
    assert {run.row for result in results for run in result.runs} == {"syscall/getppid", "syscall/getppid@cold"}


@pytest.mark.parametrize("quick_start", [True, False])
def test_where_no_row_is_left_nothing_is_timed(tmp_path: Path, quick_start: bool) -> None:
    """The only row fails in one arm. Expected: no block. Broken: no word is left, which means the whole profile."""
    a = Pretended({"proc/fork-exit": 1}, quick_start=quick_start)
    b = Pretended({}, quick_start=quick_start)
    plan = Plan("time", "quick", ROWS[1:2], ROWS[1:2], ONE, 7)
    measure_pair(plan, (a, b), Store(tmp_path), "", 2, lambda _: None)
    assert [len(arm.calls) for arm in (a, b)] == [1, 1]


@pytest.mark.parametrize("quick_start", [True, False])
def test_a_block_has_the_runs_of_the_effort(tmp_path: Path, quick_start: bool) -> None:
    """Three runs a block, in two blocks. Expected: numbered from 0 on both sides, in turns where a start is quick, else
    three at a time. Broken: three runs of one number, or as many starts of what boots."""
    arms = [Pretended({"syscall/getppid": 1}, quick_start=quick_start) for _ in "AB"]
    plan = Plan("time", "quick", ROWS[:1], ROWS[:1], replace(ONE, runs=3), 7)
    pair = measure_pair(plan, (arms[0], arms[1]), Store(tmp_path), "", 2, lambda _: None)
    for side in pair:
        assert [(run.run, run.block) for run in read_file(side.path).runs] == [(n, n // 3) for n in range(6)]
    phases = [[call[call.index("--only") + 1] for call in arm.calls] for arm in arms]
    assert [of_arm.count("time") for of_arm in phases] == [6 if quick_start else 2] * 2


@pytest.mark.parametrize("batches", [{}, {"syscall/getppid": 1}])
def test_first_calls_need_no_batch(tmp_path: Path, batches: dict[str, int]) -> None:
    results = [read_file(path) for path in measured(tmp_path, Pretended(batches), Pretended(batches))]
    assert all("syscall/getppid@cold" in {run.row for run in result.runs} for result in results)


def test_first_calls_alone_are_compared(tmp_path: Path) -> None:
    """Expected: a real probe asked for a cold row alone, which has neither calibration nor count. Broken: such a call
    without any record is taken for a probe that could not begin."""
    plan = Plan("time", "quick", (ROWS[2],), (ROWS[2],), replace(ONE, seconds=0.001), 7)
    targets = (from_spec("local"), from_spec("local"))
    pair = measure_pair(plan, targets, Store(tmp_path), "", 2, lambda _: None)
    assert [len(read_file(side.path).runs) for side in pair] == [2, 2]
