"""What happens to a run when a process of it dies, a program vanishes, or descriptors run out?

Expected each time: an error line that names the row and why, within moments, and nobody left. Broken: a run that waits
for a process that is no more, or a process that waits for a run.
"""

from __future__ import annotations

import os
import re
import resource
import shutil
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.probe.running import LIMIT_SECONDS, TINY, Running, children, of_type, until
from tests.support.turns import some

#: Rows whose processes live as long as the run.
PEERS = (
    "ctx/pipe-pair@same-cpu",
    "ctx/signal-pair@same-cpu",
    "ctx/ring@procs=8,token=0,ws=0,same-cpu",
    "ctx/ring@procs=32,token=65536,ws=0,same-cpu",
    "ipc/pipe-bw@total=1048576,message=65536,same-cpu",
)

pytestmark = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs Linux's /proc")


def peers_of(row: str) -> int:
    """How many to wait for; none where each lives for a millisecond."""
    if row == "proc/shell":
        return 0
    found = re.search(r"procs=(\d+)", row)
    return int(found[1]) - 1 if found else 1


@pytest.mark.parametrize("row", PEERS)
def test_a_killed_peer_ends_the_run_with_an_error_that_says_so(row: str, start: Callable[..., Running]) -> None:
    """Expected: an error that names row and signal, nobody left. Broken: a run that waits for a dead process."""
    running = start(row, peers_of(row))
    os.kill(running.peers[len(running.peers) // 2], signal.SIGKILL)
    text = running.finish()
    assert running.driver.returncode == 1
    (error,) = of_type(text, "error")
    assert error["row"] == row
    assert "killed by signal 9" in error["text"]
    assert of_type(text, "run") == []


def test_a_killed_child_of_a_ring_of_ids_ends_the_run(start: Callable[..., Running]) -> None:
    row = "ctx/ring-pid@procs=200,rounds=1000,same-cpu"
    running = start(row, 199)
    until(lambda: kill_one(children(running.run)), "no child to kill")
    (error,) = of_type(running.finish(), "error")
    assert error["row"] == row
    assert "killed by signal 9" in error["text"]


def kill_one(processes: list[int]) -> bool:
    """The middle one; False if it left by itself just now."""
    if len(processes) < 199:
        return False
    try:
        os.kill(processes[100], signal.SIGKILL)
    except ProcessLookupError:
        return False
    return True


@pytest.mark.parametrize(
    "row", some([*PEERS, "ctx/ring-pid@procs=200,rounds=1000,same-cpu", "proc/execl", "proc/shell"], 0.02, every=3)
)
@pytest.mark.parametrize("victim", ["run", "driver"])
def test_nobody_outlives_a_killed_process(victim: str, row: str, start: Callable[..., Running]) -> None:
    """SIGKILL cannot be handled: pipes that close and signals from the kernel must end the others."""
    running = start(row, peers_of(row))
    os.kill(running.run if victim == "run" else running.driver.pid, signal.SIGKILL)
    text = running.finish()
    if victim == "run":
        (error,) = of_type(text, "error")
        assert error["row"] == row
        assert error["text"] == "was killed by signal 9"


@pytest.mark.parametrize("row", some([*PEERS, "ctx/ring-pid@procs=200,rounds=1000,same-cpu"], 0.03, every=3))
def test_peers_leave_by_themselves_when_their_run_is_gone(
    row: str, plain_probe: Path, start: Callable[..., Running]
) -> None:
    """Expected: the end of a pipe, or a look at the parent, tells them. Broken: an end that the wrong process holds."""
    running = start(row, peers_of(row), plain_probe)
    running.driver.kill()
    os.kill(running.run, signal.SIGKILL)
    running.finish()


def test_an_interrupt_leaves_nothing(start: Callable[..., Running], tmp_path: Path) -> None:
    running = start("ctx/ring@procs=32,token=65536,ws=0,same-cpu", 31)
    running.driver.send_signal(signal.SIGINT)
    running.finish()
    assert running.driver.returncode == 128 + signal.SIGINT
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("row", "call"),
    [
        ("proc/fork-exec", "execve"),
        ("proc/vfork-exec", "execve"),
        ("proc/spawn", "posix_spawn"),
        ("proc/execl", "execve"),
        ("proc/shell", ""),
    ],
)
def test_a_program_that_vanishes_is_reported_by_call_and_errno(
    row: str, call: str, probe: Path, start: Callable[..., Running], tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Its name holds what a shell would split or take for a quote."""
    program = tmp_path_factory.mktemp("it's a probe") / "the 'probe'"
    shutil.copy(probe, program)
    running = start(row, program=program)
    program.unlink()
    text = running.finish()
    (error,) = of_type(text, "error")
    assert error["row"] == row
    assert error["call"] == call
    assert error["errno"] == ("ENOENT" if call else "")
    assert call or error["text"] == "a child exited with status 127"


def test_too_few_descriptors_are_an_error_that_names_the_call(probe: Path, tmp_path: Path) -> None:
    """From too few for anything to enough for all: each time a figure or an error, never a hang."""
    texts = []
    for most in range(6, 32, 2):
        done = subprocess.run(
            [probe, "--dir", tmp_path, *TINY, "ctx/ring@procs=8,token=0,ws=0,same-cpu"],
            capture_output=True, text=True, timeout=LIMIT_SECONDS, check=False,
            preexec_fn=lambda n=most: resource.setrlimit(resource.RLIMIT_NOFILE, (n, n)),  # type: ignore[misc]  # lambda's default
        )  # fmt: skip  # as a command line
        errors = of_type(done.stdout, "error")
        assert done.returncode == (1 if errors else 0)
        assert len(errors) + len(of_type(done.stdout, "run")) == 1
        texts += [error["text"] for error in errors]
    assert any(text.startswith("pipe: EMFILE") for text in texts)
    assert len(texts) < 13


def test_a_reader_that_goes_away_ends_the_probe_and_leaves_nothing(probe: Path, tmp_path: Path) -> None:
    """Expected: its folder is gone, as after any signal. Broken: the next record ends it before it could clean up."""
    words: list[str | Path] = [probe, "--dir", tmp_path, *TINY, "--runs", "50", "syscall/getppid", "fs/create-read"]
    with subprocess.Popen(words, stdout=subprocess.PIPE) as driver:
        assert driver.stdout is not None
        assert driver.stdout.readline()
        until(lambda: any(tmp_path.iterdir()), "no folder was made")
        driver.stdout.close()
        driver.wait(LIMIT_SECONDS)
    assert driver.returncode > 0  # by itself, with an error; a signal would be negative
    assert list(tmp_path.iterdir()) == []
