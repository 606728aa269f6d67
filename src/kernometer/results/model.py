"""The result model: one record per line, and the contents of a whole file. Pure: no file, no subprocess.

A *result* is one session: the probe's rows, each measured in several runs of a fresh process. Its file is NDJSON
(docs/format.md), and contains what is needed to judge it later: host, probe, clocks, definitions, raw samples.

Format history (the number in `Session.format`; a reader takes its own number and every lower one, ignores unknown
fields, and refuses a higher number with the version of Kernometer that wrote it):
1: the first.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from kernometer.tables import grouped

FORMAT = 1

#: Limits: a larger number is damage. Decoding and the schema check them.
NAME_CHARACTERS = 300
TEXT_CHARACTERS = 20_000
SAMPLES_PER_RUN = 1 << 20
PROFILE_NAMES = 1 << 17
KERNEL = "kernel"  #: in place of an address space
STACK_DEPTH = 200
LARGEST = 1e18  #: ns: 31 years
LAST_SECOND = 253402300800.0  #: the year 10000, which Python's calendar lacks

Name = Annotated[str, Meta(max_length=NAME_CHARACTERS)]
Text = Annotated[str, Meta(max_length=TEXT_CHARACTERS)]
Count = Annotated[int, Meta(ge=0, le=(1 << 63) - 1)]
Moved = Annotated[int, Meta(ge=-(1 << 62), le=(1 << 62) - 1)]
Positive = Annotated[int, Meta(ge=1, le=(1 << 63) - 1)]
Number = Annotated[int, Meta(ge=-1, le=(1 << 31) - 1)]  #: of a CPU, a run; -1: none
Amount = Annotated[float, Meta(ge=0, le=LARGEST)]
Signed = Annotated[float, Meta(ge=-LARGEST, le=LARGEST)]
Samples = Annotated[tuple[Count, ...], Meta(min_length=1, max_length=SAMPLES_PER_RUN)]
Costs = Annotated[tuple[Count, ...], Meta(max_length=SAMPLES_PER_RUN)]
ClockCosts = Annotated[tuple[Signed, ...], Meta(max_length=SAMPLES_PER_RUN)]

By = Literal["time", "path"]
Unit = Literal["ns", "B/s", "1/s", "count"]
ArmLetter = Literal["", "A", "B"]  #: which arm of an `ab`; "" outside one

#: How a probe was built from its source: sessions of probes with different builds are no history of each other.
BUILD = ("compiler", "flags", "libc", "linkage")
#: The number of the definition of a figure by path (docs/path.md, "String instructions"). 2: a string instruction with
#: `rep` is one instruction. Before, without a number, each of its iterations was one.
PATH_DEFINITION = 2
#: Facts that two results must share to be compared without a warning, as paths into the records; the first element is
#: the record.
COMPARABLE: tuple[tuple[str, ...], ...] = (
    ("session", "by"),
    ("session", "path_definition"),
    ("session", "machine"),
    ("header", "format"),
    ("header", "probe", "version"),
    ("header", "probe", "source_digest"),
    *(("header", "probe", fact) for fact in BUILD),
    ("header", "cpu", "model"),
    ("header", "cpu", "online"),
    ("header", "clock"),
    ("header", "page"),
)


class Record(msgspec.Struct, kw_only=True, frozen=True, tag_field="type"):
    """One line of a result file. `type` is the tag."""


class Session(Record, kw_only=True, frozen=True, tag="session"):
    """First line, written by the front end: the job, the target and the host."""

    format: Positive
    id: Name  #: unique: UTC time, then random, e.g. 20261121T073012Z-1f3a9c
    label: Name  #: the user's name for a set of sessions; "" if none was given
    target: Text  #: "local", "ssh:…", "wrap:…", "qemu:…", "console:…"
    by: By
    profile: Name
    started: Annotated[float, Meta(ge=0, lt=LAST_SECOND)]  #: since the epoch, UTC
    kernometer: Name  #: version of the front end
    command: tuple[Text, ...] = ()  #: as the user typed it
    launch: tuple[Text, ...] = ()  #: the exact command that the target was started with
    machine: Text = ""  #: what it ran on if not this host: QEMU's version, machine, CPU model; another host
    processor: dict[str, Any] = {}  #: whose memory system was counted, as results/processor.Processor; {} if none
    board: Text = ""  #: the virtual machine without its memory's size and its seed, which layout floors rotate
    image: Text = ""  #: the kernel image, if we booted it: with equal machine and probe its counts are equal
    layout: Name = ""  #: where the kernel's data lie: two builds with equal layouts differ only in code
    command_line: Text = ""  #: the kernel's, if we booted it
    path_definition: Count = 0  #: by path: PATH_DEFINITION as it was; 0 if older, and by time
    state: Literal["", "saved", "booted", "typed"] = ""  #: that each row began from, by path: see docs/format.md
    boot: Text = ""  #: identifies the boot; "" if not known, or if every session is a separate boot
    host_id: Name = ""  #: identifies the host that it ran on, by a keyed hash of its machine-id; "" by path
    experiment: Name = ""  #: shared by the two sides of one `ab`
    side: ArmLetter = ""  #: its side there, "A" or "B"
    seed: Count = 0
    effort: dict[Name, Any] = {}  #: the fields of campaign/plan.Effort; {} in old sessions
    host: dict[str, Any] = {}  #: the result of `check`: {"findings": [...], "facts": {...}}


class Header(Record, kw_only=True, frozen=True, tag="header"):
    """The probe's first line: where it runs and how it was built."""

    format: Positive
    probe: dict[str, Any]  #: version, source_digest, compiler, flags, libc, linkage, platform, capabilities
    uname: dict[str, Text]
    cpu: dict[str, Any]  #: model, online, allowed
    clock: Name  #: the clock that samples are taken with
    clocks: tuple[dict[str, Any], ...]  #: name, resolution_ns, cost_ns, unsupported (a reason)
    page: Positive
    by: By
    seed: Count
    counters: Text = ""  #: "" if hardware counters are read, else why not
    settings: dict[Name, Text] = {}  #: of the system, which figures depend on: transparent_hugepage, governor, …


