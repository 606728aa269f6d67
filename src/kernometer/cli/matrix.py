"""`kernometer matrix`: many systems, measured or stored, against one: a table, a heat map, and what changed when."""

from __future__ import annotations

from functools import partial
from typing import Any

import click

from kernometer.cli import many
from kernometer.cli.arguments import targets as split_targets
from kernometer.cli.arguments import workloads as split_workloads
from kernometer.cli.columns import stored
from kernometer.cli.env import Env
from kernometer.cli.planning import check_machines, plan_for
from kernometer.errors import UsageError
from kernometer.results.model import By


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
    label: str,
    seed: int | None,
    functions: bool,
    processor: str,
    different_machines: bool,
    dry_run: bool,
    **showing: Any,
) -> None:
    shown = many.Shown(**showing)
    beside = split_targets(aside)
    if bool(names) == bool(specs):
        raise UsageError("Give either stored results or targets.", "For example: kernometer matrix label:kernels")
    if names and machines:
        raise UsageError("--machine is for what is measured; stored results have their machines.", "Leave it out.")
    if specs and shown.measure and by != "path":
        raise UsageError("--in shows what is counted by path.", "Add --by path.")
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
        rounds = many.Rounds(
            *(label, boots, jobs, "median" if functions else "", processor),
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
        measured_on = {column.name: {result.session.machine for result in column.results} for column in columns}
        check_machines({name: machines_of for name, machines_of in measured_on.items() if machines_of})
    raise click.exceptions.Exit(many.judge(env, columns, shown))
