"""The view model of table and page: every figure formatted, with its raw value if a test or a chart needs it.

Plain values, built by build.py and its parts. table.py and verdicts.py print them on the terminal,
templates/report.html.j2 lays them out on the page. Every string from a machine or a user has passed `text.printable`
and is cut; the template escapes for HTML.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from kernometer.report.chart.axis import Axis, Bar
from kernometer.report.chart.svg import Plot
from kernometer.report.explanation.boundaries_view import BoundariesView
from kernometer.report.explanation.structures_view import StructuresView
from kernometer.report.words.units import Part
from kernometer.stats.differences import NOT_KNOWN
from kernometer.stats.model import Verdict


@dataclass(frozen=True, slots=True)
class Fact:
    """A name and a value, for definition lists."""

    name: str
    value: str


@dataclass(frozen=True, slots=True)
class SessionView:
    """One session of a system."""

    id: str
    started: str  #: UTC, to the minute
    state: str  #: how long it took, and whether it is complete
    whole: bool
    note: str  #: "", or what disturbed it
    damage: tuple[str, ...] = ()  #: what could not be read, as sentences


@dataclass(frozen=True, slots=True)
class System:
    """A system under test: a single session, or all sessions given of one label."""

    letter: str  #: A is the baseline; B, C, … follow
    name: str
    facts: tuple[Fact, ...]
    sessions: tuple[SessionView, ...]


@dataclass(frozen=True, slots=True)
class Tag:
    """The short form of a figure's flag; FlagGroup explains it."""

    code: str
    label: str
    letter: str


@dataclass(frozen=True, slots=True)
class Figure:
    """A value with its interval. `raw` is in the row's unit; None without a figure, and `text` is the reason."""

    raw: float | None
    text: str
    interval: str = ""
    accuracy: str = ""  #: how far the interval reaches: ±0.8 %
    runs: int = 0
    tags: tuple[Tag, ...] = ()
    overhead: str = ""  #: the overhead that was measured with the row, if any
    parts: tuple[Part, ...] = ()  #: by path: levels, and the kernel's part

    @property
    def levels(self) -> bool:
        return any(what == "mean" for _number, what in self.parts)


NOTHING = Figure(None, "–")


@dataclass(frozen=True, slots=True)
class Tally:
    """How many rows got a verdict."""

    verdict: str  #: as a CSS class
    count: int
    word: str


@dataclass(frozen=True, slots=True)
class ComparedRow:
    """One line of a comparison: a row, or a curve by the point that represents it."""

    row: str
    anchor: str
    per: str  #: "call"; "" if the unit contains it
    better: str  #: "lower" or "higher"
    a: Figure
    b: Figure
    ratio: float | None
    ratio_text: str
    interval: str
    floor: str  #: by path: how far other states of the guest, or layouts, move the count
    verdict: Verdict
    verdicts: tuple[Tally, ...]  #: one; of a curve those of its points
    note: tuple[str, ...]  #: undecided rows: what could have been seen, and what is missing; curves: at which value
    why: tuple[str, ...]  #: reasons of failed and absent rows, and other notes of this row alone
    footnotes: tuple[int, ...] = ()  #: numbers, from 1, of notes shared with other rows
    bar: Bar | None = None
    parts: tuple[str, ...] = ()  #: by path: the ratio of the kernel's parts


@dataclass(frozen=True, slots=True)
class ComparedCurve:
    """A curve of the comparison: its drawing and, folded, its points."""

    name: str
    anchor: str
    parameter: str
    summary: str  #: how many points, and its largest decided difference
    tallies: tuple[Tally, ...]  #: of its points, without verdicts that no point has
    plot: Plot | None  #: None if no point has a ratio
    rows: tuple[ComparedRow, ...]
    xs: tuple[str, ...]  #: the parameter's value of each row


@dataclass(frozen=True, slots=True)
class Contrast:
    """A fact that the two sides have in common (`a` == `b`), or in which they differ."""

    what: str
    a: str
    b: str
    asked: bool = False

    @property
    def of_host(self) -> bool:
        """Whether `check` found it. There are dozens, which are shown apart."""
        return self.what.startswith("host ")


@dataclass(frozen=True, slots=True)
class Cause:
    """Why the two sides differ, by the rules of `kernometer explain`."""

    title: str
    confidence: str
    evidence: tuple[str, ...]
    refute: str


