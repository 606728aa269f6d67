"""A process in surroundings that its parent spoiled: each call works, or says one clear line with the next step."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from kernometer.errors import Status
from kernometer.results.store import Store
from tests.support.checkout import ROOT
from tests.support.cli.real import kernometer
from tests.support.results import make
from tests.support.turns import in_turn

#: A short measurement of one process, and one of two that are placed on CPUs.
RUN = ("run", "--runs", "2", "--seconds", "0.005", "syscall/getppid@")
COMMAND = (sys.executable, "-m", "kernometer")
#: Python's and its libraries' own messages of a fault.
FAULTS = ("Traceback", "Fatal Python error", "Exception ignored")


@pytest.fixture
def store(tmp_path: Path) -> Store:
    """A store with one session, at a path beside nothing else."""
    store = Store(tmp_path / "store")
    with store.create(make.session()) as writer:
        for record in make.records()[1:-1]:
            writer.add(record)
    return store


def called(
    store: Store,
    *words: str,
    status: int,
    begin: Callable[[], None] = lambda: None,
    environment: Mapping[str, str] = os.environ,
    stdout: int = subprocess.PIPE,
    stderr: int = subprocess.PIPE,
) -> subprocess.CompletedProcess[str]:
    """The call, whose process does `begin` first; it must end with that status, without a traceback."""
    done = subprocess.run(
        [*COMMAND, "--store", str(store.folder), *words], text=True, timeout=600, check=False, env=environment,
        preexec_fn=begin, stdout=stdout, stderr=stderr,
    )  # fmt: skip  # as a command line
    said = f"{done.stdout or ''}{done.stderr or ''}"
    assert done.returncode == status, said
    assert not any(fault in said for fault in FAULTS), said
    return done


def one_error(done: subprocess.CompletedProcess[str], said: str) -> None:
    """Its last two lines of standard error are the error and the next step."""
    error, step = done.stderr.splitlines()[-2:]
    assert error.startswith("kernometer: ") and said in error
    assert step.startswith("next: ")


def closing(*numbers: int) -> Callable[[], None]:
    def begin() -> None:
        for number in numbers:
            os.close(number)

    return begin


def limited(limit: int, least: int) -> Callable[[], None]:
    return lambda: resource.setrlimit(limit, (least, least))


def without_reader(store: Store, *words: str, status: int, which: str) -> subprocess.CompletedProcess[str]:
    """The call, one of whose streams is a pipe that is read no more."""
    ours, theirs = os.pipe()
    os.close(ours)
    try:
        return called(
            store, *words, status=status,
            stdout=theirs if which == "stdout" else subprocess.PIPE,
            stderr=theirs if which == "stderr" else subprocess.PIPE,
        )  # fmt: skip  # as a table
    finally:
        os.close(theirs)


# streams


@pytest.mark.parametrize("numbers", in_turn([(0,), (2,), (0, 2)], 0.03, always=[(0, 2)]))
def test_a_call_works_without_streams_that_it_can_do_without(store: Store, numbers: tuple[int, ...]) -> None:
    assert "syscall/getppid" in called(store, *RUN, status=0, begin=closing(*numbers)).stdout
    assert len(store.summaries()) == 2


@pytest.mark.parametrize("words", [("list",), ("--help",), RUN])
def test_a_closed_output_is_told_after_the_work_is_done(store: Store, words: tuple[str, ...]) -> None:
    """Expected: status 5, and what was measured is stored. Broken: a traceback, before or after it."""
    done = called(store, *words, status=Status.RESULT, begin=closing(1))
    one_error(done, "cannot be written: Bad file descriptor")
    assert len(store.summaries()) == 1 + (words == RUN)


def test_a_call_with_no_streams_at_all_still_measures(store: Store) -> None:
    called(store, *RUN, status=Status.RESULT, begin=closing(0, 1, 2))
    assert len(store.summaries()) == 2


@pytest.mark.parametrize("which", in_turn(["stdout", "stderr"], 0.04, always=["stdout"]))
def test_a_reader_that_leaves_early_costs_neither_results_nor_report(store: Store, which: str, tmp_path: Path) -> None:
    """Expected: all is kept, and the status is the measurement's. Broken: the first line that nobody reads ends it."""
    report = tmp_path / "report.html"
    without_reader(store, *RUN, "--report", str(report), status=0, which=which)
    assert all(one.complete for one in store.summaries()) and len(store.summaries()) == 2
    assert report.stat().st_size > 1000


def test_a_reader_that_leaves_hides_no_failure(store: Store) -> None:
    words = ("run", "--runs", "2", "--seconds", "0.005", "--on", "wrap:prlimit --nofile=8:8", "ctx/pipe-pair@same-cpu")
    without_reader(store, *words, status=Status.ROWS_FAILED, which="stdout")


def test_errors_that_nobody_can_read_keep_their_status(store: Store) -> None:
    with Path("/dev/full").open("wb") as full:
        called(store, "lis", status=Status.USAGE, stderr=full.fileno())
        called(store, *RUN, status=0, stderr=full.fileno())


