"""Do the rows of ctx, ipc pipes and proc do what they claim?

What happened is counted from outside, by strace: a workload that counts its own work could be wrong twice.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.support.probe.running import LIMIT_SECONDS, PROBE, TINY, Running, counted, measure, of_type, until
from tests.support.turns import some

FAMILIES = ("ctx/*", "ipc/pipe*", "proc/*")
#: Exactly `SAMPLES` iterations in one process.
SAMPLES = 6
FIXED = ("--only", "time", "--runs", "1", "--batch", "1", "--samples", str(SAMPLES), "--seconds", "30")

pytestmark = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs Linux's /proc")


# What a row claims, and what the probe's own meter saw ----------------------------------------------------------------


@pytest.fixture(scope="module")
def quick(probe: Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    return measure(probe, tmp_path_factory.mktemp("quick"), *TINY, *FAMILIES)


def test_every_row_measures_or_says_why_not(quick: str) -> None:
    """Expected: a figure for each row; with one CPU none for those that need two. Broken: an error or silence."""
    listed = {row["row"] for workload in of_type(quick, "workload") for row in workload["rows"]}
    measured = {run["row"] for run in of_type(quick, "run")}
    missing = {record["row"] for record in of_type(quick, "unsupported")}
    assert of_type(quick, "error") == []
    others = {row for row in missing if not row.startswith("proc/fork-rss-huge")}  # of huge pages a busy host has few
    assert all(row.endswith("other-cpu") for row in others)
    assert others == set() or len(os.sched_getaffinity(0)) == 1
    assert measured | missing <= listed
    assert len(measured) >= 20


def test_reads_and_writes_that_happened_are_those_claimed(quick: str) -> None:
    """Exact: Linux counts every call. Broken: a claim that leaves out the children's calls."""
    checked = 0
    for run in counted(quick):
        for kind in ("reads", "writes"):
            if kind in run["claimed"] and kind in run["happened"]:
                assert run["happened"][kind] == run["claimed"][kind] * run["iterations"], (run["row"], kind)
                checked += 1
    assert checked >= 20


def test_each_hand_over_on_one_cpu_switches_at_least_once(quick: str) -> None:
    """The other process can only run after a switch, of either kind. Broken: a peer that sits on another CPU."""
    runs = [run for run in counted(quick) if "any_switches" in run["claimed"] and run["cpu"] >= 0]
    runs = [run for run in runs if "other-cpu" not in run["row"]]
    assert len(runs) >= 6
    for run in runs:
        assert run["happened"]["any_switches"] >= run["claimed"]["any_switches"] * run["iterations"], run["row"]


def test_placement_is_as_the_row_says(quick: str) -> None:
    for run in of_type(quick, "run"):
        if run["row"].endswith("same-cpu"):
            assert run["peer_cpu"] == run["cpu"]
        elif run["row"].endswith("other-cpu"):
            assert run["peer_cpu"] not in (-1, run["cpu"])


def test_path_plan_is_kept_to_the_iteration(probe: Path, tmp_path: Path) -> None:
    """Expected: by path as many samples of one iteration as the registry says, baselines too."""
    text = measure(probe, tmp_path, "--by", "path", "--runs", "1", *FAMILIES)
    plans = {row["row"]: row["path_n"] for workload in of_type(text, "workload") for row in workload["rows"]}
    runs = of_type(text, "run")
    assert len(runs) >= 15
    for run in runs:
        assert len(run["samples"]) == plans[run["row"]] > 0, run["row"]
        assert run["batch"] == 1
        if "baseline" in run:
            assert len(run["baseline"]["samples"]) == plans[run["row"]]


# What happened, counted by strace -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Trace:
    """System calls by process: name, arguments as text, result. `run` is the measuring process."""

    calls: dict[int, list[tuple[str, str, int]]]
    run: int
    iterations: int

    def count(self, wanted: Callable[[str, str, int], bool]) -> int:
        return sum(wanted(*call) for calls in self.calls.values() for call in calls)

    def peers(self) -> list[list[tuple[str, str, int]]]:
        """The calls of each process that was only forked: driver and run have executed the probe."""
        return [calls for calls in self.calls.values() if not any(name == "execve" for name, _, _ in calls)]


CALL = re.compile(r"^(\w+)\((.*)\)\s+= (-?\d+)")


