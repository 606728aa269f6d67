"""A campaign's file: NDJSON, a header for each structure, then a record for each fault. `cat` joins files.
docs/format.md, "Faults".
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import msgspec

from kernometer.errors import ResultError
from kernometer.faults.kinds import Fault
from kernometer.faults.outcomes import Findings, Outcome
from kernometer.results.compressed import chunks

#: The most bytes of a file and of a line: a record has less than two thousand.
MOST_FILE, MOST_LINE = 256 << 20, 64 << 10


class Header(msgspec.Struct, frozen=True, kw_only=True, tag_field="type", tag="faults"):
    """What all faults after it share."""

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
    together: tuple[str, ...]  #: the structures that share the places
    places: int  #: instructions of those services that all of them execute
    usual: Findings  #: the run without a fault
    functions: tuple[str, ...] = ()  #: only in these were faults put; empty: in all


class Record(msgspec.Struct, frozen=True, kw_only=True, tag_field="type", tag="fault"):
    """One fault, and what was seen."""

    number: Annotated[int, msgspec.Meta(ge=0)]
    fault: Fault
    struck: int | None  #: 0: the service never came there again, so that survival means nothing
    outcome: Outcome
    findings: Findings = msgspec.field(name="found")


@dataclass(frozen=True, slots=True)
class Campaign:
    """A structure's header and records, of one or several files."""

    header: Header
    records: tuple[Record, ...]

    @property
    def struck(self) -> tuple[Record, ...]:
        """Records whose fault struck, or whose emulator did not tell."""
        return tuple(record for record in self.records if record.struck != 0)


def line(item: Header | Record) -> bytes:
    return msgspec.json.encode(item) + b"\n"


def read(paths: Iterable[Path]) -> tuple[Campaign, ...]:
    """The campaigns of all files, one for each target, in order; a fault that occurs twice counts once. Raises
    ResultError for an unreadable file, and for one target with two kernels or two limits."""
    campaigns: dict[str, tuple[Header, dict[Fault, Record]]] = {}
    for path in paths:
        present: dict[Fault, Record] | None = None
        for item in _lines(path):
            if isinstance(item, Header):
                first, present = campaigns.setdefault(item.target, (item, {}))
                if (first.image, first.worker, first.operations) != (item.image, item.worker, item.operations):
                    raise ResultError(
                        f"{path}: its {item.target} is another kernel, or did other work.", "Show it alone."
                    )
            elif present is None:
                raise ResultError(f"{path}: a fault before the first header.", "Name a campaign's file.")
            else:
                present.setdefault(item.fault, item)
    return tuple(Campaign(header, tuple(records.values())) for header, records in campaigns.values())


def _lines(path: Path) -> Iterator[Header | Record]:
    decoder = msgspec.json.Decoder(Header | Record)
    try:
        number, size, rest = 0, 0, b""  # the incomplete last line of an interrupted campaign is left out
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
