"""From the bytes of a result file to a Result. Pure: the caller opens the file.

Any bytes give a Result or a ResultError, within Limits of memory: files are copied between machines, cut off, edited
and forged. `Result.damage` lists what cannot be read; the rest is kept.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import msgspec

from kernometer.errors import ResultError
from kernometer.results.model import (
    FORMAT,
    AnyRecord,
    Calibration,
    Counting,
    End,
    Events,
    Failure,
    Header,
    Memory,
    Paper,
    Profile,
    Published,
    Result,
    Run,
    Session,
    Stated,
    Tally,
    Unsupported,
    Workload,
)
from kernometer.text import printable


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of a file. A session of every row of the full profile stays below a tenth of each."""

    line_bytes: int = 16 << 20
    file_bytes: int = 512 << 20
    records: int = 1 << 20
    samples: int = 1 << 24  #: in all runs together; the model limits those of one run
    sentences: int = 100  #: of damage


DEFAULT = Limits()


class DamagedError(ValueError):
    """A line that is not a record, with the reason, which is safe to print."""


class _Peek(msgspec.Struct):
    """The fields of a session or a header that show whether the rest can be read."""

    type: str
    format: int
    kernometer: str = ""
    probe: dict[str, msgspec.Raw] = {}


_DECODER = msgspec.json.Decoder(AnyRecord)
_PEEK = msgspec.json.Decoder(_Peek)
#: What is raised for bytes that are not JSON, or not such JSON.
UNREADABLE = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)


def parse_record(line: bytes) -> AnyRecord:
    """One record from one line. Raises DamagedError, or ResultError for a newer format."""
    try:
        record: AnyRecord = _DECODER.decode(line)
    except UNREADABLE as error:
        _refuse_newer(line)
        raise DamagedError(printable(str(error), 300)) from None
    if isinstance(record, Session | Header) and record.format > FORMAT:
        _refuse_newer(line)
    problem = _disagreement(record)
    if problem:
        raise DamagedError(problem)
    return record


def _refuse_newer(line: bytes) -> None:
    """Raises ResultError for a newer format, even if its records do not decode."""
    try:
        peek = _PEEK.decode(line)
    except UNREADABLE:
        return
    if peek.format <= FORMAT or peek.type not in ("session", "header"):
        return
    if peek.type == "session":
        writer, name = "Kernometer", peek.kernometer
    else:
        writer, name = "the probe", bytes(peek.probe.get("version", b"")).decode("utf-8", "replace").strip('"')
    version = printable(name, 40) or "(unknown version)"
    raise ResultError(
        f"This result is in format {peek.format}, written by {writer} {version}; this version reads up to {FORMAT}.",
        f"Read it with {writer} {version} or newer.",
    )


def _disagreement(record: AnyRecord) -> str:
    """A contradiction between parts of one record; "" without one. (The model checks single values.)"""
    if isinstance(record, Profile):
        return _profile_disagreement(record)
    if not isinstance(record, Run):
        return ""
    count = len(record.samples)
    if any(sample >= count for sample, _ in record.involuntary) or any(sample >= count for sample in record.migrated):
        return "a disturbance is placed at a missing sample"
    if record.loop_cost and not record.loop_batch:
        return "the empty loop has samples, but no iterations"
    return ""


def _profile_disagreement(record: Profile) -> str:
    named = [line.function for line in record.lines] + [charge.function for charge in record.charges]
    named += [frame for stack in record.stacks for frame in stack.frames] + [page.function for page in record.pages]
    if named and max(named) >= len(record.names):
        return "a function of the profile has no name"
    if sum(line.count for line in record.lines) != record.counted:
        return "the lines of the profile do not sum to its count"
    if record.counted - record.repeated + record.moved + record.rest != record.gross:
        return "the profile's count is not that of its iteration"
    return ""


#: The records that a result may have in any number, each with the result's field.
_MANY: dict[type[AnyRecord], str] = {
    Calibration: "calibrations",
    Counting: "countings",
    Failure: "failures",
    Unsupported: "unsupported",
    Events: "events",
    Memory: "memories",
    Tally: "tallies",
    Profile: "profiles",
}


