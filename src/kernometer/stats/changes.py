"""A row's figure over stored sessions, and where it changed. docs/gate.md, "Since when".

By path every different count is a change. By time ranks find the change-points, so that false alarms do not depend on
the distribution of figures: the best cuts of a series (dynamic programming, by ruptures), if they gain more than those
of all but LEVEL of its random orders.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from heapq import heappop, heappush, heappushpop
from itertools import pairwise
from statistics import median

from kernometer.arrays import np, stats
from kernometer.errors import LibraryError
from kernometer.results.model import Result
from kernometer.stats.figures import pooled
from kernometer.stats.history import Entry, Grain, entry, unit_key
from kernometer.stats.model import RowFigure
from kernometer.tables import grouped

#: At most this share of rows without a change get one: one of the 100 rows of a profile.
LEVEL = 0.01
#: The fewest units between two changes; a single one is an outlier.
SIDE = 2
#: By the number of units, what the best cut and the best two cuts gain in LEVEL / 2 of all random orders each. From
#: 40,000 orders (200: 20,000; 400: 5,000). Fewer units cannot show a single step.
CRITICAL: dict[int, tuple[float, float]] = {
    12: (8.811, 10.070),
    13: (9.286, 10.476),
    14: (8.901, 11.003),
    15: (9.301, 11.480),
    16: (9.708, 12.001),
    18: (9.747, 12.509),
    20: (10.313, 13.191),
    24: (10.619, 13.906),
    32: (11.212, 15.204),
    48: (12.058, 16.838),
    64: (12.193, 17.975),
    100: (12.753, 19.229),
    200: (13.979, 21.356),
    400: (14.110, 22.527),
}
FEWEST = min(CRITICAL)


@dataclass(frozen=True, slots=True)
class Past:
    """What a stored session says of its rows, without samples: the index keeps it, and thousands fit in memory."""

    entry: Entry
    label: str
    target: str
    by: str
    build: str  #: of the probe
    experiment: str
    facts: Mapping[str, str]  #: what may have changed its figures: image, command line, …
    profiled: frozenset[str]  #: rows whose functions it counted
    place: int = 0  #: of its commit, in the order of the source tree; 0: sessions are in the order of time


@dataclass(frozen=True, slots=True)
class Point:
    """One unit: a session by path; by time all sessions of one occasion and kernel."""

    started: float
    sessions: tuple[str, ...]  #: their ids
    figure: RowFigure
    facts: Mapping[str, str]  #: what may have changed the figure: image, command line, …
    label: str = ""
    place: int = 0  #: of its commit


@dataclass(frozen=True, slots=True)
class Change:
    at: int  #: the first point after it
    ratio: float  #: of the median costs after and before, up to the next changes
    facts: tuple[tuple[str, str, str], ...]  #: (what, before, after), for facts that differ at this point


@dataclass(frozen=True, slots=True)
class Course:
    """One row of one target, measured alike."""

    row: str
    target: str
    by: str
    probe: str  #: how the probe was built
    points: tuple[Point, ...]  #: by time
    changes: tuple[Change, ...]

    @property
    def short(self) -> bool:
        """Whether it has too few points to show a change."""
        return self.by == "time" and len(self.points) < FEWEST


def past(result: Result) -> Past:
    """What is kept of a session for its rows' courses."""
    session, own = result.session, entry(result, bare=True)
    facts = {
        "image": session.image,
        "kernel": own.kernel,
        "command line": session.command_line,
        "state": session.state,
        "seed": str(session.seed) if session.by == "path" else "",
    }
    return Past(
        entry=own,
        label=session.label,
        target=session.target,
        by=session.by,
        build=result.build,
        experiment=session.experiment,
        facts=facts,
        profiled=frozenset(profile.row for profile in result.profiles if profile.view == "median"),
    )


def courses(pasts: Iterable[Past]) -> tuple[Course, ...]:
    """Every row's course; by time without the sides of an `ab`, which were measured in blocks."""
    groups: dict[tuple[str, ...], list[Past]] = {}
    for each in pasts:
        if each.by == "path" or not each.experiment:
            key = each.entry.kind[2:] if each.by == "path" else each.entry.kind  # counts know no host
            groups.setdefault(key, []).append(each)
    made = []
    for group in groups.values():
        group.sort(key=lambda each: (each.place, each.entry.start))
        rows = dict.fromkeys((row, each.entry.revision(row)) for each in group for row in each.entry.figures)
        made += [_course(row, [each for each in group if each.entry.revision(row) == number]) for row, number in rows]
    return tuple(course for course in made if course.points)


