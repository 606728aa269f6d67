"""A host's own spread: how far sessions of the same thing lie apart, row by row. stats/noise.py computes it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from kernometer.report.session.systems import Subject
from kernometer.report.words.names import name
from kernometer.report.words.units import format_factor
from kernometer.stats.history import History
from kernometer.stats.noise import HostNoise, known_spread, spread_between_sessions

#: The least number of sessions for a limit: with two it would be 18 times their difference.
LEAST = 3


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


def spreads(subjects: Sequence[Subject], history: History | None) -> tuple[Spread, ...]:
    """For each subject with two sessions or more, for single sessions of the same thing, and for the host's history."""
    views = [
        spread_view(spread_between_sessions(subject.figures), f"of {subject.system.name}")
        for subject in subjects
        if len(subject.entries) > 1
    ]
    if not views and _same_thing(subjects):
        figures = [session for subject in subjects for session in subject.figures]
        views.append(spread_view(spread_between_sessions(figures), "shown here, which ran the same kernel and probe"))
    if history is not None:
        views.append(spread_view(known_spread(history, subjects[0].entries[0]), "known of this host"))
    return tuple(spread for spread in views if spread is not None)


def _same_thing(subjects: Sequence[Subject]) -> bool:
    """Whether the subjects are sessions of one kernel, host, target and probe, which differ in time only."""
    entries = [entry for subject in subjects for entry in subject.entries]
    alone = not any(result.session.experiment for subject in subjects for result in subject.results)
    return alone and len(entries) > 1 and len({(entry.kind, entry.kernel) for entry in entries}) == 1


def spread_view(noise: HostNoise | None, which: str) -> Spread | None:
    """The spread of the sessions named by `which`, as text and rows; None without a spread."""
    if noise is None:
        return None
    rows = [
        SpreadRow(
            row=name(row.row),
            sessions=row.sessions,
            deviation=format_factor(row.sd),
            interval=f"{format_factor(row.low)} – {format_factor(row.high)}",
            limit=row.limit,
            limit_text=format_factor(row.limit),
        )
        for row in sorted(noise.rows.values(), key=lambda row: -row.limit)
    ]
    if noise.sessions < LEAST:
        apart = format_factor(math.expm1(math.sqrt(2) * noise.typical))
        text = (
            f"Between the two sessions {which}, the median row differs by {apart}, {name(noise.worst)} most. "
            "Three sessions show how far apart sessions lie."
        )
        return Spread(text, ())
    text = (
        f"Between the {noise.sessions} sessions {which}, the median row spreads by {format_factor(noise.typical)} (one "
        f"standard deviation): two single sessions of the same thing differ there by more than "
        f"{format_factor(noise.limit)} in 5 pairs of 100. {name(noise.worst)} spreads most."
    )
    return Spread(text, tuple(rows))
