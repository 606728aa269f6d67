"""The same matrix in another measure than its figures': what the modelled processor takes, what is touched, or what
the kernel alone executes."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

from kernometer.explain.cycles import Modelled, kernel_instructions, modelled
from kernometer.results.model import Result
from kernometer.results.processor import Processor
from kernometer.stats.figures import INSTRUCTIONS, Counted
from kernometer.stats.floors import Floors, floors_for, in_measure
from kernometer.stats.model import Comparison, RowComparison, RowFigure, Verdict
from kernometer.stats.path import FLOORED, floored, stand_ins
from kernometer.stats.series import Series

#: By name: what it is, the words for some of it, and its value of one operation.
MEASURES: Mapping[str, tuple[str, str, Callable[[Modelled], float]]] = {
    "cycles": (
        "Cycles of one operation on a {}, modelled",
        "cycles of a {}",
        lambda of_row: of_row.cycles.value,
    ),
    "cycles-tagged": (
        "Cycles of one operation on a {} with tags in the TLB, modelled",
        "cycles of a {} with tags",
        lambda of_row: of_row.tagged.value,
    ),
    "lines": (
        "Distinct lines of 64 bytes that one iteration touches",
        "lines",
        lambda of_row: sum(count for kind, count in of_row.footprint.items() if kind.endswith("_lines")),
    ),
    "kernel": (
        "Instructions of one operation apart from its programs: the kernel's and its servers'",
        "instructions of the kernel",
        lambda of_row: kernel_instructions(of_row.counts),
    ),
}


def by_system(matrix: Series) -> tuple[Processor | None, dict[str, dict[str, Modelled]]]:
    """The baseline's processor, and by system and row what was counted for it."""
    processor, _rows = modelled(next(column.results for column in matrix.columns if column.name == matrix.baseline))
    each = ((column.name, modelled(column.results)) for column in matrix.columns)
    return processor, {name: rows if its == processor else {} for name, (its, rows) in each}


def measured_in(matrix: Series, measure: str) -> Series | None:
    """The matrix in this measure, without changes, whose comparisons' condition is what it shows; None if the baseline
    counted none. A cell without counts of the same processor is as if it was not measured."""
    processor, systems = by_system(matrix)
    if processor is None:
        return None
    what, _words, value = MEASURES[measure]
    layouts = [in_measure(layout, _rows_in(processor, value)) for layout in matrix.floors]
    sessions = {column.name: column.results for column in matrix.columns}
    sides = {name: [(each, sessions[each]) for each in (matrix.baseline, name)] for name in matrix.comparisons}
    floors = {name: floors_for((*a, *b), layouts) for name, ((_, a), (_, b)) in sides.items()}
    values = {name: {row: value(of_row) for row, of_row in rows.items()} for name, rows in systems.items()}
    base, told = values[matrix.baseline], (what.format(processor.name),)
    comparisons = {
        name: replace(
            comparison,
            rows=tuple(_rows(comparison, base, values[name], floors[name])),
            conditions=told,
            remarks=(FLOORED, *stand_ins(sides[name], floors[name])) if floors[name].rows else (),
        )
        for name, comparison in matrix.comparisons.items()
    }
    figures = {row: _figure(figure, base[row]) for row, figure in matrix.figures.items() if row in base}
    return replace(matrix, figures=figures, comparisons=comparisons, changes=())


def counted_in(matrix: Series, measure: str | None) -> Counted | None:
    """The rows of a session in this measure, None for instructions; None if the baseline counted none. A session that
    counted for another processor than the baseline has none."""
    if measure is None:
        return INSTRUCTIONS
    processor, _systems = by_system(matrix)
    if processor is None:
        return None
    _title, words, value = MEASURES[measure]
    return Counted(words.format(processor.name), _rows_in(processor, value))


def _rows_in(processor: Processor, value: Callable[[Modelled], float]) -> Callable[[Result], dict[str, float]]:
    """The value of each row of a session, none if that counted for another processor."""

    def rows(result: Result) -> dict[str, float]:
        its, modelled_rows = modelled((result,))
        return {row: value(of_row) for row, of_row in modelled_rows.items()} if its == processor else {}

    return rows


def _rows(
    comparison: Comparison, a: Mapping[str, float], b: Mapping[str, float], floors: Floors
) -> Iterator[RowComparison]:
    """Judged by the floor of its placement where that was measured, else by δ alone."""
    for row in comparison.rows:
        if row.a is None or row.b is None:
            yield row  # it failed, or is not there
        elif a.get(row.row, 0) > 0 and b.get(row.row, 0) > 0:
            ratio = b[row.row] / a[row.row]
            decided = Verdict.SLOWER if ratio > 1 else Verdict.FASTER
            verdict = Verdict.EQUIVALENT if abs(math.log(ratio)) <= math.log1p(comparison.delta) else decided
            sides = (_figure(row.a, a[row.row]), _figure(row.b, b[row.row]))
            judged = RowComparison(row.row, row.workload, verdict, ratio, a=sides[0], b=sides[1])
            if row.row in floors.rows:
                judged = replace(judged, verdict=Verdict.UNDECIDED)
                judged = floored(judged, ratio, 0.0, comparison.delta, floors, None, unlike=False)
            yield judged


def _figure(figure: RowFigure, value: float) -> RowFigure:
    return replace(figure, unit="count", cost=value, value=value, levels=(), mean=None, kernel_part=None)
