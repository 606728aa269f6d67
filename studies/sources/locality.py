#!/usr/bin/env python3
"""Prints the tables of chen-bershad-1993.md from sessions that counted with `--processor skylake+curves`.

usage: locality TABLE SYSTEM=SESSION.json… ROW…

TABLE: brief, stalls, causes, ways, curve or apart. SESSION.json: of `kernometer show SESSION --json`. *System* is what
runs in the kernel and in servers; everything else is the program.
"""

import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

SYSTEM, PROGRAM = ("server", "kernel"), ("client",)
SIDES = ("code", "data")
CAUSES = ("cold", "capacity", "conflict")
PENALTY = 15  #: cycles of each miss on the DECstation 5000/200 (Chen and Bershad, table 2-1)
SIZES = [4 << step for step in range(10)]  #: KiB


class Operation:
    """One operation of one system."""

    def __init__(self, row: dict[str, Any]) -> None:
        self.counts: dict[str, float] = row["memory"]
        self.parts: dict[str, float] = row["cycles"]["parts"]
        self.tagged: dict[str, float] = row["cycles"]["tagged"]["parts"]
        self.instructions: float = self.counts["instructions"]
        self.program = self.counts["user"] - self.counts["server_instructions"]
        self.system = self.instructions - self.program

    def of(self, whose: Sequence[str], side: str, what: str) -> float:
        return sum(self.counts[f"{domain}_{side}_{what}"] for domain in whose)

    def misses(self, whose: Sequence[str], side: str, level: int = 1) -> float:
        return sum(self.of(whose, side, f"l{level}_{cause}") for cause in CAUSES)

    def stall(self, *parts: str) -> float:
        """Cycles an instruction."""
        return float(sum(self.parts.get(part, 0.0) for part in parts)) / self.instructions

    def strings(self) -> float:
        """The part of all misses of L1D that string instructions have: copying and clearing."""
        all_of_them = self.misses((*PROGRAM, *SYSTEM), "data")
        return self.counts["l1d_string_misses"] / all_of_them if all_of_them >= 1 else 0.0


def number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 10 else f"{value:.1f}".replace("-0.0", "0.0")


def share(part: float, whole: float) -> str:
    return f"{part / whole:.0%}" if whole >= 0.5 else "–"


def stalls(row: Operation) -> list[str]:
    code, data, tlb = (row.stall(part) for part in ("instruction cache", "data cache", "TLB"))
    cells = [number(row.instructions), share(row.system, row.instructions), f"{code + data + tlb:.3f}"]
    cells += [f"{code:.3f}", f"{data:.3f}", f"{tlb:.3f}", f"{row.tagged.get('TLB', 0.0) / row.instructions:.3f}"]
    for side in SIDES:
        for whose, instructions in ((PROGRAM, row.program), (SYSTEM, row.system)):
            cells.append(f"{1000 * row.misses(whose, side) / instructions:.1f}")
        both = row.misses((*PROGRAM, *SYSTEM), side)
        cells.append(share(row.misses(SYSTEM, side), both))
    return [*cells, f"{row.strings():.0%}"]


def causes(row: Operation) -> list[str]:
    cells = []
    for side, level in (("code", 1), ("data", 1), ("code", 2), ("data", 2)):
        misses = row.misses(SYSTEM, side, level)
        cells += [number(misses)]
        cells += [share(row.of(SYSTEM, side, f"l{level}_{cause}"), misses) for cause in CAUSES[1:]]
    return cells


def ways(row: Operation) -> list[str]:
    cells = []
    for side in SIDES:
        one, two, full = (row.of(SYSTEM, side, cache) for cache in ("one_way_64k", "two_ways_64k", "misses_64k"))
        cells += [f"{PENALTY * one / row.instructions:.3f}", share(one - two, one), share(one - full, one)]
    return cells


def curve(row: Operation) -> list[str]:
    return [number(row.of(SYSTEM, side, f"misses_{size}k")) for side in SIDES for size in SIZES[2:9]]


def apart(row: Operation) -> list[str]:
    cells = []
    for side in SIDES:
        for whose in (PROGRAM, SYSTEM):
            together = row.of(whose, side, "misses_32k")
            cells += [number(together), share(together - row.of(whose, side, "misses_apart"), together)]
    return cells


TABLES: dict[str, tuple[Callable[[Operation], list[str]], str]] = {
    "stalls": (
        stalls,
        "instructions|system's|MCPI|code|data|TLB|with tags|"
        "L1I: program|system|system's share|L1D: program|system|system's share|by strings",
    ),
    "causes": (
        causes,
        "|".join(f"{cache}|capacity|conflict" for cache in ("L1I misses", "L1D misses", "L2: code", "L2: data")),
    ),
    "ways": (ways, "code, one way|two remove|all remove|data, one way|two remove|all remove"),
    "curve": (
        curve,
        "|".join(f"{side}, {size} K" if size == 16 else f"{size}" for side in SIDES for size in SIZES[2:9]),
    ),
    "apart": (apart, "|".join(f"{side}: {whose}|less" for side in SIDES for whose in ("program", "system"))),
}


def brief(row: Operation) -> str:
    """MCPI: the system's misses of L1I and L1D, and how many of both are conflicts."""
    code, data = (row.misses(SYSTEM, side) for side in SIDES)
    conflicts = share(sum(row.of(SYSTEM, side, "l1_conflict") for side in SIDES), code + data)
    return f"{row.stall('instruction cache', 'data cache', 'TLB'):.2f}: {number(code)} + {number(data)}, {conflicts}"


def main(table: str, *words: str) -> None:
    systems: dict[str, dict[str, Operation]] = {}
    for name, _, path in (word.partition("=") for word in words if word.endswith(".json")):
        rows = json.loads(Path(path).read_text())["rows"]
        systems[name] = {row["row"]: Operation(row) for row in rows if "memory" in row}
    asked = [word for word in words if not word.endswith(".json")]
    if table == "brief":
        print("|", " | ".join(["operation", *systems]), "|")
        print("|---|" + "---:|" * len(systems))
        for wanted in asked:
            cells = [brief(rows[wanted]) if wanted in rows else "–" for rows in systems.values()]
            print("|", " | ".join([f"`{wanted}`", *cells]), "|")
        return
    cells_of, heads = TABLES[table]
    columns = heads.split("|")
    print("|", " | ".join(["operation", "system", *columns]), "|")
    print("|---|---|" + "---:|" * len(columns))
    for wanted in asked:
        for name, of_system in systems.items():
            if wanted in of_system:
                print("|", " | ".join([f"`{wanted}`", name, *cells_of(of_system[wanted])]), "|")


if __name__ == "__main__":
    main(*sys.argv[1:])
