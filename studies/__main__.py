"""Makes the studies' tables and pages anew from their stored sessions: `make studies`.

usage: .venv/bin/python -m studies [STUDY...]      all by default; nothing is measured

studies.toml lists them. Tables and the gallery are written into studies/; pages, which are not in git, into
build/studies/.
"""

from __future__ import annotations

import sys
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from studies import gallery

HERE = Path(__file__).parent
PAGES = HERE.parent / "build" / "studies"


@dataclass(frozen=True, slots=True, kw_only=True)
class Made:
    """One command, and what is kept of its output."""

    study: str
    words: Sequence[str]
    store: str = ""  #: "": the words name the file that they read
    text: str = ""  #: the table's file
    page: str = ""  #: the page's

    def table(self, page: Path | None = None) -> str:
        """What the command prints; it writes the page. Raises CalledProcessError."""
        words = [*(("--store", self.store) if self.store else ()), *self.words]
        words += ["--report", str(page)] if page else []
        return "".join(f"{line.rstrip()}\n" for line in gallery.kernometer(self.study, *words).splitlines())


def listed() -> list[Made]:
    return [Made(**made) for made in tomllib.loads((HERE / "studies.toml").read_text())["made"]]


def main(*wanted: str) -> None:
    for made in listed():
        if wanted and made.study not in wanted:
            continue
        page = PAGES / made.study / made.page if made.page else None
        if page:
            page.parent.mkdir(parents=True, exist_ok=True)
        table = made.table(page)
        if made.text:
            (HERE / made.study / made.text).write_text(table)
        print(f"studies: {made.study}: {' '.join(filter(None, (made.text, str(page or ''))))}", file=sys.stderr)
    gallery.PAGE.write_text(gallery.page())


if __name__ == "__main__":
    main(*sys.argv[1:])
