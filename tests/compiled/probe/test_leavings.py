"""Whatever ends a row of files, nothing is left: not in the folder given, and nothing was ever made outside it.

Every row of the family is found by the list of the probe, so a new one is tried by itself. Where a file system or a
limit is too small, the error names the row and what to do.
"""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.support.probe.running import BATCHED, LIMIT_SECONDS, LONG, TINY, children, of_type, parent_of, until
from tests.support.turns import in_turn

pytestmark = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs Linux's /proc")


def listed(probe: Path) -> list[dict[str, Any]]:
    """The workloads of files, each with those of its rows that can be measured by time here."""
    done = subprocess.run(
        [probe, "--list", "--json", "--profile", "full", "fs/*"], capture_output=True, check=True, timeout=60
    )
    found = [json.loads(line) for line in done.stdout.splitlines() if line.startswith(b"{")]
    workloads = [each for each in found if each["name"].startswith("fs/")]
    for each in workloads:
        each["rows"] = [row["row"] for row in each["rows"] if not row["unsupported"]]
    return workloads


def rows(probe: Path) -> list[str]:
    found = [row for workload in listed(probe) for row in workload["rows"]]
    assert len(found) > 90
    return found


def one_each(probe: Path) -> list[str]:
    return [workload["rows"][0] for workload in listed(probe) if workload["rows"]]


@dataclass
class Watched:
    """A folder for the probe, and three that a careless program would write to."""

    given: Path
    elsewhere: tuple[Path, ...]

    def start(self, probe: Path, *words: str) -> subprocess.Popen[str]:
        cwd, home, tmp = self.elsewhere
        return subprocess.Popen(
            [probe, "--dir", self.given, *words],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            cwd=cwd,
            env={**os.environ, "HOME": str(home), "TMPDIR": str(tmp)},
        )

    def files(self) -> list[Path]:
        """What the probe has made so far, its own folders apart."""
        return [path for path in self.given.rglob("*") if path.parent != self.given and path.name != "run"]

    def left(self) -> list[Path]:
        return [path for folder in (self.given, *self.elsewhere) for path in folder.iterdir()]


@pytest.fixture
def watched(tmp_path: Path) -> Watched:
    given, *elsewhere = (tmp_path / name for name in ("given", "cwd", "home", "tmp"))
    for folder in (given, *elsewhere):
        folder.mkdir()
    return Watched(given, tuple(elsewhere))


def end_by(number: int, driver: subprocess.Popen[str]) -> None:
    """SIGKILL reaches the measuring process, as the kernel sends it when memory is short; the others the driver."""
    if number != signal.SIGKILL:
        driver.send_signal(number)
        return
    for run in children(driver.pid):
        try:
            os.kill(run, number)
        except ProcessLookupError:
            continue


def try_to_end(number: int, probe: Path, row: str, watched: Watched) -> str:
    """Waits until a file of the row's is there, then ends it. What was said, its processes gone; "" if unsupported."""
    with watched.start(probe, *LONG, *BATCHED, row) as driver:
        until(lambda: watched.files() or driver.poll() is not None, f"{row} makes no file")
        processes = [each for run in children(driver.pid) for each in (run, *children(run))]
        end_by(number, driver)
        text, _ = driver.communicate(timeout=LIMIT_SECONDS)
    until(lambda: all(parent_of(each) < 0 for each in processes), f"a process of {row} is left")
    if of_type(text, "unsupported"):
        return ""
    assert driver.returncode == (1 if number == signal.SIGKILL else 128 + number), (row, text)
    return text


def end_each(number: int, probe: Path, names: list[str], watched: Watched) -> None:
    for row in names:
        text = try_to_end(number, probe, row, watched)
        assert watched.left() == [], row
        if text and number == signal.SIGKILL:
            (error,) = of_type(text, "error")
            assert error["row"] == row
            assert "killed by signal 9" in error["text"]


NUMBERS = [signal.SIGINT, signal.SIGTERM, signal.SIGKILL]


