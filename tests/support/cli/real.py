"""Kernometer on the real machine, as a user calls it; its answers as JSON."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

#: Seconds; a call takes a few, on a loaded machine some more.
PATIENCE = 900


def kernometer(store: Path, *words: str, status: int = 0) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        [sys.executable, "-m", "kernometer", "--store", str(store), *words],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
        env=os.environ | {"PYTHONWARNINGS": "error"},
    )
    assert done.returncode == status, done.stdout + done.stderr
    return done


def figures(store: Path, *words: str) -> dict[str, dict[str, Any]]:
    """The rows of `run WORDS`, by name."""
    document = json.loads(kernometer(store, "run", "--json", *words).stdout)
    return {row["row"]: row for row in document["rows"]}


def judged(store: Path, *words: str) -> dict[str, dict[str, Any]]:
    """The rows of `ab WORDS`, by name."""
    (comparison,) = json.loads(kernometer(store, "ab", "--json", *words).stdout)
    return {row["row"]: row for row in comparison["rows"]}
