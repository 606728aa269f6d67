"""Who is compared: results gathered into systems, and the figure of one system for one row."""

from __future__ import annotations

import string
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from kernometer.report.curves import definitions
from kernometer.report.units import exact_text, format_interval, format_value
from kernometer.report.view import NOTHING, Fact, Figure, SessionView, System, Tag
from kernometer.report.warnings import FOLDED, WORDS, noisy
from kernometer.results.model import Counting, Result, Run, Workload
from kernometer.stats.disturbance import disturbance
from kernometer.stats.figures import pooled as stats_pooled
from kernometer.stats.floors import Layout, with_floors
from kernometer.stats.history import Entry, entry
from kernometer.stats.model import FlagCode, RowFigure
from kernometer.stats.order import in_registry_order
from kernometer.text import printable

#: Characters of a name (row, label, host) and of a text (an error, a remark) that a page shows.
NAME, TEXT = 120, 600
#: Sentences about what could not be read of a file.
DAMAGE = 3


@dataclass(frozen=True, slots=True)
class Subject:
    """A system under test: its results and, beside each, what comparisons see of it."""

    key: str  #: its name as comparisons have it
    system: System
    results: tuple[Result, ...]
    entries: tuple[Entry, ...]
    runs: Mapping[str, tuple[Run, ...]]  #: of each row, of all results: a page asks for each of hundreds of rows
    counted: Mapping[str, tuple[Counting | Run, ...]]  #: the same of Result.counted

    @property
    def letter(self) -> str:
        return self.system.letter

    def of(self, row: str) -> list[RowFigure]:
        """The row's figure in every session that has it."""
        return [one.figures[row] for one in self.entries if row in one.figures]


def name(text: str) -> str:
    return printable(text, NAME)


def sentence(text: str) -> str:
    return printable(text, TEXT)


def letter(index: int) -> str:
    """A, B, … Z, then S27, S28, …"""
    return string.ascii_uppercase[index] if index < 26 else f"S{index + 1}"


def gather(groups: Sequence[tuple[str, Sequence[Result]]], floors: Sequence[Layout] = ()) -> tuple[Subject, ...]:
    """One subject for each group (its name and its results), lettered in order. `floors`: what is known of layouts."""
    subjects = []
    for index, (title, results) in enumerate(groups):
        system = System(letter(index), name(title), _facts(results), tuple(map(_session, results)))
        entries = tuple(_entry(result, floors) for result in results)
        subjects.append(Subject(title, system, tuple(results), entries, _runs(results), _counted(results)))
    return tuple(subjects)


def _entry(result: Result, floors: Sequence[Layout]) -> Entry:
    found = entry(result)
    return replace(found, figures=with_floors(found.figures, result, floors))


def _runs(results: Sequence[Result]) -> dict[str, tuple[Run, ...]]:
    """By row, in the order they were made."""
    found: dict[str, list[Run]] = {}
    for result in results:
        for run in result.runs:
            found.setdefault(run.row, []).append(run)
    return {row: tuple(runs) for row, runs in found.items()}


def _counted(results: Sequence[Result]) -> dict[str, tuple[Counting | Run, ...]]:
    found: dict[str, list[Counting | Run]] = {}
    for result in results:
        for row, counted in result.counted().items():
            found.setdefault(row, []).extend(counted)
    return {row: tuple(counted) for row, counted in found.items()}


def rows_of(subjects: Sequence[Subject]) -> tuple[str, ...]:
    """Every row that has a run of some subject, in the registry's order; what that does not know comes last."""
    results = [result for subject in subjects for result in subject.results]
    return in_registry_order(results, dict.fromkeys(row for result in results for row in result.rows))


def workloads_of(subjects: Sequence[Subject]) -> dict[str, Workload]:
    """Every definition; where two subjects differ, the first."""
    return definitions(result for subject in subjects for result in subject.results)


def single(figure: RowFigure) -> Figure:
    """A value and its 95 % interval, in the row's own unit; of equal counts that they are exact."""
    codes = dict.fromkeys(flag.code for flag in figure.flags)
    tags = tuple(Tag(code.value, WORDS[code].label) for code in codes if code not in FOLDED)
    if figure.value is None:
        below = FlagCode.BELOW_RESOLUTION in codes
        return Figure(None, "below resolution" if below else "no figure", "", tags)
    interval, half_width = "", None
    if figure.value_low is not None and figure.value_high is not None:
        interval = format_interval(figure.value_low, figure.value_high, figure.unit)
        half_width = (figure.value_high - figure.value_low) / 2
    interval = exact_text(figure) or interval
    return Figure(figure.value, format_value(figure.value, figure.unit, half_width), interval, tags)


def pooled(figures: Sequence[RowFigure]) -> Figure:
    """`pooled_figure` in words."""
    figure = pooled_figure(figures)
    return NOTHING if figure is None else single(figure)


def pooled_figure(figures: Sequence[RowFigure]) -> RowFigure | None:
    """The figure of a system: its one session's, or its sessions' geometric mean with the interval between them."""
    if not figures:
        return None
    return stats_pooled(figures, [figure.cost for figure in figures if figure.cost is not None])


def _session(result: Result) -> SessionView:
    started = datetime.fromtimestamp(result.session.started, UTC)
    notes = [noisy(disturbance(result))]
    if result.end is None:
        notes.append("the file was cut off")
    elif not result.end.complete:
        notes.append(f"not whole: {result.end.reason or 'no reason given'}")
    note = " ".join(filter(None, notes))
    damage = [sentence(line) for line in result.damage[:DAMAGE]]
    if len(result.damage) > DAMAGE:
        damage.append(f"and {len(result.damage) - DAMAGE} more")
    return SessionView(name(result.session.id), f"{started:%Y-%m-%d %H:%M} UTC", sentence(note), tuple(damage))


def _facts(results: Sequence[Result]) -> tuple[Fact, ...]:
    """What a reader needs to place a system; values that differ between its sessions are all named."""
    listed = {
        "Target": [result.session.target for result in results],
        "Machine": [result.session.machine for result in results],
        "Kernel": [_kernel(result) for result in results],
        "Host": [_header(result, "uname").get("nodename", "") for result in results],
        "CPU": [_cpu(result) for result in results],
        "Probe": [_probe(result) for result in results],
        "Clock": [result.header.clock if result.header else "" for result in results],
        "Profile": [f"{result.session.profile}, by {result.session.by}" for result in results],
    }
    facts = []
    for key, values in listed.items():
        different = [name(str(value)) for value in dict.fromkeys(values) if value]
        if different:
            facts.append(Fact(key, "; ".join(different[:6])))
    return tuple(facts)


def _header(result: Result, part: str) -> Mapping[str, Any]:
    found: Mapping[str, Any] = getattr(result.header, part) if result.header else {}
    return found


def _kernel(result: Result) -> str:
    uname = _header(result, "uname")
    return " ".join(str(uname[key]) for key in ("sysname", "release", "machine") if uname.get(key))


def _cpu(result: Result) -> str:
    cpu = _header(result, "cpu")
    online = cpu.get("online")
    return f"{cpu.get('model', '')} ({online} online)" if online else str(cpu.get("model", ""))


def _probe(result: Result) -> str:
    probe = _header(result, "probe")
    digest = str(probe.get("source_digest", ""))[:12]
    told = (*(probe.get(key) for key in ("version", "compiler", "libc", "linkage")), digest)
    return " ".join(str(part) for part in told if part)
