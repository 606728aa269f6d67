"""The programs of trio/user, and how they are built."""

from __future__ import annotations

from pathlib import Path

from tests.support.checkout import made

USER = Path(__file__).parents[3] / "trio/user"
PROGRAMS = ("usertests", "fuzz", "gaps", "rs", "probe-trio")


def make(source: Path, build: Path, *programs: str) -> Path:
    """The folder with these programs, made from the sources in `source`."""
    return made(source, build, *(str(build / each) for each in programs))
