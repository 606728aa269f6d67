"""A series of systems against one baseline, and when along it a row's cost changed. docs/statistics.md, "A series"."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from kernometer.errors import ResultError
from kernometer.results.model import Result
from kernometer.results.rows import Row, in_registry_order
from kernometer.stats.compare import compare_many
from kernometer.stats.counters import by_emulator
from kernometer.stats.figures import figures, pooled
from kernometer.stats.floors import Layout
from kernometer.stats.history import History
from kernometer.stats.model import DECIDED, Comparison, RowComparison, RowFigure, Verdict
from kernometer.stats.verdict import DELTA
from kernometer.tables import grouped

#: A kind of event changed if an operation has so many more or fewer of it; timer ticks alone make smaller fractions.
EVENT_CHANGE = 0.25
#: Sums of events explain a change of the figure, which is a median, only if the sum of instructions changed by as much,
#: to this share. Otherwise they contain something (a start, one more tick) that the median leaves out.
EVENT_DOUBT = 0.25
#: Counts of amounts, which the figures tell better, and counts that always change with another one.
NOT_EVENTS = frozenset({"instructions", "user", "kernel", "sysrets", "fpu_restores", "sti"})


@dataclass(frozen=True, slots=True)
class Column:
    """One system: its sessions, and why some are incomplete or missing."""

    name: str
    results: tuple[Result, ...]
    failure: str = ""
    aside: bool = False  #: compared with the baseline only, and not part of the series


@dataclass(frozen=True, slots=True)
class Step:
    """A decided change of a row from one system to the next."""

    before: str
    after: str
    row: RowComparison
    events: Mapping[str, float]  #: by path: the change per operation of each kind that changed


@dataclass(frozen=True, slots=True)
class Change:
    """A row whose cost changed along the series."""

    row: str
    steps: tuple[Step, ...]  #: empty if it changed too slowly for any two neighbours to show it
    total: RowComparison | None  #: the last system against the first; None if one of them has no figure
    since: str = ""  #: if no step shows the change: the first system with a decided difference from the first one

    @property
    def longer(self) -> bool:
        """Whether it costs more in the end, or, if that is undecided, cost more for a while."""
        if self.total is not None and self.total.verdict in DECIDED:
            return self.total.verdict is Verdict.SLOWER
        return any(step.row.verdict is Verdict.SLOWER for step in self.steps)


@dataclass(frozen=True, slots=True)
class Series:
    """Systems in their order, all judged against `baseline`."""

    baseline: str
    columns: tuple[Column, ...]
    rows: tuple[str, ...]  #: in the registry's order
    figures: Mapping[str, RowFigure]  #: of the baseline
    comparisons: Mapping[str, Comparison]  #: by system, without the baseline and those without a session
    changes: tuple[Change, ...]  #: the largest first
    floors: tuple[Layout, ...] = ()  #: by path, the known layouts

    @property
    def results(self) -> list[Result]:
        """The sessions of all systems."""
        return [result for column in self.columns for result in column.results]

    def cell(self, row: str, system: str) -> RowComparison | None:
        """A row of one system against the baseline; None if it was not measured on both, and for the baseline."""
        comparison = self.comparisons.get(system)
        known = next((judged for judged in comparison.rows if judged.row == row), None) if comparison else None
        column = next(column for column in self.columns if column.name == system)
        if known is not None or not column.failure or system == self.baseline:
            return known
        return RowComparison(row, Row(row).workload, Verdict.FAILED, notes=(column.failure,))


def series(
    columns: Sequence[Column],
    *,
    baseline: str = "",
    history: History | None = None,
    delta: float = DELTA,
    floors: Sequence[Layout] = (),
) -> Series:
    """Judges each system against the baseline (the first with a session, unless named) and against the one before.
    Raises ResultError if fewer than two have a session, or the baseline has none."""
    measured = [column for column in columns if column.results]
    names = [column.name for column in measured]
    if len(measured) < 2:
        raise ResultError("A matrix needs sessions of at least two systems.", "kernometer list shows what is stored.")
    if baseline and baseline not in names:
        raise ResultError(f"The baseline {baseline} has no session.", f"It may be one of: {', '.join(names)}.")
    first = next(column for column in measured if column.name == (baseline or names[0]))
    others = {column.name: column.results for column in measured if column is not first}
    judged = compare_many(first.results, others, history=history, delta=delta, name_baseline=first.name, floors=floors)
    steps = versions(measured)
    neighbours = [_neighbours(a, b, first, judged, history, delta, floors) for a, b in pairwise(steps)]
    comparisons = dict(zip(others, judged, strict=True))
    rows = _rows([result for column in columns for result in column.results])
    return Series(
        baseline=first.name,
        columns=tuple(columns),
        rows=rows,
        figures=_figures(first),
        comparisons=comparisons,
        changes=_changes(rows, steps, neighbours, comparisons if first in steps[:1] else {}),
        floors=tuple(floors),
    )


def versions(columns: Sequence[Column]) -> list[Column]:
    """Those of the series: not aside, and of one system, by the name that kernels give themselves; of several systems
    the one with the most, the first of equals. A step to another system is no change that anybody made."""
    of_series = (column for column in columns if not column.aside)
    by_system = grouped((column.results[0].uname.get("sysname", ""), column) for column in of_series)
    return max(by_system.values(), key=len, default=[])


def _neighbours(
    a: Column,
    b: Column,
    first: Column,
    judged: Sequence[Comparison],
    history: History | None,
    delta: float,
    floors: Sequence[Layout],
) -> Comparison:
    """B against the system before it. If that is the baseline, the comparison exists already."""
    if a is first:
        return next(comparison for comparison in judged if comparison.b == b.name)
    (comparison,) = compare_many(
        a.results, {b.name: b.results}, history=history, delta=delta, name_baseline=a.name, floors=floors
    )
    return comparison


def _figures(column: Column) -> dict[str, RowFigure]:
    by_row = grouped(pair for result in column.results for pair in figures(result).items())
    return {
        row: pooled(of_row, [figure.cost for figure in of_row if figure.cost is not None])
        for row, of_row in by_row.items()
    }


def _rows(results: Sequence[Result]) -> tuple[str, ...]:
    """Every row that was tried, in the registry's order; rows that are not in it come last."""
    tried = dict.fromkeys(
        row for result in results for row in (*result.rows, *(failure.row for failure in result.failures))
    )
    return in_registry_order(results, tried)