def _course(row: str, group: Sequence[Past]) -> Course:
    having = [each for each in group if each.entry.log(row) is not None]
    if group[0].by == "path":
        points = [_point(row, [each]) for each in having]
        cuts = [at for at, (a, b) in enumerate(pairwise(points), 1) if a.figure.cost != b.figure.cost]
    else:
        key = unit_key(Grain.OCCASION, [each.entry for each in having])
        units = grouped(((key(each.entry), each.entry.kernel, each.place), each) for each in having)
        points = [_point(row, unit) for unit in units.values()]
        cuts = change_points([_log(point) for point in points])
    bounds = [0, *cuts, len(points)]
    changes = []
    for before, at, after in zip(bounds, bounds[1:], bounds[2:], strict=False):
        logs = [median(map(_log, part)) for part in (points[before:at], points[at:after])]
        a, b = points[at - 1].facts, points[at].facts
        facts = tuple((what, a[what], b[what]) for what in a if a[what] != b[what])
        changes.append(Change(at, math.exp(logs[1] - logs[0]), facts))
    return Course(row, group[0].target, group[0].by, group[0].build, tuple(points), tuple(changes))


def _point(row: str, unit: Sequence[Past]) -> Point:
    figures = [each.entry.figures[row] for each in unit]
    costs = [figure.cost for figure in figures if figure.cost]
    sessions = tuple(each.entry.session for each in unit)
    first = unit[0]
    return Point(first.entry.start, sessions, pooled(figures, costs), first.facts, first.label, first.place)


def _log(point: Point) -> float:
    return math.log(point.figure.cost or 1.0)


def change_points(values: Sequence[float]) -> list[int]:
    """The indices at which a new level begins; none for fewer than FEWEST values.

    A cut into two levels, or two cuts into three (a bump, which no single cut shows), counts if it gains more than
    chance does; the parts are then cut in the same way, by their own ranks. A cut's gain is how far it lowers the sum
    of squares of the ranks, which are scaled to variance 1.
    """
    if len(values) < FEWEST or len(set(values)) == 1:
        return []
    try:
        import ruptures  # type: ignore[import-untyped]  # ruptures carries no types
    except ImportError as error:
        raise LibraryError("A change-point by time", "ruptures", "changes") from error

    ranks = stats.rankdata(values)
    scaled = (ranks - ranks.mean()) / ranks.std()
    search = ruptures.KernelCPD(kernel="linear", min_size=SIDE).fit(scaled.reshape(-1, 1))
    best: list[int] = []
    most = 0.0
    for cuts, critical in zip((1, 2), zip(*CRITICAL.values(), strict=True), strict=True):
        bounds = [0, *map(int, search.predict(n_bkps=cuts))]
        gain = sum(float(scaled[a:b].sum()) ** 2 / (b - a) for a, b in pairwise(bounds))
        above = gain - float(np.interp(math.log(len(values)), [math.log(n) for n in CRITICAL], critical))
        if above > max(most, 1e-6):  # a tie gains nothing
            best, most = bounds, above
    for number in range(1, len(best) - 1):
        best[number] = _placed(values, best[number - 1], best[number + 1])
    places = [at for a, b in pairwise(best) for at in (a, *(a + inner for inner in change_points(values[a:b])))]
    return places[1:]


def _placed(values: Sequence[float], begin: int, end: int) -> int:
    """The cut of values[begin:end] that leaves the least absolute deviation from the two medians. Ranks tell whether
    there are two levels; near the cut they take an extreme value of the longer level for one of the other."""
    part = values[begin:end]
    before, after = _deviations(part), _deviations(part[::-1])
    return begin + min(range(SIDE, len(part) - SIDE + 1), key=lambda at: before[at] + after[len(part) - at])


def _deviations(values: Sequence[float]) -> list[float]:
    """The absolute deviation of the first 0, 1, … values from their median. The lower half is in one heap, the upper
    in another: medians from scratch took most of the time of a thousand values."""
    low: list[float] = []  # negative: its first is the largest
    high: list[float] = []
    away = [0.0]
    below = above = 0.0
    for value in values:
        most = -heappushpop(low, -value)
        heappush(high, most)
        below, above = below + value - most, above + most
        if len(high) > len(low):
            least = heappop(high)
            heappush(low, -least)
            below, above = below + least, above - least
        away.append(above - below - (len(high) - len(low)) * -low[0])
    return away
