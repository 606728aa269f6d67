"""Figures without samples: the tables of the literature, which come with the package, and results of other suites in a
store. Both are files of the result format that begin with a `paper`.

`published` means all tables, `published/NAME` one paper, `published/NAME:SYSTEM` one column of it. The command line
takes these names in place of results, in any working directory.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path

from msgspec.structs import replace

from kernometer.errors import ResultError, UsageError
from kernometer.results.compressed import chunks
from kernometer.results.model import FORMAT, NAME_CHARACTERS, Paper, Publication, Published, Stated
from kernometer.results.reader import DEFAULT, DamagedError, parse_record
from kernometer.text import printable

ALL = "published"
FOLDER = Path(__file__).parents[1] / "published"
PREFIX = ALL + "/"
_SUFFIX = ".ndjson"
_HEAD = b'{"type":"paper"'


@dataclass(frozen=True, slots=True)
class Column:
    """The tables of `published/NAME[:SYSTEM]`, or an imported result."""

    name: str  #: as the user wrote it
    publication: Publication
    system: str = ""  #: "": all of the paper's


def is_published(name: str) -> bool:
    """Whether the name of a result means a published table. A file in that directory is named by its path."""
    return name == ALL or (name.startswith(PREFIX) and not name.endswith(_SUFFIX))


def names() -> list[str]:
    """The names of all papers."""
    return sorted(path.name.removesuffix(_SUFFIX) for path in FOLDER.glob(f"*{_SUFFIX}"))


def load(name: str) -> Column:
    """Raises ResultError if there is no such paper, UsageError if it has no such system."""
    if name == ALL:
        raise UsageError("The paper and its system are missing.", "For example: published/miao-2011:linux.")
    paper, _, system = name.removeprefix(PREFIX).partition(":")
    known = names()
    if paper not in known:
        close = get_close_matches(paper, known, n=1)
        raise ResultError(
            f"There is no published table {printable(paper, 80)!r}.",
            f"Did you mean {PREFIX}{close[0]}?" if close else f"They are {', '.join(known)}.",
        )
    file = FOLDER / (paper + _SUFFIX)
    try:
        publication = parse(file.read_bytes().splitlines())
    except OSError as error:
        raise ResultError(f"{file} cannot be read: {error.strerror}.", "Install Kernometer again.") from error
    systems = [system.system for system in publication.paper.systems]
    if system and system not in systems:
        raise UsageError(f"{PREFIX}{paper} has no system {printable(system, 80)!r}.", f"It has {', '.join(systems)}.")
    return Column(name, publication, system)


def of_file(path: Path) -> Publication | None:
    """The publication in the file if it begins with a `paper`; None if it does not, or cannot be read. Raises
    ResultError if the rest of the file is damaged."""
    try:
        if b"".join(chunks(path, len(_HEAD))) != _HEAD:
            return None
        return in_content(b"".join(chunks(path, DEFAULT.file_bytes)))
    except OSError:  # the reader of sessions reports it
        return None


def in_content(content: bytes) -> Publication | None:
    """Likewise, from the file's content."""
    return parse(content.splitlines()) if content.startswith(_HEAD) else None


def parse(lines: Iterable[bytes]) -> Publication:
    """A whole file, written by us. Raises ResultError at the first invalid line."""
    paper, figures, stated = None, list[Published](), list[Stated]()
    for number, line in enumerate(lines, 1):
        try:
            record = parse_record(line)
        except DamagedError as error:
            raise ResultError(f"Line {number} of a published table cannot be read: {error}.") from None
        match record:
            case Paper() if number == 1 and record.format <= FORMAT:
                paper = record
            case Published() if paper is not None:
                figures.append(record)
            case Stated() if paper is not None:
                stated.append(record)
            case _:
                raise ResultError(f"Line {number} does not belong into a published table of format {FORMAT}.")
    if paper is None:
        raise ResultError("This is not a published table: it is empty.")
    return Publication(paper=paper, figures=told_apart(figures), stated=tuple(stated))


def told_apart(figures: Sequence[Published]) -> tuple[Published, ...]:
    """The figures; if several of a table and system have one name, a number follows each: whoever pairs rows by their
    names could otherwise take one for all."""
    known = Counter((figure.table, figure.row, figure.system) for figure in figures)
    if len(known) == len(figures):
        return tuple(figures)
    numbers: Counter[tuple[str, str, str]] = Counter()
    renamed = []
    for figure in figures:
        key = table, row, system = figure.table, figure.row, figure.system
        begin = row[: NAME_CHARACTERS - 8]
        while known[key] > 1 or (row != figure.row and key in known):
            numbers[table, begin, system] += 1
            row = f"{begin} #{numbers[table, begin, system]}"
            key = table, row, system
        renamed.append(replace(figure, row=row))
    return tuple(renamed)
