"""Results grouped into systems, and the figure of one system for one row."""

from __future__ import annotations

import re
import string
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, TypeVar

from kernometer.report.session.view import NOTHING, FigureText, SessionView, System, Tag
from kernometer.report.words.curves import definitions
from kernometer.report.words.flags import WORDS, folded, noisy
from kernometer.report.words.names import name, sentence
from kernometer.report.words.units import exact_text, format_half_width, format_interval, format_value, parts_of
from kernometer.results.model import PATH_DEFINITION, Counting, Result, Run, Workload
from kernometer.results.rows import in_registry_order
from kernometer.stats.curves import gathered
from kernometer.stats.differences import OLD_DEFINITION
from kernometer.stats.figures import pooled as stats_pooled
from kernometer.stats.flags import Disturbance, disturbance
from kernometer.stats.floors import Layout, with_floors
from kernometer.stats.history import Entry, entry
from kernometer.stats.model import FlagCode, RowFigure
from kernometer.tables import grouped

#: How many sentences about damage in a file a page shows.
DAMAGE = 3
#: Findings from the moment before a session; its runs tell more of them.
PASSING = frozenset({"other work", "steal"})
_T = TypeVar("_T")
_DIGEST = re.compile(r"[0-9a-f]{32,}")


@dataclass(frozen=True, slots=True)
class Subject:
    """A system under test: its results and, for each, its entry in comparisons."""

    key: str  #: its name in comparisons
    system: System
    results: tuple[Result, ...]
    figures: tuple[Mapping[str, RowFigure], ...]  #: of each result
    entries: tuple[Entry, ...]  #: of each result; () if only its own figures are shown
    runs: Mapping[str, tuple[Run, ...]]  #: by row, of all results
    counted: Mapping[str, tuple[Counting | Run, ...]]  #: the same of Result.counted
    hidden: frozenset[FlagCode]  #: flags that are not shown at rows

    @property
    def letter(self) -> str:
        return self.system.letter

    def figures_of(self, row: str) -> list[RowFigure]:
        """The row's figures in the sessions that have one."""
        return [figures[row] for figures in self.figures if row in figures]


def letter(index: int) -> str:
    """A, B, … Z, then S27, S28, …"""
    return string.ascii_uppercase[index] if index < 26 else f"S{index + 1}"


def gather(groups: Sequence[tuple[str, Sequence[Result]]], floors: Sequence[Layout] = ()) -> tuple[Subject, ...]:
    """One subject for each group (its name and its results), lettered in order. `floors`: the known layouts."""
    subjects = []
    for index, (title, results) in enumerate(groups):
        entries = [entry(result) for result in results]
        known = [
            with_floors(entry_of.figures, result, floors) for entry_of, result in zip(entries, results, strict=True)
        ]
        subjects.append(subject(letter(index), title, results, known, entries))
    return tuple(subjects)


def subject(
    sign: str,
    title: str,
    results: Sequence[Result],
    figures: Sequence[Mapping[str, RowFigure]],
    entries: Sequence[Entry] = (),
    *,
    every_flag: bool = False,
) -> Subject:
    """The system of these results, with these figures of each; `every_flag`: also flags that need no action."""
    flagged = [figure for session in figures for figure in session.values()]
    return Subject(
        key=title,
        system=System(sign, name(title), _facts(results), tuple(map(_session, results))),
        results=tuple(results),
        figures=tuple(figures),
        entries=tuple(entries),
        runs=_by_row((run.row, run) for result in results for run in result.runs),
        counted=_by_row(
            (row, record) for result in results for row, each in result.counted().items() for record in each
        ),
        hidden=frozenset() if every_flag else folded(flagged),
    )


def _by_row(pairs: Iterable[tuple[str, _T]]) -> dict[str, tuple[_T, ...]]:
    """In the order they were made."""
    return {row: tuple(records) for row, records in grouped(pairs).items()}


def rows_of(subjects: Sequence[Subject]) -> tuple[str, ...]:
    """Every row with a figure in some subject, in the registry's order; rows that are not in it come last."""
    results = [result for subject in subjects for result in subject.results]
    return in_registry_order(
        results, dict.fromkeys(row for subject_of in subjects for session in subject_of.figures for row in session)
    )


def workloads_of(subjects: Sequence[Subject]) -> dict[str, Workload]:
    """Every definition; if two subjects differ, the first."""
    return definitions(result for subject in subjects for result in subject.results)


def names_of(rows: Iterable[str], workloads: Mapping[str, Workload]) -> str:
    """Row names for a sentence; the rows of one curve as its name and their number."""
    return sentence(
        ", ".join(
            line if isinstance(line, str) else f"{line.name} ({len(line.points)} points)"
            for line in gathered(dict.fromkeys(rows), workloads)
        )
    )


def single(figure: RowFigure | None, hidden: frozenset[FlagCode] = frozenset(), *, kernel: bool = False) -> FigureText:
    """A value in the row's own unit, its 95 % interval or "exact", and its flags without `hidden`. `kernel`: with the
    kernel's part in any case."""
    if figure is None:
        return NOTHING
    codes = dict.fromkeys(flag.code for flag in figure.flags)
    tags = tuple(Tag(code.value, WORDS[code].label, WORDS[code].letter) for code in codes if code not in hidden)
    runs = len(figure.runs)
    unit = "instructions" if figure.unit == "instructions" else "ns"
    overhead = "" if figure.baseline is None else format_value(figure.baseline, unit)
    if figure.value is None:
        below = FlagCode.BELOW_RESOLUTION in codes
        return FigureText(None, "below resolution" if below else "no figure", runs=runs, tags=tags, overhead=overhead)
    interval, half_width = "", None
    if figure.value_low is not None and figure.value_high is not None:
        interval = format_interval(figure.value_low, figure.value_high, figure.unit)
        half_width = (figure.value_high - figure.value_low) / 2
    exact = exact_text(figure)
    accuracy = exact or format_half_width(figure.value, figure.value_low, figure.value_high)
    text = format_value(figure.value, figure.unit, half_width)
    return FigureText(
        figure.value, text, exact or interval, accuracy, runs, tags, overhead, parts_of(figure, kernel=kernel)
    )


