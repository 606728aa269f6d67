"""`kernometer ab`: measures two targets in alternating blocks, and judges."""

from __future__ import annotations

from contextlib import ExitStack, closing
from dataclasses import replace
from functools import partial
from itertools import takewhile
from pathlib import Path
from typing import Any

import click

from kernometer.campaign.alternate import measure_pair
from kernometer.cli import gate as gates
from kernometer.cli import many
from kernometer.cli.arguments import is_target
from kernometer.cli.env import Env
from kernometer.cli.planning import (
    check_by,
    check_quantile,
    check_targets,
    plan_for,
    print_commands,
    program_for,
    tell_notes,
    with_processor,
    with_profiles,
)
from kernometer.cli.progress import progress
from kernometer.cli.second import Again
from kernometer.cli.show_comparisons import known_layouts, show_comparisons, write_report
from kernometer.cli.trio_kernels import partitions, settings
from kernometer.errors import Status, UsageError
from kernometer.results.model import By
from kernometer.stats.alternate import ab
from kernometer.stats.quantiles import runs_in_a_block
from kernometer.targets.base import Profiled
from kernometer.targets.parse import target_of

#: Seconds of sampling in one run of one row in one block. Blocks differ by more than the samples within them.
SECONDS = 0.02


def command(
    env: Env,
    a: str | None,
    b: str | None,
    words: tuple[str, ...],
    profile: str,
    by: By,
    unit_costs: bool,
    blocks: int,
    seconds: float | None,
    batch: int | None,
    quantile: float | None,
    clock: str | None,
    row_timeout: float | None,
    delta: float,
    label: str,
    seed: int | None,
    report_file: Path | None,
    everything: bool,
    points: bool,
    counters: bool,
    functions: bool,
    boundaries: bool,
    factorial: bool,
    processor: str,
    different_machines: bool,
    dry_run: bool,
    **gating: Any,
) -> Status:
    gate = gates.wanted(**gating)
    check_quantile(quantile, by, batch)
    kernels = boundaries or factorial
    shown = many.Shown(
        delta,
        report_file,
        points=points or everything,
        counters=counters,
        boundaries=boundaries,
        factorial=factorial,
    )
    if kernels:
        given = [word for word in (a, b, *words) if word is not None]
        specs, rows = (partitions if boundaries else settings)(env, given, by, dry_run=dry_run)
        if not specs:
            return Status.DONE
    elif a is None or b is None:
        raise click.MissingParameter(param_type="argument", param_hint="'TARGET-A'" if a is None else "'TARGET-B'")
    else:
        specs = (a, b, *takewhile(is_target, words))
        rows = words[len(specs) - 2 :]
    profiled: Profiled = "median" if functions else ""
    if gate is not None and (kernels or len(specs) > 2):
        raise UsageError("A gate takes two targets.", "Leave the others, or --gate, out.")
    if kernels or len(specs) > 2:
        check_many(by)
        plan_of = partial(plan_for, by=by, profile=profile, words=rows, seed=seed, row_timeout=row_timeout)
        how = many.Rounds(
            label or many.fresh_label("ab"),
            profiled=profiled,
            processor=processor,
            different_machines=different_machines,
            dry_run=dry_run,
        )
        columns = many.measure(env, specs, specs[1:], by, plan_of, how, unit_costs=unit_costs)
        if columns is None:
            return Status.DONE
        return many.judge(env, columns, shown)
    a, b = specs
    with ExitStack() as stack:
        targets = (stack.enter_context(closing(target_of(a))), stack.enter_context(closing(target_of(b))))
        check_by(by, *targets)
        if not different_machines:
            sides = {f"{side} ({target.name})": target for side, target in zip("AB", targets, strict=True)}
            check_targets(sides, by, may_boot=not dry_run)
        effort = {"seconds": seconds or (None if quantile else SECONDS), "batch": batch, "clock": clock}
        effort |= {"quantile": quantile, "row_timeout": row_timeout}
        program, asked = program_for(*targets, unit_costs=unit_costs), None if dry_run else targets[0]
        plan = with_profiles(plan_for(asked, by, profile, words, seed, program, **effort), profiled, *targets)
        plan = with_processor(plan, processor, env.store())
        each = runs_in_a_block(quantile, blocks, plan.effort.samples) if quantile else 1
        plan = replace(plan, effort=replace(plan.effort, runs=each, budget=0.0))
        if dry_run:
            print_commands(env, plan, targets)
            return Status.DONE
        if gate is not None and plan.rows:
            gate.check_allowed((*plan.rows, *plan.unsupported))
        tell_notes(env, by, *targets)
        rounds = blocks if by == "time" else 1  # counts do not vary: one block is enough
        with progress(env, plan, 2 * rounds, paired=by == "time") as listen:
            first, second = measure_pair(plan, targets, env.store(), label, rounds, listen)
        results = (env.store().as_read(first.result), env.store().as_read(second.result))
        names = (a, b) if a != b else (f"{a} (A)", f"{b} (B)")
        floors = known_layouts(env.store()) if by == "path" else ()
        comparison = ab(*results, delta=delta, name_a=names[0], name_b=names[1], floors=floors)
        systems = {name: [result] for name, result in zip(names, results, strict=True)}
        judged = gates.judged(gate, systems, (comparison,), Again(env, plan, targets, label, rounds))
    show_comparisons(env, systems, (comparison,), everything=everything, points=points, counters=counters, gates=judged)
    write_report(env, systems, (comparison,), None, report_file)
    if gate is not None:
        return gates.tell(env, gate, systems, judged)
    return Status.ROWS_FAILED if any(result.failures for result in results) else Status.DONE


def check_many(by: By) -> None:
    """Raises UsageError if more than two targets cannot be measured that way."""
    if by != "path":
        raise UsageError("By time two targets alternate.", "kernometer matrix --by time measures many, in rounds.")
