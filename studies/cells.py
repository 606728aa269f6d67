"""How well the effects of Trio's switches in mono and in micro tell a kernel that has never been measured: a random
partition of the services with random switches.

    python -m studies.cells --draw 24 [--seed 1]      names what to measure, the partitions without switches too
    python -m studies.cells --store DIR label:L …   judges their sessions, by those of both structures' factorials

What switches cost in a partition is what they cost in mono, and of the difference to micro that share which the
partition has of micro's messages (explain.factorial.between). The output is the table of docs/trio.md.
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from math import log
from pathlib import Path
from statistics import median, quantiles

from kernometer.cli.trio_kernels import plan_of_sources
from kernometer.explain.factorial import Cell, between, cells
from kernometer.explain.partitions import HYBRID, MICRO, MONO, structure_of, switched, switches_of, target
from kernometer.guests.kernels import trio
from kernometer.results.model import Result
from kernometer.results.store import Store
from kernometer.stats.counters import by_kernel
from kernometer.stats.figures import instructions


@dataclass(frozen=True, slots=True)
class Kernel:
    """What one kernel executes and sends in each operation."""

    costs: dict[str, float]
    messages: dict[str, float]


@dataclass(frozen=True, slots=True)
class Miss:
    """A figure that was predicted, and by how much it is off; and how far it is from that without switches."""

    kernel: str
    row: str
    off: float
    moved: float


def draw(count: int, seed: int) -> Iterator[tuple[str, Cell]]:
    """Partitions other than mono and micro, each with switches that are not void there."""
    chance = random.Random(seed)  # noqa: S311  # it draws a sample, and has to draw the same again
    partitions = [each for each in plan_of_sources().structures if each not in (MONO, MICRO)]
    every = [(each, on) for each in partitions for on in cells(_common(each)) if on]
    yield from chance.sample(every, count)


def _common(structure: str) -> tuple[str, ...]:
    return trio.switches(HYBRID if structure == HYBRID else MICRO)


def misses(results: Iterable[Result]) -> list[Miss]:
    """Of each kernel with switches that is neither mono nor micro."""
    known: dict[tuple[str, Cell], Kernel] = {}
    for one in results:
        if one.session.by == "path" and (found := structure_of(one.session.target)):
            known[switches_of(found[0])] = _kernel(one)
    void = frozenset(trio.switches(MICRO)) - frozenset(trio.switches(MONO))
    found_misses = []
    for (structure, on), kernel in known.items():
        needed = [(structure, Cell()), (MONO, Cell()), (MONO, on - void), (MICRO, Cell()), (MICRO, on)]
        if structure in (MONO, MICRO) or not on or any(each not in known for each in needed):
            continue
        off, mono, mono_on, micro, micro_on = (known[each] for each in needed)
        name = switched(structure, sorted(on))
        for row in set(kernel.costs).intersection(*(each.costs for each in (off, mono, mono_on, micro, micro_on))):
            share = off.messages[row] / micro.messages[row] if micro.messages[row] else 0.0
            effect = between(mono_on.costs[row] - mono.costs[row], micro_on.costs[row] - micro.costs[row], share)
            true = kernel.costs[row]
            found_misses.append(Miss(name, row, (off.costs[row] + effect) / true - 1, log(true / off.costs[row])))
    return found_misses


def _kernel(one: Result) -> Kernel:
    costs = {row: cost for row, cost in instructions(one).items() if cost > 0}
    return Kernel(costs, {row: (by_kernel(row, (one,)) or {}).get("messages.calls", 0.0) for row in costs})


def _print(found: list[Miss]) -> None:
    by_kernel_name: dict[str, list[Miss]] = {}
    for each in found:
        by_kernel_name.setdefault(each.kernel, []).append(each)
    print("| kernel | operations | moved by | median error | 9 of 10 within | worst |")
    print("|---|---|---|---|---|---|")
    for kernel, missed in by_kernel_name.items():
        print(f"| `{kernel}` | {_line(missed)} |")
    print(f"| all {len(by_kernel_name)} | {_line(found)} |")
    moved = [each for each in found if abs(each.moved) > log(1.02)]
    print(f"| of these, moved by more than 2 % | {_line(moved)} |")


def _line(missed: list[Miss]) -> str:
    off = [abs(each.off) for each in missed]
    worst = max(missed, key=lambda each: abs(each.off))
    most = quantiles(off, n=10)[-1] if len(off) > 1 else off[0]
    moved = median(abs(each.moved) for each in missed)
    return f"{len(missed)} | {moved:.1%} | {median(off):.2%} | {most:.1%} | {worst.off:+.1%} {worst.row}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draw", type=int, metavar="N")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--store", type=Path)
    parser.add_argument("labels", nargs="*", metavar="label:L")
    asked = parser.parse_args()
    if asked.draw:
        drawn = list(draw(asked.draw, asked.seed))
        without = dict.fromkeys(structure for structure, _ in drawn)
        print("\n".join(target(each) for each in (*without, *(switched(each, sorted(on)) for each, on in drawn))))
    else:
        store = Store(asked.store)
        _print(misses([one for label in asked.labels for one in store.load_set(label)]))


if __name__ == "__main__":
    main()
