"""Rows of files on a disk with a certain file system: who is told what, where the files go, and what is left there."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

from tests.support.probe.outcomes import BY_PATH, listed, start

ROW = "fs/create-read@files=10,reads=10"


@pytest.fixture(scope="module")
def shim(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A library that pretends about file systems, for probes that are linked dynamically."""
    made = tmp_path_factory.mktemp("shim") / "pretend.so"
    source = Path(__file__).with_name("pretend.c")
    subprocess.run(("cc", "-shared", "-fPIC", "-o", str(made), str(source)), check=True, timeout=60)
    return made


@pytest.fixture
def folders(tmp_path: Path) -> dict[str, Path]:
    """For temporary files, for ext4 and for minix."""
    found = {kind: tmp_path / kind for kind in ("usual", "ext4", "minix")}
    for each in found.values():
        each.mkdir()
    return found


def given(folders: dict[str, Path]) -> tuple[str, ...]:
    disks = (word for kind in ("ext4", "minix") for word in ("--disk", f"{kind}={folders[kind]}"))
    return (*BY_PATH, "--dir", str(folders["usual"]), *disks)


def test_the_list_by_path_says_what_each_row_needs(probe: Path) -> None:
    """Expected: measurable, with what a guest must provide, for three rows of one name. Broken: the front end plans
    without them, or plans rows that no guest was asked to make a disk for."""
    rows = listed(probe, *BY_PATH, "fs/*")
    for workload in ("fs/read", "fs/write", "fs/copy", "fs/create-read", "fs/read-buffer"):
        of_it = {name: row for name, row in rows.items() if name.startswith(f"{workload}@")}
        for kind in ("ext4", "minix"):
            on_disk = [row for name, row in of_it.items() if name.endswith(f",{kind}")]
            assert on_disk, workload
            for row in on_disk:
                assert row["row"].removesuffix(f",{kind}") in of_it
                assert (row["needs"], row["unsupported"], row["params"]["disk"]) == ([kind], "", kind)
                assert "quick" in row["profiles"]
    assert all(row["needs"] == [] for name, row in rows.items() if not name.endswith((",ext4", ",minix")))


def test_by_time_they_are_in_no_profile_and_give_a_reason_when_named(probe: Path) -> None:
    """Expected: not among the rows of a session that names none; named, unsupported with the reason."""
    for profile in ("quick", "full"):
        assert not [name for name in listed(probe, "--profile", profile) if name.endswith((",ext4", ",minix"))]
    row = listed(probe, f"{ROW},ext4")[f"{ROW},ext4"]
    assert "by path alone" in row["unsupported"]


def test_without_a_disk_the_row_is_unsupported_and_the_others_are_measured(probe: Path, tmp_path: Path) -> None:
    """Expected: two reasons, one figure, a good status. Broken: an error, or the figure of another file system."""
    found = start(probe, *BY_PATH, "--dir", str(tmp_path), "fs/create-read")
    assert [run["row"] for run in found.of("run")] == [ROW]
    reasons = {record["row"]: record["reason"] for record in found.of("unsupported")}
    assert set(reasons) == {f"{ROW},ext4", f"{ROW},minix"}
    assert all("--disk" in reason for reason in reasons.values())
    assert found.status == 0


def test_a_reason_that_was_given_is_the_one_in_the_record(probe: Path, tmp_path: Path) -> None:
    """Expected: the words of whoever knows why. Broken: the user is told to give a disk that cannot be had."""
    reason = "The kernel of linux-6.1 has no minix."
    words = ("--dir", str(tmp_path), "--no-disk", f"minix={reason}", f"{ROW},minix")
    (record,) = start(probe, *BY_PATH, *words).of("unsupported")
    assert record["reason"] == reason


