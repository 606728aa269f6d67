"""Which tests concern a folder of the sources: the table of docs/development.md."""

from __future__ import annotations

import re

from tests.support.checkout import ROOT

#: Folders below tests/ whose folders are rooms, by what a test needs.
KINDS = ("plain", "compiled", "guest", "browser")
_ROW = re.compile(r"^\| `((?:src/kernometer/)?\w+)/` \| (`[^|]*`) \|$", flags=re.MULTILINE)


def table() -> dict[str, tuple[str, ...]]:
    """By the last part of a folder's name: the rooms with its tests."""
    text = (ROOT / "docs/development.md").read_text()
    return {folder.rpartition("/")[2]: tuple(re.findall(r"`(\w+)`", rooms)) for folder, rooms in _ROW.findall(text)}


def room(name: str) -> str | None:
    """Of a path below the checkout; None of what is in no room."""
    parts = name.split("/")
    return parts[2] if len(parts) > 2 and parts[0] == "tests" and parts[1] in KINDS and "." not in parts[2] else None
