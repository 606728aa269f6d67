"""The view model of the report: every figure formatted, its raw value beside it where a test or a chart needs it.

Plain values, built by build.py and its parts, laid out by templates/report.html.j2. Every string that came from a
machine or a user has passed `text.printable` and is cut to a length; escaping for HTML is the template's.
"""

from __future__ import annotations

from dataclasses import dataclass

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
    note: str  #: "", or what disturbed it, and why it is not whole
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


@dataclass(frozen=True, slots=True)
class Figure:
    """A value with its interval. `raw` is in the row's unit; None where there is no figure, and `text` says why."""

    raw: float | None
    text: str
    interval: str = ""
    tags: tuple[Tag, ...] = ()


NOTHING = Figure(None, "–")


@dataclass(frozen=True, slots=True)
class Tally:
    """How many rows got a verdict; with its mark it is the forest plot's legend."""

    verdict: str  #: as a CSS class
    count: int
    word: str


@dataclass(frozen=True, slots=True)
class ComparedRow:
    """One row of the comparison table."""

    row: str
    anchor: str
    a: Figure
    b: Figure
    ratio: float | None
    ratio_text: str
    interval: str
    verdict: Verdict
    note: str  #: for undecided rows what could have been seen and what is missing; for failed and absent ones why
    footnotes: tuple[int, ...] = ()  #: numbers, from 1, of the notes that it shares with other rows


@dataclass(frozen=True, slots=True)
class Plot:
    """A static chart. `svg` is markup of our own making, safe to put into the page as it is."""

    svg: str
    width: int


@dataclass(frozen=True, slots=True)
class ComparedCurve:
    """A curve of the comparison: its picture and, folded, its points."""

    name: str
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
    interval: str  #: what the column beside the ratios is called
    delta: str
    tallies: tuple[Tally, ...]
    wide: tuple[Plot, ...]
    narrow: tuple[Plot, ...]
    undrawn: int  #: rows, and curves, without a ratio
    families: tuple[tuple[str, tuple[ComparedRow, ...]], ...]  #: rows that stand alone
    curves: tuple[ComparedCurve, ...]
    same: tuple[Contrast, ...]
    differs: tuple[Contrast, ...]
    footnotes: tuple[str, ...]
    remarks: tuple[str, ...]

    @property
    def rows(self) -> tuple[ComparedRow, ...]:
        """All rows: the table's, in its order, then the curves' points."""
        alone = (row for _family, rows in self.families for row in rows)
        return (*alone, *(row for curve in self.curves for row in curve.rows))


@dataclass(frozen=True, slots=True)
class AbsoluteRow:
    """One row of the absolute table: a figure a system, in the page's order of systems."""

    row: str
    parameters: str  #: what follows the workload's name
    anchor: str
    figures: tuple[Figure, ...]


@dataclass(frozen=True, slots=True)
class CurveView:
    """A curve: the figures of all systems in one picture and, folded, its points; `parameters` are their values."""

    name: str
    parameter: str
    summary: str
    plot: Plot | None  #: None where no point has a figure
    rows: tuple[AbsoluteRow, ...]


@dataclass(frozen=True, slots=True)
class WorkloadView:
    """A definition with its rows."""

    name: str
    what: str
    unit: str  #: "ns per call"
    direction: str  #: "lower is better"
    inside: str
    subtracts: str  #: besides the clock and the empty loop
    hangs_on: str  #: settings of the system, with each system's values; the relation of two CPUs
    source: str
    rows: tuple[AbsoluteRow, ...]  #: those that stand alone
    curves: tuple[CurveView, ...] = ()


@dataclass(frozen=True, slots=True)
class Family:
    """Workloads of one subject."""

    key: str
    title: str
    workloads: tuple[WorkloadView, ...]

    @property
    def alone(self) -> tuple[WorkloadView, ...]:
        """Those with rows that are no points of a curve."""
        return tuple(workload for workload in self.workloads if workload.rows)

    @property
    def curves(self) -> tuple[CurveView, ...]:
        return tuple(curve for workload in self.workloads for curve in workload.curves)


@dataclass(frozen=True, slots=True)
class FlagItem:
    row: str
    system: str  #: its letter
    detail: str


@dataclass(frozen=True, slots=True)
class FlagGroup:
    """One reason to take figures with care, said once, and the rows it concerns."""

    code: str
    title: str
    meaning: str
    items: tuple[FlagItem, ...]
    more: int = 0  #: items beyond those listed


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
    """A row without a figure."""

    row: str
    system: str
    kind: str  #: "failed" or "unsupported"
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
class Page:
    """The whole report."""

    title: str
    lead: str  #: the first sentence where there is no comparison
    by: str  #: "time", "path", or both
    bracket: str  #: what every figure is net of, and what the gross samples hold
    made: str  #: who wrote the page
    systems: tuple[System, ...]
    comparisons: tuple[ComparisonView, ...]
    families: tuple[Family, ...]
    flags: tuple[FlagGroup, ...]
    truth: Counts
    counters: Counts
    events: Counts  #: by path: what the emulator's plugin counted in a timed region
    absences: tuple[Absence, ...]
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
    def drawn(self) -> frozenset[str]:
        """Anchors of the rows whose samples are on the page."""
        return frozenset(one.anchor for _family, rows in self.distributions for one in rows)
