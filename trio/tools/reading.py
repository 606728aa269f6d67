"""The core of Trio on one reading path: writes the numbers of the table in README.md's section "An evening's reading".

python3 reading.py README.md        each file's lines (as `wc -l` counts them), each group's, those of all

A row is a file, which a link names, or a group, whose name is bold and whose files follow; the last one is all. Exit
status 1: there is no such table, a file is not there or stands twice, or all have more lines than an evening has.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

TITLE = "## An evening's reading\n"
#: What a reader gets through, and no more.
MOST = 8000
_ROW = re.compile(r"^\| *\d* *\| (\S.*?) \| *[\d,*]* *\| ?(.*?) ?\|$")
_FILE = re.compile(r"\[[^\]]+\]\(([^)]+)\)")


class PathError(Exception):
    """What the section says cannot be."""


def lines(path: Path) -> int:
    """As `wc -l`. Raises PathError."""
    try:
        return path.read_bytes().count(b"\n")
    except OSError as error:
        raise PathError(f"{path}: {error.strerror}") from error


def section(text: str) -> tuple[str, str, str]:
    """What stands before the section's table, the table, what follows. Raises PathError."""
    before, title, rest = text.partition(TITLE)
    match = re.search(r"^\| \| file .*\n\|.*\n((?:\|.*\n)+)", rest.split("\n## ")[0], re.MULTILINE)
    if not title or match is None:
        raise PathError(f"there is no table below {TITLE.strip()!r}")
    return before + title + rest[: match.start(1)], match[1], rest[match.end(1) :]


def files(table: str) -> list[str]:
    """In reading order. Raises PathError: one stands twice."""
    found = [match[1] for row in table.splitlines() if (match := _FILE.search(row))]
    if twice := sorted({each for each in found if found.count(each) > 1}):
        raise PathError(f"twice: {', '.join(twice)}")
    return found


def _row(number: str, name: str, count: str, note: str) -> str:
    return f"| {number} | {name} | {count} | {note} |".replace("|  |", "| |")


def _rows(table: str, root: Path) -> list[str]:
    """With their numbers, from the last one up, so that a group's is known where its name stands."""
    named, numbers = files(table), {each: number for number, each in enumerate(files(table), 1)}
    total, group, made = sum(lines(root / each) for each in named), 0, []
    if total > MOST:
        raise PathError(f"{total:,} lines are more than {MOST:,}")
    for row in reversed(table.splitlines()):
        match = _ROW.match(row)
        if match is None:
            raise PathError(f"not a row: {row}")
        file = _FILE.search(match[1])
        if file:
            count = lines(root / file[1])
            group += count
            made.append(_row(str(numbers[file[1]]), match[1], f"{count:,}", match[2]))
        else:
            made.append(_row("", match[1], f"**{group if made else total:,}**", match[2]))
            group = 0
    return made[::-1]


def written(text: str, root: Path) -> str:
    """README.md with the numbers that the files below `root` have. Raises PathError."""
    before, table, behind = section(text)
    return before + "\n".join(_rows(table, root)) + "\n" + behind


def main(arguments: list[str]) -> int:
    if len(arguments) != 1:
        print(__doc__, file=sys.stderr)
        return 2
    path = Path(arguments[0])
    try:
        path.write_text(written(path.read_text(), Path(__file__).parents[1]))
    except PathError as error:
        print(f"{path}: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
