"""The kernels of Trio that `ab` measures: all partitions (--boundaries), or all settings of switches (--factorial)."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Sequence
from itertools import takewhile

from kernometer.cli.arguments import is_target
from kernometer.cli.env import Env
from kernometer.errors import UsageError
from kernometer.explain.factorial import cells
from kernometer.explain.partitions import MICRO, MONO, Plan, plan, structure_of, switched, switches_of, target
from kernometer.guests.kernels import trio
from kernometer.report.explanation.boundaries import refused_text
from kernometer.results.model import By

#: How many of the partitions that sessions lack are named.
SHOWN = 5
PARTITIONS = "kernometer ab --by path --boundaries qemu:trio-mono"


def partitions(env: Env, words: Sequence[str], by: By, *, dry_run: bool) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The targets, mono first, and the words that are workloads.

    `words` may begin with mono, with options of the machine, which then hold for all. Kernels that are missing or of
    other sources are compiled; a dry run prints that command instead, and there are no targets.
    Raises UsageError by time, and for any other target; otherwise as trio.add does.
    """
    given = tuple(takewhile(is_target, words))
    if by != "path":
        raise UsageError("The price of a boundary is a count of instructions.", PARTITIONS)
    structure, machine = structure_of(given[0]) or ("", "") if given else (MONO, "")
    if len(given) > 1 or structure != MONO:
        raise UsageError("--boundaries measures all partitions of one kernel: name Trio's mono, or none.", PARTITIONS)
    wanted = plan_of_sources()
    if not compiled(env, wanted.structures, lambda: _say(env, wanted), dry_run=dry_run):
        return (), ()
    return tuple(target(each, machine) for each in wanted.structures), tuple(words[len(given) :])


def compiled(env: Env, structures: Sequence[str], say: Callable[[], None], *, dry_run: bool) -> bool:
    """Compiles the kernels that are missing or of other sources, after `say`. A dry run prints that command instead,
    and returns False."""
    current = trio.current()
    missing = [each for each in structures if each not in current]
    if dry_run and missing:
        env.print(shlex.join(("kernometer", "guest", "add", "trio", *missing)))
        return False
    say()
    for number, each in enumerate(missing, 1):
        env.say(f"trio-{each}: compiling, {number} of {len(missing)} …")
        trio.add(each)
    return True


def plan_of_sources() -> Plan:
    """The plan for Trio as its sources are."""
    calls = trio.calls()
    return plan([*calls], ((caller, callee) for caller, callees in calls.items() for callee in callees))


def tell_lacking(env: Env, names: Iterable[str]) -> None:
    """Says which partitions of the plan are not among these targets."""
    measured = {structure[0] for name in names if (structure := structure_of(name))}
    lacking = [each for each in plan_of_sources().structures if each not in measured]
    if lacking:
        several = len(lacking) > 1
        env.say(
            f"The sessions lack {len(lacking)} partition{'s' if several else ''} of Trio as its sources are, and sums "
            f"are without {'them' if several else 'it'}: {', '.join(lacking[:SHOWN])}{', …' * (len(lacking) > SHOWN)}."
        )


def _say(env: Env, wanted: Plan) -> None:
    env.say(
        f"{len(wanted.structures)} kernels: mono, {len(wanted.services)} with one service cut out, "
        f"{len(wanted.pairs)} with two, micro, {len(wanted.pairs) - len(wanted.refused)} with two services in one "
        "process, one-server, hybrid."
    )
    if refused := refused_text(wanted.refused):
        env.say(refused)


SETTINGS = "kernometer ab --by path --factorial qemu:trio-micro"


def settings(env: Env, words: Sequence[str], by: By, *, dry_run: bool) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The settings, without switches first, and the words that are workloads.

    `words` may begin with one structure of Trio, with options of the machine, which then hold for all; its switches
    are the ones to turn, or all of them. Raises UsageError by time, and for any other target; otherwise as trio.add
    does.
    """
    given = tuple(takewhile(is_target, words))
    if by != "path":
        raise UsageError("What a switch costs is a count of instructions.", SETTINGS)
    named_structure = structure_of(given[0]) if given else (MICRO, "")
    if len(given) > 1 or named_structure is None:
        raise UsageError("--factorial turns the switches of one structure of Trio: name that alone.", SETTINGS)
    (structure, named), machine = switches_of(named_structure[0]), named_structure[1]
    switches = tuple(each for each in trio.switches(structure) if each in named or not named)
    if unknown := named - {*switches}:
        raise UsageError(f"{structure} has no switch {', '.join(sorted(unknown))}.", f"It has {', '.join(switches)}.")
    kernels = [switched(structure, (each for each in switches if each in cell)) for cell in cells(switches)]
    words_of = f"{len(kernels)} kernels: {structure} with each setting of {', '.join(switches)}."
    if not compiled(env, kernels, lambda: env.say(words_of), dry_run=dry_run):
        return (), ()
    return tuple(target(each, machine) for each in kernels), tuple(words[len(given) :])
