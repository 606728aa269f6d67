"""What each switch of Trio costs an operation, alone and with others, by their full factorial. Pure.

All figures are counts of one operation, instructions if nothing else is said. Counts do not vary, so an effect has no
error, but a range over the settings of the other switches. docs/trio.md, "Switches".
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, combinations
from math import prod

from kernometer.explain.partitions import structure_of, switches_of
from kernometer.results.model import Result
from kernometer.results.rows import in_registry_order
from kernometer.stats.differences import check_definition
from kernometer.stats.figures import INSTRUCTIONS, Counted

#: The switches that are on.
Cell = frozenset[str]


@dataclass(frozen=True, slots=True)
class Effect:
    """The effect of one switch, on less off, over all settings of the others."""

    mean: float
    least: float
    most: float


@dataclass(frozen=True, slots=True)
class Effects:
    """The effects of all switches on one operation."""

    row: str
    off: float  #: its figure with all switches off
    on: float  #: and with all on
    switches: Mapping[str, Effect]
    pairs: Mapping[tuple[str, str], float]  #: how much more both cost than the two add up to, over the others
    rest: float  #: the largest difference between a figure and these effects: what three and more switches do together


@dataclass(frozen=True, slots=True)
class Factorial:
    """The switches of one structure on one machine."""

    structure: str
    switches: tuple[str, ...]
    rows: tuple[Effects, ...]
    missing: tuple[Cell, ...]  #: without a figure of any operation
    what: str  #: is counted


def cells(switches: Sequence[str]) -> tuple[Cell, ...]:
    """All settings, none first."""
    return tuple(
        frozenset(each) for each in chain.from_iterable(combinations(switches, n) for n in range(len(switches) + 1))
    )


def effects(row: str, cost: Mapping[Cell, float], switches: Sequence[str]) -> Effects | None:
    """From the figures of all settings; None if one is missing."""
    settings = cells(switches)
    if any(cell not in cost for cell in settings):
        return None

    def contrast(names: tuple[str, ...], cell: Cell) -> int:
        return prod(1 if name in cell else -1 for name in names)

    terms = [cell for n in range(3) for cell in combinations(switches, n)]
    half = {names: sum(cost[cell] * contrast(names, cell) for cell in settings) / len(settings) for names in terms}
    given = {cell: sum(half[names] * contrast(names, cell) for names in terms) for cell in settings}
    single = {name: [cost[cell | {name}] - cost[cell] for cell in settings if name not in cell] for name in switches}
    return Effects(
        row,
        cost[frozenset()],
        cost[frozenset(switches)],
        {name: Effect(2 * half[name,], min(differences), max(differences)) for name, differences in single.items()},
        {(a, b): 4 * half[a, b] for a, b in combinations(switches, 2)},
        max(abs(cost[cell] - given[cell]) for cell in settings),
    )


def between(mono: float, micro: float, share: float) -> float:
    """What switches cost in a partition: mono's cost, and a share of the way to micro's, by its share of micro's
    messages."""
    return mono + (micro - mono) * share


def of_results(results: Iterable[Result], counted: Counted = INSTRUCTIONS) -> Factorial | None:
    """From sessions by path of one structure, on the machine of the first session without switches; the newest session
    of each setting counts. None without two settings. Raises ResultError for counts of two definitions."""
    known = [
        (*switches_of(of_trio[0]), of_trio[1], result)
        for result in sorted(results, key=lambda result: result.session.started)
        if result.session.by == "path" and (of_trio := structure_of(result.session.target))
    ]
    check_definition(result for *_, result in known)
    first = next(((structure, machine) for structure, on, machine, _ in known if not on), None)
    same = [(on, result) for structure, on, machine, result in known if (structure, machine) == first]
    switches = tuple(
        dict.fromkeys(name for on, _ in sorted(same, key=lambda each: len(each[0])) for name in sorted(on))
    )
    if first is None or not switches:
        return None
    by_row: dict[str, dict[Cell, float]] = {}
    for on, result in same:
        for row, count in counted.rows(result).items():
            by_row.setdefault(row, {})[on] = count
    ordered = in_registry_order([result for _, result in same], by_row)
    rows = tuple(each for row in ordered if (each := effects(row, by_row[row], switches)))
    have = {on for on, _ in same}
    missing = tuple(cell for cell in cells(switches) if cell not in have)
    return Factorial(first[0], switches, rows, missing, counted.what)
