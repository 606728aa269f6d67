"""From the plugin's output to the records of the result: region numbers become rows, and samples where the guest's own
clock does not count instructions. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from statistics import median_low
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from kernometer.errors import TargetError
from kernometer.guests.plugins import entries
from kernometer.results.model import Events, Failure, Memory, Workload

#: 2,048 regions with the samples of a row each, in decimal, need less.
MAX_FILE = 128 << 20
#: Ends of the names of what is a set of each execution: its distinct lines and pages.
FOOTPRINT = ("_lines", "_pages")
EMPTY = "0"  #: the region of the empty bracket

_RUN = b'{"type":"run"'

Count = Annotated[int, Meta(ge=0, le=(1 << 63) - 1)]
#: Executions that have no middle half.
FEW = 4


class Region(msgspec.Struct, frozen=True):
    """All executions of one region."""

    complete: Count
    cut_off: Count  #: begun but never ended: the process was killed inside
    counts: dict[str, Count]
    each: tuple[Count, ...]  #: instructions from begin marker to end marker, of every execution
    repeated: tuple[Count, ...]  #: what QEMU counts beyond them, since each iteration of a string instruction is one
    memory: dict[str, tuple[Count, ...]] = {}  #: what was counted of the memory system, of every execution

    entries: dict[str, tuple[Count, Count]] = {}  #: by number: entries.h

    def middle(self) -> list[int]:
        """The numbers of the executions whose instructions are in the middle half of all; of fewer than four, of all
        but the first, which finds nothing warm, and may have the median of instructions all the same."""
        if len(self.each) < FEW:
            return [*range(1, len(self.each))] or [0]
        ranked = sorted(self.each)
        low, high = ranked[len(ranked) // 4], ranked[-1 - len(ranked) // 4]
        return [at for at, count in enumerate(self.each) if low <= count <= high]

    def typical(self) -> dict[str, list[int]]:
        """Their counts."""
        kept = self.middle()
        counts = {name: each for name, each in self.memory.items() if not name.endswith(FOOTPRINT)}
        return {name: [each[at] for at in kept] for name, each in {"instructions": self.each, **counts}.items()}

    def footprint(self) -> dict[str, int]:
        """Distinct lines and pages of the first execution with the (lower) median of instructions."""
        at = self.each.index(median_low(self.each))
        return {name: each[at] for name, each in self.memory.items() if name.endswith(FOOTPRINT)}


class _File(msgspec.Struct, frozen=True):
    api: int
    regions: dict[str, Region]


def parse(written: bytes) -> dict[str, Region]:
    """The plugin's file: region number, in decimal, to region. Raises TargetError for anything else."""
    try:
        return msgspec.json.decode(written, type=_File).regions
    except msgspec.DecodeError as error:
        raise TargetError(f"The plugin's counts cannot be read: {error}.", "Run it again.") from error


class Rows:
    """Collects from the probe's lines which region belongs to which row, and which rows were run."""

    def __init__(self, known: Rows | None = None) -> None:
        """`known` has read the definitions of the rows."""
        self._ids: dict[str, int] = dict(known._ids) if known else {}
        self._net: set[str] = set(known._net) if known else set()
        self._run: dict[str, None] = {}
        self.middle: dict[str, list[int]] = {}  #: by row whose memory record was made: its executions' numbers

    def see(self, line: bytes) -> None:
        """Reads one line. Ignores lines that do not decode: the reader of results reports them."""
        try:
            if line.startswith(b'{"type":"workload"'):
                workload = msgspec.json.decode(line, type=Workload)
                self._ids.update({row.row: row.id for row in workload.rows})
                if workload.figure_less_baseline:
                    self._net.update(row.row for row in workload.rows)
            elif line.startswith(_RUN):
                self._run[msgspec.json.decode(line, type=_RunsRow).row] = None
        except msgspec.DecodeError:
            return

    def region(self, row: str) -> int | None:
        """The number of the row's region; None if no definition of it was read."""
        return self._ids.get(row)

    def is_net(self, row: str) -> bool:
        """Whether the row's figure is less its baseline."""
        return row in self._net

    def records(self, regions: dict[str, Region]) -> Iterator[Events | Memory]:
        """The records of every row that was run and has complete regions, in the order of the runs."""
        empty = regions.get(EMPTY)
        for row in self._run:
            region = regions.get(str(self._ids.get(row)))
            if region is None or region.complete == 0:
                continue
            yield Events(
                row=row,
                regions=region.complete,
                counts=region.counts,
                empty=empty.counts if empty else {},
                empty_regions=empty.complete if empty else 0,
                entries=entries.named(region.entries),
            )
            if region.memory:
                yield self._memory(row, region, empty, regions)

    def _memory(self, row: str, region: Region, empty: Region | None, regions: Mapping[str, Region]) -> Memory:
        typical, self.middle[row] = region.typical(), region.middle()
        before = regions.get(str(self._ids[row] + 1)) if row in self._net else None
        baseline = before.typical() if before and before.each else {}
        bracket = empty.typical() if empty and empty.each else {}
        return Memory(
            row=row,
            iterations=len(typical["instructions"]),
            counts={name: sum(each) for name, each in typical.items()},
            empty={name: median_low(each) for name, each in bracket.items()},
            baseline={name: sum(each) for name, each in baseline.items()},
            baseline_iterations=len(baseline.get("instructions", ())),
            footprint=region.footprint(),
        )


