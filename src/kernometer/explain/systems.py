"""What rules are evaluated on: the costs of one or two systems by row, measured or printed. docs/explain.md."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import inf

from kernometer.explain.expression import Cost, Interval, form
from kernometer.results.model import Paper, Publication, Published, Result
from kernometer.stats.figures import figures
from kernometer.stats.model import Comparison, RowComparison, RowFigure, Verdict
from kernometer.stats.published import name_of, ratio_of_costs, shown

#: The column of a paper that holds what was measured of the machine itself, whatever the system.
MACHINE = "both"
#: Between two figures without an interval, what counts as a difference.
APART = 1.5
_RATE = re.compile(r"(\d+(?:\.\d+)?) ?([MG])Hz")
_NS = {"ns": 1.0, "µs": 1e3, "microseconds": 1e3, "s": 1e9}


@dataclass(frozen=True, slots=True)
class Shown:
    """A figure as people see it: a number in a unit of ours, or as a paper prints it."""

    value: float | None
    unit: str
    printed: str = ""


@dataclass(frozen=True, slots=True)
class System:
    """One side. `by`: "time", or "path" for instructions."""

    name: str
    by: str
    costs: Mapping[str, Cost]
    shown: Mapping[str, Shown]
    hertz: float | None = None  #: the processor's clock rate, where the result states it
    primary: frozenset[str] = frozenset()  #: one name of each row: a printed figure is known by several
    stated: Mapping[str, float] = field(default_factory=dict)  #: ratios that a paper states without rows


def measured(name: str, by: str, figures: Mapping[str, RowFigure], model: str) -> System:
    """A session's figures; `model`: its processor's name, which may state the clock rate."""
    costs: dict[str, Cost] = {}
    seen: dict[str, Shown] = {}
    for row, figure in figures.items():
        if figure.unit == "count":
            continue
        seen[row] = Shown(figure.value, figure.unit)
        costs[row] = Cost(row, _interval(figure, by))
        if figure.baseline is not None and figure.baseline > 0:
            inner = f"{row}, its overhead"
            unit = "instructions" if by == "path" else "ns"
            seen[inner] = Shown(figure.baseline, unit)
            costs[inner] = Cost(inner, Interval(*3 * (figure.baseline,), unit))
    return System(name, by, costs, seen, _rate(model) if by == "time" else None, frozenset(figures) & frozenset(costs))


def of_session(name: str, result: Result, comparison: Comparison | None = None) -> System:
    """The figures of the comparison where it has them; else those of the session."""
    found = figures(result)
    if comparison is not None:
        pooled = ((row.row, row.a if name == comparison.a else row.b) for row in comparison.rows)
        found |= {row: figure for row, figure in pooled if figure is not None}
    model = result.header.cpu.get("model", "") if result.header else ""
    return measured(name, result.session.by, found, str(model))


def _interval(figure: RowFigure, by: str) -> Interval | None:
    """Bandwidth counts as the time of a byte, as where it is printed."""
    cost, low, high = figure.cost, figure.low, figure.high
    if figure.unit == "B/s":
        cost, low, high = (1e9 / one if one else None for one in (figure.value, figure.value_high, figure.value_low))
    if cost is None or cost <= 0:
        return None
    return Interval(low or cost, cost, high or cost, "instructions" if by == "path" else "ns")


def printed(name: str, publication: Publication, system: str) -> System:
    """A column of a paper, or an imported result. A figure has its printed name and those of our rows it matches."""
    paper = publication.paper
    costs: dict[str, Cost] = {}
    seen: dict[str, Shown] = {}
    primary: set[str] = set()
    for one in publication.figures:
        if one.system not in (system, MACHINE) or not one.better:
            continue
        cost = Cost("", _printed_cost(paper, one))
        names = [name_of(one), *one.ours, *(f"{row}, its overhead" for row in one.overhead_of)]
        primary.add(names[1] if len(names) > 1 else names[0])
        for row in names:
            before = costs.get(row)
            # Two ways of taking one time: what the clock itself costs only adds, so the lower is nearer.
            if before is None or (cost.cost and before.cost and cost.cost.value < before.cost.value):
                costs[row] = Cost(row, cost.cost)
                seen[row] = Shown(one.value, one.unit, shown(one))
    return System(
        name, "time", costs, seen, _stated_rate(publication, system), frozenset(primary), _stated(publication)
    )


def _printed_cost(paper: Paper, one: Published) -> Interval | None:
    value = one.value if one.value is not None else one.high
    unit = one.meant or one.unit
    scale = paper.units.get(unit)
    if value is None or value <= 0 or (scale is None and unit not in _NS):
        return None
    cost = value * _NS[unit] if scale is None else value * scale.factor
    if scale is not None and scale.unit in ("B/s", "1/s"):
        cost = 1e9 / cost
    low = cost if one.low is None or scale is not None else one.low * _NS[unit]
    return Interval(min(low, cost), cost, cost, "ns")


def _stated_rate(publication: Publication, system: str) -> float | None:
    """From a fact named CPU of this column, of the machine, or of what this is a part of; else the machine's."""
    for column in (system, system.partition("-")[0], MACHINE):
        for one in publication.figures:
            if one.system == column and one.row == "CPU" and (rate := _rate(shown(one))):
                return rate
    return _rate(publication.paper.machine)


