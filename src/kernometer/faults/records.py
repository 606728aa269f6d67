"""A campaign's file: NDJSON, a header for each structure, then a record for each fault. Files can be put together by
`cat`. docs/format.md, "Faults".
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import msgspec

from kernometer.errors import ResultError
from kernometer.faults.kinds import Fault
from kernometer.faults.outcomes import Found, Outcome
from kernometer.results.compressed import chunks

#: The most bytes of a file and of a line: a record has less than two thousand.
MOST_FILE, MOST_LINE = 256 << 20, 64 << 10


class Header(msgspec.Struct, frozen=True, kw_only=True, tag_field="type", tag="faults"):
    """What the faults after it have in common."""

    format: Literal[1] = 1
    kernometer: str
    made: str  #: the time of its beginning, ISO 8601
    label: str
    target: str
    image: str  #: identifies the guest's kernel
    sources: str  #: the digest of Trio's sources
    worker: str  #: the digest of the program that works
    qemu: str
    seed: int
    count: int  #: faults that were drawn
    operations: int
    kinds: tuple[str, ...]
    drivers: tuple[str, ...]  #: services that faults were put into
    services: tuple[str, ...]
    together: tuple[str, ...]  #: the structures whose common places were drawn from
    places: int  #: instructions of those services that all of them pass
    usual: Found  #: the run without a fault
    functions: tuple[str, ...] = ()  #: in which alone faults were put; none: in all


class Record(msgspec.Struct, frozen=True, kw_only=True, tag_field="type", tag="fault"):
    """One fault, and what was seen."""

    number: Annotated[int, msgspec.Meta(ge=0)]
    fault: Fault
    struck: int | None  #: 0: the service never came there again, which says nothing about survival
    outcome: Outcome
    found: Found


@dataclass(frozen=True, slots=True)
class Campaign:
    """A structure's header and records, of one or several files."""

    header: Header
    records: tuple[Record, ...]

    @property
    def struck(self) -> tuple[Record, ...]:
        """Those whose fault struck, or whose emulator could not tell."""
        return tuple(one for one in self.records if one.struck != 0)


def line(one: Header | Record) -> bytes:
    return msgspec.json.encode(one) + b"\n"


def read(paths: Iterable[Path]) -> tuple[Campaign, ...]:
    """The campaigns of all files, one for each target, in order; a fault that is there twice counts once.

    Raises ResultError for another file, a damaged one, or one target with two kernels or two limits.
    """
    found: dict[str, tuple[Header, dict[Fault, Record]]] = {}
    for path in paths:
        present: dict[Fault, Record] | None = None
        for one in _lines(path):
            if isinstance(one, Header):
                first, present = found.setdefault(one.target, (one, {}))
                if (first.image, first.worker, first.operations) != (one.image, one.worker, one.operations):
                    raise ResultError(
                        f"{path}: its {one.target} is another kernel, or did other work.", "Show it alone."
                    )
            elif present is None:
                raise ResultError(f"{path}: a fault before the first header.", "Name a campaign's file.")
            else:
                present.setdefault(one.fault, one)
    return tuple(Campaign(header, tuple(records.values())) for header, records in found.values())


def _lines(path: Path) -> Iterator[Header | Record]:
    decoder = msgspec.json.Decoder(Header | Record)
    try:
        number, size, rest = 0, 0, b""  # the rest: the last line of an interrupted campaign is no line
        for chunk in chunks(path, MOST_FILE + 1):
            size += len(chunk)
            if size > MOST_FILE:
                raise ResultError(f"{path} has more than {MOST_FILE:,} bytes.", "Name a campaign's file.")
            *lines, rest = (rest + chunk).split(b"\n")
            for text in lines:
                number += 1
                if len(text) + 1 >= MOST_LINE:
                    raise ResultError(f"{path}: line {number} is too long.", "Name a campaign's file.")
                yield decoder.decode(text)
            if len(rest) >= MOST_LINE:
                raise ResultError(f"{path}: line {number + 1} is too long.", "Name a campaign's file.")
    except OSError as error:
        raise ResultError(f"{path} cannot be read: {error.strerror}.", "Name a campaign's file.") from error
    except msgspec.DecodeError as error:
        raise ResultError(
            f"{path}: line {number} is no record of faults: {error}.", "Name a campaign's file."
        ) from error
