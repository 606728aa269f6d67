"""`run --again`: a stored session's rows, options and seed."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from kernometer.errors import Status
from kernometer.results.model import RowInfo
from kernometer.results.store import Store
from tests.support.cli.storing import call, fill
from tests.support.results import make


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "store")


def planned(store: Store, capsys: pytest.CaptureFixture[str], *words: str) -> list[str]:
    return shlex.split(call(store, capsys, "run", "--dry-run", *words))[1:]


def test_again_means_the_same_rows_options_and_seed(store: Store, capsys: pytest.CaptureFixture[str]) -> None:
    """Expected: the probe's arguments as then, also of a row without parameters; what is said now goes before."""
    effort = {"runs": 3, "seconds": 0.5, "half_width": 0.25, "samples": 7, "budget": 0.0, "batch": 0, "clock": ""}
    fill(store, "syscall/getppid", "ctx/pipe-pair@same-cpu", seed=99, effort=effort, profile="full", label="then")
    then = planned(store, capsys, "--again", "then")
    assert then == shlex.split(
        "--by time --profile full --seed 99 --seconds 0.5 --half-width 0.25 --samples 7 --runs 3 --budget 0 --batch 0 "
        "syscall/getppid@ ctx/pipe-pair@same-cpu"
    )
    changed = planned(store, capsys, "--seed", "5", "syscall/getpid", "--again", "then")
    assert (changed[changed.index("--seed") + 1], changed[-1]) == ("5", "syscall/getpid")
    assert "no result" in call(store, capsys, "run", "--again", "nobody", status=Status.RESULT).lower()


def test_again_repeats_a_command(store: Store, capsys: pytest.CaptureFixture[str]) -> None:
    words = ("kernometer", "run", "--", "echo", "a b")
    fill(store, "cmd/echo@time=real", command=words)
    assert planned(store, capsys, "--again", "@last")[-3:] == ["--", "echo", "a b"]
    assert planned(store, capsys, "--again", "@last", "--", "true")[-2:] == ["--", "true"]
    assert planned(store, capsys, "--again", "@last", "syscall/stat")[-1] == "syscall/stat"


def test_again_of_an_interrupted_session_means_all_that_was_asked_for(
    store: Store, capsys: pytest.CaptureFixture[str]
) -> None:
    """Broken: the rows that came first, and no word of the others."""
    rows = (RowInfo(row="mem/touch@pages=1", id=2), RowInfo(row="mem/touch@pages=4", id=4))
    with store.create(make.session()) as file:
        file.add(make.header())
        file.add(make.workload("mem/touch", rows=rows))
        file.add(make.run(row="mem/touch@pages=1"))
        file.end(complete=False, reason="interrupted")
    assert planned(store, capsys, "--again", "@last")[-2:] == ["mem/touch@pages=1", "mem/touch@pages=4"]