@dataclass(frozen=True, slots=True)
class ComparisonView:
    """B against A."""

    anchor: str
    a: System
    b: System
    sentence: str
    decided: bool  #: False: no row has an interval, and there is no verdict to show
    by_path: bool
    delta: str
    axis: Axis
    tallies: tuple[Tally, ...]
    first: tuple[ComparedRow, ...]  #: what people ask for first, and what differs most; the largest ratio first
    families: tuple[tuple[str, tuple[ComparedRow, ...]], ...]  #: rows, and a line a curve
    curves: tuple[ComparedCurve, ...]
    same: tuple[Contrast, ...]
    differs: tuple[Contrast, ...]
    footnotes: tuple[str, ...]
    remarks: tuple[str, ...]
    conditions: tuple[str, ...]
    causes: tuple[Cause, ...] = ()  #: the surest first

    @property
    def interval(self) -> str:
        """The head of the column of intervals."""
        return "Interval" if self.by_path else "95 % interval"

    @property
    def unasked(self) -> tuple[Contrast, ...]:
        """What differs besides what is compared; facts that only one side knows come last."""
        found = [one for one in self.differs if not one.asked]
        return tuple(sorted(found, key=lambda one: NOT_KNOWN in (one.a, one.b)))

    @property
    def lines(self) -> tuple[ComparedRow, ...]:
        return tuple(row for _family, rows in self.families for row in rows)


@dataclass(frozen=True, slots=True)
class AbsoluteRow:
    """One row of the absolute table: one figure per system, in the page's order."""

    row: str
    parameters: str  #: what follows the workload's name
    anchor: str
    per: str
    better: str
    figures: tuple[Figure, ...]
    bar: Bar | None = None  #: for a single system: its interval around its figure

    @property
    def rows(self) -> tuple[AbsoluteRow, ...]:
        """The row itself, in the place of a curve's points."""
        return (self,)


@dataclass(frozen=True, slots=True)
class CurveView:
    """A curve: the figures of all systems in one drawing and, folded, its points; `parameters` are their values."""

    name: str
    parameter: str
    span: str  #: the number of points, and the first and last value
    summary: str
    ends: tuple[AbsoluteRow, ...]  #: the first system's lowest and highest point; none without a value
    plot: Plot | None  #: None if no point has a figure
    rows: tuple[AbsoluteRow, ...]


@dataclass(frozen=True, slots=True)
class WorkloadView:
    """A definition with its rows and curves, in the registry's order."""

    name: str
    what: str
    unit: str  #: "time per call"
    per: str  #: "call"; "" if the unit contains it
    better: str  #: "lower" or "higher"
    inside: str
    subtracts: str  #: besides the clock and the empty loop
    hangs_on: str  #: what it depends on: settings, with each system's values; the relation of two CPUs
    source: str
    lines: tuple[AbsoluteRow | CurveView, ...]

    @property
    def rows(self) -> tuple[AbsoluteRow, ...]:
        """The rows that belong to no curve."""
        return tuple(line for line in self.lines if isinstance(line, AbsoluteRow))

    @property
    def curves(self) -> tuple[CurveView, ...]:
        return tuple(line for line in self.lines if isinstance(line, CurveView))


@dataclass(frozen=True, slots=True)
class Family:
    """Workloads of one subject."""

    key: str
    title: str
    workloads: tuple[WorkloadView, ...]


@dataclass(frozen=True, slots=True)
class FlagItem:
    rows: str  #: row names; the rows of one curve as its name and their number
    system: str  #: its letter
    detail: str


@dataclass(frozen=True, slots=True)
class FlagGroup:
    """One reason to take figures with care, and its rows."""

    code: str
    title: str
    letter: str
    meaning: str
    count: int  #: of figures
    folded: bool  #: not shown at rows, as it is common or needs no action
    items: tuple[FlagItem, ...]


@dataclass(frozen=True, slots=True)
class CountsRow:
    """Ground truth or hardware counters of one row and system: one cell per column, "" if nothing was counted."""

    row: str
    system: str
    cells: tuple[str, ...]
    disagrees: bool = False


@dataclass(frozen=True, slots=True)
class Counts:
    """A table of counts per operation. `missing`: why a system has none, as (letter, reason)."""

    columns: tuple[str, ...]
    rows: tuple[CountsRow, ...]
    missing: tuple[tuple[str, str], ...] = ()
    summary: str = ""


@dataclass(frozen=True, slots=True)
class Absence:
    """Rows without a figure, for one reason."""

    rows: str  #: row names; the rows of one curve as its name and their number
    system: str
    kind: str  #: "failed" or "not on this platform"
    reason: str


@dataclass(frozen=True, slots=True)
class Finding:
    """Something on a host that disturbs measuring, and what to do about it."""

    name: str
    value: str  #: the host's value
    effect: str  #: how it disturbs
    advice: str
    severity: str  #: "disturbs" or "note"
    systems: str  #: letters


