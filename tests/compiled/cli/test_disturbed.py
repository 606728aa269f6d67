"""What disturbs a run is seen and said, and what the clock cannot tell is not called a figure."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.cli.real import figures, kernometer


def flags(row: dict[str, Any]) -> set[str]:
    return {flag["code"] for flag in row["flags"]}


@pytest.fixture
def hog() -> Iterator[None]:
    """A busy process on the CPU that runs are pinned to, the last one allowed."""
    cpu = max(os.sched_getaffinity(0))
    code = f"import os\nos.sched_setaffinity(0, {{{cpu}}})\nprint(flush=True)\nwhile True: pass"
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        yield
        process.kill()


@pytest.mark.slow(minutes=0.2)
@pytest.mark.usefixtures("hog")
def test_process_that_hogs_the_same_cpu_is_flagged(tmp_path: Path) -> None:
    """Expected: disturbed, with the time spent waiting. Broken: half the speed, reported as clean."""
    rows = figures(tmp_path, "syscall/getppid", "cpu/arith-int", "--seconds", "0.2", "--half-width", "0")
    for name in ("syscall/getppid", "cpu/arith-int"):
        assert "disturbed" in flags(rows[name])


def test_what_takes_less_than_a_step_of_the_clock_is_below_resolution(tmp_path: Path) -> None:
    """gettimeofday tells microseconds; a call takes a tenth. Expected: no figure. Broken: 0 ns, or noise."""
    row = figures(tmp_path, "syscall/getppid", "--clock", "gettimeofday", "--batch", "1", "--runs", "3")
    assert row["syscall/getppid"]["value"] is None
    assert "below-resolution" in flags(row["syscall/getppid"])


def test_same_clock_with_a_calibrated_batch_tells_the_call(tmp_path: Path) -> None:
    row = figures(tmp_path, "syscall/getppid", "--clock", "gettimeofday", "--runs", "3")["syscall/getppid"]
    assert row["value"] > 0
    assert "below-resolution" not in flags(row)


def test_interrupted_session_keeps_what_was_measured(tmp_path: Path) -> None:
    """Expected: status 130, and a stored result that says so. Broken: all lost, or a result that looks complete."""
    argv = [sys.executable, "-m", "kernometer", "--store", str(tmp_path), "run", "syscall/*", "--runs", "100"]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        while not any(file.stat().st_size > 50_000 for file in tmp_path.glob("*.ndjson")):
            assert process.poll() is None
        process.send_signal(2)
        _, said = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "is kept" in said
    shown = kernometer(tmp_path, "show", "@last").stdout
    assert "interrupted" in shown
    assert "syscall/" in shown
