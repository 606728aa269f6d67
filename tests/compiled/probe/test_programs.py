"""Rows that run other programs (sh/*) and other users (load/multiuser): is their work proved, and is nothing left?"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
from collections.abc import Callable
from math import isqrt
from pathlib import Path

import pytest

from tests.support.probe.running import LIMIT_SECONDS, TINY, Running, measure, of_type, parent_of, until
from tests.support.turns import some

TOOLS = ("sort", "od", "grep", "tee", "wc")
#: Two samples of one iteration each.
FIXED = ("--only", "time", "--runs", "1", "--batch", "1", "--samples", "2", "--seconds", "30")
ROOT_OF_TWO = str(isqrt(2 * 10**198))  #: the first 100 digits, without the point

pytestmark = [
    pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs Linux's /proc"),
    pytest.mark.skipif(shutil.which("busybox") is None, reason="busybox is not installed"),
]


@pytest.mark.slow(minutes=0.1)
def test_every_row_measures(probe: Path, tmp_path: Path) -> None:
    """Expected: a figure for each row of the full profile, and nothing left. Broken: an error, or silence."""
    text = measure(probe, tmp_path, *TINY, "--profile", "full", "sh/*", "load/*", "proc/fork-exit*")
    assert of_type(text, "error") == []
    listed = {row["row"] for workload in of_type(text, "workload") for row in workload["rows"]}
    assert {run["row"] for run in of_type(text, "run")} == listed
    assert len(listed) >= 16


def test_the_compiler_belongs_to_the_figure(probe: Path, tmp_path: Path) -> None:
    (run,) = of_type(measure(probe, tmp_path, *FIXED, "sh/cc"), "run")
    assert [warning["code"] for warning in run["warnings"]] == ["compiler"]
    assert re.search(r"/cc is .*\d", run["warnings"][0]["text"])


# Programs that do not do their work -----------------------------------------------------------------------------------


def with_programs(probe: Path, tmp_path: Path, row: str, **scripts: str) -> str:
    """The output of a run of `row` whose PATH begins with these programs; an empty script hides the system's."""
    programs, folder = tmp_path / "programs", tmp_path / "folder"
    programs.mkdir()
    folder.mkdir()
    for name in (*TOOLS, "cc", "tcc", "dc", "busybox", "cat", "sh"):
        found = shutil.which(name)
        if found is not None and name not in scripts:
            (programs / name).symlink_to(found)
    for name, script in scripts.items():
        if script:
            (programs / name).write_text(f"#!/bin/sh\n{script}\n")
            (programs / name).chmod(0o755)
    done = subprocess.run(
        [probe, "--dir", folder, *FIXED, row],
        env={"PATH": str(programs)}, capture_output=True, text=True, timeout=LIMIT_SECONDS, check=False,
    )  # fmt: skip  # as a command line
    assert list(folder.iterdir()) == []
    assert done.returncode == (1 if of_type(done.stdout, "error") else 0)
    return done.stdout


def printed(digits: str) -> str:
    return f"cat >/dev/null; echo {digits[0]}.{digits[1:]}"


def test_digits_from_integers_are_right(probe: Path, tmp_path: Path) -> None:
    """Expected: what an integer square root gives is accepted. Broken: digits that only dc itself can confirm."""
    text = with_programs(probe, tmp_path, "sh/dc", dc=printed(ROOT_OF_TWO))
    assert of_type(text, "error") == []
    assert len(of_type(text, "run")) == 1


@pytest.mark.parametrize("step", [-1, 1, 10**50])
def test_wrong_digits_are_an_error(step: int, probe: Path, tmp_path: Path) -> None:
    wrong = str(int(ROOT_OF_TWO) + step)
    (error,) = of_type(with_programs(probe, tmp_path, "sh/dc", dc=printed(wrong)), "error")
    assert error["text"] == "the square root of 2 is wrong"


@pytest.mark.parametrize(
    ("row", "name", "script", "words"),
    [
        ("sh/dc", "dc", "exit 0", "0 answers of 100 digits"),
        ("sh/dc", "dc", "echo none", "printed no number"),
        ("sh/dc", "dc", "echo no luck >&2; exit 3", "dc exited with status 3: no luck"),
        ("sh/script-1", "sort", "busybox sort | busybox head -n 90", "exited with status 1"),
        ("sh/script-1", "wc", "busybox wc -l", "exited with status 1"),
        ("sh/script-1", "od", "busybox head -c 100 text | busybox od -An -v -tx1", "dumped.0 has 100 bytes"),
        ("sh/script-1", "tee", "busybox cat", "found.0"),
        ("sh/cc", "cc", '[ "$1" = --version ] || exit 1', "exited with status 1"),
        ("sh/cc", "cc", "exit 0", "execve: ENOENT"),
        ("sh/cc-tcc", "tcc", '[ "$1" = -v ] || { echo "exit 1" >program; }', "execve: EACCES"),
    ],
)  # fmt: skip  # one a line
def test_work_that_was_not_done_is_an_error(
    row: str, name: str, script: str, words: str, probe: Path, tmp_path: Path
) -> None:
    """Expected: an error that says what is missing. Broken: the fastest figure of all."""
    text = with_programs(probe, tmp_path, row, **{name: script})
    assert of_type(text, "run") == []
    (error,) = of_type(text, "error")
    assert error["row"] == row
    assert words in error["text"]