class _RunsRow(msgspec.Struct, frozen=True, tag_field="type", tag="run"):
    """The only field of a run's record that is needed here."""

    row: str


#: Of a run: the number of a region, and what has its samples by which key.
_Parts = list[tuple[str, dict[str, Any], str]]


def recounted(lines: Iterable[bytes], rows: Rows, regions: Mapping[str, Region], *, clock: bool) -> Iterator[bytes]:
    """The lines, each run's samples with instructions as docs/path.md defines them: what the guest's clock counted,
    less what QEMU counts again; without a `clock` that counts instructions, the plugin's count from marker to marker.

    A run whose regions are not those that the emulator saw becomes a failure.
    """
    runs = [_run(line, rows) for line in lines]
    measured, begun = Counter[str](), Counter[str]()
    for _, _, parts in runs:
        for number, part, name in parts:
            measured[number] += len(part[name])
    for line, run, parts in runs:
        try:
            for number, part, name in parts:
                if clock and number == EMPTY not in regions:
                    continue  # a program of one's own that marks no bracket
                since = begun[number]  # the rows of a guest share the region of the empty bracket
                begun[number] += len(part[name])
                part[name] = _counts(part[name], regions.get(number), since, measured[number], clock=clock)
        except TargetError as error:
            yield msgspec.json.encode(Failure(row=run["row"], text=f"{error.text} {error.next_step}"))
        else:
            yield msgspec.json.encode(run) if parts else line


def _run(line: bytes, rows: Rows) -> tuple[bytes, dict[str, Any], _Parts]:
    """The line and the run on it. A line that is none, or of one that counts no instructions, has no parts."""
    try:
        run = msgspec.json.decode(line, type=dict[str, Any]) if line.startswith(_RUN) else {}
        number = rows.region(str(run["row"])) if run else None
        if number is None or not run["loop_cost"]:
            return line, run, []
        parts: _Parts = [(str(number), run, "samples"), (EMPTY, run, "loop_cost")]
        if baseline := run.get("baseline"):
            parts.append((str(number + 1), baseline, "samples"))
    except (msgspec.DecodeError, KeyError):
        return line, {}, []  # the reader of results reports it
    return line, run, parts


def _counts(read: list[int], region: Region | None, since: int, measured: int, *, clock: bool) -> list[int]:
    """Of these executions of a region, the first of which is number `since` of `measured` ones."""
    seen = region.complete if region is not None else 0
    if clock and region is not None and seen <= len(region.each) and not any(region.repeated):
        return read
    counted = []
    if region is not None and seen == measured == len(region.each):
        within = slice(since, since + len(read))
        again = region.repeated[within]
        over = zip(read, again, strict=True)
        counted = [count - more for count, more in over] if clock else list(region.each[within])
    if len(counted) != len(read) or min(counted) < 0:
        raise TargetError(
            f"The emulator saw {seen} regions, and the probe {measured}: which is which is not known.", "Run it again."
        )
    return counted
