"""How well the effects of Trio's switches in mono and in micro predict a kernel that was never measured: a random
partition of the services with random switches.

    python -m studies.cells --draw 24 [--seed 1]      names what to measure, with the partitions without switches
    python -m studies.cells --store DIR label:L …   judges their sessions, by those of both structures' factorials

Switches cost in a partition what they cost in mono, plus a share of the difference to micro: the partition's share of
micro's messages (explain.factorial.between). The output is the table of docs/trio.md.
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
    """The instructions and messages of one kernel in each operation."""

    costs: dict[str, float]
    messages: dict[str, float]


@dataclass(frozen=True, slots=True)
class Miss:
    """A predicted figure: how far it is off, and how far switches moved the figure."""

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
    """The predictions for each kernel with switches that is neither mono nor micro."""
    known: dict[tuple[str, Cell], Kernel] = {}
    for result in results:
        if result.session.by == "path" and (of_trio := structure_of(result.session.target)):
            known[switches_of(of_trio[0])] = _kernel(result)
    void = frozenset(trio.switches(MICRO)) - frozenset(trio.switches(MONO))
    missed = []
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
            missed.append(Miss(name, row, (off.costs[row] + effect) / true - 1, log(true / off.costs[row])))
    return missed


def _kernel(result: Result) -> Kernel:
    costs = {row: cost for row, cost in instructions(result).items() if cost > 0}
    return Kernel(costs, {row: (by_kernel(row, (result,)) or {}).get("messages.calls", 0.0) for row in costs})


def _print(missed: list[Miss]) -> None:
    by_name: dict[str, list[Miss]] = {}
    for each in missed:
        by_name.setdefault(each.kernel, []).append(each)
    print("| kernel | operations | moved by | median error | 9 of 10 within | worst |")
    print("|---|---|---|---|---|---|")
    for kernel, of_kernel in by_name.items():
        print(f"| `{kernel}` | {_line(of_kernel)} |")
    print(f"| all {len(by_name)} | {_line(missed)} |")
    moved = [each for each in missed if abs(each.moved) > log(1.02)]
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
        _print(misses([result for label in asked.labels for result in store.load_set(label)]))


if __name__ == "__main__":
    main()
