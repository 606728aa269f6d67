"""What a session shows, on the terminal as on the page: every figure formatted, with its raw value if a chart needs it.

Plain values, built by absolute.py. terminal.py prints them, templates/report.html.j2 lays them out on the page. Every
string from a machine or a user has passed `text.printable` and is cut; the template escapes for HTML.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kernometer.report.chart.axis import Axis, Bar, Plot
from kernometer.report.words.units import Part

if TYPE_CHECKING:
    from kernometer.report.session.evidence import Absence, FlagGroup


@dataclass(frozen=True, slots=True)
class SessionView:
    """One session of a system."""

    id: str
    started: str  #: UTC, to the minute
    state: str  #: how long it took, and whether it is complete
    complete: bool
    note: str  #: "", or what disturbed it
    damage: tuple[str, ...] = ()  #: what could not be read, as sentences


@dataclass(frozen=True, slots=True)
class System:
    """A system under test: a single session, or all sessions given of one label."""

    letter: str  #: A is the baseline; B, C, … follow
    name: str
    facts: Mapping[str, str]
    sessions: tuple[SessionView, ...]


@dataclass(frozen=True, slots=True)
class Tag:
    """The short form of a figure's flag; FlagGroup explains it."""

    code: str
    label: str
    letter: str


@dataclass(frozen=True, slots=True)
class FigureText:
    """A value with its interval. `value` is in the row's unit; None without a figure, and `text` is the reason."""

    value: float | None
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


NOTHING = FigureText(None, "–")


@dataclass(frozen=True, slots=True)
class AbsoluteRow:
    """One row of the absolute table: one figure per system, in the page's order."""

    row: str
    parameters: str  #: what follows the workload's name
    anchor: str
    per: str
    better: str
    figures: tuple[FigureText, ...]
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
class AbsoluteView:
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