@dataclass(frozen=True, slots=True)
class SpreadRow:
    """The spread of one row between sessions of the same thing."""

    row: str
    sessions: int
    deviation: str  #: one standard deviation of the figure, relative
    interval: str  #: its 95 % interval
    limit: float  #: the repeatability limit: two single sessions differ by more in 5 pairs of 100; relative
    limit_text: str


@dataclass(frozen=True, slots=True)
class Spread:
    """Spread between sessions of the same thing, with a summary; the noisiest row first."""

    summary: str
    rows: tuple[SpreadRow, ...]


@dataclass(frozen=True, slots=True)
class Quantiles:
    """The text alternative of a distribution: samples of one system, all runs together."""

    system: str
    runs: int
    samples: int
    figures: tuple[str, ...]  #: minimum, median, 90th, 99th percentile, maximum


@dataclass(frozen=True, slots=True)
class Distribution:
    """One row's samples, drawn twice: as distribution and in the order in which they were taken."""

    row: str
    anchor: str
    summary: str
    quantiles: tuple[Quantiles, ...]
    ecdf: Plot | None  #: None if no sample is above 0
    order: Plot | None
    decimated: str  #: "" or what was left out of the drawing


@dataclass(frozen=True, slots=True)
class Figures:
    """Every row of every system, as the terminal shows a session."""

    title: str
    lead: str  #: what was measured
    trust: str  #: whether it can be trusted
    axis: Axis  #: of single intervals
    systems: tuple[System, ...]
    first: tuple[AbsoluteRow, ...]  #: what people ask for first
    families: tuple[Family, ...]
    flags: tuple[FlagGroup, ...]
    absences: tuple[Absence, ...]
    slower: Mapping[str, float]  #: rows that took longer in the run that counts: how many times as long

    @property
    def workloads(self) -> tuple[WorkloadView, ...]:
        return tuple(workload for family in self.families for workload in family.workloads)


@dataclass(frozen=True, slots=True)
class TallyLine:
    """One system's counters of one operation."""

    system: str
    cells: tuple[str, ...]  #: by the heads


@dataclass(frozen=True, slots=True)
class TallyRow:
    row: str
    lines: tuple[TallyLine, ...]


@dataclass(frozen=True, slots=True)
class Tallies:
    """What operations are made of, by the counters of kernels that have them."""

    rows: tuple[TallyRow, ...]
    heads: tuple[str, ...]
    legend: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class FunctionLine:
    """One function's instructions, or a named line's."""

    name: str
    where: str  #: "kernel", "user", or "" for a named line
    cells: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ProfileView:
    """The functions of a row's figure on one system."""

    row: str
    summary: str
    lines: tuple[FunctionLine, ...]  #: cells: instructions, share
    plot: Plot | None  #: the flame graph
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ChangedView:
    """The functions that make a difference."""

    row: str
    summary: str
    lines: tuple[FunctionLine, ...]  #: cells: A, B, B less A


@dataclass(frozen=True, slots=True)
class Functions:
    """By system, and by comparison (as "B against A")."""

    profiles: tuple[tuple[str, tuple[ProfileView, ...]], ...]
    changed: tuple[tuple[str, tuple[ChangedView, ...]], ...]
    common: str  #: the functions that make most of the differences of a single comparison; "" without


@dataclass(frozen=True, slots=True)
class Page:
    """The whole report."""

    figures: Figures
    by: str  #: "time", "path", or both
    bracket: str  #: what is subtracted from every figure, and included in the gross samples
    made: str  #: the program that wrote the page
    comparisons: tuple[ComparisonView, ...]
    truth: Counts
    counters: Counts
    events: Counts  #: by path: the plugin's counts of a timed region
    tallies: Tallies  #: by path: what the kernels count that tell
    boundaries: BoundariesView | None  #: by path: of Trio's partitions
    structures: StructuresView | None  #: by path, of other systems than those of the figures
    functions: Functions  #: by path: of rows with profiles
    findings: tuple[Finding, ...]
    spreads: tuple[Spread, ...]
    distributions: tuple[tuple[str, tuple[Distribution, ...]], ...]
    quantile_words: tuple[str, ...]
    ecdf_steps: int  #: how many quantiles of a run its drawing keeps
    marks: tuple[str, ...]  #: SVG paths of the systems' marks in curves, in order, repeated if there are more systems
    order_buckets: int  #: stretches of a run whose smallest and largest samples its drawing keeps

    @property
    def title(self) -> str:
        return self.figures.title

    @property
    def drawn(self) -> frozenset[str]:
        """Anchors of the rows whose samples are on the page, and of the compared curves."""
        samples = (one.anchor for _family, rows in self.distributions for one in rows)
        return frozenset((*samples, *(curve.anchor for one in self.comparisons for curve in one.curves)))
