"""A host's own noise: how far two sessions of the same thing differ. docs/statistics.md, "Repeatability"."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from kernometer.arrays import special
from kernometer.stats.history import Entry, Grain, History, spread, squares
from kernometer.stats.intervals import LEVEL, t_quantile
from kernometer.stats.model import RowFigure


@dataclass(frozen=True, slots=True)
class RowNoise:
    """The spread of one row between sessions of the same thing. Relative: 0.01 is 1 %."""

    row: str
    sessions: int
    sd: float  #: standard deviation of the log figure between sessions
    low: float  #: 95 % interval of `sd`, by chi-square
    high: float
    #: The repeatability limit: two single sessions differ by more in 5 pairs of 100. No gate should be lower.
    limit: float


@dataclass(frozen=True, slots=True)
class HostNoise:
    """This host's own spread between sessions."""

    rows: dict[str, RowNoise]
    sessions: int  #: of the row with most sessions
    typical: float  #: the median row's standard deviation; relative
    worst: str  #: the row that spreads most
    limit: float  #: the median row's repeatability limit; relative


def row_noise(row: str, variance: float, df: float) -> RowNoise:
    """The noise from a variance between sessions, df >= 1."""
    sd = math.sqrt(variance)
    tail = (1 - LEVEL) / 2
    return RowNoise(
        row=row,
        sessions=round(df) + 1,
        sd=sd,
        low=math.sqrt(df * variance / float(special.chdtri(df, tail))),
        high=math.sqrt(df * variance / float(special.chdtri(df, 1 - tail))),
        limit=math.expm1(min(float(t_quantile(1 - tail, df)) * sd * math.sqrt(2), 700.0)),
    )


def spread_between_sessions(sessions: Sequence[Mapping[str, RowFigure]]) -> HostNoise | None:
    """The spread between sessions of the same thing; None with fewer than two that share a row.

    `sessions`: `figures(result)` of each, of one host, target and probe. Two sessions give an estimate too, with the
    wide interval of one degree of freedom.
    """
    noises: dict[str, RowNoise] = {}
    for row in dict.fromkeys(row for session in sessions for row in session):
        costs = [session[row].cost for session in sessions if row in session]
        logs = [math.log(cost) for cost in costs if cost]
        if len(logs) >= 2:
            df = len(logs) - 1
            noises[row] = row_noise(row, squares(logs) / df, df)
    return _host(noises)


def known_spread(history: History, like: Entry) -> HostNoise | None:
    """The spread between all known sessions of one kind (`like`); None below three."""
    noises = {}
    for row in like.figures:
        known = spread(history, row, like, Grain.SESSION, without=())
        if known is not None and known.of_row:
            noises[row] = row_noise(row, known.variance, known.df)
    return _host(noises)


def _host(noises: dict[str, RowNoise]) -> HostNoise | None:
    if not noises:
        return None
    return HostNoise(
        rows=noises,
        sessions=max(noise.sessions for noise in noises.values()),
        typical=median(noise.sd for noise in noises.values()),
        worst=max(noises.values(), key=lambda noise: noise.sd).row,
        limit=median(noise.limit for noise in noises.values()),
    )
