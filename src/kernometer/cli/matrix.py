"""`kernometer matrix`: many systems, measured or stored, against one: a table, a heat map, and what changed when."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import click

from kernometer.cli import completion, many, options
from kernometer.cli.arguments import targets as split_targets
from kernometer.cli.arguments import workloads as split_workloads
from kernometer.cli.columns import stored
from kernometer.cli.env import Env, json_option, pass_env
from kernometer.cli.planning import check_machines, plan_for
from kernometer.errors import UsageError
from kernometer.results.model import By
from kernometer.targets.base import Profiled

EPILOG = """\b
Examples:
  kernometer matrix --by path --on qemu:linux-6.1,qemu:linux-6.12
  kernometer matrix --by path --on qemu:linux-6.1,qemu:linux-6.12 \\
      --aside qemu:xen --workloads 'syscall/*,proc/*' --report out.html
  kernometer matrix --by time --boots 5 --on local,wrap:'taskset -c 0'
  kernometer matrix --by path --on qemu:linux-6.1,qemu:linux-6.12 \\
      --machine standard --machine cpu=Nehalem            kernels by machines
  kernometer matrix label:kernels --report out.html    from the store

RESULT: an id or its beginning, a label, @last, @1…, a file; label:NAME is the
set of all sessions of that label. Sessions of one label and target are one
system, in the order in which they were measured."""

#: Five per side show a difference of 2 % if sessions spread by 1 %: docs/statistics.md, "Undecided".
BOOTS = 5


@click.command(cls=options.BriefHelp, epilog=EPILOG)
@click.argument("names", metavar="[RESULT]...", nargs=-1, shell_complete=completion.results)
@click.option(
    "--on",
    "specs",
    metavar="T[,T...]",
    multiple=True,
    shell_complete=completion.targets,
    help="Targets to measure, in the order of the series.",
)
@click.option(
    "--machine",
    "machines",
    metavar="M",
    multiple=True,
    help="Each guest on this machine too: cpu=Nehalem, machine=q35, both joined by +, or standard. Repeat it.",
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
@click.option(
    "--scheduler",
    metavar="ADDRESS",
    default="",
    help="Measure by the workers of this scheduler of dask.distributed: tcp://HOST:8786.",
)
@click.option("--resume", is_flag=True, help="Measure only what the complete sessions of --label lack.")
@click.option("--baseline", metavar="T", default="", help="Compare all with this one [default: the first].")
@options.label
@options.seed
@options.delta
@options.report
@options.points
@options.counters
@options.functions
@options.boundaries
@options.factorial
@options.different_machines
@options.dry_run
@json_option
@pass_env
def command(
    env: Env,
    names: tuple[str, ...],
    specs: tuple[str, ...],
    machines: tuple[str, ...],
    aside: tuple[str, ...],
    workloads: tuple[str, ...],
    profile: str,
    by: By,
    unit_costs: bool,
    boots: int,
    jobs: int | None,
    scheduler: str,
    resume: bool,
    baseline: str,
    label: str,
    seed: int | None,
    delta: float,
    report_file: Path | None,
    points: bool,
    counters: bool,
    functions: bool,
    boundaries: bool,
    factorial: bool,
    different_machines: bool,
    dry_run: bool,
) -> None:
    """Compare many systems with one: operation by system, and which operations got longer, and when.

    With --on it measures: counts on several guests in parallel; times in rounds, each in random order, with one
    session per target and round. A target that fails becomes a column with the reason, and the others continue. With
    RESULTs it reads stored sessions instead.
    """
    many.check_shown(boundaries=boundaries, factorial=factorial)
    beside = split_targets(aside)
    if bool(names) == bool(specs):
        raise UsageError("Give either stored results or targets.", "For example: kernometer matrix label:kernels")
    if names and machines:
        raise UsageError("--machine is for what is measured; stored results have their machines.", "Leave it out.")
    if resume and (names or not label):
        raise UsageError("--resume goes on with a campaign that has a label.", "Give --on and --label as at first.")
    if names:
        columns = stored(env.store(), names, beside)
    else:
        chosen = many.on_machines(split_targets(specs), machines)
        each = [spec for spec in chosen if spec not in beside] + [*beside]
        different_machines |= bool(machines)
        plan = partial(plan_for, by=by, profile=profile, words=split_workloads(workloads), seed=seed)
        label = label or many.fresh_label("matrix")
        profiled: Profiled = "median" if functions else ""
        rounds = many.Rounds(
            *(label, boots, jobs, profiled),
            different_machines=different_machines,
            dry_run=dry_run,
            scheduler=scheduler,
            resume=resume,
        )
        measured = many.measure(env, each, beside, by, plan, rounds, unit_costs=unit_costs)
        if measured is None:
            return
        columns = measured
    if names and not different_machines:
        measured_on = {column.name: {one.session.machine for one in column.results} for column in columns}
        check_machines({name: found for name, found in measured_on.items() if found})
    shown = many.Shown(
        baseline, delta, report_file, points=points, counters=counters, boundaries=boundaries, factorial=factorial
    )
    raise click.exceptions.Exit(many.judge(env, columns, shown))
