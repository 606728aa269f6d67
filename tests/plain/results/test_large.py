"""A store of some size, by the script that measures large ones: every command answers, within its memory."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]


@pytest.mark.slow(minutes=0.8)
def test_every_command_answers_in_a_store_of_a_hundred_thousand_samples(tmp_path: Path) -> None:
    """Expected: a time and a memory in each cell, no dash. Broken: a command that fails, or takes over 1 GiB."""
    words = ("-m", "studies.stores", "--results", "100", "--keep", str(tmp_path))
    done = subprocess.run((sys.executable, *words), cwd=ROOT, capture_output=True, text=True, timeout=900, check=True)
    head, _, row = done.stdout.splitlines()[-3:]
    samples, results, *cells = (cell.strip() for cell in row.strip("|").split("|"))
    assert int(samples.replace(",", "")) >= 100_000 and results == "100"
    assert len(cells) == len(head.strip("|").split("|")) - 2 == 7
    assert all(re.fullmatch(r"[0-9.]+ s, [0-9]+ MiB", cell) for cell in cells), row
    assert len(list((tmp_path / "100" / "results").glob("*.ndjson"))) == 100
