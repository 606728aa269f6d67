"""Results of other stores, taken into one without loss and without duplicates."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from kernometer.errors import ResultError
from kernometer.results.published import of_file
from kernometer.results.reader import DEFAULT, parse
from kernometer.results.writer import SUFFIX, Kept, is_growing, write_copy


@dataclass(frozen=True, slots=True)
class Taken:
    """What became of one file."""

    source: Path
    kept: Kept | None = None
    problem: str = ""  #: why it was not taken


def results_in(source: Path) -> list[Path]:
    """The result files of a directory, or the file itself. Raises ResultError if the directory cannot be read."""
    if not source.is_dir():
        return [source]
    try:
        return sorted(one for one in source.iterdir() if one.name.endswith(SUFFIX) and one.is_file())
    except OSError as error:
        raise ResultError(f"{source} cannot be read: {error.strerror}.", "Give the directory of a store.") from error


def merge(folder: Path, sources: Iterable[Path]) -> Iterator[Taken]:
    """Copies each file into the store under its result's id, byte for byte; the sources stay as they are.

    A result that is there already is left as it is, also if the source is a beginning of it; if it is a beginning of
    the source, the source takes its place. Of two different results with one id the one there stays.
    """
    for source in sources:
        try:
            yield Taken(source, _taken(folder, source))
        except ResultError as error:
            yield Taken(source, problem=error.text)


def _taken(folder: Path, source: Path) -> Kept:
    if is_growing(source):
        raise ResultError("It is being measured.")
    try:
        with source.open("rb") as file:
            content = file.read(DEFAULT.file_bytes + 1)
    except OSError as error:
        raise ResultError(f"It cannot be read: {error.strerror}.") from error
    if len(content) > DEFAULT.file_bytes:
        raise ResultError(f"It is over {DEFAULT.file_bytes:,} bytes.")
    publication = of_file(source)
    name = publication.paper.name if publication else parse([content]).session.id
    return write_copy(folder, name + SUFFIX, content)[1]
