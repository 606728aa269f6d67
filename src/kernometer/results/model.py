"""The result model: one record a line, and what a file of them means. Pure: no file, no subprocess.

A *result* is one session: the probe's rows, measured once over, in several runs of a fresh process each. Its file is
NDJSON (docs/format.md), and holds what is needed to judge it later: host, probe, clocks, definitions, raw samples.

Format history (the number in `Session.format`; a reader takes its own number and every lower one, ignores fields that
it does not know, and refuses a higher number by naming the version of Kernometer that wrote it):
1: the first.
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec

FORMAT = 1

By = Literal["time", "path"]
Unit = Literal["ns", "B/s", "1/s"]

#: What two results must have in common to be compared without a warning, as paths into the records. The first element
#: is the record, the rest the way into it.
COMPARABLE: tuple[tuple[str, ...], ...] = (
    ("session", "by"),
    ("session", "machine"),
    ("header", "format"),
    ("header", "probe", "version"),
    ("header", "probe", "source_digest"),
    ("header", "probe", "compiler"),
    ("header", "probe", "flags"),
    ("header", "cpu", "model"),
    ("header", "cpu", "online"),
    ("header", "clock"),
    ("header", "page"),
)


class Record(msgspec.Struct, kw_only=True, frozen=True, tag_field="type"):
    """One line of a result file. `type` is the tag."""


class Session(Record, tag="session"):
    """First line, written by the front end: what was asked for, of whom, on what host."""

    format: int
    id: str  #: unique: UTC time, then random, e.g. 20261121T073012Z-1f3a9c
    label: str  #: the user's name for a set of sessions; "" if none was given
    target: str  #: "local", "wrap:…", "qemu:…"
    by: By
    profile: str
    started: float  #: seconds since the epoch, UTC
    kernometer: str  #: version of the front end
    command: tuple[str, ...] = ()  #: as the user typed it
    machine: str = ""  #: what it ran on when that is not this host: QEMU's version, machine, CPU model
    boot: str = ""  #: identifies the boot: the unit of statistics where the target reboots
    experiment: str = ""  #: shared by the two sides of one `ab`
    side: str = ""  #: "A" or "B" there
    seed: int = 0
    host: dict[str, Any] = {}  #: what `check` found: {"findings": [...], "facts": {...}}


class Header(Record, tag="header"):
    """The probe's first line: where it runs and how it was built."""

    format: int
    probe: dict[str, Any]  #: version, source_digest, compiler, flags, platform, capabilities
    uname: dict[str, str]
    cpu: dict[str, Any]  #: model, online, allowed
    clock: str  #: the clock that samples are taken with
    clocks: tuple[dict[str, Any], ...]  #: name, resolution_ns, cost_ns, unsupported (a reason)
    page: int
    by: By
    seed: int
    counters: str = ""  #: "" where hardware counters are read, else why not


class RowInfo(msgspec.Struct, kw_only=True, frozen=True):
    """A row as the registry has it."""

    row: str  #: workload[@tag,…]
    id: int  #: the displacement of its region markers
    params: dict[str, Any] = {}
    profiles: tuple[str, ...] = ()
    path_n: int = 0
    unsupported: str = ""  #: why not here; "" if it is


class Workload(Record, tag="workload"):
    """A definition, as `probe --list --json` prints it: the one registry."""

    name: str
    per: str
    unit: Unit
    better: Literal["lower", "higher"]
    by: tuple[By, ...]
    source: str
    what: str
    inside: str
    subtracts: str = ""
    figure_less_baseline: bool = False
    params: tuple[str, ...] = ()
    rows: tuple[RowInfo, ...] = ()


class Baseline(msgspec.Struct, kw_only=True, frozen=True):
    """What is subtracted from a row or shown beside it, measured next to it."""

    batch: int
    samples: tuple[int, ...]  #: gross, in the clock's nanoseconds (by path: instructions), one a batch


class Run(Record, tag="run"):
    """One run of one row, in a process of its own."""

    row: str
    workload: str
    run: int  #: 0, 1, … within the session
    block: int = 0  #: of an `ab`: rows of the two sides with equal blocks were measured next to each other
    params: dict[str, Any] = {}
    batch: int  #: iterations in one sample
    ops: float = 1.0  #: operations (`per`) in one iteration
    bytes: float = 0.0  #: bytes moved by one operation
    samples: tuple[int, ...]  #: gross: clock and loop are still inside; ns by time, instructions by path
    clock_cost: tuple[float, ...] = ()  #: samples of two clock reads with nothing between; same unit
    loop_batch: int = 0
    loop_cost: tuple[int, ...] = ()  #: samples of `loop_batch` empty iterations, clock inside
    baseline: Baseline | None = None
    resolution_ns: float = 0.0
    stopped: str = ""  #: "half-width", "time", "samples", "plan"
    seconds: float = 0.0  #: wall time of the whole run, set-up included
    cpu: int = -1  #: where it ran; -1: not pinned
    peer_cpu: int = -1
    involuntary: tuple[tuple[int, int], ...] = ()  #: (sample, involuntary switches in it), where not 0
    migrated: tuple[int, ...] = ()  #: samples that ended on another CPU than they began on
    iterations: int = 0  #: of `run`, timed, in all
    happened: dict[str, float] = {}  #: counted around the samples: faults, switches, reads, writes, children, …
    claimed: dict[str, float] = {}  #: the same by the workload's claim
    meter: dict[str, float] = {}  #: steal_ns, tick_ns, others_busy, run_delay_ns, wall_ns, cpu_ns
    hardware: dict[str, float] = {}  #: instructions and cycles, user and kernel, per iteration
    warnings: tuple[dict[str, str], ...] = ()  #: {"code": …, "text": …}


class Failure(Record, tag="error"):
    """A row that went wrong: it is reported, and has no figure."""

    row: str
    text: str
    run: int = -1
    block: int = 0
    call: str = ""
    errno: str = ""


class Unsupported(Record, tag="unsupported"):
    """A row that this platform cannot do, and why."""

    row: str
    reason: str


class Events(Record, tag="events"):
    """The event vector of one row's timed regions, counted by the emulator's plugin (by path only)."""

    row: str
    regions: int
    counts: dict[str, int]  #: sums over all regions: instructions, syscalls, cr3_writes, …
    empty: dict[str, int] = {}  #: the same of the empty bracket
    empty_regions: int = 0


class End(Record, tag="end"):
    """Last line: without it a file was cut off."""

    complete: bool
    reason: str = ""  #: "interrupted", or what the target died of
    seconds: float = 0.0


AnyRecord = Session | Header | Workload | Run | Failure | Unsupported | Events | End


class Result(msgspec.Struct, kw_only=True, frozen=True):
    """A whole file, sorted by kind."""

    session: Session
    header: Header | None
    workloads: dict[str, Workload]
    runs: tuple[Run, ...]
    failures: tuple[Failure, ...] = ()
    unsupported: tuple[Unsupported, ...] = ()
    events: tuple[Events, ...] = ()
    end: End | None = None
    damage: tuple[str, ...] = ()  #: lines that could not be read, as sentences; the rest was kept

    @property
    def rows(self) -> tuple[str, ...]:
        """Rows with at least one run, in the order of their first run in the registry's order of workloads."""
        return tuple(dict.fromkeys(run.row for run in self.runs))

    def runs_of(self, row: str) -> tuple[Run, ...]:
        """The runs of one row, in the order they were made."""
        return tuple(run for run in self.runs if run.row == row)