def _rate(text: str) -> float | None:
    found = _RATE.search(text)
    return float(found[1]) * {"M": 1e6, "G": 1e9}[found[2]] if found else None


def _stated(publication: Publication) -> dict[str, float]:
    """Ratios that the text of a paper without rows states; which side is the slower is in their names."""
    if any(one.better for one in publication.figures):
        return {}
    return {
        one.what: ratio
        for one in publication.stated
        if one.unit == "times" and not one.form and (ratio := one.value or one.high or 1.0) >= APART
    }


@dataclass(frozen=True, slots=True)
class Pair:
    """X and Y for the rules. `judged`: the comparison's rows, whose ratios are B to A; `b`: which of the two is B."""

    x: System
    y: System | None = None
    judged: Mapping[str, RowComparison] = field(default_factory=dict)
    b: str = "Y"

    def side(self, letter: str) -> System | None:
        return self.x if letter == "X" else self.y

    def costs(self, side: str, pattern: str) -> Sequence[Cost]:
        system = self.side(side)
        if system is None:
            return ()
        if "*" not in pattern:
            return tuple(_present((system.costs.get(pattern),)))
        return tuple(one for row, one in system.costs.items() if re.fullmatch(form(pattern), row))

    def ratio(self, row: str, over: str) -> Interval | None:
        one = self.judged.get(row)
        if one is None or one.ratio is None:
            return None
        low, high = one.low or one.ratio, one.high or one.ratio
        if one.floor is not None and one.verdict not in (Verdict.SLOWER, Verdict.FASTER):
            low, high = min(1.0, one.ratio), max(1.0, one.ratio)  # within what layout alone moves
        return Interval(low, one.ratio, high) if over == self.b else Interval(1 / high, 1 / one.ratio, 1 / low)

    def hertz(self, side: str) -> float | None:
        system = self.side(side)
        return system.hertz if system else None


def _present(found: Iterable[Cost | None]) -> Iterable[Cost]:
    return (one for one in found if one is not None)


def differing(a: System, b: System, judged: Mapping[str, RowComparison]) -> dict[str, float]:
    """Rows that differ, with the ratio of costs of B to A: those that are decided, or lie far apart where none is."""
    found = dict(b.stated) if a.stated == b.stated else {}
    if a.by != b.by:
        return found
    for row in (row for row in a.costs if row in a.primary and row in b.primary):
        of_a, of_b = a.costs[row].cost, b.costs[row].cost
        if (one := judged.get(row)) is not None and (one.low is not None or one.floor is not None or one.exact):
            if one.verdict in (Verdict.SLOWER, Verdict.FASTER) and one.ratio:
                found[row] = one.ratio
        elif of_a and of_b:
            ratio = ratio_of_costs("lower", of_a.value, of_b.value)
            if not 1 / APART <= ratio <= APART:
                found[row] = ratio
        elif of_a or of_b:
            found[row] = inf if of_b else 0.0
    return found
