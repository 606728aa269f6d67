"""`kernometer matrix`: many systems, measured or stored, against one: a table, a heat map, and what changed when."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import ExitStack, closing
from pathlib import Path
from typing import TYPE_CHECKING

import click

from kernometer.cli import complete, options
from kernometer.cli.env import Env, json_option, pass_env
from kernometer.cli.lists import targets as split_targets
from kernometer.cli.lists import workloads as split_workloads
from kernometer.cli.planning import check_by, check_machines, plan_for, print_commands, program_for, tell_notes
from kernometer.errors import Status, UsageError
from kernometer.results.model import By
from kernometer.targets.base import Target

if TYPE_CHECKING:
    from kernometer.campaign.many import Outcome
    from kernometer.campaign.plan import Plan
    from kernometer.results.store import Store
    from kernometer.stats.series import Column

EPILOG = """\b
Examples:
  kernometer matrix --by path --on qemu:linux-6.1,qemu:linux-6.12
  kernometer matrix --by path --on qemu:linux-6.1,qemu:linux-6.12 \\
      --aside qemu:xen --workloads 'syscall/*,proc/*' --report out.html
  kernometer matrix --by time --boots 5 --on local,wrap:'taskset -c 0'
  kernometer matrix label:kernels --report out.html    from the store

RESULT: an id or its beginning, a label, @last, @1…, a file; label:NAME is the
set of all sessions of that label. Sessions of one label and target are one
system, in the order in which they were measured."""

#: Five per side show a difference of 2 % if sessions spread by 1 %: docs/statistics.md, "Undecided".
BOOTS = 5


@click.command(epilog=EPILOG)
@click.argument("names", metavar="[RESULT]...", nargs=-1, shell_complete=complete.results)
@click.option(
    "--on",
    "specs",
    metavar="T[,T...]",
    multiple=True,
    shell_complete=complete.targets,
    help="Targets to measure, in the order of the series.",
)
@click.option("--aside", metavar="T[,T...]", multiple=True, help="Further targets, compared with the baseline only.")
@click.option(
    "--workloads", metavar="W[,W...]", multiple=True, help="Workloads, rows, patterns [default: the profile]."
)
@options.profile
@options.by
@options.unit_costs
@click.option(
    "--boots", type=click.IntRange(1, 1000), default=BOOTS, show_default=True, help="Sessions per target, by time."
)
@click.option("--jobs", type=click.IntRange(1, 1024), help="Guests in parallel, by path [default: one per CPU].")
@click.option("--baseline", metavar="T", default="", help="Compare all with this one [default: the first].")
@options.label
@options.seed
@options.delta
@options.report
@options.points
@options.different_machines
@options.dry_run
@json_option
@pass_env
def command(
    env: Env,
    names: tuple[str, ...],
    specs: tuple[str, ...],
    aside: tuple[str, ...],
    workloads: tuple[str, ...],
    profile: str,
    by: By,
    unit_costs: bool,
    boots: int,
    jobs: int | None,
    baseline: str,
    label: str,
    seed: int | None,
    delta: float,
    report_file: Path | None,
    points: bool,
    different_machines: bool,
    dry_run: bool,
) -> None:
    """Compare many systems with one: operation by system, and which operations got longer, and when.

    With --on it measures: counts on several guests in parallel; times in rounds, each in random order, with one
    session per target and round. A target that fails becomes a column with the reason, and the others continue. With
    RESULTs it reads stored sessions instead.
    """
    from kernometer.cli.columns import stored

    beside = split_targets(aside)
    if bool(names) == bool(specs):
        raise UsageError("Give either stored results or targets.", "For example: kernometer matrix label:kernels")
    if names:
        columns = stored(env.store(), names, beside)
    else:
        each = [spec for spec in split_targets(specs) if spec not in beside] + [*beside]
        with ExitStack() as stack:
            targets = _targets(stack, each, by)
            program = program_for(*targets, unit_costs=unit_costs)
            plan = plan_for(targets[0], by, profile, split_workloads(workloads), seed, program)
            if not different_machines:
                check_machines({spec: {one.place(by).machine} for spec, one in zip(each, targets, strict=True)})
            if dry_run:
                print_commands(env, plan, targets)
                return
            tell_notes(env, by, *targets)
            columns = _measured(env, plan, targets, beside, label, boots=boots, jobs=jobs)
    if names and not different_machines:
        machines = {column.name: {one.session.machine for one in column.results} for column in columns}
        check_machines({name: found for name, found in machines.items() if found})
    _judge(env, columns, baseline, delta, report_file, points=points)
    failed = any(column.failure or any(one.failures for one in column.results) for column in columns)
    raise click.exceptions.Exit(Status.ROWS_FAILED if failed else Status.DONE)


def _targets(stack: ExitStack, specs: Sequence[str], by: By) -> list[Target]:
    """All targets, before anything is measured. Raises UsageError for an unknown one, and for fewer than two."""
    from kernometer.targets.parse import target_of

    found = [stack.enter_context(closing(target_of(spec))) for spec in specs]
    if len(found) < 2:
        raise UsageError("A matrix needs at least two targets.", "For example: --on qemu:linux-6.1,qemu:linux-6.12")
    check_by(by, *found)
    return found


def _measured(
    env: Env, plan: Plan, targets: Sequence[Target], beside: Sequence[str], label: str, *, boots: int, jobs: int | None
) -> list[Column]:
    from kernometer.campaign.many import measure_at_once, measure_in_rounds
    from kernometer.cli.columns import measured
    from kernometer.cli.many import tell_errors
    from kernometer.cli.progress import progress
    from kernometer.results.writer import new_session_id

    store = env.store()
    label = label or f"matrix-{new_session_id().partition('-')[0]}"
    rounds = boots if plan.by == "time" else 1  # counts do not vary
    outcomes: list[Outcome]
    with progress(env, rounds * len(targets) * plan.units, plan.silence) as listen:
        if plan.by == "path":
            at_once = jobs or len(os.sched_getaffinity(0))
            outcomes = measure_at_once(plan, targets, store, label, at_once, listen)
        else:
            outcomes = measure_in_rounds(plan, targets, store, label, rounds, listen)
    tell_errors(env, outcomes)
    if any(outcome.paths for outcome in outcomes):
        env.say(f"The sessions are stored under the label {label}: kernometer matrix 'label:{label}'")
    return measured(outcomes, beside)


def _judge(
    env: Env, columns: Sequence[Column], baseline: str, delta: float, report_file: Path | None, *, points: bool
) -> None:
    from kernometer.cli.compare import history_of_hosts
    from kernometer.cli.layouts import known_layouts
    from kernometer.stats.series import series

    store: Store = env.store()
    results = [one for column in columns for one in column.results]
    counted = bool(results) and all(one.session.by == "path" for one in results)
    judged = series(
        columns,
        baseline=baseline,
        history=None if counted else history_of_hosts(store, results),
        delta=delta,
        floors=known_layouts(store) if counted else (),
    )
    if env.json:
        from kernometer.report.matrix_document import document

        click.echo(document(judged), file=env.out)
    else:
        from kernometer.report.matrix_table import print_matrix
        from kernometer.report.matrix_view import view

        print_matrix(env.console(), view(judged, points=points))
    if report_file is not None:
        from kernometer.report.html import write
        from kernometer.report.matrix import render

        write(report_file, render(judged))
        env.say(f"The report is in {report_file}.")