@pytest.mark.parametrize(
    ("row", "name"),
    [("sh/script-8", "od"), ("sh/script-busybox-1", "busybox"), ("sh/cc", "cc"), ("sh/cc-tcc", "tcc"), ("sh/dc", "dc")],
)
def test_a_missing_program_is_named(row: str, name: str, probe: Path, tmp_path: Path) -> None:
    """Expected: unsupported, with the program and how to get it. Broken: an error, or another program's figure."""
    text = with_programs(probe, tmp_path, row, **{name: ""})
    (missing,) = of_type(text, "unsupported")
    assert missing["row"] == row
    assert missing["reason"].startswith(f"there is no {name} in PATH; ")
    assert "install" in missing["reason"]


def test_a_reason_from_outside_is_given_for_all_rows_of_the_program(probe: Path, tmp_path: Path) -> None:
    words = ("--no-program", "tcc=none could be made", "sh/cc-tcc", "sh/dc-busybox")
    text = measure(probe, tmp_path, *FIXED, *words)
    assert [(each["row"], each["reason"]) for each in of_type(text, "unsupported")] == [
        ("sh/cc-tcc", "none could be made")
    ]
    assert [run["row"] for run in of_type(text, "run")] == ["sh/dc-busybox"]


# Seen from outside ----------------------------------------------------------------------------------------------------


def traced(probe: Path, tmp_path: Path, row: str) -> list[str]:
    """The calls that make processes and execute programs, of two iterations of `row`, in all processes."""
    if shutil.which("strace") is None:
        pytest.skip("strace is not installed")
    calls, folder = tmp_path / "calls", tmp_path / "folder"
    folder.mkdir()
    words = ("strace", "-f", "-qq", "-o", str(calls), "-e", "trace=process", str(probe), "--dir", str(folder))
    done = subprocess.run((*words, *FIXED, row), capture_output=True, text=True, timeout=LIMIT_SECONDS, check=False)
    if "PTRACE" in done.stderr:
        pytest.skip(f"no tracing here: {done.stderr.strip()}")
    assert done.returncode == 0, done.stdout + done.stderr
    return calls.read_text().splitlines()


def test_busybox_runs_no_other_program(probe: Path, tmp_path: Path) -> None:
    """Expected: after the run's own start, nothing is executed but busybox, under its tools' names. Broken: a tool of
    the system's, and a figure that is another on each of them."""
    executed = [re.search(r'execve\("([^"]*)"', line) for line in traced(probe, tmp_path, "sh/script-busybox-1")]
    names = {found[1] for found in executed if found} - {str(probe), "/proc/self/exe"}
    assert {Path(name).resolve() for name in names if not name.startswith("tools/")} == {
        Path(shutil.which("busybox") or "").resolve()
    }
    assert {name for name in names if name.startswith("tools/")} <= {f"tools/{tool}" for tool in TOOLS}


def test_every_user_is_a_process_and_executes_a_program(probe: Path, tmp_path: Path) -> None:
    """Expected: four users a round, each with one program, in two rounds and what calibration made none of. Broken:
    users that come one after the other in one process."""
    calls = traced(probe, tmp_path, "load/multiuser@users=4")
    programs = [line for line in calls if "execve(" in line and '"exit"' in line]
    assert len(programs) == 2 * 4
    assert len({line.split()[0] for line in programs}) == 2 * 4


def test_loops_are_so_many_processes(probe: Path, tmp_path: Path) -> None:
    calls = traced(probe, tmp_path, "proc/fork-exit-loops@loops=10")
    exits = [line for line in calls if "exit_group(0" in line and "resumed" not in line]
    assert len(exits) == 2 * 10 + 2  # the run, and the driver


# Killed ---------------------------------------------------------------------------------------------------------------

LONG = ("sh/script-16", "sh/script-busybox-16", "sh/cc", "load/multiuser@users=32")


def below(process: int) -> list[int]:
    """All processes that it has started, and these; in one walk through /proc, since they come and go."""
    parents = {int(entry.name): parent_of(int(entry.name)) for entry in Path("/proc").iterdir() if entry.name.isdigit()}
    found, new = [], [process]
    while new:
        new = [child for child, parent in parents.items() if parent in new]
        found += new
    return found


def busy(row: str, start: Callable[..., Running]) -> tuple[Running, list[int]]:
    """A run in the middle of `row`: some shells, compilers or users are there."""
    running = start(row, 1)

    def alive() -> list[int]:
        assert running.driver.poll() is None, running.driver.stdout.read() if running.driver.stdout else ""
        return below(running.run)

    seen = until(lambda: found if len(found := alive()) >= 2 else None, "nothing was started")
    return running, seen


@pytest.mark.parametrize("row", some(LONG, 0.02, every=2))
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_leaves_no_process_and_no_file(
    number: signal.Signals, row: str, start: Callable[..., Running], tmp_path: Path
) -> None:
    """Expected: shells, tools, compilers, users and their files are gone with the run. Broken: a tool that goes on,
    and makes its file in a folder that was just removed."""
    running, seen = busy(row, start)
    running.driver.send_signal(number)
    running.finish()
    until(lambda: all(parent_of(process) < 0 for process in seen), "a program is left")
    assert running.driver.returncode == 128 + number
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("row", some(LONG, 0.02, every=2))
def test_a_killed_run_leaves_no_process_and_no_file(row: str, start: Callable[..., Running], tmp_path: Path) -> None:
    running, seen = busy(row, start)
    os.kill(running.run, signal.SIGKILL)
    (error,) = of_type(running.finish(), "error")
    assert error["text"] == "was killed by signal 9"
    until(lambda: all(parent_of(process) < 0 for process in seen), "a program is left")
    assert list(tmp_path.iterdir()) == []