class RowInfo(msgspec.Struct, kw_only=True, frozen=True):
    """A row of the registry."""

    row: Name  #: workload[@tag,…]
    id: Count  #: the displacement of its region markers
    params: dict[str, Any] = {}
    profiles: tuple[Name, ...] = ()
    path_n: Count = 0
    unsupported: Text = ""  #: why it is not supported; "" if it is
    needs: tuple[Name, ...] = ()  #: what a guest must provide: "ext4", "minix" (a disk with that file system), …


class Workload(Record, kw_only=True, frozen=True, tag="workload"):
    """A definition of the registry, as `probe --list --json` prints it."""

    name: Name
    revision: Positive = 1  #: increases when the definition or the way of measuring changes; 1 in old files
    per: Name
    unit: Unit
    better: Literal["lower", "higher"]
    by: tuple[By, ...]
    source: Text
    what: Text
    inside: Text
    subtracts: Text = ""
    figure_less_baseline: bool = False
    settings: tuple[Name, ...] = ()  #: the header's settings that its figure depends on
    params: tuple[Name, ...] = ()
    curve: Name = ""  #: the parameter along which its rows form curves, with the others fixed; "": no curves
    rows: tuple[RowInfo, ...] = ()


class Baseline(msgspec.Struct, kw_only=True, frozen=True):
    """A cost that is subtracted from a row or shown with it, measured in the same run."""

    batch: Positive
    samples: Samples  #: gross, in the clock's nanoseconds (by path: instructions), one per batch


