"""The engine: what it refuses, how it samples, when it stops, in which order, and what its output promises."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from statistics import median
from typing import Any

import pytest

from .running import TINY, measure, of_type, records


def runs(probe: Path, folder: Path, *words: str) -> list[dict[str, Any]]:
    return of_type(measure(probe, folder, *words), "run")


@pytest.mark.parametrize(
    "words",
    [
        ("--nothing",),
        ("no/such",),
        ("ctx/pipe-pair@",),
        ("--runs", "0"),
        ("--runs", "x"),
        ("--seconds",),
        ("--seconds", "nan"),
        ("--by", "steps"),
        ("--clock", "sundial"),
        ("--dir", "/nowhere", "syscall/getppid"),
        ("--",),
    ],
)
def test_words_that_mean_nothing_are_refused_before_anything_is_measured(probe: Path, words: tuple[str, ...]) -> None:
    """Expected: status 2 and a next step. Broken: a typing mistake that looks like a measurement."""
    done = subprocess.run([probe, *words], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 2
    assert "probe:" in done.stderr
    assert of_type(done.stdout, "run") == []


def test_end_marker_counts_the_records(probe: Path, tmp_path: Path) -> None:
    text = measure(probe, tmp_path, *TINY, "syscall/getppid", "sig/*")
    assert text.startswith("#kernometer begin 1\n")
    (count,) = re.findall(r"^#kernometer end (\d+)$", text, flags=re.MULTILINE)
    assert int(count) == len(records(text)) > 4


def test_a_later_call_goes_on_without_header_and_definitions(probe: Path, tmp_path: Path) -> None:
    text = measure(probe, tmp_path, *TINY, "--continue", "--first-run", "7", "--block", "3", "syscall/getppid@")
    (record,) = records(text)
    assert (record["type"], record["run"], record["block"]) == ("run", 7, 3)


def test_batch_is_calibrated_far_above_the_clock(probe: Path, tmp_path: Path) -> None:
    """Expected: a sample of 1000 steps of the clock or more. Broken: a figure made of the clock's steps."""
    (run,) = runs(probe, tmp_path, *TINY, "syscall/getppid@")
    assert median(run["samples"]) >= 1000 * run["resolution_ns"]
    assert run["batch"] > 100
    assert run["iterations"] == run["batch"] * len(run["samples"])
    assert len(run["clock_cost"]) > 10 and len(run["loop_cost"]) > 10


def test_batch_and_samples_may_be_given(probe: Path, tmp_path: Path) -> None:
    (run,) = runs(probe, tmp_path, *TINY, "--batch", "1", "--samples", "9", "--half-width", "0", "syscall/getppid@")
    assert (run["batch"], len(run["samples"]), run["stopped"]) == (1, 9, "samples")


def test_a_width_that_cannot_be_missed_stops_before_the_time_is_up(probe: Path, tmp_path: Path) -> None:
    wide = ("--runs", "1", "--seconds", "2", "--half-width", "1", "--samples", "4096")
    (run,) = runs(probe, tmp_path, *wide, "syscall/getppid@")
    assert run["stopped"] == "half-width"
    assert len(run["samples"]) >= 30


def test_a_width_that_cannot_be_met_goes_on_until_the_time_is_up(probe: Path, tmp_path: Path) -> None:
    narrow = ("--runs", "1", "--seconds", "0.05", "--half-width", "0", "--samples", "4096")
    (run,) = runs(probe, tmp_path, *narrow, "syscall/getppid@")
    assert run["stopped"] == "time"
    assert run["meter"]["wall_ns"] >= 0.05e9


def test_an_iteration_longer_than_the_time_is_made_once(probe: Path, tmp_path: Path) -> None:
    """Expected: the first one is the sample, and counted like any other; one more if it was interrupted. Broken: one
    for calibration that is thrown away, then five more."""
    (run,) = runs(probe, tmp_path, "--runs", "1", "--seconds", "0.001", "fs/create-read@files=100,reads=100")
    made = 2 if 0 in dict(run["involuntary"]) else 1
    assert (run["batch"], len(run["samples"]), run["iterations"], run["stopped"]) == (1, made, made, "time")
    assert run["clock_cost"] and run["loop_cost"]


