"""`kernometer floors`: measures how far a kernel's counts move by layout alone, and shows the stored floors."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from contextlib import ExitStack, closing

import click

from kernometer.campaign.cells import Outcome, measure_cells
from kernometer.campaign.here import Here
from kernometer.campaign.plan import Plan
from kernometer.cli import completion, options
from kernometer.cli.arguments import targets as split_targets
from kernometer.cli.env import Env, json_option, pass_env
from kernometer.cli.planning import plan_for, print_commands, program_for, tell_notes
from kernometer.cli.progress import progress, tell_errors
from kernometer.cli.show_comparisons import known_layouts
from kernometer.errors import Status, UsageError
from kernometer.report.store.floors import blocks, document
from kernometer.report.write.terminal import BLANK
from kernometer.results.store import read_file
from kernometer.stats.floors import Layout
from kernometer.targets.parse import target_of
from kernometer.targets.qemu import QemuTarget

EPILOG = """\b
Examples:
  kernometer floors --on qemu:linux-6.1             measure, and show
  kernometer floors --on qemu:linux-6.1,qemu:linux-6.12 --rotations 9
  kernometer floors                                 show the stored floors

The machines: the guest's own, then others, each with another seed, another
memory size (1/16 less, 1/16 more, 2/16 less…) and other rows run before. Their
sessions are stored under the label as ordinary sessions by path; compare, ab,
report and matrix find them there."""

LABEL = "layout"
#: Fewer make a floor wider than it need be; from nine on it is as far as the counts moved: docs/statistics.md,
#: "Layout floors".
ROTATIONS = 5
#: How many rows whose count moved the table shows.
SHOWN = 20


@click.command(epilog=EPILOG)
@click.argument("words", metavar="[WORKLOAD]...", nargs=-1, shell_complete=completion.rows)
@click.option("--on", "specs", metavar="GUEST[,GUEST...]", multiple=True, help="qemu:linux-VERSION, and variants.")
@options.profile
@click.option("--rotations", type=click.IntRange(3, 17), default=ROTATIONS, show_default=True, help="Machines a guest.")
@click.option("--jobs", type=click.IntRange(1, 1024), help="Guests in parallel [default: one per CPU].")
@click.option("--label", metavar="L", default=LABEL, show_default=True, help="Label of the sessions.")
@click.option("--all", "every", is_flag=True, help=f"Show every row whose count moved, not only {SHOWN}.")
@options.dry_run
@json_option
@pass_env
def command(
    env: Env,
    words: tuple[str, ...],
    specs: tuple[str, ...],
    profile: str,
    rotations: int,
    jobs: int | None,
    label: str,
    every: bool,
    dry_run: bool,
) -> None:
    """Measure layout floors: how far a row's count moves when only the layout changes.

    Each guest is measured by path on machines that differ in memory size, random seed and the rows run before. A
    difference between two builds of a kernel that is below the floor may be an accident, and stays undecided.
    """
    failed = False
    images: set[str] = set()
    with ExitStack() as stack:
        guests = _guests(stack, split_targets(specs))
        if guests:
            plan = plan_for(guests[0], "path", profile, words, None, program_for(*guests, unit_costs=False))
            rotated = [one for guest in guests for one in guest.rotated(rotations)]
            images = {guest.guest.image for guest in guests}
            if dry_run:
                print_commands(env, plan, rotated)
                return
            tell_notes(env, "path", *guests)
            outcomes = measured(env, plan, rotated, label, jobs)
            failed = any(one.error is not None or _rows_failed(one) for one in outcomes)
        elif words or dry_run:
            raise UsageError("The guest to measure is missing.", "Name it: --on qemu:linux-6.1.")
    found = [layout for layout in known_layouts(env.store()) if not images or layout.image in images]
    _show(env, found, most=sys.maxsize if every else SHOWN)
    raise click.exceptions.Exit(Status.ROWS_FAILED if failed else Status.DONE)


def _guests(stack: ExitStack, specs: Sequence[str]) -> list[QemuTarget]:
    found = []
    for spec in specs:
        target = stack.enter_context(closing(target_of(spec)))
        if not isinstance(target, QemuTarget):
            raise UsageError(f"Only guests have layout floors, not {spec}.", "For example --on qemu:linux-6.1.")
        found.append(target)
    return found


def measured(
    env: Env, plan: Plan, targets: Sequence[QemuTarget], label: str = LABEL, jobs: int | None = None
) -> list[Outcome]:
    """A session of each, after what failed was printed."""
    with progress(env, len(targets) * plan.units, silence=plan.silence) as listen:
        here = Here(targets, env.store(), label, listen, jobs or len(os.sched_getaffinity(0)))
        outcomes = measure_cells(plan, [target.name for target in targets], here, label)
    tell_errors(env, outcomes)
    return outcomes


def _rows_failed(outcome: Outcome) -> bool:
    return any(read_file(path).failures for path in outcome.paths)


def _show(env: Env, found: Sequence[Layout], *, most: int) -> None:
    if env.json:
        click.echo(json.dumps([document(layout) for layout in found], ensure_ascii=False, indent=1), file=env.out)
        return
    if not found:
        env.say("The store has no kernel counted on three or more machines: kernometer floors --on qemu:GUEST.")
    for number, layout in enumerate(found):
        env.show([*([BLANK] if number else ()), *blocks(layout, most)])
