"""`make run`: this machine first, then guests; what may fail, and what ends it. Set-up and kernometer are stand-ins."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.support.checkout import ROOT

RUN = "kernometer run --profile quick --report build/report.html --beside-last"
STRUCTURES = "kernometer structures --also @last --report build/report.html"


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """Each stand-in notes its words, and leaves with what STATUS_<its name>_<its first word> says."""
    shutil.copy(ROOT / "Makefile", tmp_path / "Makefile")
    for path in (tmp_path / "scripts/setup", tmp_path / ".venv/bin/kernometer"):
        path.parent.mkdir(parents=True)
        path.write_text('#!/bin/sh\necho "${0##*/} $*" >>calls\neval "exit \\${STATUS_${0##*/}_$1:-0}"\n')
        path.chmod(0o755)
    return tmp_path


def calls(checkout: Path, *, works: bool, **status: int) -> list[str]:
    done = subprocess.run(
        ["make", "-C", str(checkout), "--no-print-directory", "run"],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env=os.environ | {f"STATUS_{word}": str(number) for word, number in status.items()},
    )
    assert (done.returncode == 0) == works, done.stdout + done.stderr
    return (checkout / "calls").read_text().splitlines()


def test_the_first_table_comes_before_what_guests_need(checkout: Path) -> None:
    """Expected: no package for guests is waited for before this machine is measured."""
    assert calls(checkout, works=True) == ["setup run", RUN, "setup guests", STRUCTURES]


@pytest.mark.parametrize(
    "status",
    [
        {"setup_guests": 6},
        {"kernometer_structures": 6},
        {"kernometer_structures": 1},
        {"setup_guests": 6, "kernometer_structures": 6},
    ],
)
def test_it_works_where_qemu_or_a_mirror_is_missing(checkout: Path, status: dict[str, int]) -> None:
    """Expected: all is tried, since QEMU may be here although apt fails, and the machine's own status is make's."""
    assert calls(checkout, works=True, **status) == ["setup run", RUN, "setup guests", STRUCTURES]


def test_a_row_that_failed_does_not_end_it_and_is_not_forgotten(checkout: Path) -> None:
    assert calls(checkout, works=False, kernometer_run=1) == ["setup run", RUN, "setup guests", STRUCTURES]


@pytest.mark.parametrize(
    ("status", "last"), [({"setup_guests": 130}, "setup guests"), ({"kernometer_structures": 130}, STRUCTURES)]
)
def test_ctrl_c_ends_it(checkout: Path, status: dict[str, int], last: str) -> None:
    assert calls(checkout, works=False, **status)[-1] == last


@pytest.mark.parametrize("status", [2, 3, 4, 6, 130])
def test_a_machine_that_was_not_measured_is_a_failure_at_once(checkout: Path, status: int) -> None:
    assert calls(checkout, works=False, kernometer_run=status) == ["setup run", RUN]
