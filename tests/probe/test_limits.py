"""Do limit/* find the limit that is there, by a clean refusal, and give everything back?"""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from .running import LIMIT_SECONDS, TINY, of_type

MIB = 1 << 20
NOBODY = 65534

pytestmark = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs Linux's /proc")


@pytest.fixture
def everybodys(probe: Path) -> Iterator[Path]:
    """A folder with the probe, which an ordinary user may use: pytest's own folders are closed to others."""
    folder = Path(tempfile.mkdtemp(prefix="kernometer-test-"))
    folder.chmod(0o777)
    shutil.copy(probe, folder / "probe")
    (folder / "probe").chmod(0o755)
    yield folder
    shutil.rmtree(folder)


def climb(probe: Path, folder: Path, *rows: str, limit: Callable[[], None], by: str = "time", **how: Any) -> str:
    words: list[str | Path] = [probe, "--dir", folder, "--profile", "full", "--by", by, *TINY, *rows]
    done = subprocess.run(
        words, capture_output=True, text=True, timeout=LIMIT_SECONDS, check=False, preexec_fn=limit, **how
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return str(done.stdout)


def limiting(what: int, most: int) -> Callable[[], None]:
    return lambda: resource.setrlimit(what, (most, most))


@pytest.mark.parametrize("by", ["time", "path"])
def test_open_files_are_counted_up_to_the_limit(by: str, probe: Path, tmp_path: Path) -> None:
    """Expected: the limit less the few that are open anyway, the same in every climb. Broken: a leak, or a time."""
    limit = limiting(resource.RLIMIT_NOFILE, 100)
    (run,) = of_type(climb(probe, tmp_path, "--seconds", "60", "limit/files@most=8192", limit=limit, by=by), "run")
    assert run["batch"] == 1
    assert len(run["samples"]) >= 2
    assert len(set(run["samples"])) == 1
    assert 80 <= run["samples"][0] < 98
    assert "baseline" not in run
    assert run["loop_cost"] == run["clock_cost"] == []


def test_memory_is_counted_up_to_the_limit(probe: Path, tmp_path: Path) -> None:
    """Expected: 200 MiB less the program's own; under its own limit of 64 MiB at most that."""
    limit = limiting(resource.RLIMIT_AS, 200 * MIB)
    rows = ("limit/memory@most=1024,own_mib=0", "limit/memory@most=1024,own_mib=64")
    runs = of_type(climb(probe, tmp_path, *rows, limit=limit), "run")
    counts = {run["row"]: set(run["samples"]) for run in runs}
    assert all(len(values) == 1 for values in counts.values())
    assert 150 < counts[rows[0]].pop() < 200
    assert 40 < counts[rows[1]].pop() < 64


def test_processes_are_counted_up_to_the_limit(everybodys: Path) -> None:
    """Expected: the user's 40 less driver and run; all are gone afterwards, so that the second row finds the same."""
    who: dict[str, Any] = {"user": NOBODY, "group": NOBODY, "extra_groups": []} if os.getuid() == 0 else {}
    if not who:
        pytest.skip("only root can be another user, who has no other processes")
    rows = ("limit/processes@most=500", "limit/processes@most=2000", "syscall/getppid")
    limit = limiting(resource.RLIMIT_NPROC, 40)
    text = climb(everybodys / "probe", everybodys, *rows, limit=limit, **who)
    runs = {run["row"]: run["samples"] for run in of_type(text, "run")}
    assert of_type(text, "error") == []
    for row in rows[:2]:
        assert set(runs[row]) == {38}
    assert "syscall/getppid" in runs


def test_a_ceiling_of_ours_is_no_limit(probe: Path, tmp_path: Path) -> None:
    """Expected: unsupported, and why, said once. Broken: 8,192 as a figure where the system would have given more."""
    limit = limiting(resource.RLIMIT_NOFILE, 9000)
    text = climb(probe, tmp_path, "--runs", "3", "limit/files@most=8192", limit=limit)
    assert of_type(text, "run") == []
    (record,) = of_type(text, "unsupported")
    assert record["reason"].startswith("not refused up to 8192 open files")


def test_a_refusal_of_the_first_is_an_error(probe: Path, tmp_path: Path) -> None:
    """From too few descriptors for a run to enough for some: each time a count of one or more, or an error."""
    for most in range(6, 16):
        words: list[str | Path] = [probe, "--dir", tmp_path, *TINY, "limit/files@most=8192"]
        limit = limiting(resource.RLIMIT_NOFILE, most)
        done = subprocess.run(
            words, capture_output=True, text=True, timeout=LIMIT_SECONDS, check=False, preexec_fn=limit
        )
        runs, errors = of_type(done.stdout, "run"), of_type(done.stdout, "error")
        assert len(runs) + len(errors) == 1
        assert done.returncode == (1 if errors else 0)
        assert all(0 < count < most for run in runs for count in run["samples"])