# signals and calls


def test_children_that_the_parent_ignored_are_waited_for(store: Store) -> None:
    """Expected: their statuses. Broken: `waitpid: ECHILD` in rows of processes, and every end of a child a success."""

    def begin() -> None:
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGALRM, signal.SIGUSR1, signal.SIGCHLD, signal.SIGTERM})

    words = (*RUN[:-1], "proc/fork-exit", "sig/catch")
    assert "failed" not in called(store, *words, status=0, begin=begin).stdout
    called(store, "run", "--on", "local:-fno-such-flag", RUN[-1], status=Status.BUILD, begin=begin)


def test_what_needs_no_placement_runs_where_a_filter_refuses_it(tmp_path: Path) -> None:
    """Expected: a figure, marked as not pinned; the row of two processes unsupported, with the call. Broken: no row."""
    on = f"wrap:{sys.executable} {ROOT / 'tests/support/refusing.py'} sched_setaffinity"
    done = kernometer(tmp_path, *RUN, "ctx/pipe-pair@same-cpu", "--on", on)
    assert "p not pinned (1 row)" in done.stdout
    assert "sched_setaffinity: EPERM" in done.stdout
    (result,) = [Store(tmp_path).load("@last")]
    assert {run.row for run in result.runs} == {"syscall/getppid"} and {run.cpu for run in result.runs} == {-1}
    assert {one.row for one in result.unsupported} == {"ctx/pipe-pair@same-cpu"}


# limits


@pytest.mark.parametrize(
    ("limit", "least", "said"),
    [
        (resource.RLIMIT_NOFILE, 8, "Only 8 files may be open at once here"),
        (resource.RLIMIT_FSIZE, 0, "Only 0 bytes may be in a file here"),
    ],
)
def test_a_limit_that_is_too_low_to_measure_is_named(store: Store, limit: int, least: int, said: str) -> None:
    """Expected: that limit and its remedy; what is stored can be listed. Broken: a traceback somewhere in a library."""
    one_error(called(store, *RUN, status=Status.MISSING, begin=limited(limit, least)), said)
    assert "syscall" in called(store, "show", "@last", status=0, begin=limited(limit, least)).stdout


def test_too_little_memory_to_judge_is_said_and_what_was_measured_is_stored(store: Store) -> None:
    done = called(store, *RUN, status=Status.MISSING, begin=limited(resource.RLIMIT_AS, 200 << 20))
    one_error(done, "cannot be loaded")
    assert "is stored in" in done.stderr and len(store.summaries()) == 2


# folders and languages


def test_a_temporary_folder_that_is_not_there_is_done_without(store: Store, tmp_path: Path) -> None:
    called(store, *RUN, status=0, environment=os.environ | {"TMPDIR": str(tmp_path / "none")})


def ordinary() -> None:
    """Takes the superuser's rights over files from this process, so that permissions count for a test run as root."""
    import ctypes

    libc = ctypes.CDLL(None)
    for capability in (1, 2):  # CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH
        libc.prctl(24, capability, 0, 0, 0)  # PR_CAPBSET_DROP: gone at the next exec


def test_a_store_that_may_not_be_written_is_read_and_named(store: Store) -> None:
    store.folder.chmod(0o555)
    try:
        assert "local" in called(store, "list", status=0, begin=ordinary).stdout
        one_error(called(store, *RUN, status=Status.RESULT, begin=ordinary), f"{store.folder}, may not be written")
    finally:
        store.folder.chmod(0o755)


def test_folders_of_the_home_that_may_not_be_used_are_named(store: Store, tmp_path: Path) -> None:
    """Expected: which, and how to name others. Broken: a traceback of pathlib."""
    home = tmp_path / "home"
    (home / ".config" / "kernometer").mkdir(parents=True)
    (home / ".config" / "kernometer" / "config.toml").touch(0o000)
    plain = {key: value for key, value in os.environ.items() if not key.startswith("XDG_")} | {"HOME": str(home)}
    one_error(called(store, "list", status=Status.USAGE, begin=ordinary, environment=plain), "config.toml")
    (home / ".config" / "kernometer" / "config.toml").unlink()
    home.chmod(0o555)
    one_error(called(store, *RUN, status=Status.BUILD, begin=ordinary, environment=plain), "The cache ")
    home.chmod(0o755)


@pytest.mark.slow(minutes=0.04)
def test_names_beyond_ascii_do_without_a_language(store: Store) -> None:
    """A label and a folder in UTF-8, LC_ALL=C. Expected: the label comes back. Broken: an error of a codec."""
    there, plain = Store(store.folder / "über"), os.environ | {"LC_ALL": "C"}
    called(there, *RUN, "--label", "früh", status=0, environment=plain)
    assert there.load("früh").session.label == "früh"
    assert "früh" in called(there, "list", status=0, environment=plain).stdout
