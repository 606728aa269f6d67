"""The programs of trio/user, and how they are built."""

from __future__ import annotations

import subprocess
from pathlib import Path

USER = Path(__file__).parents[3] / "trio/user"
PROGRAMS = ("usertests", "fuzz", "gaps", "rs", "probe-trio")


def make(source: Path, build: Path, *programs: str) -> Path:
    """The folder with these programs, made from the sources in `source`."""
    words = ["make", "-s", "-C", str(source), f"BUILD={build}", *(str(build / each) for each in programs)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return build
