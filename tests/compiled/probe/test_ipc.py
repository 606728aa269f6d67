"""Do the rows of ipc, ctx/yield and ctx/thread-pair do what they claim, and what if a process of them dies?"""

from __future__ import annotations

import os
import resource
import shutil
import signal
import subprocess
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

from tests.support.probe.running import LIMIT_SECONDS, PROBE, TINY, Running, counted, measure, of_type, until
from tests.support.turns import some

ROWS = ("ipc/*", "ctx/yield", "ctx/thread-pair")
#: Row, and how many processes its run has: a queue of System V has a keeper beside the peer.
PEERS = {
    "ipc/unix-lat@same-cpu": 1,
    "ipc/unix-bw@total=1048576,message=65536,same-cpu": 1,
    "ipc/tcp-lat@same-cpu": 1,
    "ipc/tcp-bw@total=1048576,message=65536,same-cpu": 1,
    "ipc/udp-lat@same-cpu": 1,
    "ipc/tcp-connect@same-cpu": 1,
    "ipc/sysv-msg@same-cpu": 2,
    "ipc/posix-mq@same-cpu": 1,
    "ipc/eventfd@same-cpu": 1,
    "ipc/shm-futex@same-cpu": 1,
    "ctx/yield@same-cpu": 1,
}

pytestmark = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs Linux's /proc")


def queues(processes: Iterable[int]) -> list[str]:
    """System V queues that one of these processes was the last to use."""
    lines = [line.split() for line in Path("/proc/sysvipc/msg").read_text().splitlines()[1:]]
    known = {str(process) for process in processes}
    return [words[1] for words in lines if known & {words[5], words[6]}]


def everybody(running: Running) -> list[int]:
    return [running.run, *running.peers]


# What a row claims ----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def full(probe: Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    return measure(probe, tmp_path_factory.mktemp("full"), *TINY, "--profile", "full", *ROWS)


def test_every_row_measures_or_says_why_not(full: str) -> None:
    """Expected: a figure for each; with one CPU, none for the rows that need two. Broken: an error or silence."""
    measured = {run["row"] for run in of_type(full, "run")}
    missing = {record["row"] for record in of_type(full, "unsupported")}
    assert of_type(full, "error") == []
    assert all(row.endswith("other-cpu") for row in missing)
    assert missing == set() or len(os.sched_getaffinity(0)) == 1
    assert measured >= set(PEERS)


def test_reads_and_writes_that_happened_are_those_claimed(full: str) -> None:
    """Exact: Linux counts every call. Broken: a message in two pieces, or a word more than the row says."""
    checked = 0
    for run in counted(full):
        for kind in ("reads", "writes"):
            if kind in run["claimed"] and kind in run["happened"]:
                assert run["happened"][kind] == run["claimed"][kind] * run["iterations"], (run["row"], kind)
                checked += 1
    assert checked >= 20


def test_each_hand_over_on_one_cpu_switches_at_least_once(full: str) -> None:
    """Broken: an answer that the process gave itself."""
    runs = [run for run in counted(full) if run["row"].endswith("same-cpu") and "any_switches" in run["claimed"]]
    assert len(runs) >= 7
    for run in runs:
        assert run["happened"]["any_switches"] >= run["claimed"]["any_switches"] * run["iterations"], run["row"]


def test_a_row_with_a_baseline_ships_it(full: str) -> None:
    """What the same calls cost one process stands beside the figure, and is less."""
    runs = [run for run in of_type(full, "run") if "baseline" in run]
    assert {run["workload"] for run in runs} >= {"ipc/tcp-lat", "ipc/sysv-msg", "ipc/shm-futex", "ctx/yield"}


def test_connections_leave_no_port_waiting(probe: Path, tmp_path: Path) -> None:
    """Expected: one connection in TIME_WAIT, the last. Broken: one for each, and after 28,000 no port is left."""

    def waiting() -> int:
        return sum(line.split()[3] == "06" for line in Path("/proc/net/tcp").read_text().splitlines()[1:])

    before = waiting()
    words = ("--runs", "1", "--batch", "100", "--samples", "20", "--half-width", "0", "--seconds", "30")
    (run,) = of_type(measure(probe, tmp_path, *words, "ipc/tcp-connect@same-cpu"), "run")
    assert run["iterations"] == 2000
    assert waiting() - before < 100


# What happens when a process dies -------------------------------------------------------------------------------------


