"""Checks the ratios that a paper states, and compares its columns with others. docs/published.md.

A published figure is one number without samples. So there is no interval and no verdict, only arithmetic.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum

from kernometer.results.model import Cell, Paper, Publication, Published, Stated, Unit
from kernometer.results.rows import Row
from kernometer.stats.model import RowFigure


class Holds(Enum):
    """Whether a stated number agrees with the paper's own rows."""

    ROUNDED = "holds"  #: the rows give it, rounded to the digits printed
    TRUNCATED = "holds, its further digits cut off"
    AMONG = "lies among the rows"  #: between the values of several pairs, equal to none
    NOT = "does not hold"
    NO_ROWS = "no rows"


@dataclass(frozen=True, slots=True)
class Check:
    """A stated number and the rows' value; `low` and `high` are equal for a single pair of rows."""

    stated: Stated
    holds: Holds
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, slots=True)
class Pair:
    """One row of B against A. `ratio` is of costs: above 1, B is slower; None if a side has no number above 0."""

    row: str
    better: str
    a: str | float  #: as printed, with its unit; if one side was measured the number in `unit`
    b: str | float
    ratio: float | None = None
    note: str = ""
    unit: str = ""
    published: str = ""  #: the published row that is compared with the measured one
    printed: str = ""


def checks(publication: Publication) -> tuple[Check, ...]:
    """Every stated number of a paper, in its order."""
    return tuple(_check(publication.figures, stated) for stated in publication.stated)


def _check(figures: Sequence[Published], stated: Stated) -> Check:
    values = _from_rows(figures, stated)
    if not values:
        return Check(stated, Holds.NO_ROWS)
    low, high = min(values), max(values)
    if stated.value is None:
        least = stated.low if stated.low is not None else low
        most = stated.high if stated.high is not None else high
        holds = Holds.ROUNDED if least <= low and high <= most else Holds.NOT
        return Check(stated, holds, low, high)
    decimals = len(stated.printed.strip("% ").partition(".")[2])
    step = 10.0**-decimals
    tiny = step * 1e-6  # binary fractions of decimal numbers
    if all(-step / 2 - tiny <= value - stated.value < step / 2 - tiny for value in values):
        return Check(stated, Holds.ROUNDED, low, high)
    if all(-tiny <= value - stated.value < step for value in values):
        return Check(stated, Holds.TRUNCATED, low, high)
    if low < stated.value < high:
        return Check(stated, Holds.AMONG, low, high)
    return Check(stated, Holds.NOT, low, high)


def _from_rows(figures: Sequence[Published], stated: Stated) -> list[float]:
    """The stated number as each pair of cells gives it."""
    if stated.over is None or stated.under is None or not stated.form:
        return []
    over, under = _values(figures, stated.over), _values(figures, stated.under)
    if "*" in stated.over.row:
        ratios = [over[row] / under[row] for row in over if under.get(row, 0) > 0 and over[row] > 0]
    else:
        ratios = [top / bottom for top in over.values() for bottom in under.values() if bottom > 0]
    match stated.form:
        case "percent of":
            return [100 * ratio for ratio in ratios]
        case "percent more":
            return [100 * (ratio - 1) for ratio in ratios]
        case "percent less":
            return [100 * (1 - ratio) for ratio in ratios]
    return ratios


def _values(figures: Sequence[Published], cell: Cell) -> dict[str, float]:
    return {
        figure.row: figure.value
        for figure in figures
        if figure.value is not None
        and (figure.table, figure.system) == (cell.table, cell.system)
        and Row(figure.row).is_like(cell.row)
    }


def shown(figure: Published) -> str:
    """The cell as printed, with its unit if it is a number."""
    number = any(number is not None for number in (figure.value, figure.low, figure.high))
    return f"{figure.printed} {figure.unit if number else ''}".strip()


def name_of(figure: Published) -> str:
    return f"{figure.table}: {figure.row}"


def columns(of_a: Publication, a: str, of_b: Publication, b: str) -> tuple[Pair, ...]:
    """System `b` against system `a`, of one paper or one suite, in every row of both that has a direction."""
    theirs = {(figure.table, figure.row): figure for figure in of_b.figures if figure.system == b}
    return tuple(
        Pair(
            name_of(figure),
            figure.better,
            shown(figure),
            shown(other),
            ratio,
            "; ".join(dict.fromkeys(filter(None, (figure.note, other.note)))),
        )
        for figure in of_a.figures
        if figure.system == a and figure.better and (other := theirs.get((figure.table, figure.row))) is not None
        for ratio in (_ratio(figure.better, _scaled(of_a.paper, figure), _scaled(of_b.paper, other)),)
    )


def _scaled(paper: Paper, figure: Published) -> tuple[str, float]:
    """The figure with its unit, in our unit if there is an equal one; 0 without a number."""
    scale = paper.units.get(figure.meant or figure.unit)
    value = figure.value or 0.0
    return (scale.unit, value * scale.factor) if scale is not None else (figure.meant or figure.unit, value)


def _ratio(better: str, a: tuple[str, float], b: tuple[str, float]) -> float | None:
    return ratio_of_costs(better, a[1], b[1]) if a[0] == b[0] and a[1] > 0 and b[1] > 0 else None


def in_our_unit(paper: Paper, figure: Published, unit: str) -> float | None:
    """A published figure in a row's unit; None if the two measure different kinds of things."""
    scale = paper.units.get(figure.meant or figure.unit)
    if scale is None or figure.value is None or figure.value <= 0:
        return None
    return in_unit(figure.value * scale.factor, scale.unit, unit)


def in_unit(value: float, unit: Unit | str, wanted: str) -> float | None:
    """A value above 0 in another of our units; None if the two measure different kinds of things."""
    if unit == wanted:
        return value
    return 1e9 / value if {unit, wanted} == {"ns", "1/s"} else None


def beside(column: Publication, system: str, measured: Mapping[str, RowFigure], *, first: bool) -> tuple[Pair, ...]:
    """Each figure of that system beside the row that measures the same, in that row's unit. `first`: it is A."""
    pairs = []
    for figure in (figure for figure in column.figures if figure.system == system):
        rows = [measured.get(row) for row in figure.ours] + [_overhead(measured.get(row)) for row in figure.overhead_of]
        for ours in rows:
            value = in_our_unit(column.paper, figure, ours.unit) if ours is not None else None
            if ours is not None and ours.value is not None and ours.value > 0 and value is not None:
                a, b = (value, ours.value) if first else (ours.value, value)
                ratio = ratio_of_costs(ours.better, a, b)
                printed = name_of(figure), shown(figure)
                pairs.append(Pair(ours.row, ours.better, a, b, ratio, figure.note, ours.unit, *printed))
    return tuple(pairs)


def _overhead(row: RowFigure | None) -> RowFigure | None:
    """The overhead that was measured with a row, as a row of its own."""
    return row and replace(row, row=f"{row.row}, its overhead", value=row.baseline, unit="ns", better="lower")


def ratio_of_costs(better: str, a: float, b: float) -> float:
    """Cost of `b` over cost of `a`, both above 0 and in one unit."""
    return b / a if better == "lower" else a / b
