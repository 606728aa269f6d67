"""Do limit/* find the limit that is there, by a clean refusal, and give everything back?"""

from __future__ import annotations

import errno
import os
import resource
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.probe.running import LIMIT_SECONDS, TINY, of_type

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
    """Expected: the user's 40 less driver, run and its other process, which is refused one too; all are gone
    afterwards, so that the second row finds the same. Broken: nobody says what a full system does to others."""
    who: dict[str, Any] = {"user": NOBODY, "group": NOBODY, "extra_groups": []} if os.getuid() == 0 else {}
    if not who:
        pytest.skip("only root can be another user, who has no other processes")
    rows = ("limit/processes@most=500", "limit/processes@most=2000", "syscall/getppid")
    limit = limiting(resource.RLIMIT_NPROC, 40)
    text = climb(everybodys / "probe", everybodys, *rows, limit=limit, **who)
    runs = {run["row"]: run for run in of_type(text, "run")}
    assert of_type(text, "error") == []
    for row in rows[:2]:
        assert set(runs[row]["samples"]) == {37}
        assert [warning["text"] for warning in runs[row]["warnings"]] == [
            f"at the limit another process was refused one too: {os.strerror(errno.EAGAIN)}"
        ]
    assert "syscall/getppid" in runs


@pytest.fixture
def group() -> Iterator[Path]:
    """A control group for 60 processes: of version 2, or of version 1, as the system has them."""
    hierarchies = [path for path in map(Path, ("/sys/fs/cgroup/pids", "/sys/fs/cgroup")) if path.is_dir()]
    made = hierarchies[0] / f"kernometer-test-{os.getpid()}" if hierarchies else Path("/nowhere/at-all")
    try:
        made.mkdir()
        (made / "pids.max").write_text("60")
    except OSError as error:
        if made.is_dir():
            made.rmdir()
        pytest.skip(f"no control group can be made here: {error}")
    yield made
    made.rmdir()


def test_processes_of_a_control_group_are_refused_to_all_of_it(group: Path, probe: Path, tmp_path: Path) -> None:
    """Expected: 60 less three, and the other process is refused too. Broken: only a full system shows that."""

    def enter() -> None:
        (group / "cgroup.procs").write_text(str(os.getpid()))

    (run,) = of_type(climb(probe, tmp_path, "limit/processes@most=500", limit=enter), "run")
    assert set(run["samples"]) == {57}
    assert [warning["text"].partition(":")[0] for warning in run["warnings"]] == [
        "at the limit another process was refused one too"
    ]


@pytest.mark.parametrize("by", ["time", "path"])
def test_a_process_that_limits_itself_is_refused_in_every_run(by: str, probe: Path, tmp_path: Path) -> None:
    """Expected: up to 40 processes, and none of it is felt by others. Broken: a ceiling of ours is met and no limit, as
    root, whom no such limit holds."""
    row = "limit/processes-own@most=500,own=40"
    (run,) = of_type(climb(probe, tmp_path, "--seconds", "60", row, limit=lambda: None, by=by), "run")
    assert len(run["samples"]) >= 1
    assert all(0 < count <= 40 for count in run["samples"])
    assert [warning["text"] for warning in run["warnings"]] == ["at the limit another process was given one"]


def test_touched_memory_is_counted_up_to_the_limit(probe: Path, tmp_path: Path) -> None:
    """Expected: 200 MiB less the program's own, or, where there is no limit, unsupported and what to do."""
    row = "limit/memory-touched@most=512"
    (run,) = of_type(climb(probe, tmp_path, row, limit=limiting(resource.RLIMIT_AS, 200 * MIB), by="path"), "run")
    assert 150 < run["samples"][0] < 200
    assert run["warnings"] == []
    (record,) = of_type(climb(probe, tmp_path, row, limit=lambda: None, by="path"), "unsupported")
    assert record["reason"].endswith("(+memory=256)")


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
