"""`kernometer run`: measures a session and shows it."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import click

from kernometer.cli.arguments import rows_of
from kernometer.cli.env import Env
from kernometer.cli.planning import check_by, check_quantile, plan_for, print_commands, program_for, with_processor
from kernometer.cli.progress import measured
from kernometer.cli.show_comparisons import alone, compared_with_last, figures_of, show_comparisons, write_report
from kernometer.errors import Status
from kernometer.report.session.spread import spread_view
from kernometer.report.session.terminal import document, print_result
from kernometer.results.model import By, Result
from kernometer.results.store import Store
from kernometer.stats.differences import machine_differences
from kernometer.stats.noise import spread_between_sessions
from kernometer.targets.parse import target_of
from kernometer.text import printable


def command(
    env: Env,
    /,
    words: tuple[str, ...],
    profile: str,
    spec: str,
    by: By,
    unit_costs: bool,
    label: str,
    seed: int | None,
    report_file: Path | None,
    everything: bool,
    points: bool,
    beside_last: bool,
    processor: str,
    dry_run: bool,
    quantile: float | None,
    **effort: float | str | None,
) -> Status:
    store, words = env.store(), rows_of(click.get_current_context(), words)
    check_quantile(quantile, by, effort.get("batch"))
    with closing(target_of(spec)) as target:
        check_by(by, target)
        program = program_for(target, unit_costs=unit_costs)
        plan = plan_for(None if dry_run else target, by, profile, words, seed, program, quantile=quantile, **effort)
        plan = with_processor(plan, processor, store)
        if dry_run:
            print_commands(env, plan, (target,))
            return Status.DONE
        path, result = measured(env, plan, target, label)
    _tell_probe(env, store, result)
    try:
        rows = figures_of(store, result)
        if env.json:
            env.print_json(document(result, rows), ensure_ascii=False)
        else:
            print_result(env.console(), result, rows, everything=everything, points=points, named=words)
        systems, comparisons, history = compared_with_last(store, result) if beside_last else alone(result)
        if history is not None and not env.json:
            env.console().print()
            show_comparisons(env, systems, comparisons, everything=everything, points=points)
            sessions = [rows, *(entry.figures for entry in history.entries)]
            spread = spread_view(spread_between_sessions(sessions), "of this host")
            if spread is not None:
                env.console().print(spread.summary)
        write_report(env, systems, comparisons, history, report_file)
    finally:
        env.say(f"The session is stored in {path}.")
    return Status.ROWS_FAILED if result.failures else Status.DONE


def _tell_probe(env: Env, store: Store, result: Result) -> None:
    """Says how the probe differs from that of the last session here, if it does."""
    last = store.earlier_probe(result)
    if last is not None:
        words = machine_differences((last.probe, result.build))
        differs = f"{words[last.probe]} → {words[result.build]}"
        env.say(printable(f"note: the probe has changed since {last.id}, which is not history here: {differs}", 600))
