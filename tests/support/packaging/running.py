"""A program that a test of packaging runs."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path


def run(words: list[str], folder: Path, env: dict[str, str] | None = None, seconds: float = 300) -> str:
    """A program's output; fails with all that it printed."""
    done = subprocess.run(
        words,
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=seconds,
        check=False,
        env={**{name: value for name, value in os.environ.items() if name != "PYTHONPATH"}, **(env or {})},
    )
    assert done.returncode == 0, f"{words} left with {done.returncode}\n{done.stdout}{done.stderr}"
    return done.stdout
