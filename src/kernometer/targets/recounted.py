"""Samples by path where the guest's own clock does not count instructions: the emulator counted the same regions.

The emulator counts from marker to marker, the probe between two readings of its clock within them. Both have a bracket
that is subtracted, so that figures are the same but for instructions that fault, which the emulator counts twice:
docs/path.md, "How far plugin and guest agree".
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec

from kernometer.errors import TargetError
from kernometer.guests.plugins.events import EMPTY, Region, Rows

_RUN = b'{"type":"run"'


def recounted(lines: Iterable[bytes], rows: Rows, regions: Mapping[str, Region]) -> Iterator[bytes]:
    """The lines, each run's samples with the emulator's counts; a run that counts something else unchanged.

    Raises TargetError if the emulator saw another number of regions than the probe measured samples.
    """
    for line in lines:
        yield _run(line, rows, regions) if line.startswith(_RUN) else line


def _run(line: bytes, rows: Rows, regions: Mapping[str, Region]) -> bytes:
    try:
        run: dict[str, Any] = msgspec.json.decode(line, type=dict[str, Any])
        row, samples, brackets = str(run["row"]), run["samples"], run["loop_cost"]
    except (msgspec.DecodeError, KeyError):
        return line  # the reader of results reports it
    number = rows.region(row)
    if number is None or not brackets:
        return line
    run["samples"] = _counts(row, regions.get(str(number)), samples)
    run["loop_cost"] = _counts(row, regions.get(EMPTY), brackets)
    if baseline := run.get("baseline"):
        baseline["samples"] = _counts(row, regions.get(str(number + 1)), baseline["samples"])
    return msgspec.json.encode(run)


def _counts(row: str, region: Region | None, like: list[object]) -> list[int]:
    counted = list(region.each) if region is not None else []
    if len(counted) != len(like):
        raise TargetError(
            f"{row}: the emulator saw {len(counted)} regions, and the probe {len(like)}.", "Run it again."
        )
    return counted
