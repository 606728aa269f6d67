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
#: What of the section stands before the table's rows; the rows.
_TABLE = re.compile(rf"^({TITLE}(?:(?!## ).*\n)*?\| \| file .*\n\|.*\n)((?:\|.*\n)+)", re.MULTILINE)
_ROW = re.compile(r"^\| *\d* *\| (\S.*?) \| *[\d,*]* *\|(?: (.*?))? ?\|$")
_FILE = re.compile(r"\[[^\]]+\]\(([^)]+)\)")


class PathError(Exception):
    """What the section says cannot be."""


def lines(path: Path) -> int:
    """As `wc -l`. Raises PathError."""
    try:
        return path.read_bytes().count(b"\n")
    except OSError as error:
        raise PathError(f"{path}: {error.strerror}") from error


def written(text: str, root: Path) -> str:
    """README.md with the numbers that the files below `root` have. Raises PathError."""
    table = _TABLE.search(text)
    if table is None:
        raise PathError(f"there is no table below {TITLE.strip()!r}")
    files = _FILE.findall(table[2])
    if twice := sorted({each for each in files if files.count(each) > 1}):
        raise PathError(f"twice: {', '.join(twice)}")
    total, number, group = sum(lines(root / each) for each in files), len(files), 0
    if total > MOST:
        raise PathError(f"{total:,} lines are more than {MOST:,}")
    rows: list[str] = []
    for row in reversed(table[2].splitlines()):  # so that a group's lines are known where its name stands
        cells = _ROW.match(row)
        if cells is None:
            raise PathError(f"not a row: {row}")
        if file := _FILE.search(cells[1]):
            count = lines(root / file[1])
            rows.append(f"| {number} | {cells[1]} | {count:,} | {cells[2]} |")
            number, group = number - 1, group + count
        else:
            note = f" {cells[2]}" if cells[2] else ""
            rows.append(f"| | {cells[1]} | **{group if rows else total:,}** |{note} |")
            group = 0
    return text[: table.start(2)] + "\n".join([*reversed(rows), ""]) + text[table.end(2) :]


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
