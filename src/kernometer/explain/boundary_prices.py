"""What each boundary between services costs, operation by operation, and whether the prices add up. Pure.

All figures are counts of one operation, instructions if nothing else is said. docs/trio.md, "The price of each
boundary", defines the words.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import chain
from statistics import median_low

from kernometer.explain.partitions import MICRO, MONO, Pair, cut, cut_of, merged, merged_of, structure_of
from kernometer.results.model import Result
from kernometer.results.rows import in_registry_order
from kernometer.stats.differences import check_definition
from kernometer.stats.figures import INSTRUCTIONS, Counted

#: The figures of one structure, by row.
RowCounts = Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Priced:
    """One operation."""

    row: str
    figures: RowCounts  #: by structure
    cuts: Mapping[str, float]  #: by service: the cost beyond mono's, with only this service out of the kernel
    pairs: Mapping[Pair, float]  #: the interaction: with both out, the cost beyond their two cuts
    merges: Mapping[Pair, float]  #: the saving: what micro costs less with the two in one process
    missing: tuple[str, ...]  #: structures without a figure of it

    @property
    def is_complete(self) -> bool:
        """Whether mono and all cuts have a figure, without which nothing is predicted."""
        return not any(structure == MONO or cut_of(structure) for structure in self.missing)

    @property
    def predicted(self) -> float | None:
        """What micro would cost if prices and interactions added up; None if one is missing."""
        if not self.is_complete:
            return None
        return self.figures[MONO] + sum(self.cuts.values()) + sum(self.pairs.values())

    @property
    def rest(self) -> float | None:
        """What micro costs more than predicted; None without one of the two."""
        return self._less(self.predicted)

    @property
    def shared(self) -> float:
        """What any cut costs, even of a service to which the operation never comes: the low median of the cuts."""
        return max(0.0, median_low(self.cuts.values())) if self.cuts else 0.0

    @property
    def own(self) -> dict[str, float]:
        """What a service's cut costs beyond `shared`, by service."""
        return {each: price - min(price, self.shared) for each, price in self.cuts.items()}

    @property
    def beyond(self) -> dict[Pair, float]:
        """The interactions beyond `shared`, which both cuts contain and micro pays once."""
        return {
            (a, b): more + max(0.0, min(self.cuts[a], self.cuts[b], self.shared)) for (a, b), more in self.pairs.items()
        }

    @property
    def predicted_once(self) -> float | None:
        """What micro would cost if it paid `shared` once, and own prices added up, without interactions; None without
        mono or one of the single cuts."""
        if any(structure == MONO or len(cut_of(structure)) == 1 for structure in self.missing):
            return None
        return self.figures[MONO] + self.shared + sum(self.own.values())

    @property
    def rest_once(self) -> float | None:
        """What micro costs beyond `predicted_once`; None without one of the two."""
        return self._less(self.predicted_once)

    def _less(self, predicted: float | None) -> float | None:
        return None if predicted is None or MICRO not in self.figures else self.figures[MICRO] - predicted


@dataclass(frozen=True, slots=True)
class Boundaries:
    """All operations, in the given order."""

    services: tuple[str, ...]
    pairs: tuple[Pair, ...]  #: caller first
    merges: tuple[Pair, ...]
    rows: tuple[Priced, ...]
    missing: tuple[str, ...]  #: structures of which no row has a figure
    what: str = INSTRUCTIONS.what  #: is counted


def boundaries(systems: Mapping[str, RowCounts], rows: Iterable[str] | None = None) -> Boundaries | None:
    """The prices, from the figures of each structure; None without a single cut, for there is then no boundary to
    price.

    `rows`: their order; without it, that of the structures. A structure whose guest failed has no figures.
    """
    cuts = [services for name in systems if (services := cut_of(name))]
    merges = tuple(_pair(services) for name in systems if len(services := merged_of(name)) == 2)
    if not any(len(services) == 1 for services in cuts):
        return None
    pairs = tuple(_pair(services) for services in cuts if len(services) == 2)
    services = tuple(dict.fromkeys(chain(*(cut_out for cut_out in cuts if len(cut_out) == 1), *pairs, *merges)))
    wanted = (MONO, *map(cut, services), *(cut(*each) for each in (*pairs, *merges)), MICRO, *map(merged, merges))
    needed = tuple(dict.fromkeys((*wanted, *systems)))
    named = dict.fromkeys(row for figures in systems.values() for row in figures) if rows is None else rows
    priced = tuple(_priced(row, systems, services, pairs, merges, needed) for row in named)
    missing = tuple(structure for structure in needed if not systems.get(structure))
    return Boundaries(services, pairs, merges, priced, missing)


def of_results(
    results: Iterable[Result], tried: Iterable[str] = (), counted: Counted = INSTRUCTIONS
) -> Boundaries | None:
    """The prices, from sessions by path: a session's target names its structure, and the newest of each counts.

    `tried`: all targets, including those whose guest failed. Targets that are not Trio's, and those on other machines
    than the first of mono, are left out. Raises ResultError for counts of two definitions.
    """
    by_path = [result for result in results if result.session.by == "path"]
    check_definition(by_path)
    known = [(of_trio, result) for result in by_path if (of_trio := structure_of(result.session.target))]
    machine = next((words for (structure, words), _ in known if structure == MONO), None)
    same = [(structure, result) for (structure, words), result in known if words == machine]
    named = (structure_of(name) for name in (*tried, *(result.session.target for _, result in same)))
    systems: dict[str, RowCounts] = {of_trio[0]: {} for of_trio in named if of_trio and of_trio[1] == machine}
    for structure, result in sorted(same, key=lambda each: each[1].session.started):
        systems[structure] = counted.rows(result)
    rows = dict.fromkeys(row for figures in systems.values() for row in figures)
    priced = boundaries(systems, in_registry_order([result for _, result in same], rows))
    return replace(priced, what=counted.what) if priced else None


def _pair(services: tuple[str, ...]) -> Pair:
    caller, callee = services
    return caller, callee


def _priced(
    row: str,
    systems: Mapping[str, RowCounts],
    services: tuple[str, ...],
    pairs: tuple[Pair, ...],
    merges: tuple[Pair, ...],
    needed: tuple[str, ...],
) -> Priced:
    known = {structure: figures[row] for structure, figures in systems.items() if row in figures}
    cuts = {service: known[cut(service)] - known[MONO] for service in services if {MONO, cut(service)} <= known.keys()}
    both = {pair: known[cut(*pair)] for pair in pairs if cut(*pair) in known and {*pair} <= cuts.keys()}
    return Priced(
        row=row,
        figures=known,
        cuts=cuts,
        pairs={(a, b): figure - known[MONO] - cuts[a] - cuts[b] for (a, b), figure in both.items()},
        merges={pair: known[MICRO] - known[merged(pair)] for pair in merges if {MICRO, merged(pair)} <= known.keys()},
        missing=tuple(structure for structure in needed if structure not in known),
    )
