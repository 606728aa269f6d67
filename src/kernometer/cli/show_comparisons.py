"""Shows comparisons, for every command that judges: a table or JSON, and the report on request."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from kernometer.cli.env import Env
from kernometer.explain.functions import decided, differences
from kernometer.report.comparison import cycles
from kernometer.report.comparison.gate import document
from kernometer.report.comparison.terminal import print_comparison
from kernometer.report.comparison.view import named_view
from kernometer.report.profile.functions import difference_blocks, difference_document
from kernometer.report.session import counters as session_counters
from kernometer.report.words.curves import comparison_document, definitions
from kernometer.report.write.file import write
from kernometer.results.model import Result
from kernometer.results.store import Store
from kernometer.stats.compare import compare
from kernometer.stats.counters import counted
from kernometer.stats.figures import figures
from kernometer.stats.floors import MIN_MACHINES, Layout, layouts, with_floors
from kernometer.stats.gate import Gate
from kernometer.stats.history import History, history_of
from kernometer.stats.model import Comparison, RowFigure

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from kernometer.report.explanation.structures import StructuresView

    #: Results by the name of their system, the baseline first.
    Systems = Mapping[str, Sequence[Result]]
    #: And their comparisons, and the earlier sessions of the kind, if there are any.
    Compared = tuple[Systems, tuple[Comparison, ...], History | None]


def alone(result: Result) -> Compared:
    """The session by itself."""
    return {result.session.label or "this session": [result]}, (), None


def compared_with_last(store: Store, result: Result) -> Compared:
    """The session next to the last one of the same host, target, way of taking time and profile, if there is one."""
    definition = result.session.path_definition
    before = [past for past in store.history(result) if past.session.path_definition == definition]
    if not before:
        return alone(result)
    history = history_of(before)
    systems = {"the session before": before[:1], "this session": [result]}
    last, this = systems
    earlier = History(history.entries[1:])  # earlier than both; computing figures anew takes 0.3 s each
    comparison = compare(before[:1], [result], history=earlier, name_a=last, name_b=this)
    return systems, (comparison,), history


def show_comparisons(
    env: Env,
    systems: Systems,
    comparisons: Sequence[Comparison],
    *,
    everything: bool,
    points: bool,
    counters: bool = False,
    gates: Sequence[Gate] = (),
) -> None:
    """Prints them all, with --json as one JSON array. `gates`: of each comparison, for the array; none without --gate.

    `everything`: every row; `points`: every row, with every point of a curve as a row. JSON always has all rows.
    """
    workloads = definitions(result for system in systems.values() for result in system)
    by_function = {
        comparison.b: differences(systems[comparison.a], systems[comparison.b], decided(comparison))
        for comparison in comparisons
    }
    if env.json:
        gate_of = {id(gate.comparison): document(gate) for gate in gates}
        made = [
            msgspec.to_builtins(comparison)
            | {"curves": comparison_document(comparison, workloads)}
            | {"counters": {row.row: told for row in comparison.rows if (told := counted(row.row, systems))}}
            | {"modelled": cycles.document(systems[comparison.a], systems[comparison.b])}
            | {"functions": {row: difference_document(change) for row, change in by_function[comparison.b].items()}}
            | ({"gate": gate_of[id(comparison)]} if id(comparison) in gate_of else {})
            for comparison in comparisons
        ]
        env.print(msgspec.json.encode(made).decode())
    else:
        for comparison in comparisons:
            view = named_view(comparison, {} if points else workloads)
            print_comparison(env.console(), view, everything=everything or points)
            env.show(difference_blocks(comparison.b, by_function[comparison.b]))
            env.show(cycles.blocks(systems[comparison.a], systems[comparison.b], everything=everything))
        if counters:
            env.show(session_counters.blocks(systems))


def write_report(
    env: Env,
    systems: Systems,
    comparisons: Sequence[Comparison],
    history: History | None,
    report_file: Path | None,
    structures: StructuresView | None = None,
) -> None:
    """Writes one HTML file, if `report_file` is given."""
    if report_file is None:
        return
    from kernometer.report.page import build, render

    results = [result for results_of in systems.values() for result in results_of]
    floors = known_layouts(env.store()) if all(result.session.by == "path" for result in results) else ()
    write(report_file, render(build(systems, comparisons, history, floors=floors, structures=structures)))
    env.say(f"The report is in {report_file}.")


def figures_of(store: Store, result: Result) -> dict[str, RowFigure]:
    """The figures of a result; by path with the floors from the store."""
    rows = figures(result)
    return with_floors(rows, result, known_layouts(store)) if result.session.by == "path" else rows


def known_layouts(store: Store) -> tuple[Layout, ...]:
    """Every kernel of the store that was counted on rotated machines. Raises ResultError if it cannot be read."""
    return layouts(store.rotated(MIN_MACHINES))
