"""The same workloads measured another way, as a user asks for it: a coarse clock, one timing each, another build."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from kernometer.results.model import Header
from kernometer.results.store import Store
from tests.support.cli.real import kernometer

TINY = ("--runs", "2", "--seconds", "0.02")


def header(store: Path, which: str) -> Header:
    found = Store(store).load(which).header
    assert found is not None
    return found


def test_a_clock_that_cannot_tell_says_below_resolution_and_never_0(tmp_path: Path) -> None:
    """Expected: M's "None": a few microseconds by a clock of 10 ms are no figure, and the table says why. Broken: 0."""
    rows = [f"syscall/mix-loops@loops={loops}" for loops in (1, 10, 100)]
    done = kernometer(tmp_path, "run", "--clock", "times", *TINY, "--json", *rows)
    found = {row["row"]: row for row in json.loads(done.stdout)["rows"]}
    assert set(found) == set(rows)
    assert {row["value"] for row in found.values()} == {None}
    assert all("below-resolution" in json.dumps(row["flags"]) for row in found.values())
    table = kernometer(tmp_path, "show", "@last", "--points").stdout
    assert "resolution" in table and "b below clock (3 rows)" in table
    assert " 0 ns" not in table
    assert header(tmp_path, "@last").clock == "times"


@pytest.mark.slow(minutes=0.1)
def test_each_iteration_may_be_timed_alone(tmp_path: Path) -> None:
    """Expected: samples of one iteration, as many as asked for, on both sides of a comparison too."""
    kernometer(tmp_path, "run", "--runs", "2", "--seconds", "60", "--batch", "1", "--samples", "50", "syscall/getppid@")
    assert {(run.batch, len(run.samples)) for run in Store(tmp_path).load("@last").runs} == {(1, 50)}
    kernometer(tmp_path, "ab", "--blocks", "2", "--seconds", "0.005", "--batch", "1", "local", "local", "sig/install")
    for which in ("@last", "@1"):
        assert {run.batch for run in Store(tmp_path).load(which).runs} == {1}


@pytest.mark.slow(minutes=0.07)
def test_both_sides_of_a_comparison_take_the_clock_asked_for(tmp_path: Path) -> None:
    words = ("--blocks", "2", "--seconds", "0.005", "--clock", "gettimeofday")
    kernometer(tmp_path, "ab", *words, "local", "local", "sig/install")
    assert {header(tmp_path, which).clock for which in ("@last", "@1")} == {"gettimeofday"}


@pytest.mark.parametrize(
    ("compiler", "flags"),
    [
        ("cc -O0", "-O0"),
        pytest.param(*["i686-linux-gnu-gcc -O2 -static"] * 2, marks=pytest.mark.slow(minutes=0.2)),
    ],
)
def test_the_build_of_the_probe_is_part_of_the_target(compiler: str, flags: str, tmp_path: Path) -> None:
    if shutil.which(compiler.split()[0]) is None:
        pytest.skip(f"there is no {compiler.split()[0]} here")
    kernometer(tmp_path, "run", *TINY, "--on", f"local:{compiler}", "syscall/getppid@", "cpu/arith-long")
    result = Store(tmp_path).load("@last")
    assert flags in header(tmp_path, "@last").probe["flags"]
    assert {run.row for run in result.runs} == {"syscall/getppid", "cpu/arith-long"}