@dataclass(slots=True)
class Gathering:
    """A Result in the making, from the lines of a file or from records as they are measured."""

    limits: Limits = DEFAULT
    session: Session | None = None
    header: Header | None = None
    workloads: dict[str, Workload] = field(default_factory=dict)
    runs: dict[tuple[str, int, int], Run] = field(default_factory=dict)
    many: dict[str, list[Any]] = field(default_factory=lambda: {name: [] for name in _MANY.values()})
    end: End | None = None
    file_damage: list[str] = field(default_factory=list)  #: sentences about the file itself, a handful at most
    damage: list[str] = field(default_factory=list)
    more_damage: int = 0
    samples: int = 0

    def hurt(self, sentence: str) -> None:
        if len(self.damage) < self.limits.sentences:
            self.damage.append(sentence)
        else:
            self.more_damage += 1

    def add(self, number: int, record: AnyRecord) -> None:
        """Keeps the record of line `number`, or notes why it is left out."""
        if reason := self._take(record):
            self.hurt(f"Line {number} was left out: {reason}.")

    def _take(self, record: AnyRecord) -> str:
        """Keeps a record; returns "", or why it was not kept."""
        if self.end is not None:
            return "it stands after the last record"
        match record:
            case Session():
                return "a second session"
            case Header():
                return self._take_header(record)
            case Workload():
                return self._take_workload(record)
            case Run():
                return self._take_run(record)
            case End():
                self.end = record
            case Paper() | Published() | Stated():
                return "it belongs to a published table, and this is a session"
            case _:
                if isinstance(record, Counting) and (full := self._hold(len(record.samples))):
                    return full
                self.many[_MANY[type(record)]].append(record)
        return ""

    def _take_header(self, record: Header) -> str:
        if self.header is None:
            self.header = record
            return ""
        same = msgspec.structs.replace(record, seed=self.header.seed, clocks=self.header.clocks) == self.header
        return "" if same else "a header that differs from the first one"

    def _take_workload(self, record: Workload) -> str:
        known = self.workloads.setdefault(record.name, record)
        if known is record:
            return ""
        if msgspec.structs.replace(record, rows=()) != msgspec.structs.replace(known, rows=()):
            return f"a second, different definition of {printable(record.name, 60)}"
        rows = {row.row: row for row in (*known.rows, *record.rows)}
        self.workloads[record.name] = msgspec.structs.replace(known, rows=tuple(rows.values()))
        return ""

    def _take_run(self, record: Run) -> str:
        key = (record.row, record.run, record.block)
        if key in self.runs:
            return f"run {record.run} of {printable(record.row, 60)} for the second time"
        held = len(record.samples) + len(record.baseline.samples if record.baseline else ())
        full = self._hold(held + len(record.clock_cost) + len(record.loop_cost))
        if not full:
            self.runs[key] = record
        return full

    def _hold(self, samples: int) -> str:
        """Counts so many more samples; returns "", or why there are too many."""
        if self.samples + samples > self.limits.samples:
            return f"over the limit of {self.limits.samples:,} samples in all"
        self.samples += samples
        return ""

    def result(self) -> Result:
        if self.session is None:
            raise not_ours("it is empty")
        undefined = {key for key, run in self.runs.items() if run.workload not in self.workloads}
        for row in dict.fromkeys(key[0] for key in undefined):
            self.hurt(f"The runs of {printable(row, 60)} were left out: its workload is not defined in the file.")
        lacking = "The last line is missing: the session was cut off, or is still being measured."
        if self.more_damage:
            self.damage.append(f"And {self.more_damage:,} more of this kind.")
        many = {name: tuple(records) for name, records in self.many.items()}
        many["countings"] = tuple(counting for counting in many["countings"] if counting.workload in self.workloads)
        many["unsupported"] = tuple(dict.fromkeys(many["unsupported"]))
        return Result(
            session=self.session,
            header=self.header,
            workloads=self.workloads,
            runs=tuple(run for key, run in self.runs.items() if key not in undefined),
            end=self.end,
            damage=(*self.file_damage, *(() if self.end else (lacking,)), *self.damage),
            **many,
        )


def not_ours(reason: str) -> ResultError:
    """The error for a file that is not a result."""
    return ResultError(
        f"This is not a result of Kernometer: {reason}.",
        "Give a session's id, a label, @last, or an .ndjson file that 'kernometer run' wrote; "
        "'kernometer list' shows what is stored.",
    )


def parse(chunks: Iterable[bytes], limits: Limits = DEFAULT) -> Result:
    """A whole file, given in pieces of any size (or as `[data]`). Raises ResultError if it is not a result or is in a
    newer format."""
    gathered = Gathering(limits)
    lines = _lines(chunks, gathered)
    first = next(lines, None)
    if first is None:
        why = next(iter((*gathered.file_damage, *gathered.damage)), "It is empty.")
        raise not_ours(f"{why[0].lower()}{why[1:-1]}")
    gathered.session = _first(first[1])
    count = 1
    for number, line in lines:
        count += 1
        if count > limits.records:
            gathered.file_damage.append(f"It has more than {limits.records:,} lines: the rest was not read.")
            break
        try:
            gathered.add(number, parse_record(line))
        except DamagedError as error:
            gathered.hurt(f"Line {number} was left out: {error}.")
    return gathered.result()


def _first(line: bytes) -> Session:
    try:
        record = parse_record(line)
    except DamagedError as error:
        raise not_ours(f"its first line cannot be read ({error})") from None
    if isinstance(record, Paper):
        raise ResultError(
            "This is a published table or an imported result: it has no samples, and this command needs samples.",
            "'kernometer show', 'compare' and 'figure' take it.",
        )
    if not isinstance(record, Session):
        raise not_ours("its first line is not that of a session")
    return record


def _lines(chunks: Iterable[bytes], gathered: Gathering) -> Iterator[tuple[int, bytes]]:
    """Numbered lines without newline, except blank ones; at most one line and one chunk are in memory."""
    limits = gathered.limits
    number, pending, skipping = 1, bytearray(), False
    for chunk in _first_bytes(chunks, gathered):
        *pieces, rest = chunk.split(b"\n")
        for piece in pieces:
            if len(pending) + len(piece) > limits.line_bytes:
                skipping = True
            pending += piece if not skipping else b""
            if skipping:
                gathered.hurt(f"Line {number} was left out: it is over {limits.line_bytes:,} bytes.")
            elif pending.strip():
                yield number, bytes(pending)
            number, skipping = number + 1, False
            pending.clear()
        if len(pending) + len(rest) > limits.line_bytes:
            skipping = True
            pending.clear()
        elif not skipping:
            pending += rest
    if skipping:
        gathered.hurt(f"Line {number} was left out: it is over {limits.line_bytes:,} bytes.")
    elif pending.strip():
        yield number, bytes(pending)


def _first_bytes(chunks: Iterable[bytes], gathered: Gathering) -> Iterator[bytes]:
    """The chunks, up to the limit of a file's bytes."""
    left = gathered.limits.file_bytes
    for chunk in chunks:
        if len(chunk) > left:
            gathered.file_damage.append(f"It is over {gathered.limits.file_bytes:,} bytes: the end was not read.")
            yield chunk[:left]
            return
        left -= len(chunk)
        yield chunk
