"""A script's part of a page: the text between its two markers, and where it was measured."""

from __future__ import annotations

import platform
import subprocess
from datetime import UTC, datetime
from pathlib import Path

from kernometer.host.check import check

AGREEMENT = Path(__file__).parents[1] / "docs" / "agreement.md"


def here() -> str:
    """This machine and today, as a table's caption names them."""
    facts = check().as_record()["facts"]
    where = f"Linux {facts['kernel']} {platform.machine()}, {facts['cpu']} ({facts['cpus_online']} CPUs)"
    return f"{where}, {datetime.now(UTC).date()}"


def commit() -> str:
    """The commit that is checked out, and whether anything differs from it."""
    root = str(Path(__file__).parents[1])
    words = ("git", "-C", root, "describe", "--always", "--dirty", "--abbrev=12", "--exclude=*")
    return subprocess.run(words, capture_output=True, text=True, timeout=60, check=True).stdout.strip()


def table_line(*cells: object) -> str:
    """A line of a table in Markdown."""
    return f"| {' | '.join(map(str, cells))} |"


def put(page: Path, script: str, text: str, *, write: bool) -> None:
    """Writes the text into the page, at this script's place, or prints it."""
    if write:
        page.write_text(written(page.read_text(), script, text))
    else:
        print(text)


def written(page: str, script: str, text: str) -> str:
    """The page with `text` between the markers of this script. Raises ValueError if the page lacks them."""
    begin, end = f"<!-- {script}: begin; written by it -->", f"<!-- {script}: end -->"
    head, found_begin, rest = page.partition(begin)
    _, found_end, foot = rest.partition(end)
    if not found_begin or not found_end:
        raise ValueError(f"the page has no place for it: {begin} … {end}")
    return f"{head}{begin}\n\n{text.strip()}\n\n{end}{foot}"
