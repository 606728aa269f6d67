"""Sessions as units of comparison, and their spread by earlier sessions.

docs/statistics.md, "The unit" and "One session a side".
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from statistics import median

from kernometer.results.model import Result
from kernometer.stats.core import Core
from kernometer.stats.figures import figures
from kernometer.stats.model import RowFigure
from kernometer.stats.quantiles import quantile_figures
from kernometer.tables import grouped

#: Sessions less than this apart are one occasion: they share the machine's condition (load, heat, memory layout).
#: The neighbours on a shared machine come and go within half an hour.
OCCASION_GAP_SECONDS = 1800.0
#: A spread between sessions needs three of them: with two its 95 % t factor is 12.7, with three 4.3.
MIN_HISTORY_DF = 2
#: If the row itself has too little history, so many other rows replace it …
POOL_ROWS = 8
#: … by the variance below which this share of them stays: an unknown row counts as a noisy one.
POOL_SHARE = 0.9


class Grain(Enum):
    """What counts as one independent measurement."""

    SESSION = "session"
    BOOT = "boot"
    OCCASION = "occasion"


@dataclass(frozen=True, slots=True)
class Entry:
    """One session in a comparison."""

    session: str  #: its id
    kind: tuple[str, ...]  #: host, target, probe, way, profile, effort: equal kinds have the same spread
    kernel: str  #: may differ between sessions of one kind; spread is computed within one kernel
    boot: str
    start: float  #: seconds since the epoch
    end: float
    figures: Mapping[str, RowFigure]  #: of the median, or of the quantile that is judged

    def log(self, row: str) -> float | None:
        """Natural logarithm of the row's cost; None if this session has none."""
        figure = self.figures.get(row)
        return math.log(figure.cost) if figure is not None and figure.cost else None

    def revision(self, row: str) -> int:
        """The revision of the row's definition; 0 if this session has no figure of it."""
        return self.figures[row].revision if row in self.figures else 0


@dataclass(frozen=True, slots=True)
class History:
    """Earlier sessions of any host: only those of an equal kind are used."""

    entries: tuple[Entry, ...]


@dataclass(frozen=True, slots=True)
class Spread:
    """Variance of one unit's log figure, by `df` degrees of freedom."""

    variance: float
    df: float
    of_row: bool  #: False: that of other rows


def entry(result: Result, core: Core | None = None, quantile: float | None = None, *, bare: bool = False) -> Entry:
    """The entry of one result; `core` and `bare` are those of `figures`. `quantile`: its figures are that of single
    iterations."""
    session, header = result.session, result.header
    host = (session.host_id or result.uname.get("nodename", ""), str(header.cpu.get("model", "")) if header else "")
    seconds = result.end.seconds if result.end else math.fsum(run.seconds for run in result.runs)
    return Entry(
        session=session.id,
        kind=(
            *host,
            session.machine,
            session.target,
            session.by,
            str(session.path_definition),
            session.profile,
            *result.probe,
            " ".join(f"{key}={value}" for key, value in sorted(session.effort.items()) if value),
        ),
        kernel=" ".join(result.uname.get(key, "") for key in ("sysname", "release", "version")),
        boot=session.boot,
        start=session.started,
        end=session.started + max(0.0, seconds),
        figures=figures(result, core, bare=bare) if quantile is None else quantile_figures(result, quantile),
    )


def history_of(results: Iterable[Result], quantile: float | None = None) -> History:
    """Earlier sessions as a history, without the two sides of an `ab`, which were measured in blocks. `quantile`: as
    for `entry`."""
    return History(tuple(entry(result, None, quantile) for result in results if not result.session.experiment))


def occasions(entries: Iterable[Entry]) -> dict[str, int]:
    """Session id to the number of its occasion: a new one begins after `OCCASION_GAP_SECONDS` without a session."""
    numbers: dict[str, int] = {}
    number, busy_until = 0, -math.inf
    for entry in sorted(entries, key=lambda entry: entry.start):
        if numbers and entry.start - busy_until > OCCASION_GAP_SECONDS:
            number += 1
        busy_until = max(busy_until, entry.end)
        numbers[entry.session] = number
    return numbers


