"""From arguments and options to a plan, for `run` and `ab`."""

from __future__ import annotations

import secrets
import shlex
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

import click

from kernometer.campaign.plan import Plan, effort_of, plan_of
from kernometer.cli.arguments import command_of
from kernometer.cli.env import Env
from kernometer.cli.host_processor import HOST, this_host
from kernometer.errors import UsageError
from kernometer.results.model import By
from kernometer.results.processor import find
from kernometer.results.store import Store
from kernometer.stats.differences import machine_differences
from kernometer.targets.base import Profiled, Program, Target

#: The name of no processor.
NO_PROCESSOR = "none"
#: Default seconds of one run of a user's command. A run has at least five executions, however long they take.
COMMAND_SECONDS = 1.0


def plan_for(
    target: Target | None,
    by: By,
    profile: str,
    words: Sequence[str],
    seed: int | None,
    program: Program = "probe",
    **effort: float | str | None,
) -> Plan:
    """The plan for rows of `program`, or for the command after `--`. Raises UsageError for unknown names. Without a
    target (a dry run) it opens no connection and asks no target for its rows."""
    if seed is None:
        seed = 1 if by == "path" else secrets.randbits(32)  # equal counts need an equal seed
    timed = command_of(click.get_current_context())
    if not timed:
        return plan_of(target, by, profile, words, seed, program, **effort)
    if words or program != "probe":
        raise UsageError("Workloads and a command cannot be measured in one session.", "Run them as two sessions.")
    if by != "time":
        raise UsageError("A command is measured by time.", "Leave --by path out.")
    given = effort | {"seconds": COMMAND_SECONDS if effort.get("seconds") is None else effort["seconds"]}
    return Plan(by, profile, (), (), effort_of(profile, **given), seed, timed)


def check_by(by: By, *targets: Target) -> None:
    """Raises UsageError if a target cannot be measured that way."""
    for target in targets:
        if by not in target.by:
            raise UsageError(
                f"{target.name} cannot be measured by {by}.", f"It can with --by {' or '.join(target.by)}."
            )


def check_quantile(quantile: float | None, by: By, batch: float | str | None) -> None:
    """Raises UsageError if a quantile is asked for of what is not timed alone."""
    if quantile and (by == "path" or batch not in (None, 1)):
        raise UsageError("Quantiles are of times of single iterations.", "Leave --by path and --batch out.")


def with_profiles(plan: Plan, profiled: Profiled, *targets: Target) -> Plan:
    """The same plan with a profile of each row. Raises UsageError by time, and if a target's emulator is not ours."""
    if profiled and plan.by != "path":
        raise UsageError("Functions are counted by path only.", "Add --by path.")
    for target in targets:
        if profiled and not target.profiles:
            raise UsageError(f"{target.name} has no profile.", "Only the emulator of a guest tells: qemu:GUEST.")
    return replace(plan, profiled=profiled)


def with_processor(plan: Plan, name: str, store: Store) -> Plan:
    """The same plan with counts of that processor's memory system, by path. Raises UsageError for an unknown one, and
    what `this_host` raises for this host's, whose latencies are in a session of `store`."""
    is_host = name.partition(":")[0] == HOST
    if name == NO_PROCESSOR or (is_host and plan.by == "time"):
        return replace(plan, processor=None)
    processor = this_host(name, store) if is_host else find(name)
    return replace(plan, processor=processor if plan.by == "path" else None)


def program_for(*targets: Target, unit_costs: bool) -> Program:
    """The program that measures. Raises UsageError if one of the targets has no such program."""
    wanted: Program = "probe-trio" if unit_costs else "probe"
    lacking = next((target.name for target in targets if wanted not in target.programs), None)
    if lacking is not None and unit_costs:
        raise UsageError(
            f"{lacking} is neither Trio nor GNU Mach, and --unit-costs are of their own calls.",
            "One that is: qemu:trio-mono, qemu:gnumach. Without --unit-costs any kernel can be measured.",
        )
    if lacking is not None:
        step = "kernometer run --by path --unit-costs"
        raise UsageError(f"{lacking} runs no program but that of the unit costs.", step)
    return wanted


def tell_notes(env: Env, by: By, *targets: Target) -> None:
    """Prints the notes of all targets before measuring, each note once."""
    for note in dict.fromkeys(note for target in targets for note in target.place(by).notes):
        env.say(f"note: {note}")


def check_machines(sides: Mapping[str, Collection[str]]) -> None:
    """Raises UsageError, naming the difference, if the sides (name to machines) ran on different virtual machines."""
    machines = {machine for side in sides.values() for machine in side}
    if len(machines) > 1:
        words = machine_differences(machines)
        shown = "; ".join(
            f"{name}: {' and '.join(words[machine] for machine in sorted(machines_of))}"
            for name, machines_of in sides.items()
        )
        raise UsageError(
            f"These are not of one machine ({shown}).",
            "Give one the other's, as in qemu:NAME+machine=pc+memory=1024, or compare them so: --different-machines.",
        )


def check_targets(sides: Mapping[str, Target], by: By, *, may_boot: bool = True) -> None:
    """As check_machines, for targets before they are measured, and before they boot as far as that is known."""
    check_machines({name: {target.machine(by)} for name, target in sides.items()})
    if may_boot:
        check_machines({name: {target.place(by).machine} for name, target in sides.items()})


def print_commands(env: Env, plan: Plan, targets: Sequence[Target]) -> None:
    """Prints one line per target, as a shell would take it, for --dry-run."""
    for target in targets:
        env.print(shlex.join(target.describe(plan.job())))
