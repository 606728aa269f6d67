"""`kernometer floors`: measures how far a kernel's counts move by layout alone, and shows the stored floors."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from contextlib import ExitStack, closing

from kernometer.campaign.cells import Outcome, measure_cells
from kernometer.campaign.here import Here
from kernometer.campaign.plan import Plan
from kernometer.cli.arguments import targets as split_targets
from kernometer.cli.commands.experiments import LABEL, SHOWN
from kernometer.cli.env import Env
from kernometer.cli.planning import plan_for, print_commands, program_for, tell_notes, with_processor
from kernometer.cli.progress import progress, tell_errors
from kernometer.cli.show_comparisons import known_layouts
from kernometer.errors import Status, UsageError
from kernometer.report.store.floors import blocks, document
from kernometer.report.write.terminal import BLANK
from kernometer.results.store import read_file
from kernometer.stats.floors import Layout
from kernometer.targets.parse import target_of
from kernometer.targets.qemu import QemuTarget


def command(
    env: Env,
    words: tuple[str, ...],
    specs: tuple[str, ...],
    profile: str,
    rotations: int,
    jobs: int | None,
    label: str,
    every: bool,
    processor: str,
    dry_run: bool,
) -> Status:
    failed = False
    images: set[str] = set()
    with ExitStack() as stack:
        guests = _guests(stack, split_targets(specs))
        if guests:
            plan = plan_for(guests[0], "path", profile, words, None, program_for(*guests, unit_costs=False))
            plan = with_processor(plan, processor, env.store())
            rotated = [target for guest in guests for target in guest.rotated(rotations)]
            images = {guest.guest.image for guest in guests}
            if dry_run:
                print_commands(env, plan, rotated)
                return Status.DONE
            tell_notes(env, "path", *guests)
            outcomes = measured(env, plan, rotated, label, jobs)
            failed = any(
                outcome.error is not None or any(read_file(path).failures for path in outcome.paths)
                for outcome in outcomes
            )
        elif words or dry_run:
            raise UsageError("The guest to measure is missing.", "Name it: --on qemu:linux-6.1.")
    layouts = [layout for layout in known_layouts(env.store()) if not images or layout.image in images]
    _show(env, layouts, most=sys.maxsize if every else SHOWN)
    return Status.ROWS_FAILED if failed else Status.DONE


def _guests(stack: ExitStack, specs: Sequence[str]) -> list[QemuTarget]:
    guests = []
    for spec in specs:
        target = stack.enter_context(closing(target_of(spec)))
        if not isinstance(target, QemuTarget):
            raise UsageError(f"Only guests have layout floors, not {spec}.", "For example --on qemu:linux-6.1.")
        guests.append(target)
    return guests


def measured(
    env: Env, plan: Plan, targets: Sequence[QemuTarget], label: str = LABEL, jobs: int | None = None
) -> list[Outcome]:
    """Measures a session of each target, and prints what failed."""
    with progress(env, plan, len(targets)) as listen:
        here = Here(targets, env.store(), label, listen, jobs or len(os.sched_getaffinity(0)))
        outcomes = measure_cells(plan, [target.name for target in targets], here, label)
    tell_errors(env, outcomes)
    return outcomes


def _show(env: Env, layouts: Sequence[Layout], *, most: int) -> None:
    if env.json:
        env.print_json([document(layout) for layout in layouts], ensure_ascii=False)
        return
    if not layouts:
        env.say("The store has no kernel counted on three or more machines: kernometer floors --on qemu:GUEST.")
    for number, layout in enumerate(layouts):
        env.show([*([BLANK] if number else ()), *blocks(layout, most)])