@pytest.mark.parametrize("row", some(PEERS, 0.01, every=3))
def test_a_killed_peer_ends_the_run_with_an_error_that_says_so(row: str, start: Callable[..., Running]) -> None:
    """Expected: an error that names row and signal, nobody left, no queue left. Broken: a run that waits for ever."""
    running = start(row, PEERS[row])
    os.kill(running.peers[-1], signal.SIGKILL)
    text = running.finish()
    assert running.driver.returncode == 1
    (error,) = of_type(text, "error")
    assert error["row"] == row
    assert "killed by signal 9" in error["text"]
    assert of_type(text, "run") == []
    assert queues(everybody(running)) == []


@pytest.mark.parametrize("row", some(PEERS, 0.01, every=3))
@pytest.mark.parametrize("victim", ["run", "driver"])
def test_nobody_and_no_queue_outlives_a_killed_process(victim: str, row: str, start: Callable[..., Running]) -> None:
    """SIGKILL cannot be handled: others must find out, and the keeper of a queue remove it."""
    running = start(row, PEERS[row])
    os.kill(running.run if victim == "run" else running.driver.pid, signal.SIGKILL)
    text = running.finish()
    assert queues(everybody(running)) == []
    if victim == "run":
        (error,) = of_type(text, "error")
        assert error["row"] == row
        assert error["text"] == "was killed by signal 9"


def test_a_queue_is_there_while_it_is_used(start: Callable[..., Running]) -> None:
    """The other half of the tests above: what they look for can be found."""
    running = start("ipc/sysv-msg@same-cpu", 2)
    until(lambda: queues(everybody(running)), "no queue")
    running.driver.send_signal(signal.SIGTERM)
    running.finish()
    assert queues(everybody(running)) == []


@pytest.mark.slow(minutes=0.03)
@pytest.mark.parametrize("row", PEERS)
def test_peers_leave_by_themselves_when_their_run_is_gone(
    row: str, plain_probe: Path, start: Callable[..., Running]
) -> None:
    """Expected: an alarm makes them look at their parent. Broken: a process that waits for a queue for ever."""
    running = start(row, PEERS[row], plain_probe)
    running.driver.kill()
    os.kill(running.run, signal.SIGKILL)
    running.finish()
    assert queues(everybody(running)) == []


# What a system may refuse ---------------------------------------------------------------------------------------------


def test_a_queue_that_is_refused_is_an_error_that_names_the_call(probe: Path, tmp_path: Path) -> None:
    """No bytes for POSIX queues: the same as where others use them all up."""
    done = subprocess.run(
        [probe, "--dir", tmp_path, *TINY, "ipc/posix-mq@same-cpu"],
        capture_output=True, text=True, timeout=LIMIT_SECONDS, check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_MSGQUEUE, (0, 0)),
    )  # fmt: skip  # as a command line
    assert done.returncode == 1
    (error,) = of_type(done.stdout, "error")
    assert (error["call"], error["errno"]) == ("mq_open", "EMFILE")


@pytest.mark.slow(minutes=0.29)
@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_workloads_compile_where_a_capability_is_missing(compiler: str) -> None:
    """One at a time and all at once: a stub stands for each missing call, so that its row is unsupported."""
    if not shutil.which(compiler):
        pytest.skip(f"{compiler} is not installed here")
    names = ("UNIX_SOCKETS", "INET_SOCKETS", "SYSV_MSG", "POSIX_MQ", "EVENTFD", "FUTEX", "SHARED_MAP", "SCHED_YIELD")
    missing = [f"-DHAVE_{name}=0" for name in (*names, "EPOLL", "SENDFILE", "PTHREAD", "GETRUSAGE", "MMAP", "SYSCALL")]
    files = [
        str(path)
        for path in (PROBE / "platform_ipc.c", PROBE / "watch.c", *(PROBE / "workloads").glob("*.c"))
        if path.name.startswith(("ipc_", "ctx_", "limit", "platform_ipc", "watch"))
    ]
    assert len(files) >= 10
    strict = ["-std=c99", "-Wall", "-Wextra", "-pedantic", "-Werror", "-fsyntax-only", f"-I{PROBE}"]
    for words in (*([one] for one in missing), missing):
        done = subprocess.run(
            [compiler, *strict, *words, *files], capture_output=True, text=True, timeout=LIMIT_SECONDS, check=False
        )
        assert done.returncode == 0, (words, done.stderr)
