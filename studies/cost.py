#!/usr/bin/env python3
"""The cost of a result: the tables of docs/cost.md.

usage: .venv/bin/python -m studies.cost [--write] [--rows] [--store DIR] [--quick RESULT --full RESULT]

Measures the quick and the full profile of this machine, eleven minutes in all, and writes how long a row takes until
its 95 % interval is below ±5, ±2 and ±1 %. With `--quick` and `--full` (named as for `kernometer show`) it reads those
sessions and measures nothing. `--rows` prints every row.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from statistics import fmean, median, median_low

from kernometer.errors import KernometerError
from kernometer.results.model import Result
from kernometer.results.store import Store, default_folder
from kernometer.stats.figures import figures
from kernometer.stats.model import RowFigure
from studies.precision import bounds, half_width, seconds_until, spread
from studies.section import put, table_line

PAGE = Path(__file__).parents[1] / "docs" / "cost.md"
WIDTHS = (0.05, 0.02, 0.01)
#: So many of the slowest rows are named.
SLOWEST = 5
#: A row that takes so many seconds until ±1 % puts its workload into the last table.
LONG = 60


def measured(store: Path, profile: str) -> str:
    """Measures a profile into the store; returns its session's name. The tables count rows that fail."""
    words = ("--store", str(store), "run", "--profile", profile, "--json", "--label", f"cost-{profile}")
    done = subprocess.run((sys.executable, "-m", "kernometer", *words), stdout=subprocess.DEVNULL, check=False)
    if done.returncode not in (0, 1):
        sys.exit(done.returncode)
    return f"label:cost-{profile}"


def duration(seconds: float | None) -> str:
    """Two digits, in a fitting unit; a dash for None."""
    if seconds is None:
        return "–"
    if seconds < 99.5:  # two digits would round more to 100
        return f"{seconds:.2g} s"
    return f"{seconds / 60:.2g} min" if seconds < 5400 else f"{seconds / 3600:.2g} h"


def of_profiles(results: Sequence[Result]) -> Iterator[str]:
    within = (f"rows within ±{100 * width:g} %" for width in WIDTHS)
    yield table_line("profile", "rows", "runs of each, median", "whole session", *within, "failed", "unsupported")
    yield "|---|---:|---:|---:|" + "---:|" * len(WIDTHS) + "---:|---:|"
    for result in results:
        rows = figures(result)
        widths = [half_width(row) for row in rows.values()]
        narrow = [sum(half is not None and half <= width for half in widths) for width in WIDTHS]
        runs = median_low([len(row.runs) for row in rows.values()] or [0])
        whole = result.end.seconds if result.end else None
        failed = len({failure.row for failure in result.failures})
        cells = (result.session.profile, len(rows), runs, duration(whole), *narrow, failed, len(result.unsupported))
        yield table_line(*cells)


def _range(values: Sequence[float | None]) -> str:
    """The median row and, of several, the slowest; None is the slowest of all."""
    ordered = sorted(float("inf") if value is None else value for value in values)
    shown = [
        duration(None if value == float("inf") else value) for value in (ordered[(len(ordered) - 1) // 2], ordered[-1])
    ]
    return shown[0] if len(ordered) == 1 else f"{shown[0]} ({shown[1]})"


def of_groups(groups: dict[str, list[RowFigure]], head: str) -> Iterator[str]:
    """A line for each group: its rows, one run's time, and the time to each width (the median row, the slowest)."""
    yield table_line(head, "rows", "a run", *(f"until ±{100 * width:g} %" for width in WIDTHS))
    yield "|---|---:|---:|" + "---:|" * len(WIDTHS)
    for name, rows in groups.items():
        run = median(fmean(run.seconds for run in row.runs) for row in rows)
        times = (_range([seconds_until(row, width) for row in rows]) for width in WIDTHS)
        yield table_line(f"`{name}`", len(rows), duration(run), *times)


def slowest(result: Result, rows: dict[str, RowFigure], key: Callable[[RowFigure], float | None]) -> Iterator[str]:
    """The rows with the largest key (seconds; None: infinite), and the limit of each."""
    yield "| row | time | runs differ by (sd) | what bounds it |"
    yield "|---|---:|---:|---|"

    def order(name: str) -> float:
        value = key(rows[name])
        return float("inf") if value is None else value

    for name in sorted(rows, key=order, reverse=True)[:SLOWEST]:
        sd = spread(rows[name])
        differ = "–" if sd is None else f"{100 * sd:.1f} %"
        why = bounds(rows[name], result.runs_of(name))
        yield f"| `{name}` | {duration(key(rows[name]))} | {differ} | {why} |"


def _is_long(row: RowFigure) -> bool:
    seconds = seconds_until(row, WIDTHS[-1])
    return seconds is None or seconds >= LONG


def report(quick: Result, full: Result, each_row: bool) -> str:
    rows = {name: row for name, row in figures(full).items() if row.runs}
    told = {name: row for name, row in rows.items() if spread(row) is not None}
    silent = sorted(set(rows) - set(told))
    groups: dict[str, list[RowFigure]] = {}
    order = list(full.workloads)
    for name, row in sorted(told.items(), key=lambda item: order.index(item[1].workload)):
        groups.setdefault(name if each_row else row.workload, []).append(row)
    long = {name: group for name, group in groups.items() if each_row or any(map(_is_long, group))}
    facts = full.session.host.get("facts", {})
    parts = [
        f"{facts.get('kernel', '')}, {facts.get('cpu', '')} ({facts.get('cpus_online', '?')} CPUs), session "
        f"{full.session.id}.",
        "### The profiles",
        "\n".join(of_profiles((quick, full))),
        "### The slowest rows of the full profile",
        "\n".join(slowest(full, rows, lambda row: sum(run.seconds for run in row.runs))),
        "### The rows that need longest until ±1 %",
        "\n".join(slowest(full, told, lambda row: seconds_until(row, WIDTHS[-1]))),
        "### Every row" if each_row else f"### Workloads with a row that needs {LONG} s or more until ±1 %",
        "\n".join(of_groups(long, "row" if each_row else "workload")),
    ]
    if len(long) < len(groups):
        parts.append(f"The other {len(groups) - len(long)} workloads need less; `--rows` writes every row.")
    if silent:
        parts.append(f"Without a figure above the resolution: {', '.join(f'`{name}`' for name in silent)}.")
    return "\n\n".join(parts)


def main(words: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true", help="write the tables into docs/cost.md")
    parser.add_argument("--rows", action="store_true", help="one line for each row, not for each workload")
    parser.add_argument("--store", type=Path, help="the directory of results; a temporary one if it measures")
    parser.add_argument("--quick", metavar="RESULT")
    parser.add_argument("--full", metavar="RESULT")
    options = parser.parse_args(words)
    if bool(options.quick) != bool(options.full):
        parser.error("--quick and --full belong together")
    with tempfile.TemporaryDirectory(prefix="cost-") as folder:
        where = options.store or (default_folder() if options.full else Path(folder))
        try:
            names = (options.quick, options.full) if options.full else [measured(where, p) for p in ("quick", "full")]
            quick, full = (Store(where).load(name) for name in names)
        except KernometerError as error:
            print(f"error: {error.text} {error.next_step}".rstrip(), file=sys.stderr)
            return int(error.status)
    put(PAGE, "studies/cost.py", report(quick, full, options.rows), write=options.write)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
