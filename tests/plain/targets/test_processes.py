"""Child processes, called to their end, or ended, and directories: kernometer.processes."""

from __future__ import annotations

import multiprocessing
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import kernometer
from kernometer import processes
from kernometer.errors import BuildError, MissingError, ResultError
from kernometer.processes import ahead, called, reap


def started() -> subprocess.Popen[bytes]:
    return subprocess.Popen(["sleep", "600"])


def test_a_killed_process_is_reaped() -> None:
    process = started()
    process.kill()
    reap(process)
    assert process.wait() == -signal.SIGKILL


def test_a_lock_that_a_signal_left_taken_holds_nobody() -> None:
    """Expected: the end. Broken: the wait never ends, as Popen.wait's would (which CI met once in `guest boot`)."""
    process = started()
    process._waitpid_lock.acquire()  # type: ignore[attr-defined]  # Popen's own, at the wrong instant
    process.kill()
    reap(process)
    assert process.returncode == -signal.SIGKILL


def test_a_process_that_popen_has_reaped_is_no_error() -> None:
    process = started()
    process.kill()
    process.wait()
    process.returncode = None
    reap(process)


def test_a_called_program_has_nothing_to_read_and_its_own_variables(tmp_path: Path) -> None:
    """Expected: status, both outputs, and bytes that are no text replaced. Broken: it waits for our input."""
    script = r"cat; pwd; printf '\377' >&2; exit $STATUS"
    done = called(("sh", "-c", script), 60, folder=tmp_path, more={"STATUS": "3"})
    assert (done.returncode, done.stdout, done.stderr) == (3, f"{tmp_path}\n", "\N{REPLACEMENT CHARACTER}")


def test_a_program_that_cannot_be_called_is_named_with_the_next_step(tmp_path: Path) -> None:
    """Expected: status 6 where it is missing, the caller's error where it is no program or takes too long."""
    (tmp_path / "text").write_text("no program")
    with pytest.raises(MissingError, match="no nowhere/it here") as missing:
        called(("nowhere/it",), 60, "Install it.")
    with pytest.raises(BuildError, match=r"text cannot be executed: Permission denied\."):
        called((str(tmp_path / "text"),), 60, failure=BuildError)
    with pytest.raises(BuildError, match=r"sleep was not done after 0 s: sleep 600\."):
        called(("sleep", "600"), 0.01, failure=BuildError)
    assert missing.value.next_step == "Install it."


HOLDS = """
import sys, time
from pathlib import Path
from kernometer.processes import scratch
with scratch("made-", Path(sys.argv[1])) as folder:
    (folder / "file").touch()
    print(folder, flush=True)
    time.sleep(1000)
"""


def test_a_directory_does_not_outlive_a_process_that_is_killed(tmp_path: Path) -> None:
    """Expected: nothing is left, also of SIGKILL, which no handler sees. Broken: folders of guests fill TMPDIR."""
    words = (sys.executable, "-c", HOLDS, str(tmp_path))
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        folder = Path(process.stdout.readline().strip())
        assert (folder / "file").exists()
        process.kill()
    until = time.monotonic() + 60
    while folder.exists() and time.monotonic() < until:
        time.sleep(0.01)
    assert list(tmp_path.iterdir()) == []


def test_all_directories_are_made_where_they_are_removed() -> None:
    """Expected: `scratch` is the only way; a target of this host, whose guard ends the probe first, is the other.
    Broken: a directory that a killed process leaves."""
    sources = Path(kernometer.__file__).parent
    found = {path.name for path in sources.rglob("*.py") if re.search(r"TemporaryDirectory|mkdtemp", path.read_text())}
    assert found == {"processes.py", "local.py"}


@pytest.fixture
def two_cpus(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _process: {0, 1})
    monkeypatch.setattr(processes, "MANY", 4)


@pytest.mark.usefixtures("two_cpus")
def test_many_items_are_made_by_a_process_on_each_cpu_in_their_order() -> None:
    """Expected: of a few items by ourselves. Broken: in the order in which processes are done."""
    made = [*ahead(lambda number: (number, os.getpid()), range(9))]
    assert [number for number, _ in made] == [*range(9)]
    assert len({process for _, process in made}) == 2 and os.getpid() not in dict(made).values()
    assert [*ahead(lambda _: os.getpid(), range(3))] == [os.getpid()] * 3


@pytest.mark.usefixtures("two_cpus")
def test_an_error_of_a_helping_process_comes_in_its_place_and_all_of_them_end() -> None:
    """Expected: what was made before it, then the error; none is left then, nor after an end before the last item."""

    def made(number: int) -> int:
        if number == 5:
            raise ResultError("the sixth", "mend it")
        return number

    taken: list[int] = []
    with pytest.raises(ResultError, match="the sixth") as raised:
        taken += ahead(made, range(9))
    assert raised.value.next_step == "mend it"
    assert multiprocessing.active_children() == []
    some = ahead(made, range(9))
    assert [next(some), next(some)] == [0, 1]
    some.close()  # type: ignore[attr-defined]  # it is a generator
    assert multiprocessing.active_children() == []


@pytest.mark.usefixtures("two_cpus")
def test_a_helping_process_that_is_killed_is_an_error() -> None:
    """Expected: an error with a next step. Broken: a wait without end, as for lack of memory."""
    with pytest.raises(ResultError, match="was killed") as raised:
        list(ahead(lambda number: os.kill(os.getpid(), signal.SIGKILL) if number == 2 else number, range(9)))
    assert "memory" in raised.value.next_step
