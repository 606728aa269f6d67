"""The engine: what it refuses, how it samples, when it stops, in which order, and what its output promises."""

from __future__ import annotations

import math
import re
import shutil
import subprocess
import time
from collections import defaultdict
from pathlib import Path
from statistics import median
from typing import Any

import pytest

from tests.support.probe.running import TINY, measure, of_type, records


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
    later = ("--continue", "--only", "time", "--batch", "100", "--first-run", "7", "--block", "3")
    text = measure(probe, tmp_path, *TINY, *later, "syscall/getppid@")
    (record,) = records(text)
    assert (record["type"], record["run"], record["block"]) == ("run", 7, 3)


def test_batch_is_calibrated_far_above_the_clock(probe: Path, tmp_path: Path) -> None:
    """Expected: a sample of 1000 steps of the clock or more. Broken: a figure made of the clock's steps."""
    (run,) = runs(probe, tmp_path, *TINY, "syscall/getppid@")
    assert median(run["samples"]) >= 1000 * run["resolution_ns"]
    assert run["batch"] > 100
    assert run["iterations"] == run["batch"] * len(run["samples"])
    assert len(run["clock_cost"]) > 10


def test_the_empty_loop_lies_between_the_samples(probe: Path, tmp_path: Path) -> None:
    """Expected: a reading before the first sample, after every `loop_every`-th, and after the last."""
    (run,) = runs(probe, tmp_path, "--runs", "1", "--seconds", "0.02", "syscall/getppid@")
    (short,) = runs(probe, tmp_path, "--runs", "1", "--seconds", "0.02", "--batch", "1", "syscall/getppid@")
    for one in (run, short):
        assert len(one["loop_cost"]) == 1 + math.ceil(len(one["samples"]) / one["loop_every"])
    assert short["loop_every"] > 1  # a reading takes longer than such a sample
    (cold,) = runs(probe, tmp_path, "--runs", "1", "--seconds", "0.02", "syscall/getppid@cold")
    assert cold["loop_every"] == 1 and len(cold["loop_cost"]) == 1 + len(cold["samples"])
    (run,) = runs(probe, tmp_path, "--runs", "1", "--seconds", "0.02", "sig/catch")
    of_each = [math.ceil(len(one["samples"]) / run["loop_every"]) for one in (run, run["baseline"])]
    assert len(run["loop_cost"]) == 1 + sum(of_each)


def test_a_clock_that_cannot_see_the_empty_loop_measures_it_afterwards(probe: Path, tmp_path: Path) -> None:
    """Expected: as many iterations as a sample has, so that it is seen at all."""
    (run,) = runs(probe, tmp_path, "--runs", "1", "--seconds", "0.02", "--clock", "gettimeofday", "syscall/getppid@")
    assert run["loop_every"] == 0
    assert len(run["loop_cost"]) == 11 and run["loop_batch"] >= run["batch"]


def test_batch_and_samples_may_be_given(probe: Path, tmp_path: Path) -> None:
    (run,) = runs(probe, tmp_path, *TINY, "--batch", "1", "--samples", "9", "--half-width", "0", "syscall/getppid@")
    assert (run["batch"], len(run["samples"]), run["stopped"]) == (1, 9, "samples")


def test_every_run_has_the_batch_of_the_one_calibration(probe: Path, tmp_path: Path) -> None:
    """Expected: calibrated once, counted once, then only timed. Broken: each run has its own, from 88 to 2,000."""
    text = measure(probe, tmp_path, "--runs", "4", "--seconds", "0.005", "mem/latency@bytes=16777216,stride=64")
    kinds = [record["type"] for record in records(text) if record["type"] not in ("header", "workload")]
    assert kinds == ["calibration", "count", "run", "run", "run", "run"]
    assert len({record["batch"] for record in records(text) if "batch" in record}) == 1


def test_a_timed_run_counts_nothing(probe: Path, tmp_path: Path) -> None:
    """Expected: what happened and what the hardware counts is told by the counting run alone."""
    text = measure(probe, tmp_path, *TINY, "syscall/getppid@")
    (run,), (count,) = of_type(text, "run"), of_type(text, "count")
    assert {"happened", "claimed", "hardware"}.isdisjoint(run)
    assert {"happened", "claimed", "hardware"} <= count.keys()


def test_runs_go_on_until_the_budget_is_spent_or_the_interval_is_narrow(probe: Path, tmp_path: Path) -> None:
    """Expected: more runs than asked for where no width is narrow enough; of eight where every width is."""
    words = ("--runs", "2", "--seconds", "0.001", "syscall/getppid@")
    assert len(runs(probe, tmp_path, *words)) == 2
    assert len(runs(probe, tmp_path, *words, "--budget", "60", "--half-width", "1")) == 8
    spent = runs(probe, tmp_path, *words, "--budget", "1", "--half-width", "0")
    assert len(spent) > 2
    assert len({run["run"] for run in spent}) == len(spent)


