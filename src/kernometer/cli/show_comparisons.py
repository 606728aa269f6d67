"""Shows comparisons, for every command that judges: a table or JSON, and the report on request."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import click
import msgspec

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from kernometer.cli.env import Env
    from kernometer.report.explanation.structures_view import StructuresView
    from kernometer.results.model import Result
    from kernometer.results.store import Store
    from kernometer.stats.gate import Gate
    from kernometer.stats.history import History
    from kernometer.stats.model import Comparison

    #: Results by the name of their system, the baseline first.
    Systems = Mapping[str, Sequence[Result]]


@dataclass(frozen=True, slots=True)
class Beside:
    """A session and, if the store has one, the last of the same kind, compared."""

    systems: Systems
    comparisons: tuple[Comparison, ...] = ()
    history: History | None = None  #: of earlier sessions of the kind; None without one


def alone(result: Result) -> Beside:
    """The session by itself."""
    return Beside({result.session.label or "this session": [result]})


def compared_with_last(store: Store, result: Result) -> Beside:
    """The session next to the last one of the same host, target, way of taking time and profile."""
    from kernometer.stats.compare import compare
    from kernometer.stats.history import History, history_of

    before = list(store.history(result))
    if not before:
        return alone(result)
    history = history_of(before)
    systems = {"the session before": before[:1], "this session": [result]}
    last, this = systems
    earlier = History(history.entries[1:])  # earlier than both; each session's figures take a third of a second, once
    comparison = compare(before[:1], [result], history=earlier, name_a=last, name_b=this)
    return Beside(systems, (comparison,), history)


def show_comparisons(
    env: Env,
    systems: Systems,
    comparisons: Sequence[Comparison],
    report_file: Path | None,
    history: History | None = None,
    *,
    whole: bool = False,
    points: bool = False,
    counters: bool = False,
    gates: Sequence[Gate] = (),
) -> None:
    """Prints them all, with --json as one JSON array. Then writes the report, if a file is named. `gates`: of each
    comparison, for the array; none without --gate.

    `whole`: every row; `points`: every row, with every point of a curve as a row. JSON always has all rows.
    """
    from kernometer.report.words.curves import comparison_document, definitions

    workloads = definitions(result for one in systems.values() for result in one)
    from kernometer.explain.functions import decided, differences

    by_function = {one.b: differences(systems[one.a], systems[one.b], decided(one)) for one in comparisons}
    if env.json:
        from kernometer.report.comparison.gate import document
        from kernometer.report.profile.functions import difference_document
        from kernometer.stats.counters import counted

        gate_of = {id(one.comparison): document(one) for one in gates}
        made = [
            msgspec.to_builtins(one)
            | {"curves": comparison_document(one, workloads)}
            | {"counters": {row.row: told for row in one.rows if (told := counted(row.row, systems))}}
            | {"functions": {row: difference_document(found) for row, found in by_function[one.b].items()}}
            | ({"gate": gate_of[id(one)]} if gates else {})
            for one in comparisons
        ]
        click.echo(msgspec.json.encode(made).decode(), file=env.out)
    else:
        from kernometer.report.comparison.terminal import print_comparison
        from kernometer.report.comparison.view import named_view
        from kernometer.report.profile.functions import print_differences

        for comparison in comparisons:
            view = named_view(comparison, {} if points else workloads)
            print_comparison(env.console(), view, whole=whole or points)
            print_differences(env.console(), comparison.b, by_function[comparison.b])
        if counters:
            from kernometer.report.session.counters import print_counters

            print_counters(env.console(), systems)
    write_report(env, systems, comparisons, history, report_file)


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
    from kernometer.cli.floors import known_layouts
    from kernometer.report.write.html import render, write

    results = [result for one in systems.values() for result in one]
    floors = known_layouts(env.store()) if all(one.session.by == "path" for one in results) else ()
    page = render(results, comparisons, history, systems=systems, floors=floors, structures=structures)
    write(report_file, page)
    env.say(f"The report is in {report_file}.")
