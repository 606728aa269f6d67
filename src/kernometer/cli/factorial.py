"""`kernometer ab --factorial`: the kernels of one structure of Trio with its switches in all settings."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import takewhile

from kernometer.cli.boundaries import compiled
from kernometer.cli.env import Env
from kernometer.cli.lists import is_target
from kernometer.errors import UsageError
from kernometer.explain.factorial import cells
from kernometer.explain.partitions import MICRO, structure_of, switched, switches_of, target
from kernometer.results.model import By

EXAMPLE = "kernometer ab --by path --factorial qemu:trio-micro"


def targets(env: Env, words: Sequence[str], by: By, *, dry_run: bool) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The targets, without switches first, and the words that are workloads.

    `words` may begin with one structure of Trio, with options of the machine, which then hold for all; its switches
    are the ones to turn, or all of them. Raises UsageError by time, and for any other target; otherwise as trio.add
    does.
    """
    from kernometer.guests.kernels import trio

    given = tuple(takewhile(is_target, words))
    if by != "path":
        raise UsageError("What a switch costs is a count of instructions.", EXAMPLE)
    found = structure_of(given[0]) if given else (MICRO, "")
    if len(given) > 1 or found is None:
        raise UsageError("--factorial turns the switches of one structure of Trio: name that alone.", EXAMPLE)
    (structure, named), machine = switches_of(found[0]), found[1]
    switches = tuple(each for each in trio.switches(structure) if each in named or not named)
    if unknown := named - {*switches}:
        raise UsageError(f"{structure} has no switch {', '.join(sorted(unknown))}.", f"It has {', '.join(switches)}.")
    kernels = [switched(structure, (each for each in switches if each in cell)) for cell in cells(switches)]
    words_of = f"{len(kernels)} kernels: {structure} with each setting of {', '.join(switches)}."
    if not compiled(env, kernels, lambda: env.say(words_of), dry_run=dry_run):
        return (), ()
    return tuple(target(each, machine) for each in kernels), tuple(words[len(given) :])
