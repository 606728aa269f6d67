"""Is each row of docs/trio-walks.md so: is the function where the row says, and does the one before come to it?"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

import idl
from tests.support.trio import rules

ROOT = Path(__file__).parents[3] / "trio"
PAGE = Path(__file__).parents[3] / "docs" / "trio-walks.md"
WALKS = ("A pipe is empty: read waits", "fork", "A page fault", "open on the disk")

_ROW = re.compile(r"^\| (\d+) \| (\S.*?) \| \[([^\]]+)\]\(\.\./trio/([^)]+)\) `(\w+)` \| (\S.*?) \|$", re.MULTILINE)
_TABLE = re.compile(r"^\| \| how \|.*\n\|.*\n((?:\|.*\n)+)", re.MULTILINE)
_NAMED = re.compile(r"\(\.\./trio/([^)]+)\)\s+((?:`\w+`(?:, )?)+)")


@dataclass(frozen=True)
class Row:
    """A step of a walk. `body`: the function's lines, from its name on; empty: it is not there."""

    number: int
    how: str
    path: str
    function: str

    @property
    def body(self) -> str:
        return generated(self.function) if self.path.endswith(".idl") else body_of(source(self.path), self.function)


@cache
def source(path: str) -> str:
    return rules.without_comments((ROOT / path).read_text()) if (ROOT / path).is_file() else ""


@cache
def made(structure: str) -> str:
    """All that is made of the interfaces and of a structure."""
    words = [idl.written(Path(), ROOT / "interfaces", ROOT / "config/services.toml", each) for each in ("", structure)]
    return "\n".join(text for files in words for text in files.values())


def generated(function: str) -> str:
    """The same function, in mono, or where that has none, in micro."""
    return body_of(made("mono"), function) or body_of(made("micro"), function)


def body_of(text: str, function: str) -> str:
    """Of C to its closing brace; of assembly, from its label to the end of what is globally visible there. Empty where
    the text has not just one."""
    pattern = rf"^(?!#)(?:\S[^;\n]*\b{function}\([^;{{]*\{{\n(?:.*\n)*?\}}|{function}:\n(?:.*\n)*)"
    found = re.findall(pattern, text, re.MULTILINE)
    if len(found) != 1:
        return ""
    label = re.match(rf"{function}:\n(?:.*\n)*?(?=\t\.size|\.macro|\t\.bss|[a-z_]+:\n\tsmap)", found[0])
    return label[0] if label else found[0]


def tables(page: str) -> dict[str, list[list[Row]]]:
    """Of each section, by its title."""
    parts = re.split(r"^## (.*)\n", page, flags=re.MULTILINE)[1:]
    return {
        title: [
            [Row(int(number), how, path, name) for number, how, shown, path, name, _ in _ROW.findall(table)]
            for table in _TABLE.findall(text)
        ]
        for title, text in zip(parts[::2], parts[1::2], strict=True)
    }


def wrong(rows: list[Row]) -> list[str]:
    """What of a table is not so."""
    found = [] if [each.number for each in rows] == list(range(1, len(rows) + 1)) else ["rows are not numbered from 1"]
    for before, row in zip([None, *rows], rows, strict=False):
        word, _, number = row.how.partition(" ")
        of = rows[int(number) - 1] if number.isdigit() and 0 < int(number) < row.number else before
        said = f"{row.number} {row.function}"
        if not row.body:
            found.append(f"{said}: not defined just once in {row.path}")
        elif row.how in ("begin", "later", "made"):
            if (row.how == "made") != row.path.endswith(".idl"):
                found.append(f"{said}: made of what?")
        elif of is None:
            found.append(f"{said}: {row.how}, from where?")
        elif word == "back":
            if (of.function, of.path) != (row.function, row.path):
                found.append(f"{said}: row {of.number} is {of.function}")
        elif word == "call":
            if not re.search(rf"\b{row.function}\b", of.body):
                found.append(f"{said}: {of.function} does not name it")
        elif member := re.fullmatch(r"`\.(\w+)`", row.how):
            if not re.search(rf"(?:->|\.){member[1]}\(", of.body):
                found.append(f"{said}: {of.function} calls no .{member[1]}")
            if not re.search(rf"\.{member[1]} = {row.function}\b", source(row.path) + made("mono")):
                found.append(f"{said}: it stands in no table as .{member[1]}")
        else:
            found.append(f"{said}: {row.how}?")
    return found


