#!/usr/bin/env python3
"""Splits the differences between kernels into what holds for every operation and what depends on the operation.

usage: split MEASURE MATRIX.json [SYSTEM…]

MEASURE: instructions, kernel (apart from the programs and their C libraries) or cycles. MATRIX.json: of `kernometer
matrix --json`, whose sessions counted a processor's memory system. SYSTEM…: only these of its systems, without `qemu:`.

Used are the operations that all of them measured. Their logarithms are an analysis of variance of two ways without
repetition, as counts are exact: of the squares about each operation's mean, the *kernel's* part is what one factor a
kernel explains; the rest is the *interaction*: a kernel that is good at one operation and bad at another.
"""

import json
import math
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any


def outside_of_programs(counts: dict[str, float]) -> float:
    return counts["instructions"] - counts["user"] + counts.get("server_instructions", 0.0)


#: By measure: of an operation of one system, from what `modelled` says of it.
MEASURES: dict[str, Callable[[dict[str, Any]], float]] = {
    "instructions": lambda of: of["memory"]["instructions"],
    "kernel": lambda of: outside_of_programs(of["memory"]),
    "cycles": lambda of: of["cycles"]["value"],
}
#: Of families whose operations the kernel has no part in.
PROGRAMS = ("cpu",)


def logarithms(matrix: dict[str, Any], measure: str, names: list[str]) -> dict[str, dict[str, float]]:
    """By operation and system, of the operations that all of them measured."""
    rows = {}
    for row in matrix["rows"]:
        of = {name: MEASURES[measure](counts) for name, counts in (row.get("modelled") or {}).items()}
        of = {name: value for name, value in of.items() if name in names and value > 0}
        if row["family"] not in PROGRAMS and len(of) == len(names):
            rows[row["row"]] = {name: math.log(of[name]) for name in names}
    return rows


def mean(values: list[float]) -> float:
    return sum(values) / len(values)


def split(rows: dict[str, dict[str, float]]) -> tuple[int, float, float]:
    """How many operations, the standard deviation of a figure about its operation's mean, the kernel's share."""
    about = [{name: value - mean([*row.values()]) for name, value in row.items()} for row in rows.values()]
    total = sum(value * value for row in about for value in row.values())
    kernels = sum(len(about) * mean([row[name] for row in about]) ** 2 for name in about[0])
    return len(about), math.sqrt(total / len(about) / (len(about[0]) - 1)), kernels / total


def line(*cells: str) -> None:
    print(f"| {' | '.join(cells)} |")


def families(rows: dict[str, dict[str, float]]) -> None:
    line("operations", "how many", "a standard deviation", "the kernel's", "the interaction's")
    print("|---|---:|---:|---:|---:|")
    by_family: dict[str, dict[str, dict[str, float]]] = {}
    for row, of_row in rows.items():
        by_family.setdefault(row.split("/")[0], {})[row] = of_row
    for name, of_family in {**by_family, "all": rows}.items():
        count, deviation, share = split(of_family)
        line(name, str(count), f"×{math.exp(deviation):.2f}", f"{share:.0%}", f"{1 - share:.0%}")


def systems(rows: dict[str, dict[str, float]], baseline: str) -> None:
    print()
    line("kernel", "geometric mean", "shortest in", "where it leads most", "where it trails most")
    print("|---|---:|---:|---|---|")
    for name in next(iter(rows.values())):
        factor = math.exp(mean([row[name] - row[baseline] for row in rows.values()]))
        others = {row: [value for other, value in of.items() if other != name] for row, of in rows.items()}
        leads = {row: min(others[row]) - rows[row][name] for row in rows}
        trails = {row: rows[row][name] - max(others[row]) for row in rows}
        shortest = sum(lead > 0 for lead in leads.values())
        cells = (most(leads), most(trails))
        line(name.removeprefix("qemu:").removesuffix("+machine=pc"), f"{factor:.3g}", str(shortest), *cells)


def most(leads: dict[str, float]) -> str:
    row = max(leads, key=lambda row: leads[row])
    return f"`{row}` ×{math.exp(leads[row]):.2f}" if leads[row] > 0 else "–"


def main() -> None:
    measure, path, *only = sys.argv[1:]
    matrix = json.loads(Path(path).read_text())
    names = [f"qemu:{name}" for name in only] or [system["name"] for system in matrix["systems"]]
    rows = logarithms(matrix, measure, names)
    families(rows)
    systems(rows, matrix["baseline"])


if __name__ == "__main__":
    if len(sys.argv) < 3 or sys.argv[1] not in MEASURES:
        sys.exit(__doc__)
    main()
