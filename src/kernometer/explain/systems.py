"""The systems that rules are evaluated on: costs by row, measured or printed. docs/explain.md."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import inf
from typing import NamedTuple

from kernometer.results.model import Paper, Publication, Published, Result
from kernometer.results.rows import Row
from kernometer.stats.model import Comparison, RowComparison, RowFigure, Verdict
from kernometer.stats.printed import name_of, shown

#: The column of a paper with measurements of the machine itself, for all systems.
MACHINE = "both"
#: The ratio from which two figures without an interval differ.
APART = 1.5
_RATE = re.compile(r"(\d+(?:\.\d+)?) ?([MG])Hz")
_UNIT = {"time": "ns", "path": "instructions"}
_NS = {"ns": 1.0, "µs": 1e3, "microseconds": 1e3, "s": 1e9}


class Interval(NamedTuple):
    """A value between `low` and `high`, most likely `value`. `unit`: "ns", "instructions", or "" for a plain number."""

    low: float
    value: float
    high: float
    unit: str = ""


class Shown(NamedTuple):
    """A figure for people: a number in a unit of ours, or as a paper prints it."""

    value: float | None
    unit: str
    printed: str = ""


@dataclass(frozen=True, slots=True)
class System:
    """One side. `by`: "time", or "path" for instructions."""

    name: str = ""
    by: str = "time"
    costs: Mapping[str, Interval | None] = field(default_factory=dict)  #: by row; None: without a number
    shown: Mapping[str, Shown] = field(default_factory=dict)
    hertz: float | None = None  #: the processor's clock rate, where the result states it
    primary: frozenset[str] = frozenset()  #: one name of each row, for a printed figure has several
    stated: Mapping[str, float] = field(default_factory=dict)  #: ratios that a paper states without rows


def of_session(name: str, result: Result, own: Mapping[str, RowFigure], comparison: Comparison | None = None) -> System:
    """The comparison's figures, and for other rows `own`, those of the session."""
    known = dict(own)
    if comparison is not None:
        pooled = ((row.row, row.a if name == comparison.a else row.b) for row in comparison.rows)
        known |= {row: figure for row, figure in pooled if figure is not None}
    known = {row: figure for row, figure in known.items() if figure.unit != "count"}
    by_path = result.session.by == "path"
    unit = _UNIT[result.session.by]
    costs: dict[str, Interval | None] = {}
    seen: dict[str, Shown] = {}
    for row, figure in known.items():
        seen[row], costs[row] = Shown(figure.value, figure.unit), _interval(figure, unit)
        if figure.baseline is not None and figure.baseline > 0:
            inner = f"{row}, its overhead"
            seen[inner], costs[inner] = Shown(figure.baseline, unit), Interval(*3 * (figure.baseline,), unit)
    model = result.header.cpu.get("model", "") if result.header else ""
    return System(name, result.session.by, costs, seen, None if by_path else _rate(str(model)), frozenset(known))


def _interval(figure: RowFigure, unit: str) -> Interval | None:
    """Bandwidth counts as the time of a byte, as in printed tables."""
    cost, low, high = figure.cost, figure.low, figure.high
    if figure.unit == "B/s":
        cost, low, high = (1e9 / rate if rate else None for rate in (figure.value, figure.value_high, figure.value_low))
    if cost is None or cost <= 0:
        return None
    return Interval(low or cost, cost, high or cost, unit)


def printed(name: str, publication: Publication, system: str) -> System:
    """A column of a paper, or an imported result. A figure has its printed name, and those of our rows that it
    matches."""
    costs: dict[str, Interval | None] = {}
    seen: dict[str, Shown] = {}
    primary: set[str] = set()
    for figure in publication.figures:
        if figure.system not in (system, MACHINE) or not figure.better:
            continue
        cost = _printed_cost(publication.paper, figure)
        names = [name_of(figure), *figure.ours, *(f"{row}, its overhead" for row in figure.overhead_of)]
        primary.add(names[1] if len(names) > 1 else names[0])
        for row in names:
            before = costs.get(row)
            # Of two ways of taking one time the lower is nearer, for the clock's own cost only adds.
            if row not in costs or (cost and before and cost.value < before.value):
                costs[row], seen[row] = cost, Shown(figure.value, figure.unit, shown(figure))
    rate = _stated_rate(publication, system)
    return System(name, publication.paper.by, costs, seen, rate, frozenset(primary), _stated(publication))


