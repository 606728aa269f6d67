"""The commands in the documentation: what is found on a page and how it is run.

A fenced block of `sh` is a script; in one of `console` the lines after `$ ` are commands, the others what they print,
which is an example and is not compared. A comment on the line before a block says otherwise:

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


@dataclass(frozen=True, slots=True)
class Block:
    """One step of a page."""

    line: int
    script: str  #: for sh; "" where it is a file
    status: int = 0
    file: str = ""
    text: str = ""
    skipped: str = ""  #: why it is not run


def commands(text: str) -> str:
    """The commands of a `console` block: after `$ `, going on after a line that ends with a backslash."""
    found = []
    goes_on = False
    for line in text.splitlines():
        if line.startswith("$ ") or goes_on:
            found.append(line.removeprefix("$ "))
            goes_on = line.endswith("\\")
    return "\n".join(found)


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
            script = text if language == "sh" else commands(text)
            if not script.strip():
                raise ValueError(f"line {line}: no command in it")
            status = int(value) if tag == "status" else 0
            yield Block(line, script, status, skipped=value if tag == "not run" else "")
