#!/usr/bin/env python3
"""Prints a published table in Markdown, with our counts beside each of its rows; or rows of ours alone.

usage: beside PUBLISHED.json TABLE A:B OURS.json[,OURS.json…] SYSTEM…
       beside --rows HEAD OURS.json[,OURS.json…] 'SYSTEM…' LABEL=ROW…

PUBLISHED.json: of `kernometer show published/NAME --json`. A:B are two of its systems; B/A is B's cost to A's, as
printed. OURS.json: of `kernometer matrix --json`, or of `show published/NAME --json` (its systems are NAME:SYSTEM).
SYSTEM is a column: a system of OURS, or X/Y for the ratio of two; with :cycles or :tagged at its end in cycles of the
modelled processor, with an untagged or a tagged TLB, with :kernel in instructions apart from the programs.
"""

import json
import sys
from pathlib import Path
from typing import Any

#: How a column's name ends whose figures are not all instructions.
MEASURES = (":cycles", ":tagged", ":kernel")
#: The programs in a guest that stand in for the host's.
STAND_INS = {
    "sh/script-1": "sh/script-busybox-1",
    "sh/script-8": "sh/script-busybox-8",
    "sh/script-16": "sh/script-busybox-16",
    "sh/cc": "sh/cc-tcc",
    "sh/dc": "sh/dc-busybox",
}


def figures(ours: dict[str, Any]) -> dict[tuple[str, str], float]:
    """(row, system) to figure; a system's cycles are those of SYSTEM:cycles and SYSTEM:tagged, its kernel's
    instructions of SYSTEM:kernel. A matrix has the baseline's figures beside the cells of the others."""
    if "paper" in ours:
        name = ours["paper"]["name"]
        return {
            (row, f"{name}:{figure['system']}"): figure["value"] for figure in ours["figures"] for row in figure["ours"]
        }
    cells = {(row["row"], name): cell for row in ours["rows"] for name, cell in row["cells"].items()}
    cells |= {(row["row"], ours["baseline"]): row for row in ours["rows"]}
    there = {key: cell["value"] for key, cell in cells.items() if cell and cell["value"]}
    for row in ours["rows"]:
        for name, modelled in (row.get("modelled") or {}).items():
            cycles = modelled["cycles"]
            there |= {
                (row["row"], f"{name}:cycles"): cycles["value"],
                (row["row"], f"{name}:tagged"): cycles["tagged"]["value"],
                (row["row"], f"{name}:kernel"): outside_of_programs(modelled["memory"]),
            }
    return {(row, name.removeprefix("qemu:")): value for (row, name), value in there.items()}


def outside_of_programs(counts: dict[str, float]) -> float:
    return counts["instructions"] - counts["user"] + counts.get("server_instructions", 0.0)


def number(value: float) -> str:
    return f"{value:,.0f}" if value < 1e5 else f"{value / 1e3:,.0f}k" if value < 1e6 else f"{value / 1e6:,.4g} M"


def cell(known: dict[tuple[str, str], float], row: str, system: str) -> str:
    end = next((end for end in MEASURES if system.endswith(end)), "")
    names = [name + end for name in system.removesuffix(end).split("/")]
    values = [known[row, name] for name in names if (row, name) in known]
    if len(values) <= system.count("/"):
        return "–"
    if len(values) == 1:
        return number(values[0])
    if min(values) <= 0:
        return "–"
    quotient = values[0] / values[1]
    return f"{quotient:.4g}" if 0.95 < quotient < 1.25 else f"{quotient:.3g}"


def printed(figure: dict[str, Any] | None) -> str:
    if figure is None:
        return "–"
    return f"{figure['printed']}{'' if figure['value'] is None else ' ' + figure['unit']}"


def ratio(a: dict[str, Any] | None, b: dict[str, Any] | None) -> str:
    if not (a and b and a["value"] and b["value"]):
        return "–"
    quotient = b["value"] / a["value"]
    return f"{quotient if a['better'] == 'lower' else 1 / quotient:.3g}"


def all_figures(ours: str) -> dict[tuple[str, str], float]:
    known: dict[tuple[str, str], float] = {}
    for name in ours.split(","):
        known |= figures(json.loads(Path(name).read_text()))
    return known


def rows_alone(head: str, ours: str, columns: str, *labelled: str) -> None:
    known, systems = all_figures(ours), columns.split()
    print("|", " | ".join([head, "our row", *systems]), "|")
    print("|---|---|" + "---:|" * len(systems))
    for label, row in (words.split("=", 1) for words in labelled):
        if not any(name == row for name, _ in known):
            sys.exit(f"beside: no system has the row {row}")
        print("|", " | ".join([label, f"`{row}`", *(cell(known, row, system) for system in systems)]), "|")


def main(published: str, table: str, pair: str, ours: str, *systems: str) -> None:
    known = all_figures(ours)
    here = {row for row, _ in known}
    rows: dict[str, dict[str, dict[str, Any]]] = {}
    for figure in json.loads(Path(published).read_text())["figures"]:
        if figure["table"] == table:
            rows.setdefault(figure["row"], {})[figure["system"]] = figure
    a, b = pair.split(":")
    print("|", " | ".join([table, a, b, f"{b}/{a}", "our row", *systems]), "|")
    print("|---|---:|---:|---:|---|" + "---:|" * len(systems))
    for row, by_system in rows.items():
        wanted = [STAND_INS.get(name, name) for name in next(iter(by_system.values()))["ours"]]
        name = next((name for name in wanted if name in here), "")
        left, right = by_system.get(a), by_system.get(b)
        line = [row, printed(left), printed(right), ratio(left, right), f"`{name}`" if name else "–"]
        print("|", " | ".join(line + [cell(known, name, system) for system in systems]), "|")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--rows"]:
        rows_alone(*sys.argv[2:])
    else:
        main(*sys.argv[1:])