def grain(a: Sequence[Entry], b: Sequence[Entry]) -> Grain:
    """The unit, such that whatever differs between two units of a side also differs between the sides."""
    boots_a, boots_b = {entry.boot for entry in a}, {entry.boot for entry in b}
    together = occasions((*a, *b))
    met_a, met_b = (Counter(together[entry.session] for entry in side) for side in (a, b))
    # Several occasions cancel if each affected both sides alike; otherwise they are units themselves.
    if len(met_a | met_b) > 1 and met_a != met_b:
        return Grain.OCCASION
    if "" not in boots_a | boots_b and boots_a != boots_b:
        return Grain.BOOT
    return Grain.SESSION


def unit_key(unit: Grain, among: Iterable[Entry]) -> Callable[[Entry], str]:
    """The function that names the unit of a session."""
    if unit is Grain.OCCASION:
        numbers = occasions(among)
        return lambda entry: str(numbers[entry.session])
    if unit is Grain.BOOT:
        return lambda entry: entry.boot or entry.session
    return lambda entry: entry.session


def unit_logs(entries: Iterable[Entry], row: str, key: Callable[[Entry], str]) -> list[float]:
    """One log figure per unit: the mean of its sessions'."""
    return [math.fsum(logs) / len(logs) for logs in _by_unit(entries, row, key, lambda entry: entry.log(row))]


def unit_starts(entries: Iterable[Entry], row: str, key: Callable[[Entry], str]) -> list[float]:
    """The start of each of these units, in the same order."""
    return [min(starts) for starts in _by_unit(entries, row, key, lambda entry: entry.start)]


def _by_unit(
    entries: Iterable[Entry], row: str, key: Callable[[Entry], str], value: Callable[[Entry], float | None]
) -> Collection[list[float]]:
    """The values of the sessions with a cost of the row, by unit."""
    numbers = ((key(entry), value(entry)) for entry in entries if entry.log(row) is not None)
    return grouped((unit, number) for unit, number in numbers if number is not None).values()


def spread(history: History, row: str, like: Entry, unit: Grain, without: Collection[str]) -> Spread | None:
    """The spread of units of the kind of `like`, without the sessions that are being compared (`without`: their ids).

    None if fewer than three units of this row, or of enough others, are known. Revisions of a row are different rows.
    """
    known = [entry for entry in history.entries if entry.kind == like.kind and entry.session not in without]

    def of_row(name: str) -> Spread | None:
        return _of_row([entry for entry in known if like.revision(name) in (0, entry.revision(name))], name, unit)

    own = of_row(row)
    if own is not None:
        return own
    rows = dict.fromkeys(name for entry in (like, *known) for name in entry.figures)
    others = [spread_of for name in rows if (spread_of := of_row(name)) is not None]
    if len(others) < POOL_ROWS:
        return None
    others.sort(key=lambda spread_of: spread_of.variance)
    noisy = others[min(len(others) - 1, math.ceil(POOL_SHARE * len(others)))]
    return Spread(noisy.variance, median(spread_of.df for spread_of in others), of_row=False)


def squares(logs: Sequence[float]) -> float:
    """The sum of their squared distances from their mean."""
    mean = math.fsum(logs) / len(logs)
    return math.fsum((log - mean) ** 2 for log in logs)


def _of_row(known: Sequence[Entry], row: str, unit: Grain) -> Spread | None:
    """Pooled within groups of one kernel; for sessions also within an occasion, if there are enough of them."""
    key = unit_key(unit, known)
    numbers = occasions(known)
    groupings: list[Callable[[Entry], str]] = [lambda entry: entry.kernel]
    if unit is Grain.SESSION:
        groupings.insert(0, lambda entry: f"{numbers[entry.session]} {entry.kernel}")
    for grouping in groupings:
        total, df = 0.0, 0
        for group in grouped((grouping(entry), entry) for entry in known).values():
            logs = unit_logs(group, row, key)
            if logs:
                total += squares(logs)
                df += len(logs) - 1
        if df >= MIN_HISTORY_DF:
            return Spread(total / df, df, of_row=True)
    return None
