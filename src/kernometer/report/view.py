"""The view model of table and page: every figure formatted, its raw value beside it where a test or a chart needs it.

Plain values, built by build.py and its parts. The terminal prints them (table.py, verdicts.py), the page lays them out
(templates/report.html.j2). Every string that came from a machine or a user has passed `text.printable` and is cut to a
length; escaping for HTML is the template's.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from kernometer.report.axis import Axis, Bar
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
    state: str  #: how long it took, and whether it is whole
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
    """A flag of a figure, in short; FlagGroup explains it."""

    code: str
    label: str
    letter: str


@dataclass(frozen=True, slots=True)
class Figure:
    """A value with its interval. `raw` is in the row's unit; None where there is no figure, and `text` says why."""

    raw: float | None
    text: str
    interval: str = ""
    accuracy: str = ""  #: how far the interval reaches: ±0.8 %
    runs: int = 0
    tags: tuple[Tag, ...] = ()
    overhead: str = ""  #: what was measured beside the row, if anything


NOTHING = Figure(None, "–")


@dataclass(frozen=True, slots=True)
class Tally:
    """How many rows got a verdict."""

    verdict: str  #: as a CSS class
    count: int
    word: str


@dataclass(frozen=True, slots=True)
class ComparedRow:
    """One line of a comparison: a row, or a curve by the point that stands for it."""

    row: str
    anchor: str
    a: Figure
    b: Figure
    ratio: float | None
    ratio_text: str
    interval: str
    floor: str  #: by path: what other states of the guest, or layouts, move the count by
    verdict: Verdict
    verdicts: tuple[Tally, ...]  #: one; of a curve those of its points
    note: tuple[str, ...]  #: of undecided rows what could have been seen, and what is missing; of a curve where it is
    why: tuple[str, ...]  #: for failed and absent rows, and what else concerns this one alone
    footnotes: tuple[int, ...] = ()  #: numbers, from 1, of the notes that it shares with other rows
    bar: Bar | None = None


@dataclass(frozen=True, slots=True)
class Plot:
    """A static chart. `svg` is markup of our own making, safe to put into the page as it is."""

    svg: str
    width: int


@dataclass(frozen=True, slots=True)
class ComparedCurve:
    """A curve of the comparison: its picture and, folded, its points."""

    name: str
    anchor: str
    parameter: str
    summary: str  #: how many points, and its largest decided difference
    tallies: tuple[Tally, ...]  #: of its points; verdicts that none got are left out
    plot: Plot | None  #: None where no point has a ratio
    rows: tuple[ComparedRow, ...]
    xs: tuple[str, ...]  #: the parameter's value of each row


@dataclass(frozen=True, slots=True)
class Contrast:
    """Something the two sides have in common (`a` == `b`), or not."""

    what: str
    a: str
    b: str

    @property
    def of_host(self) -> bool:
        """Whether `check` found it: there are dozens, which stand apart."""
        return self.what.startswith("host ")


@dataclass(frozen=True, slots=True)
class ComparisonView:
    """B against A, all of it."""

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

    @property
    def interval(self) -> str:
        """What the column beside the ratios is called."""
        return "Interval" if self.by_path else "95 % interval"

    @property
    def lines(self) -> tuple[ComparedRow, ...]:
        return tuple(row for _family, rows in self.families for row in rows)


@dataclass(frozen=True, slots=True)
class AbsoluteRow:
    """One row of the absolute table: a figure a system, in the page's order of systems."""

    row: str
    parameters: str  #: what follows the workload's name
    anchor: str
    figures: tuple[Figure, ...]
    bar: Bar | None = None  #: where there is one system: its interval around its figure

    @property
    def rows(self) -> tuple[AbsoluteRow, ...]:
        """Itself, as a curve has its points."""
        return (self,)


@dataclass(frozen=True, slots=True)
class CurveView:
    """A curve: the figures of all systems in one picture and, folded, its points; `parameters` are their values."""

    name: str
    parameter: str
    span: str  #: how many points, from where to where
    summary: str
    ends: tuple[AbsoluteRow, ...]  #: of the first system the lowest point and the highest; none where it has no value
    plot: Plot | None  #: None where no point has a figure
    rows: tuple[AbsoluteRow, ...]