@pytest.fixture
def trace(probe: Path, tmp_path: Path) -> Callable[[str, str], Trace]:
    """Traces `calls` of FIXED iterations of a row, one file a process, so that no line is broken by another's."""
    if not shutil.which("strace"):
        pytest.skip("strace is not installed here")

    def traced(calls: str, row: str) -> Trace:
        work = tmp_path / "work"
        work.mkdir()
        strace = ["strace", "-ff", "-s", "16", "-o", str(tmp_path / "t"), "-e", f"trace=execve,{calls}"]
        done = subprocess.run(
            [*strace, probe, "--dir", work, *FIXED, row],
            capture_output=True,
            text=True,
            timeout=5 * LIMIT_SECONDS,
            check=False,
        )
        if "ptrace" in done.stderr and "not permitted" in done.stderr:
            pytest.skip("this machine does not let strace work")
        assert done.returncode == 0, done.stdout + done.stderr
        run = of_type(done.stdout, "run")[0]
        assert run["iterations"] == SAMPLES
        by_process: dict[int, list[tuple[str, str, int]]] = {}
        measuring = -1
        for file in tmp_path.glob("t.*"):
            process = int(file.suffix[1:])
            found = [CALL.match(line) for line in file.read_text(errors="replace").splitlines()]
            by_process[process] = [(m[1], m[2], int(m[3])) for m in found if m]
            if any('"--internal", "time"' in arguments for _, arguments, _ in by_process[process]):
                measuring = process
        assert measuring > 0
        return Trace(by_process, measuring, run["iterations"])

    return traced


CREATES = ("fork", "vfork", "clone", "clone3")
#: Row, how many processes or threads one iteration makes.
MADE = {
    "proc/fork-exit": 1,
    "proc/fork-rss@rss_kib=4096": 1,
    "proc/fork-exec": 1,
    "proc/vfork-exec": 1,
    "proc/spawn": 1,
    "proc/thread": 1,
    "proc/execl": 1,
    "ctx/ring-pid@procs=10,rounds=10,same-cpu": 9,
    "ctx/ring-pid-hops@procs=100,hops=10,same-cpu": 99,
}


@pytest.mark.parametrize("row", some(MADE, 0.02, every=3))
def test_processes_made_are_those_claimed(row: str, trace: Callable[[str, str], Trace]) -> None:
    seen = trace("fork,vfork,clone,clone3,wait4", row)
    mine = seen.calls[seen.run]
    made = sum(name in CREATES and result > 0 for name, _, result in mine)
    reaped = sum(name == "wait4" and result > 0 for name, _, result in mine)
    assert made == MADE[row] * SAMPLES
    assert reaped == (0 if row == "proc/thread" else made)
    assert all(("CLONE_THREAD" in words) == (row == "proc/thread") for name, words, _ in mine if name in CREATES)


#: Row, programs executed by one iteration (by path and sample one iteration each; execl's chain needs a first image).
EXECUTED = {"proc/fork-exec": 1, "proc/vfork-exec": 1, "proc/spawn": 1, "proc/shell": 2, "proc/execl": 2}


@pytest.mark.parametrize("row", some(EXECUTED, 0.02, every=3))
def test_programs_executed_are_those_claimed(row: str, trace: Callable[[str, str], Trace]) -> None:
    """Expected: this program, `--internal exit` or `--internal execl`, with an empty environment."""
    seen = trace("execve", row)
    ours = [
        words
        for process, calls in seen.calls.items()
        for name, words, result in calls
        if name == "execve" and result == 0 and ('"--internal", "e' in words or '"sh", "-c"' in words)
        if process != seen.run
    ]
    assert len(ours) == EXECUTED[row] * SAMPLES
    assert all("/* 0 vars */" in words for words in ours if '"--internal", "execl"' in words or "fork" in row)


def test_a_chain_of_programs_is_as_long_as_its_batch(probe: Path, tmp_path: Path) -> None:
    """Expected: the probe itself counts the images, and refuses a chain that is too short or too long."""
    words = ("--runs", "1", "--batch", "7", "--samples", "3", "--half-width", "0", "--seconds", "30")
    (run,) = of_type(measure(probe, tmp_path, *words, "proc/execl"), "run")
    assert run["batch"] == 7
    assert run["iterations"] == 21