class Calibration(Record, kw_only=True, frozen=True, tag="calibration"):
    """The batch of every run of a row, found once per session in a separate process (by time)."""

    row: Name
    workload: Name
    block: Count = 0
    batch: Positive  #: iterations in one sample
    baseline_batch: Count = 0  #: 0: the row has no baseline
    seconds: Amount = 0.0


class Counting(Record, kw_only=True, frozen=True, tag="count"):
    """The counts of one run of a row, with counters that would perturb times (by time). It gives no figure."""

    row: Name
    workload: Name
    block: Count = 0
    batch: Positive
    samples: Samples  #: ns, gross, with these counters: shows how much longer than in a timed run
    iterations: Count  #: in all samples together
    happened: dict[Name, Signed] = {}  #: counted around the samples: faults, switches, reads, writes, children, …
    claimed: dict[Name, Signed] = {}  #: the workload's claim, per iteration
    hardware: dict[Name, Signed] = {}  #: instructions and cycles, user and kernel, per iteration
    seconds: Amount = 0.0


class Run(Record, kw_only=True, frozen=True, tag="run"):
    """One run of one row, in a separate process. By time without counters: see Counting."""

    row: Name
    workload: Name
    revision: Positive = 1  #: of the workload, as measured
    run: Count  #: 0, 1, … within the session
    block: Count = 0  #: of an `ab`: rows of the two sides with equal blocks were measured next to each other
    params: dict[str, Any] = {}
    batch: Positive  #: iterations in one sample
    ops: Annotated[float, Meta(gt=0, le=LARGEST)] = 1.0  #: operations (`per`) in one iteration
    bytes: Amount = 0.0  #: bytes moved by one operation
    samples: Samples  #: gross, with clock and loop: ns by time, instructions by path; for unit "count": counts
    clock_cost: ClockCosts = ()  #: samples of two clock reads with nothing between; same unit
    loop_batch: Count = 0
    #: By time: sample i lies between loop_cost[i // loop_every] and the next; 0: loop_cost came after the samples.
    loop_every: Count = 0
    loop_cost: Costs = ()  #: readings of `loop_batch` empty iterations, with the clock
    baseline: Baseline | None = None
    resolution_ns: Amount = 0.0
    stopped: Name = ""  #: "time", "samples", "plan"; in old sessions "half-width" too
    seconds: Amount = 0.0  #: wall time of the whole run, set-up included
    cpu: Number = -1  #: its CPU; -1: not pinned
    peer_cpu: Number = -1
    relation: Name = ""  #: of the two, if they differ: "sibling", "same-cache", "same-package", "other-package", …
    involuntary: tuple[tuple[Count, Count], ...] = ()  #: (sample, involuntary switches in it), if not 0
    migrated: tuple[Count, ...] = ()  #: samples that ended on another CPU than they began on
    iterations: Count = 0  #: of all timed samples together
    happened: dict[Name, Signed] = {}  #: by path and in old sessions, as in Counting
    claimed: dict[Name, Signed] = {}  #: likewise
    meter: dict[Name, Signed] = {}  #: steal_ns (mean of its CPUs), tick_ns, others_busy, run_delay_ns, wall_ns, cpu_ns
    hardware: dict[Name, Signed] = {}  #: in old sessions, as in Counting
    warnings: tuple[dict[Name, Text], ...] = ()  #: {"code": …, "text": …}


class Failure(Record, kw_only=True, frozen=True, tag="error"):
    """A row that failed and has no figure."""

    row: Name
    text: Text
    run: Number = -1
    block: Count = 0
    call: Name = ""
    errno: Name = ""


class Unsupported(Record, kw_only=True, frozen=True, tag="unsupported"):
    """A row that this platform does not support, and why."""

    row: Name
    reason: Text


class Events(Record, kw_only=True, frozen=True, tag="events"):
    """The event vector of one row's timed regions, counted by the emulator's plugin (by path only)."""

    row: Name
    regions: Count
    counts: dict[Name, Count]  #: sums over all regions: instructions, syscalls, cr3_writes, …
    empty: dict[Name, Count] = {}  #: likewise, of the empty bracket
    empty_regions: Count = 0
    entries: dict[Name, tuple[Count, Count]] = {}  #: into Linux, by name: how many, and the kernel's instructions