@dataclass(frozen=True, slots=True)
class WorkloadView:
    """A definition with its rows and curves, in the registry's order."""

    name: str
    what: str
    unit: str  #: "time per call"
    per: str  #: "call"; "" where the unit says it
    better: str  #: "lower" or "higher"
    inside: str
    subtracts: str  #: besides the clock and the empty loop
    hangs_on: str  #: settings of the system, with each system's values; the relation of two CPUs
    source: str
    lines: tuple[AbsoluteRow | CurveView, ...]

    @property
    def rows(self) -> tuple[AbsoluteRow, ...]:
        """Those that stand alone."""
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
    rows: str  #: those of one curve under its name, with their number
    system: str  #: its letter
    detail: str


@dataclass(frozen=True, slots=True)
class FlagGroup:
    """One reason to take figures with care, said once, and the rows it concerns."""

    code: str
    title: str
    letter: str
    meaning: str
    count: int  #: of figures
    folded: bool  #: so many have it, or it asks for so little, that it stands beside no row
    items: tuple[FlagItem, ...]


@dataclass(frozen=True, slots=True)
class CountsRow:
    """Ground truth or hardware counters of one row and system; a cell a column, "" where nothing was counted."""

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

    rows: str  #: those of one curve under its name, with their number
    system: str
    kind: str  #: "failed" or "not on this platform"
    reason: str


@dataclass(frozen=True, slots=True)
class Finding:
    """Something on a host that disturbs measuring, and what to do about it."""

    name: str
    value: str  #: as the host has it
    effect: str  #: how that disturbs
    advice: str
    severity: str  #: "disturbs" or "note"
    systems: str  #: letters


@dataclass(frozen=True, slots=True)
class SpreadRow:
    """How one row spreads between sessions that should agree."""

    row: str
    sessions: int
    deviation: str  #: one standard deviation of the figure, relative
    interval: str  #: its 95 % interval
    limit: float  #: the repeatability limit: two single sessions differ by more in 5 pairs of 100; relative
    limit_text: str


@dataclass(frozen=True, slots=True)
class Spread:
    """Spread between sessions of one thing; `summary` is what to read first. Rows: the noisiest first."""

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
    ecdf: Plot | None  #: None where no sample is above 0
    order: Plot | None
    decimated: str  #: "" or what was left out of the drawing


@dataclass(frozen=True, slots=True)
class Figures:
    """What is known of every row of every system: all that the terminal shows of a session."""

    title: str
    lead: str  #: what was measured
    trust: str  #: whether it can be trusted
    axis: Axis  #: on which single intervals are drawn
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
class Page:
    """The whole report."""

    figures: Figures
    by: str  #: "time", "path", or both
    bracket: str  #: what every figure is net of, and what the gross samples hold
    made: str  #: who wrote the page
    comparisons: tuple[ComparisonView, ...]
    truth: Counts
    counters: Counts
    events: Counts  #: by path: what the emulator's plugin counted in a timed region
    findings: tuple[Finding, ...]
    spreads: tuple[Spread, ...]
    distributions: tuple[tuple[str, tuple[Distribution, ...]], ...]
    quantile_words: tuple[str, ...]
    ecdf_steps: int  #: quantiles of a run that its drawing keeps
    marks: tuple[
        str, ...
    ]  #: SVG paths of the marks that curves of systems have, in the systems' order, round and round
    order_buckets: int  #: stretches of a run of which its drawing keeps the smallest and the largest sample

    @property
    def title(self) -> str:
        return self.figures.title

    @property
    def drawn(self) -> frozenset[str]:
        """Anchors of the rows whose samples are on the page, and of the curves that are compared there."""
        samples = (one.anchor for _family, rows in self.distributions for one in rows)
        return frozenset((*samples, *(curve.anchor for one in self.comparisons for curve in one.curves)))