def test_files_are_on_the_disk_that_was_given_and_gone_afterwards(
    probe: Path, shim: Path, folders: dict[str, Path]
) -> None:
    """Expected: a figure each, from the disk's own folder; nothing left. Broken: all three are the figure of --dir."""
    found = start(probe, *given(folders), "fs/*", env={"LD_PRELOAD": str(shim)})
    assert found.of("error") == []
    where = {
        run["row"]: warning["text"]
        for run in found.of("run")
        for warning in run["warnings"]
        if warning["code"] == "file-system"
    }
    for kind in ("ext4", "minix"):
        of_kind = [row for row in where if row.endswith(f",{kind}")]
        assert len(of_kind) >= 5
        assert all(kind in where[row] for row in of_kind)
    assert [list(folder.iterdir()) for folder in folders.values()] == [[], [], []]
    assert found.status == 0


def test_a_folder_on_another_file_system_is_an_error_of_its_rows_alone(
    probe: Path, shim: Path, folders: dict[str, Path], tmp_path: Path
) -> None:
    """Expected: an error that names folder and kind; the other rows have figures. Broken: tmpfs passes for MINIX FS."""
    words = (*given(folders), "--disk", f"minix={tmp_path / 'usual'}", "fs/read", "fs/create-read")
    found = start(probe, *words, env={"LD_PRELOAD": str(shim)})
    errors = found.of("error")
    assert {error["row"].rpartition(",")[2] for error in errors} == {"minix"}
    assert len(errors) == 2
    assert all(str(tmp_path / "usual") in error["text"] and "minix" in error["text"] for error in errors)
    assert len(found.of("run")) == 4
    assert found.status == 1


TMPFS = Path("/dev/shm")  # noqa: S108  # looked at, never written to


@pytest.mark.skipif(not TMPFS.is_dir(), reason="there is no tmpfs in /dev/shm here")
def test_tmpfs_is_not_taken_for_ext4(probe: Path, tmp_path: Path) -> None:
    """Expected: the real statfs tells, without the shim."""
    found = start(probe, *BY_PATH, "--dir", str(tmp_path), "--disk", f"ext4={TMPFS}", f"{ROW},ext4")
    (error,) = found.of("error")
    assert "on tmpfs" in error["text"]
    assert list(tmp_path.iterdir()) == []


def test_a_disk_that_is_not_there_is_an_error_with_its_cause(probe: Path, tmp_path: Path) -> None:
    found = start(probe, *BY_PATH, "--dir", str(tmp_path), "--disk", f"ext4={tmp_path}/none", f"{ROW},ext4")
    (error,) = found.of("error")
    assert "No such file or directory" in error["text"]
    assert found.status == 1


def test_a_killed_row_leaves_nothing_on_its_disk(probe: Path, shim: Path, folders: dict[str, Path]) -> None:
    """Expected: an error that says so, an empty disk. Broken: its files stay, and the next row finds less room."""
    env = {"LD_PRELOAD": str(shim), "PRETEND_KILL": "1"}
    found = start(probe, *given(folders), f"{ROW},ext4", f"{ROW},minix", env=env)
    assert ["killed by signal 9" in error["text"] for error in found.of("error")] == [True, True]
    assert [list(folder.iterdir()) for folder in folders.values()] == [[], [], []]


def test_a_terminated_probe_leaves_nothing_on_a_disk(probe: Path, shim: Path, folders: dict[str, Path]) -> None:
    """Expected: gone within seconds, with its folders. Broken: only --dir is cleared."""
    words = (*given(folders), "--profile", "full", "--runs", "100000", f"{ROW},ext4", f"{ROW},minix")
    with subprocess.Popen(
        (str(probe), *words), stdout=subprocess.DEVNULL, env={**os.environ, "LD_PRELOAD": str(shim)}
    ) as process:
        limit = time.monotonic() + 60
        while not list(folders["minix"].iterdir()):
            assert time.monotonic() < limit
            assert process.poll() is None
            time.sleep(0.01)
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=60) == 128 + signal.SIGTERM
    assert [list(folder.iterdir()) for folder in folders.values()] == [[], [], []]


@pytest.mark.parametrize("word", ["ext3=/tmp", "ext4", "ext4=", "=/tmp", "ext4x=/tmp"])
def test_a_disk_of_no_kind_is_refused(probe: Path, word: str) -> None:
    """Expected: status 2 and the word. Broken: it is taken for nothing, and the row is unsupported without reason."""
    found = start(probe, *BY_PATH, "--disk", word, ROW)
    assert found.status == 2
    assert word in found.said