def per(figure: RowFigure | None) -> str:
    """The thing that the value is per: `call`; "" if its unit says it: a bandwidth is per second, not per block."""
    return "" if figure is None or figure.unit == "B/s" else name(figure.per)


def figure_of(subject: Subject, row: str) -> FigureText:
    """`pooled_figure` as text."""
    return single(pooled_figure(subject.figures_of(row)), subject.hidden)


def pooled_figure(figures: Sequence[RowFigure]) -> RowFigure | None:
    """The figure of a system: its only session's, or its sessions' geometric mean with the interval between them."""
    if not figures:
        return None
    return stats_pooled(figures, [figure.cost for figure in figures if figure.cost is not None])


def _session(result: Result) -> SessionView:
    started = datetime.fromtimestamp(result.session.started, UTC)
    end = result.end
    state = "cut off, or still being measured" if end is None else "complete"
    if end is not None and not end.complete:
        state = f"not complete: {end.reason or 'no reason given'}"
    state = f"{end.seconds:.0f} s, {state}" if end is not None else state
    damage = [sentence(line) for line in result.damage[:DAMAGE]]
    if len(result.damage) > DAMAGE:
        damage.append(f"and {len(result.damage) - DAMAGE} more")
    note = sentence(noisy(disturbance(result)))
    when = f"{started:%Y-%m-%d %H:%M} UTC"
    return SessionView(name(result.session.id), when, sentence(state), result.complete, note, tuple(damage))


def _facts(results: Sequence[Result]) -> dict[str, str]:
    """The facts of a system; values that differ between its sessions are all listed."""
    each = [_facts_of(result) for result in results]
    facts = {}
    for key in dict.fromkeys(key for facts_of in each for key in facts_of):
        different = [sentence(value) for value in dict.fromkeys(facts_of.get(key, "") for facts_of in each) if value]
        if different:
            facts[key] = "; ".join(different[:6])
    return facts


def _facts_of(result: Result) -> dict[str, str]:
    """Name and value, "" if not known; not yet safe to print."""
    session, header = result.session, result.header
    facts = {
        "Target": f"{session.target}, by {session.by}, profile {session.profile}",
        "Label": session.label,
        "Machine": session.machine,
        "Counted": OLD_DEFINITION if session.by == "path" and session.path_definition < PATH_DEFINITION else "",
        "Experiment": f"{session.experiment}, side {session.side}" if session.experiment else "",
        "Again": f"kernometer run --again {session.id}" if not session.experiment else "",
    }
    if header is not None:
        uname, probe = header.uname, header.probe
        chosen = next((clock for clock in header.clocks if clock.get("name") == header.clock), {})
        told, built = (
            [short(str(probe[key])) for key in keys if probe.get(key)]
            for keys in (("compiler", "libc", "linkage"), ("version", "flags", "source_digest"))
        )
        facts |= {
            "Kernel": " ".join(str(uname[key]) for key in ("sysname", "release", "machine") if uname.get(key)),
            "Host": str(uname.get("nodename", "")),
            "CPU": f"{header.cpu.get('model', '')}, {header.cpu.get('online', '?')} online",
            "Clock": ", ".join([header.clock, *_clock(chosen)]),
            "Clocks": "; ".join(
                f"{clock.get('name')} {' / '.join(_clock(clock, short=True))}" for clock in header.clocks
            ),
            "Probe": ", ".join(told),
            "Built": " ".join(built),
            "Counters": f"none: {header.counters}" if header.counters else "",
        }
    return facts | {"Disturbing": "; ".join(_disturbing(session.host, told=disturbance(result)))}


def _clock(clock: Mapping[str, Any], *, short: bool = False) -> list[str]:
    """One of the platform's clocks: its measured resolution and cost of one read, or why it is not there."""
    if "unsupported" in clock:
        return [str(clock["unsupported"])]
    words = (("resolution_ns", "resolution "), ("cost_ns", "one read "))
    known = [(key, word) for key, word in words if isinstance(clock.get(key), int | float)]
    return [f"{'' if short else word}{format_value(clock[key], 'ns')}" for key, word in known]


def _disturbing(host: Mapping[str, Any], *, told: Disturbance | None) -> list[str]:
    """What disturbed measuring when the session began, by `check`; of other work only if no run tells of it. The record
    of a file may have any shape."""
    findings = host.get("findings")
    disturbing = [finding for finding in findings if isinstance(finding, dict)] if isinstance(findings, list) else []
    disturbing = [finding for finding in disturbing if finding.get("severity") == "disturbs"]
    if told is not None and told.quiet:
        disturbing = [finding for finding in disturbing if finding.get("name") not in PASSING]
    return [f"{finding.get('name', '?')}: {finding.get('value', '')}" for finding in disturbing]


def short(text: str) -> str:
    """The beginning of a digest."""
    return f"{text[:12]}…" if _DIGEST.fullmatch(text) else sentence(text)