def test_each_row_of_a_walk_is_so() -> None:
    """Expected: each function is defined in its file, once, and is called by the one that the row names, or stands in
    the table by which that calls, and there is something to see. Broken: a function that was renamed, moved, or is
    called in another order."""
    found = tables(PAGE.read_text())
    assert set(WALKS) <= set(found)
    assert all(found[each] for each in WALKS)
    rows = sum(len(table) for each in found.values() for table in each)
    assert rows == len(re.findall(r"^\| \d+ \|", PAGE.read_text(), re.MULTILINE))
    assert {title: said for title, all_ in found.items() for table in all_ if (said := wrong(table))} == {}


def test_what_stands_beside_the_rows_is_so() -> None:
    """Expected: functions that the text names behind a file are that file's."""
    named = [(path, name) for path, names in _NAMED.findall(PAGE.read_text()) for name in re.findall(r"\w+", names)]
    assert len(named) > 100
    assert [each for each in named if not each[0].endswith(".idl") and not body_of(source(each[0]), each[1])] == []


def test_every_name_is_somewhere() -> None:
    """Expected: each name of the page, those too that stand behind no file, is in the sources or in what is made of
    them. Broken: a name that was changed, in a sentence to which no row belongs."""
    sources = [path for end in ("c", "h", "S", "idl", "toml") for path in ROOT.rglob(f"*.{end}")]
    words = set(re.findall(r"\w+", "".join(map(Path.read_text, sources)) + made("mono") + made("micro")))
    assert sorted(set(re.findall(r"`(\w+)`", PAGE.read_text())) - words) == []


def _table(*rows: str) -> list[Row]:
    page = "## T\n\n| | how | function | see |\n|---:|---|---|---|\n" + "".join(f"{each}\n" for each in rows)
    return tables(page)["T"][0]


PIPE = "[services/vfs/pipes/pipe.c](../trio/services/vfs/pipes/pipe.c)"
LOCAL = "[seam/local.c](../trio/seam/local.c)"


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ((f"| 1 | begin | {PIPE} `pipe_read` | x |", f"| 2 | call | {LOCAL} `park` | x |"), None),
        ((f"| 1 | begin | {PIPE} `pipe_gone` | x |",), "1 pipe_gone: not defined just once"),
        ((f"| 1 | begin | {PIPE} `park` | x |",), "1 park: not defined just once"),
        ((f"| 2 | begin | {PIPE} `pipe_read` | x |",), "not numbered"),
        ((f"| 1 | call | {PIPE} `pipe_read` | x |",), "from where?"),
        ((f"| 1 | sideways | {PIPE} `pipe_read` | x |",), "from where?"),
        ((f"| 1 | begin | {PIPE} `pipe_end` | x |", f"| 2 | call | {LOCAL} `park` | x |"), "pipe_end does not name it"),
        ((f"| 1 | begin | {PIPE} `pipe_read` | x |", f"| 2 | back 1 | {LOCAL} `park` | x |"), "row 1 is pipe_read"),
        ((f"| 1 | begin | {LOCAL} `park` | x |", f"| 2 | `.read` | {PIPE} `pipe_read` | x |"), "park calls no .read"),
        ((f"| 1 | made | {PIPE} `pipe_read` | x |",), "made of what?"),
    ],
)
def test_a_row_that_is_not_so_is_found(rows: tuple[str, ...], said: str | None) -> None:
    """`park` is called in pipe.c and defined elsewhere."""
    found = wrong(_table(*rows))
    assert found == [] if said is None else any(said in each for each in found)


def test_the_guards_have_the_numbers_that_the_design_gives_them() -> None:
    """Expected: docs/trio-design.md's table and seam/ipc.c have the same numbers in the same order. Broken: a guard
    that the page counts and the source does not."""
    table = re.findall(r"^\| ((?:call|reply) \d): ", (PAGE.parent / "trio-design.md").read_text(), re.MULTILINE)
    code = re.findall(r"\b((?:call|reply) \d): ", (ROOT / "seam/ipc.c").read_text())
    assert table == code != []