def test_one_phase_alone_needs_the_batch_of_another(probe: Path, tmp_path: Path) -> None:
    """Expected: an error that says what is missing. Broken: a sample of no iterations."""
    words = [str(probe), "--dir", str(tmp_path), *TINY, "--only", "time", "syscall/getppid@"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 1
    (error,) = of_type(done.stdout, "error")
    assert "not calibrated" in error["text"]


def test_batches_may_be_given_by_row(probe: Path, tmp_path: Path) -> None:
    ids = {
        row["row"]: row["id"]
        for one in of_type(measure(probe, tmp_path, "--list", "--json"), "workload")
        for row in one["rows"]
    }
    words = f"{ids['syscall/getppid']}=70,{ids['ctx/yield@same-cpu']}=9/3"
    text = measure(probe, tmp_path, *TINY, "--only", "time", "--batch", words, "syscall/getppid@", "ctx/yield@same-cpu")
    found = {run["row"]: run for run in of_type(text, "run")}
    assert found["syscall/getppid"]["batch"] == 70
    assert (found["ctx/yield@same-cpu"]["batch"], found["ctx/yield@same-cpu"]["baseline"]["batch"]) == (9, 3)


def test_a_clock_that_tells_nanoseconds_is_not_called_as_coarse_as_a_read(probe: Path, tmp_path: Path) -> None:
    """Expected: at most what the kernel says of it. Broken: 29 to 40 ns, a read's cost; every cold row is "coarse"."""
    header = of_type(measure(probe, tmp_path, *TINY, "syscall/getppid@"), "header")[0]
    clocks = {clock["name"]: clock for clock in header["clocks"]}
    told = 1e9 * time.clock_getres(time.CLOCK_MONOTONIC)
    assert clocks["monotonic"]["resolution_ns"] <= max(told, clocks["monotonic"]["cost_ns"] / 4)
    assert clocks["gettimeofday"]["resolution_ns"] >= 1000


def test_an_iteration_longer_than_the_time_is_made_once(probe: Path, tmp_path: Path) -> None:
    """Expected: one sample in a run, since another run tells more. Broken: five of them, whatever they take."""
    (run,) = runs(probe, tmp_path, "--runs", "1", "--seconds", "0.001", "fs/create-read@files=100,reads=100")
    assert (run["batch"], len(run["samples"]), run["iterations"], run["stopped"]) == (1, 1, 1, "time")
    assert run["clock_cost"] and run["loop_cost"]


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
    (run,) = runs(probe, tmp_path, "--runs", "1", "--seconds", "60", "syscall/getppid@cold")
    assert run["batch"] == 1
    assert 5 <= len(run["samples"]) <= 40
    assert min(run["samples"]) > 0
    assert run["params"] == {"state": "cold"}


@pytest.mark.parametrize("clock", ["monotonic-raw", "gettimeofday", "cycles", "cycles-serialised"])
def test_another_clock_tells_the_same_time(probe: Path, tmp_path: Path, clock: str) -> None:
    """Two clocks, one row: the least cost by each, within a factor of two. Broken: ticks taken for nanoseconds.

    On a busy machine every sample of a run may have been interrupted: then another run has the least cost.
    """
    costs = dict.fromkeys(("monotonic", clock), math.inf)
    for _ in range(30):
        for name in costs:
            (run,) = runs(probe, tmp_path, *TINY, "--clock", name, "cpu/arith-int")
            costs[name] = min(costs[name], min(run["samples"]) / run["batch"])
        if 0.5 < costs[clock] / costs["monotonic"] < 2:
            return
    pytest.fail(f"nanoseconds an iteration: {costs}")


def test_command_is_timed_whole_and_only_if_it_succeeds(probe: Path, tmp_path: Path) -> None:
    text = measure(probe, tmp_path, *TINY, "--", "true")
    assert {run["row"] for run in of_type(text, "run")} == {f"cmd/true@time={t}" for t in ("real", "user", "system")}
    for command, why in ((["false"], "status 1"), (["/nowhere"], "ENOENT"), (["sh", "-c", "kill -9 $$"], "signal 9")):
        done = subprocess.run([probe, *TINY, "--", *command], capture_output=True, text=True, timeout=60, check=False)
        assert done.returncode == 1
        assert why in of_type(done.stdout, "error")[0]["text"]


def test_every_disturbed_sample_is_told_however_many(probe: Path, tmp_path: Path) -> None:
    """Expected: 600 samples, and of those that were interrupted each once. Broken: the first 256 alone are told."""
    many = ("--runs", "1", "--seconds", "60", "--samples", "600", "--only", "time", "--batch", "20")
    (run,) = runs(probe, tmp_path, *many, "ctx/pipe-pair@same-cpu")
    told = [sample for sample, _ in run["involuntary"]]
    assert len(run["samples"]) == 600
    assert told == sorted(set(told))
    assert all(0 <= sample < 600 for sample in told)


def test_no_process_that_is_timed_has_a_counter_or_descends_from_one_that_has(probe: Path, tmp_path: Path) -> None:
    """Expected: counters are opened in the counting run, and by the driver, which closes them at once. Broken: they are
    open while rows are timed, and each switch of a process takes up to 94 times as long. (Where there are no counters
    the calls fail, and are seen all the same.)"""
    if not shutil.which("strace"):
        pytest.skip("strace is not installed here")
    work = tmp_path / "work"
    work.mkdir()
    strace = ["strace", "-ff", "-o", str(tmp_path / "t"), "-e", "trace=execve,perf_event_open,close"]
    words = [*strace, str(probe), "--dir", str(work), *TINY, "ctx/pipe-pair@same-cpu"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=120, check=False)
    if "not permitted" in done.stderr:
        pytest.skip("this machine does not let strace work")
    assert done.returncode == 0, done.stderr
    opened: defaultdict[str, list[str]] = defaultdict(list)
    for file in tmp_path.glob("t.*"):
        calls = file.read_text()
        role = re.search(r'"--internal", "(\w+)"', calls)
        who = role[1] if role else "driver" if "execve(" in calls else "peer"
        opened[who] += re.findall(r"^perf_event_open\(.* = (-?\d+)", calls, flags=re.MULTILINE)
        assert who != "driver" or all(int(fd) < 0 or f"close({fd})" in calls for fd in opened["driver"])
    assert opened["driver"] and opened["count"]
    assert opened["calibrate"] == opened["time"] == opened["peer"] == []
