"""The commands in the documentation: what is found on a page and how it is run.

A fenced block of `sh` is a script; in one of `console` the lines after `$ ` are commands, the others what they print.
Whoever runs a block compares the shape of that, `is_shown`: figures differ from machine to machine, names and sentences
do not; a line `...` stands for what is left out. A comment on the line before a block says otherwise:

    <!-- not run: why -->             is left out; the reason is needed
    <!-- status: 2 -->                its last command leaves with this status
    <!-- file: probe/workloads/a.c -->  is no command, but the text of this file, which the page's commands find
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

BLOCK = re.compile(
    r"^(?:<!-- (?P<tag>[a-z ]+): (?P<value>.*?) -->\n)?```(?P<language>\w+)\n(?P<text>.*?)^```$",
    flags=re.MULTILINE | re.DOTALL,
)
TAGS = ("not run", "status", "file")
LEFT_OUT = "..."
_ROW = re.compile(r"\s*(?P<name>[a-z]+/[a-z-]+(?:@\S+)?)(?=\s\s|\s\S*\d)")
_MORE = re.compile(r" {12,}\S")  #: of a row: what it would take to decide it


@dataclass(frozen=True, slots=True)
class Block:
    """One step of a page."""

    line: int
    script: str  #: for sh; "" where it is a file
    status: int = 0
    file: str = ""
    text: str = ""
    skipped: str = ""  #: why it is not run
    steps: tuple[tuple[str, str], ...] = ()  #: for console: each command, and what it prints


def commands(text: str) -> list[tuple[str, str]]:
    """The commands of a `console` block, each with what it prints: after `$ `, going on after a line that ends with a
    backslash."""
    found: list[tuple[list[str], list[str]]] = []
    goes_on = False
    for line in text.splitlines():
        if line.startswith("$ ") or goes_on:
            found += [] if goes_on else [([], [])]
            found[-1][0].append(line.removeprefix("$ "))
            goes_on = line.endswith("\\")
        elif found:
            found[-1][1].append(line)
    return [("\n".join(script), "\n".join(shown)) for script, shown in found]


def shape(text: str) -> str:
    """What is the same on every machine: of a table's row, which may have several lines, its name, in the alphabet's
    order, since tables are sorted by what was measured; else the words, wherever they are wrapped, without digits."""
    parts: list[str] = []
    rows: list[str] = []
    for line in [*text.splitlines(), ""]:
        row = _ROW.match(line.rstrip())
        if row:
            rows.append(row["name"])
        elif not (rows and _MORE.match(line)):
            parts += sorted(rows)
            rows = []
            parts += ["#" if any(map(str.isdigit, word)) else word for word in line.split()]
    return "".join(f" {word}" for word, last in zip(parts, ["", *parts], strict=False) if (word, last) != ("#", "#"))


def is_shown(shown: str, printed: str) -> bool:
    """Whether a page shows what was printed, from first to last but for what it says that it leaves out."""
    parts = [shape(part) for part in re.split(rf"^{re.escape(LEFT_OUT)}$", shown, flags=re.MULTILINE)]
    pattern = "(?: .*)?".join(re.escape(part) for part in parts)
    return re.fullmatch(pattern, shape(printed), flags=re.DOTALL) is not None


def blocks(page: str) -> Iterator[Block]:
    """What is to be done on a page, in its order. Raises ValueError for a tag that says nothing."""
    for found in BLOCK.finditer(page):
        tag, value, language, text = found["tag"], found["value"], found["language"], found["text"]
        line = page.count("\n", 0, found.start("language")) + 1
        if tag is not None and tag not in TAGS:
            raise ValueError(f"line {line}: no such tag: {tag}")
        if tag == "file":
            yield Block(line, "", file=value, text=text)
        elif language in ("sh", "console"):
            if tag == "not run" and len(value.split()) < 3:
                raise ValueError(f"line {line}: not run, and no reason why")
            steps = tuple(commands(text)) if language == "console" else ()
            script = text if language == "sh" else "\n".join(command for command, _ in steps)
            if not script.strip():
                raise ValueError(f"line {line}: no command in it")
            status = int(value) if tag == "status" else 0
            yield Block(line, script, status, skipped=value if tag == "not run" else "", steps=steps)