@pytest.mark.parametrize("number", in_turn(NUMBERS, 0.06, always=[signal.SIGTERM]))
def test_a_signal_leaves_no_file_of_any_workload(number: int, probe: Path, watched: Watched) -> None:
    """Expected: the folders are empty. Broken: what the row was at stays, or went to where the probe was called."""
    end_each(number, probe, one_each(probe), watched)


@pytest.mark.slow(minutes=0.5)
@pytest.mark.parametrize("number", NUMBERS)
def test_a_signal_leaves_no_file_of_any_row(number: int, probe: Path, watched: Watched) -> None:
    """The same of every row: large files take longer to make, and more processes longer to end."""
    end_each(number, probe, rows(probe), watched)


@pytest.mark.slow(minutes=0.1)
def test_a_whole_run_writes_in_the_folder_given_and_nowhere_else(probe: Path, watched: Watched) -> None:
    """Expected: a run or a reason each, and empty folders. Broken: a name that is relative to another folder."""
    with watched.start(probe, *TINY, *one_each(probe)) as driver:
        text, _ = driver.communicate(timeout=LIMIT_SECONDS)
    assert of_type(text, "error") == []
    assert len(of_type(text, "run") + of_type(text, "unsupported")) == len(one_each(probe))
    assert watched.left() == []


def errors_of(text: str, asked: list[str]) -> dict[str, str]:
    """Row → what its error says; each row that was asked for has a run, a reason or an error."""
    told = of_type(text, "run") + of_type(text, "unsupported") + of_type(text, "error")
    assert sorted(record["row"] for record in told) == sorted(asked)
    return {error["row"]: error["text"] for error in of_type(text, "error")}


def test_a_file_limit_is_an_error_that_names_it(probe: Path, tmp_path: Path) -> None:
    """Expected: whatever makes a file of 4 KiB or more says which limit is in its way. Broken: killed by SIGXFSZ."""

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (256, 256))

    asked = one_each(probe)
    done = subprocess.run(
        [probe, "--dir", tmp_path, *TINY, *asked],
        stdout=subprocess.PIPE, text=True, timeout=LIMIT_SECONDS, check=False, preexec_fn=limit,
    )  # fmt: skip  # as a command line
    errors = errors_of(done.stdout, asked)
    assert len(errors) > 10
    assert all("ulimit -f" in text for text in errors.values()), errors
    assert done.returncode == 1
    assert list(tmp_path.iterdir()) == []


@pytest.fixture
def full_disk(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "disk"
    folder.mkdir()
    made = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=128k", "tmpfs", folder], capture_output=True, check=False
    )
    if made.returncode != 0:
        pytest.skip("mounting a small file system needs root")
    yield folder
    subprocess.run(["umount", folder], check=True, timeout=20)


def test_a_full_disk_is_an_error_that_says_what_is_needed(probe: Path, full_disk: Path) -> None:
    """Expected: what is free, what is needed, what to do; of every workload of files. Broken: ENOSPC half way."""
    asked = one_each(probe)
    done = subprocess.run(
        [probe, "--dir", full_disk, *TINY, *asked],
        stdout=subprocess.PIPE,
        text=True,
        timeout=LIMIT_SECONDS,
        check=False,
    )
    errors = errors_of(done.stdout, asked)
    assert sorted(errors) == sorted(asked)
    assert all("KiB are free" in text and "--dir" in text for text in errors.values()), errors
    assert done.returncode == 1
    assert list(full_disk.iterdir()) == []


def test_a_killed_process_of_many_ends_the_run(probe: Path, watched: Watched) -> None:
    """Of the processes that share a file one is killed: an error, nobody left, no file. Broken: the others wait."""
    row = next(each for each in rows(probe) if "procs=4" in each)
    with watched.start(probe, *LONG, *BATCHED, row) as driver:
        run = until(lambda: children(driver.pid), "no run began")[0]
        peers = until(lambda: found if len(found := children(run)) == 4 else None, "the processes did not start")
        os.kill(peers[2], signal.SIGKILL)
        text, _ = driver.communicate(timeout=LIMIT_SECONDS)
    (error,) = of_type(text, "error")
    assert error["row"] == row
    assert "killed by signal 9" in error["text"]
    until(lambda: all(parent_of(each) < 0 for each in peers), "a process is left")
    assert watched.left() == []