def test_an_iteration_that_was_not_kept_is_not_counted(probe: Path, tmp_path: Path) -> None:
    """Expected: of a short iteration none but those in samples is in the counts. Broken: the first try is in them."""
    (run,) = runs(probe, tmp_path, *TINY, "mem/touch@pages=64")
    assert run["happened"]["faults"] == run["claimed"]["faults"] * run["batch"] * len(run["samples"])


def test_order_is_the_seeds_and_another_in_every_run(probe: Path, tmp_path: Path) -> None:
    """Expected: no row always follows the same one, and the order can be repeated."""

    def order(seed: str) -> list[list[str]]:
        found = runs(probe, tmp_path, "--runs", "3", "--seconds", "0.001", "--seed", seed, "clock/*", "sig/*")
        return [[run["row"] for run in found if run["run"] == number] for number in range(3)]

    first = order("1")
    assert first == order("1")
    assert first != order("2")
    assert len({tuple(rows) for rows in first}) == 3
    assert len({frozenset(rows) for rows in first}) == 1


def test_runs_are_processes_of_their_own_and_bound_to_one_cpu(probe: Path, tmp_path: Path) -> None:
    found = runs(probe, tmp_path, "--runs", "2", "--seconds", "0.01", "--cpu", "0", "syscall/getppid@")
    assert [run["cpu"] for run in found] == [0, 0]
    assert all(run["migrated"] == [] for run in found)


def test_first_calls_come_from_fresh_processes(probe: Path, tmp_path: Path) -> None:
    """Expected: one sample a process, and the process named as cold ends there. Broken: it starts another, for ever."""
    (run,) = runs(probe, tmp_path, "--runs", "1", "--seconds", "0.2", "syscall/getppid@cold")
    assert run["batch"] == 1
    assert 5 <= len(run["samples"]) <= 40
    assert min(run["samples"]) > 0
    assert run["params"] == {"state": "cold"}


@pytest.mark.parametrize("clock", ["monotonic-raw", "gettimeofday", "cycles", "cycles-serialised"])
def test_another_clock_tells_the_same_time(probe: Path, tmp_path: Path, clock: str) -> None:
    """Two clocks, one row: within a factor of two even on a busy machine. Broken: ticks taken for nanoseconds."""
    costs = []
    for name in ("monotonic", clock):
        (run,) = runs(probe, tmp_path, *TINY, "--clock", name, "cpu/arith-int")
        costs.append(min(run["samples"]) / run["batch"])
    assert 0.5 < costs[1] / costs[0] < 2


def test_command_is_timed_whole_and_only_if_it_succeeds(probe: Path, tmp_path: Path) -> None:
    text = measure(probe, tmp_path, *TINY, "--", "true")
    assert {run["row"] for run in of_type(text, "run")} == {f"cmd/true@time={t}" for t in ("real", "user", "system")}
    for command, why in ((["false"], "status 1"), (["/nowhere"], "ENOENT"), (["sh", "-c", "kill -9 $$"], "signal 9")):
        done = subprocess.run([probe, *TINY, "--", *command], capture_output=True, text=True, timeout=60, check=False)
        assert done.returncode == 1
        assert why in of_type(done.stdout, "error")[0]["text"]


def test_every_disturbed_sample_is_told_however_many(probe: Path, tmp_path: Path) -> None:
    """The switches told by sample add up to those counted in all, also where a pair on one CPU is preempted in most of
    600 samples. Broken: the first 256 alone, the rest looks clean. (How many there are is the scheduler's choice.)"""
    many = ("--runs", "1", "--seconds", "5", "--half-width", "0", "--samples", "600", "--batch", "20")
    (run,) = runs(probe, tmp_path, *many, "ctx/pipe-pair@same-cpu")
    assert len(run["samples"]) == 600
    assert sum(count for _, count in run["involuntary"]) == run["happened"]["involuntary"]