def _changes(
    rows: Sequence[str],
    columns: Sequence[Column],
    neighbours: Sequence[Comparison],
    against_first: Mapping[str, Comparison],
) -> tuple[Change, ...]:
    by_row = [{row.row: row for row in comparison.rows} for comparison in neighbours]
    first_rows = {name: {row.row: row for row in comparison.rows} for name, comparison in against_first.items()}
    changes = []
    for row in rows:
        steps = tuple(
            Step(a.name, b.name, judged_step[row], _event_changes(judged_step[row], a, b))
            for (a, b), judged_step in zip(pairwise(columns), by_row, strict=True)
            if row in judged_step and judged_step[row].verdict in DECIDED
        )
        judged = {name: by_name[row] for name, by_name in first_rows.items() if row in by_name}
        total = judged.get(columns[-1].name)
        since = next(
            (column.name for column in columns if column.name in judged and judged[column.name].verdict in DECIDED), ""
        )
        slowly = not steps and total is not None and total.verdict in DECIDED
        if steps or slowly:
            changes.append(Change(row, steps, total, since if slowly else ""))
    return tuple(sorted(changes, key=change_size, reverse=True))


def change_size(change: Change) -> float:
    """The last system's ratio to the first; without one the largest step."""
    if change.total is not None and change.total.ratio is not None:
        return change.total.ratio
    return max((step.row.ratio or 1.0 for step in change.steps), default=1.0)


def _event_changes(row: RowComparison, a: Column, b: Column) -> dict[str, float]:
    """How many more events one operation has on B than on A, by sums over all regions."""
    before, after = (by_emulator(row.row, side.results) for side in (a, b))
    if not before or not after or row.costs is None:
        return {}
    more = {kind: after[kind] - before[kind] for kind in after if kind in before}
    seen = row.costs[1] - row.costs[0]
    if abs(more.get("instructions", 0.0) - seen) > EVENT_DOUBT * abs(seen):
        return {}
    return {kind: count for kind, count in more.items() if kind not in NOT_EVENTS and abs(count) >= EVENT_CHANGE}