@pytest.mark.parametrize(
    ("row", "hops"),
    [
        ("ctx/ring-pid@procs=10,rounds=10,same-cpu", 100),
        ("ctx/ring-pid-hops@procs=10,hops=10,same-cpu", 10),
        ("ctx/ring-pid-hops@procs=10,hops=100,same-cpu", 100),
        ("ctx/ring-pid-hops@procs=100,hops=10,same-cpu", 10),
    ],
)
def test_a_ring_of_ids_makes_its_hops_and_no_more(row: str, hops: int, trace: Callable[[str, str], Trace]) -> None:
    """Also where the hops do not fill a round: the token then starts in the middle of the ring."""
    seen = trace("write", row)
    assert seen.count(lambda name, words, got: name == "write" and words.endswith(", 8") and got == 8) == hops * SAMPLES


@pytest.mark.parametrize(("procs", "token", "size"), [(2, 0, 1), (8, 0, 1), (2, 65536, 65536)])
def test_a_ring_passes_its_token_whole(procs: int, token: int, size: int, trace: Callable[[str, str], Trace]) -> None:
    """A token of 0 bytes is the one byte that wakes. Counted in the peers: process 0 has the baseline's writes too."""
    seen = trace("write", f"ctx/ring@procs={procs},token={token},ws=0,same-cpu")
    passed = [got for calls in seen.peers() for name, _, got in calls if name == "write" and got > 0]
    assert sum(passed) == (procs - 1) * size * SAMPLES


def test_a_pair_exchanges_one_signal_each_way(trace: Callable[[str, str], Trace]) -> None:
    seen = trace("kill", "ctx/signal-pair@same-cpu")
    for one in ("SIGUSR1", "SIGUSR2"):

        def sent(name: str, words: str, _: int, one: str = one) -> bool:
            return name == "kill" and one in words

        assert seen.count(sent) == SAMPLES


def test_a_pair_exchanges_one_word_each_way(trace: Callable[[str, str], Trace]) -> None:
    seen = trace("write", "ctx/pipe-pair@same-cpu")
    assert [sum(words.endswith(", 8") for _, words, _ in calls) for calls in seen.peers()] == [SAMPLES]


def test_bandwidth_moves_its_bytes(trace: Callable[[str, str], Trace]) -> None:
    seen = trace("write", "ipc/pipe-bw@total=1048576,message=65536,same-cpu")
    moved = [got for calls in seen.peers() for _, _, got in calls]
    assert sum(moved) == SAMPLES * 2**20


# Particulars ----------------------------------------------------------------------------------------------------------


def test_fork_rss_has_touched_what_it_says(start: Callable[..., Running]) -> None:
    """Expected: 64 MiB resident in the measuring process. Broken: memory that is allocated, and not there.

    The sum over the mappings is exact; VmRSS lags behind it by pages of each CPU since Linux 6.2.
    """
    running = start("proc/fork-rss@rss_kib=65536")

    def resident() -> int:
        mappings = Path(f"/proc/{running.run}/smaps").read_text()
        return sum(map(int, re.findall(r"^Rss:\s+(\d+) kB", mappings, re.MULTILINE)))

    until(lambda: resident() >= 65536, "it has not touched that much")
    assert resident() < 65536 + 16384
    running.driver.terminate()
    running.finish()


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_workloads_compile_where_a_capability_is_missing(compiler: str) -> None:
    """A stub stands for each missing call, so that its row is unsupported and the build goes on."""
    if not shutil.which(compiler):
        pytest.skip(f"{compiler} is not installed here")
    missing = [f"-DHAVE_{name}=0" for name in ("POSIX_SPAWN", "PTHREAD", "VFORK", "AFFINITY", "PROC", "PDEATHSIG")]
    families = ("ctx", "ipc", "proc")
    files = [str(path) for path in (PROBE / "workloads").glob("*.c") if path.name.startswith(families)]
    words = [compiler, "-std=c99", "-Wall", "-Wextra", "-pedantic", "-Werror", "-fsyntax-only", f"-I{PROBE}", *missing]
    done = subprocess.run([*words, *files], capture_output=True, text=True, timeout=LIMIT_SECONDS, check=False)
    assert done.returncode == 0, done.stderr
    assert len(files) >= 10
