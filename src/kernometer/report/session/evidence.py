"""Evidence for and against figures: flags, counts, counters, rows without a figure, the host."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from kernometer.report.session.systems import Subject, names_of, rows_of, workloads_of
from kernometer.report.words.flags import WORDS, explain
from kernometer.report.words.names import name, sentence
from kernometer.results.model import Counting, Events, Run
from kernometer.results.rows import Row
from kernometer.stats.model import Flag, FlagCode
from kernometer.tables import grouped

#: A row's counting run is mentioned if it took at least so many times as long.
TOLD_COUNTING = 1.1
#: The findings of `check` that affect figures: those that make them vary, then those that shift them evenly.
SEVERITIES = ("disturbs", "note")


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


def flags(subjects: Sequence[Subject]) -> tuple[FlagGroup, ...]:
    """Every flag, by reason, in the order of FlagCode; a detail that many rows share stands once."""
    flagged: dict[FlagCode, dict[tuple[str, str], list[str]]] = {}
    for row in rows_of(subjects):
        for subject in subjects:
            for flag in _flags_of(subject, row):
                flagged.setdefault(flag.code, {}).setdefault((subject.letter, flag.detail), []).append(row)
    workloads = workloads_of(subjects)
    efforts = [result.session.effort for subject in subjects for result in subject.results]
    given = {option for effort in efforts for option, value in effort.items() if value}
    return tuple(
        FlagGroup(
            code=code.value,
            title=WORDS[code].label,
            letter=WORDS[code].letter,
            meaning=explain(
                code, given, command=all(Row(row).command for rows in flagged[code].values() for row in rows)
            ),
            count=len({(letter, row) for (letter, _detail), rows in flagged[code].items() for row in rows}),
            folded=all(code in subject.hidden for subject in subjects),
            items=tuple(
                FlagItem(names_of(rows, workloads), letter, sentence(detail))
                for (letter, detail), rows in flagged[code].items()
            ),
        )
        for code in FlagCode
        if code in flagged
    )


def slower(subjects: Sequence[Subject]) -> dict[str, float]:
    """Rows that took longer while events were counted, with the factor."""
    rows = ((row, figure) for row in rows_of(subjects) for subject in subjects for figure in subject.figures_of(row))
    known = grouped((row, figure.counting or 1.0) for row, figure in rows)
    return {name(row): max(times) for row, times in known.items() if max(times) >= TOLD_COUNTING}


def truth(subjects: Sequence[Subject]) -> Counts:
    """What each row's iterations claim to do and what was counted: "claimed / counted", per iteration."""
    made = table(
        subjects,
        lambda subject, row: _claims(subject.counted.get(row, ())),
        lambda subject, row: any(flag.code is FlagCode.COUNTS_DISAGREE for flag in _flags_of(subject, row)),
    )
    wrong = [row.row for row in made.rows if row.disagrees]
    return replace(made, summary=_truth_summary(wrong, len(made.rows)))


def table(
    subjects: Sequence[Subject],
    cells: Callable[[Subject, str], Mapping[str, str]],
    disagrees: Callable[[Subject, str], bool] = lambda _subject, _row: False,
) -> Counts:
    """The cells of each row, by kind of event, on each system that has any."""
    every = ((row, subject, cells(subject, row)) for row in rows_of(subjects) for subject in subjects)
    known = [(row, subject, of_row) for row, subject, of_row in every if of_row]
    kinds = tuple(dict.fromkeys(kind for _row, _subject, of_row in known for kind in of_row))
    rows = (
        CountsRow(name(row), subject.letter, tuple(of_row.get(kind, "") for kind in kinds), disagrees(subject, row))
        for row, subject, of_row in known
    )
    return Counts(tuple(map(name, kinds)), tuple(rows))


def in_words(counts: Counts) -> Counts:
    return replace(counts, columns=tuple(kind.replace("_", " ") for kind in counts.columns))


def _truth_summary(wrong: Sequence[str], counted: int) -> str:
    if not wrong:
        return f"All {counted} figures that claim what their iterations do agree with the counts."
    shown = ", ".join(name(row) for row in dict.fromkeys(wrong[:8])) + (" and others" if len(wrong) > 8 else "")
    return f"{counted} figures claim what their iterations do; the counts of {len(wrong)} disagree: {shown}."


def counters(subjects: Sequence[Subject]) -> Counts:
    """Hardware counters per iteration, and the reason for subjects without them."""
    missing = []
    for subject in subjects:
        reasons = [result.header.counters for result in subject.results if result.header and result.header.counters]
        if reasons:
            missing.append((subject.letter, sentence(reasons[0])))
    return replace(in_words(table(subjects, _hardware)), missing=tuple(missing))