def _printed_cost(paper: Paper, figure: Published) -> Interval | None:
    value = figure.value if figure.value is not None else figure.high
    unit = figure.meant or figure.unit
    scale = paper.units.get(unit)
    if value is None or value <= 0 or (scale is None and unit not in _NS):
        return None
    cost = value * _NS[unit] if scale is None else value * scale.factor
    if scale is not None and scale.unit in ("B/s", "1/s"):
        cost = 1e9 / cost
    low = cost if figure.low is None or scale is not None else figure.low * _NS[unit]
    return Interval(min(low, cost), cost, cost, _UNIT[paper.by])


def _stated_rate(publication: Publication, system: str) -> float | None:
    """From a fact named CPU of this column, of its group's, or of the machine's; else from the paper's machine."""
    columns = (system, system.partition("-")[0], MACHINE)
    rates = (
        _rate(shown(figure))
        for name in columns
        for figure in publication.figures
        if (figure.system, figure.row) == (name, "CPU")
    )
    return next(filter(None, rates), None) or _rate(publication.paper.machine)


def _rate(text: str) -> float | None:
    match = _RATE.search(text)
    return float(match[1]) * {"M": 1e6, "G": 1e9}[match[2]] if match else None


def _stated(publication: Publication) -> dict[str, float]:
    """Ratios that a paper states in its text, without rows; their names tell which side is slower."""
    if any(figure.better for figure in publication.figures):
        return {}
    return {
        stated.what: ratio
        for stated in publication.stated
        if stated.unit == "times" and not stated.form and (ratio := stated.value or stated.high or 1.0) >= APART
    }


@dataclass(frozen=True, slots=True)
class Pair:
    """X and Y for the rules. `judged` has the comparison's rows, with ratios B to A; `b` tells which of the two is
    B."""

    x: System = System()
    y: System | None = None
    judged: Mapping[str, RowComparison] = field(default_factory=dict)
    b: str = "Y"

    def costs(self, side: str, patterns: Sequence[str]) -> dict[str, Interval | None]:
        """X's or Y's row of that name, or with a `*` those of that form; of the first pattern that has any."""
        costs = self.x.costs if side == "X" else self.y.costs if self.y else {}
        for pattern in patterns:
            rows = [row for row in costs if Row(row).values(pattern) is not None] if "*" in pattern else [pattern]
            if chosen := {row: costs[row] for row in rows if row in costs}:
                return chosen
        return {}

    def ratio(self, row: str, over: str) -> Interval | None:
        """The judged ratio of that row's costs, with `over` ("X" or "Y") above; None if it was not judged."""
        known = self.judged.get(row)
        if known is None or known.ratio is None:
            return None
        low, high = known.low or known.ratio, known.high or known.ratio
        if known.floor is not None and known.verdict not in (Verdict.SLOWER, Verdict.FASTER):
            low, high = min(1.0, known.ratio), max(1.0, known.ratio)  # within what layout alone moves
        return Interval(low, known.ratio, high) if over == self.b else Interval(1 / high, 1 / known.ratio, 1 / low)

    def hertz(self, side: str) -> float | None:
        """The clock rate of a side's processor."""
        return self.x.hertz if side == "X" else self.y.hertz if self.y else None


def differing(a: System, b: System, judged: Mapping[str, RowComparison]) -> dict[str, float]:
    """The ratios B to A of rows that differ: decided ones, and undecided ones that are far apart."""
    ratios = dict(b.stated) if a.stated == b.stated else {}
    if a.by != b.by:
        return ratios
    for row in (row for row in a.costs if row in a.primary and row in b.primary):
        of_a, of_b = a.costs[row], b.costs[row]
        if (known := judged.get(row)) is not None and (known.low is not None or known.floor is not None or known.exact):
            if known.verdict in (Verdict.SLOWER, Verdict.FASTER) and known.ratio:
                ratios[row] = known.ratio
        elif of_a and of_b:
            if not 1 / APART <= of_b.value / of_a.value <= APART:
                ratios[row] = of_b.value / of_a.value
        elif of_a or of_b:
            ratios[row] = inf if of_b else 0.0
    return ratios