class Memory(Record, kw_only=True, frozen=True, tag="memory"):
    """What one row's iterations did, and asked of the modelled processor's memory system (by path only). Counted are
    the iterations whose instructions are in the middle half of all: neither ticks nor rare paths are among them."""

    row: Name
    iterations: Positive
    counts: dict[Name, Count]  #: sums over them: instructions (retired), syscalls, l1i_misses, tagged_walks, …
    empty: dict[Name, Count] = {}  #: of the empty bracket, one execution: the medians
    baseline: dict[Name, Count] = {}  #: as `counts`, of the baseline that the row's figure is less
    baseline_iterations: Count = 0  #: 0: it has none
    footprint: dict[Name, Count] = {}  #: distinct lines and pages that the median iteration touches, and its bracket


class Tally(Record, kw_only=True, frozen=True, tag="tally"):
    """What the kernel itself counted in single iterations of a row, if it does (by path, on Trio)."""

    row: Name
    counts: dict[Name, Annotated[tuple[Moved, ...], Meta(max_length=100)]]  #: by iteration, less what a reading takes


class ProfileLine(msgspec.Struct, kw_only=True, frozen=True, omit_defaults=True):
    """The instructions of one function, in one address space, by one task."""

    function: Count  #: its index in the profile's names
    kernel: bool = False  #: in the kernel's half of the address space; outside long mode in rings 0 to 2
    space: Count = 0  #: address spaces, numbered as they come; 0 is that in which the iteration begins
    task: Count = 0  #: likewise tasks, by their stacks in the kernel
    interrupt: bool = False  #: while an interrupt was handled
    count: Positive


class ProfileCharge(msgspec.Struct, kw_only=True, frozen=True):
    """What one function asked of the modelled processor's memory system."""

    function: Count
    kernel: bool = False
    counts: dict[Name, Count]  #: sums over the iterations of the row's `memory` record


class ProfilePage(msgspec.Struct, kw_only=True, frozen=True):
    """A page of 4 KiB that the profile's iteration touched, or all that only other iterations asked for."""

    space: Number = 0  #: as in the lines; -1: the kernel's half of all of them
    address: Name = ""  #: virtual, hexadecimal; "": those of other iterations
    frame: Name = ""  #: the physical page's number, likewise
    stack: bool = False  #: the stack pointer was in it
    function: Count = 0  #: that touched it first
    lines: dict[Name, Name] = {}  #: user_code, user_data, kernel_code, kernel_data: a mask of its lines, hexadecimal
    counts: dict[Name, Count] = {}  #: as of a charge


class ProfileStack(msgspec.Struct, kw_only=True, frozen=True):
    """The instructions with one stack of calls."""

    frames: Annotated[tuple[Count, ...], Meta(max_length=STACK_DEPTH)]  #: outermost first; indices in the names
    count: Positive


class Profile(Record, kw_only=True, frozen=True, tag="profile"):
    """Which functions a row's instructions go to (by path only): of the iteration whose count is the row's figure, or
    of all iterations together. `gross` is `counted` - `repeated` + `moved` + `rest`; the lines' counts sum to
    `counted`."""

    row: Name
    view: Literal["median", "totals"]
    run: Count = 0
    sample: Count = 0  #: the iteration's index in that run's samples
    gross: Moved  #: instructions between the two readings of the clock, as the row's own run counted them
    counted: Count  #: likewise, by the emulator's plugin
    repeated: Count = 0  #: attempts that faulted: the plugin counts them, the guest's clock does not
    moved: Moved = 0  #: how much less the second guest counted, by its own clock: 0 if both began from one state
    rest: Moved = 0  #: what this does not explain
    ordered: bool = True  #: if not, only counts were kept: `rest` has the attempts that faulted, and the markers' code
    source: Text = ""  #: where the names of the kernel's functions come from; "": by page of code
    names: Annotated[tuple[Text, ...], Meta(max_length=PROFILE_NAMES)]
    lines: tuple[ProfileLine, ...]
    stacks: tuple[ProfileStack, ...] = ()
    without_stacks: Text = ""  #: why there are none
    charges: tuple[ProfileCharge, ...] = ()  #: (): no memory system was counted
    pages: tuple[ProfilePage, ...] = ()  #: likewise
    #: Likewise; distinct lines and pages by address space, of the user mode in it, and of the KERNEL.
    footprints: dict[Name, dict[Name, Count]] = {}