def events(subjects: Sequence[Subject]) -> Counts:
    """The event vector: by row, the events in one timed region, less those in an empty one."""
    told: dict[tuple[str, str], dict[str, str]] = {}
    for subject in subjects:
        for result in subject.results:
            for vector in result.events:
                if vector.regions > 0:
                    told.setdefault((vector.row, subject.letter), _vector(vector))
    return in_words(table(subjects, lambda subject, row: told.get((row, subject.letter), {})))


def _vector(vector: Events) -> dict[str, str]:
    empty = max(1, vector.empty_regions)
    return {
        kind: mean_text(count / vector.regions - vector.empty.get(kind, 0) / empty)
        for kind, count in vector.counts.items()
    }


def absences(subjects: Sequence[Subject]) -> tuple[Absence, ...]:
    """Rows that failed or that a platform does not support, grouped by system and reason."""
    absent: dict[tuple[str, str, str], list[str]] = {}
    for subject in subjects:
        for result in subject.results:
            for failure in result.failures:
                cause = [part for part in (failure.call, failure.errno) if part]
                known = all(part in failure.text for part in cause)
                reason = failure.text if known else f"{failure.text} ({' '.join(cause)})"
                absent.setdefault(("failed", reason, subject.letter), []).append(failure.row)
            for lacking in result.unsupported:
                absent.setdefault(("not on this platform", lacking.reason, subject.letter), []).append(lacking.row)
    workloads = workloads_of(subjects)
    return tuple(
        Absence(names_of(rows, workloads), letter, kind, sentence(reason))
        for (kind, reason, letter), rows in sorted(
            absent.items(), key=lambda item: (item[0][0], item[1][0], item[0][2])
        )
    )


def findings(subjects: Sequence[Subject]) -> tuple[Finding, ...]:
    """The findings of `check` that affect figures, worst first, with the letters of the systems."""
    letters: dict[Finding, dict[str, None]] = {}
    for subject in subjects:
        for result in subject.results:
            listed = result.session.host.get("findings", ())
            for item in listed if isinstance(listed, (list, tuple)) else ():
                if isinstance(item, Mapping) and item.get("severity") in SEVERITIES:
                    letters.setdefault(_finding(item), {})[subject.letter] = None
    disturbing = [replace(finding, systems=", ".join(signs)) for finding, signs in letters.items()]
    return tuple(sorted(disturbing, key=lambda finding: SEVERITIES.index(finding.severity)))


def _flags_of(subject: Subject, row: str) -> list[Flag]:
    return list(dict.fromkeys(flag for figure in subject.figures_of(row) for flag in figure.flags))


def _claims(counted: Sequence[Counting | Run]) -> dict[str, str]:
    """By kind, "claimed / counted" per iteration, or "not counted"."""
    kinds = dict.fromkeys(kind for record in counted for kind in record.claimed)
    cells = {}
    for kind in kinds:
        claimed = [record.claimed[kind] for record in counted if kind in record.claimed]
        told = [record for record in counted if kind in record.happened and record.iterations > 0]
        happened = "not counted"
        if told:
            happened = mean_text(
                math.fsum(record.happened[kind] for record in told) / math.fsum(record.iterations for record in told)
            )
        cells[kind] = f"{mean_text(claimed[0])} / {happened}"
    return cells


def _hardware(subject: Subject, row: str) -> dict[str, str]:
    """Means per iteration, and how the counters changed the row's time."""
    counted = subject.counted.get(row, ())
    kinds = dict.fromkeys(kind for record in counted for kind in record.hardware)
    means = {kind: [record.hardware[kind] for record in counted if kind in record.hardware] for kind in kinds}
    cells = {kind: mean_text(math.fsum(values) / len(values)) for kind, values in means.items()}
    slower = [figure.counting for figure in subject.figures_of(row) if figure.counting is not None]
    return cells | {"times_as_long": f"{max(slower):.3g}"} if cells and slower else cells


def mean_text(number: float) -> str:
    """A mean count per iteration: whole, or with three significant digits."""
    if not math.isfinite(number):
        return "?"
    if number == round(number) or abs(number) >= 1000:
        return f"{round(number):,}"
    return f"{number:.3g}" if abs(number) >= 0.001 else f"{number:.1g}"


def _finding(item: Mapping[str, Any]) -> Finding:
    """One finding of `check` from a session's record (host.Finding), without its systems."""
    words = {key: sentence(str(item.get(key, ""))) for key in ("name", "value", "effect", "advice", "severity")}
    return Finding(systems="", **words)
