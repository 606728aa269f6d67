"""Trio's clock: its rates are measured on a machine whose host may be late with anything."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.support.trio.host_programs import HOST, TRIO, built

SEEDS = 200


@pytest.mark.skipif(shutil.which("gcc") is None, reason="the calibration is compiled by gcc")
def test_no_delay_of_the_host_makes_the_rates_wrong_unsaid(tmp_path: Path) -> None:
    """Expected: the rates that the model has, to the part that the kernel says, however late a reading is. Broken: a
    difference of counts that wraps: a division by zero, or a clock that runs fast."""
    sources = [TRIO / "kernel/x86/calibrate.c", HOST / "clock.c"]
    program = built(tmp_path / "clock", sources, HOST / "clock", TRIO / "kernel")
    done = subprocess.run([program, str(SEEDS)], capture_output=True, text=True, timeout=120, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "all holds\n", "")