class End(Record, kw_only=True, frozen=True, tag="end"):
    """Last line: without it a file was cut off."""

    complete: bool
    reason: Text = ""  #: "interrupted", or why the target died
    seconds: Amount = 0.0


class System(msgspec.Struct, kw_only=True, frozen=True):
    """A column of a paper's tables: an operating system, or a machine."""

    system: Name  #: as published/NAME:SYSTEM calls it
    name: Text  #: the paper's name


class Scale(msgspec.Struct, kw_only=True, frozen=True):
    """A paper's unit in a unit of ours."""

    unit: Unit | Literal["instructions", "cycles"]
    factor: Annotated[float, Meta(gt=0, le=LARGEST)]  #: so many of ours are one of the paper's


class Paper(Record, kw_only=True, frozen=True, tag="paper"):
    """First line of a published table or an imported result, in place of a session: where its figures come from."""

    format: Positive
    name: Name  #: as published/NAME calls it
    title: Text
    authors: tuple[Text, ...]
    year: Count = 0  #: of publication; 0: the paper gives none
    where: Text = ""
    by: Literal["time", "path"] = "time"  #: "path": its figures are instructions, compared with results by path
    machine: Text = ""  #: the hardware, as the paper names it
    systems: tuple[System, ...]
    tables: dict[Name, Text] = {}  #: what each table holds, in our words
    units: dict[Name, Scale] = {}  #: for units with an equal one of ours
    notes: tuple[Text, ...] = ()  #: about the whole
    left_out: tuple[Text, ...] = ()  #: parts of the paper, or of the suite's file, that are not in this one
    suite: Name = ""  #: the program whose output was imported; "" for a paper, in which all further fields are empty
    label: Name = ""  #: as in a session
    imported: Amount = 0.0  #: when it was imported; seconds since the epoch, UTC
    started: Amount = 0.0  #: when it was measured, as the suite tells, or as its file's time does; 0: not known
    seconds: Amount = 0.0  #: how long that took, as far as it is known
    conditions: dict[Name, Text] = {}  #: the conditions of the measurement, with the suite's names
    lacks: tuple[Text, ...] = ()  #: what a session of ours contains, and this does not


class Published(Record, kw_only=True, frozen=True, tag="published"):
    """One figure of a paper or of another suite."""

    table: Name  #: "table 1", or where in the text
    row: Name
    system: Name
    printed: Text  #: the cell as printed
    value: Signed | None = None  #: its number; None if the cell is not a number ("None", a range, a name)
    low: Signed | None = None  #: ends of a range
    high: Signed | None = None
    unit: Name = ""  #: as printed
    meant: Name = ""  #: the unit that it must be, if the printed one cannot be right
    better: Literal["", "lower", "higher"] = ""  #: "": a fact about the set-up
    ours: tuple[Name, ...] = ()  #: rows of the catalogue with the same definition, the closest first
    overhead_of: tuple[Name, ...] = ()  #: rows of the catalogue whose overhead, measured with them, is the same
    differs: Text = ""  #: how its definition differs from a similar row of the catalogue
    note: Text = ""
    #: What the figure summarises, in `unit`, if the suite's file has it: a tuple for each process.
    samples: Annotated[tuple[tuple[Signed, ...], ...], Meta(max_length=SAMPLES_PER_RUN)] = ()


class Cell(msgspec.Struct, kw_only=True, frozen=True):
    """A figure of the paper from which a stated number follows; `*` for a row: each row that both cells have."""

    table: Name
    row: Name
    system: Name


#: How `over` relates to `under`: how many times, what percentage of it, what percentage more or less.
Form = Literal["", "times", "percent of", "percent more", "percent less"]


class Stated(Record, kw_only=True, frozen=True, tag="stated"):
    """A ratio or another number that a paper gives in its text."""

    place: Name
    what: Text  #: in our words
    printed: Text
    value: Signed | None = None
    low: Signed | None = None  #: ends of a range, or a bound alone
    high: Signed | None = None
    unit: Name = ""
    form: Form = ""  #: how it follows from `over` and `under`; "": the paper has no rows for it
    over: Cell | None = None
    under: Cell | None = None
    note: Text = ""


AnyRecord = (
    Session
    | Header
    | Workload
    | Calibration
    | Counting
    | Run
    | Failure
    | Unsupported
    | Events
    | Memory
    | Tally
    | Profile
    | End
    | Paper
    | Published
    | Stated
)


class Result(msgspec.Struct, kw_only=True, frozen=True):
    """A whole file, sorted by kind."""

    session: Session
    header: Header | None
    workloads: dict[str, Workload]
    runs: tuple[Run, ...]
    calibrations: tuple[Calibration, ...] = ()
    countings: tuple[Counting, ...] = ()
    failures: tuple[Failure, ...] = ()
    unsupported: tuple[Unsupported, ...] = ()
    events: tuple[Events, ...] = ()
    memories: tuple[Memory, ...] = ()
    tallies: tuple[Tally, ...] = ()
    profiles: tuple[Profile, ...] = ()
    end: End | None = None
    damage: tuple[str, ...] = ()  #: lines that could not be read, as sentences; the rest was kept

    @property
    def rows(self) -> tuple[str, ...]:
        """Rows with at least one run, by their first run, in the registry's order of workloads."""
        return tuple(dict.fromkeys(run.row for run in self.runs))

    @property
    def uname(self) -> dict[str, str]:
        return self.header.uname if self.header else {}

    @property
    def kernel(self) -> str:
        """Its name and release."""
        return f"{self.uname.get('sysname', '')} {self.uname.get('release', '')}".strip()

    @property
    def complete(self) -> bool:
        return self.end is not None and self.end.complete

    @property
    def build(self) -> str:
        """How its probe was built, by BUILD: `gcc 12.2.0; cc -O2 -static; glibc 2.36; static`."""
        probe = self.header.probe if self.header else {}
        return "; ".join(str(probe.get(fact) or "not known") for fact in BUILD)

    @property
    def probe(self) -> tuple[str, ...]:
        """Its probe's source and build, for another probe has other counts; () if they are not known."""
        return (str(self.header.probe.get("source_digest", "")), self.build) if self.header else ()

    def counted(self) -> dict[str, tuple[Counting, ...] | tuple[Run, ...]]:
        """The records with counts of each row: its counting runs, or without them its runs."""
        countings = grouped((counting.row, counting) for counting in self.countings)
        runs = grouped((run.row, run) for run in self.runs if run.row not in countings)
        return {row: tuple(of_row) for row, of_row in countings.items()} | {
            row: tuple(of_row) for row, of_row in runs.items()
        }

    def runs_of(self, row: str) -> tuple[Run, ...]:
        """The runs of one row, in the order they were made."""
        return tuple(run for run in self.runs if run.row == row)


class Publication(msgspec.Struct, kw_only=True, frozen=True):
    """A whole published table: a file that begins with a `paper`."""

    paper: Paper
    figures: tuple[Published, ...]
    stated: tuple[Stated, ...] = ()
