#!/usr/bin/env python3
"""Path lengths by the emulator's count against a processor's own counters: a table for docs/path.md.

usage: .venv/bin/python studies/counters.py [--store DIR] BY-PATH BY-TIME

BY-PATH is a session by path of a guest. BY-TIME is a session by time of a machine with the same kernel, where the probe
may count. Both are named as for `kernometer show`.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median, median_low

from kernometer.errors import KernometerError, ResultError
from kernometer.results.model import Counting, Header, Result, Run
from kernometer.results.rows import Row
from kernometer.results.store import Store, default_folder

USER, KERNEL = "instructions_user", "instructions_kernel"


@dataclass(frozen=True, slots=True)
class Counted:
    """Instructions in user mode and in the kernel."""

    user: float
    kernel: float

    @property
    def both(self) -> float:
        return self.user + self.kernel


@dataclass(frozen=True, slots=True)
class Line:
    """A row by path and by hardware, in instructions per operation."""

    row: str
    path: float
    hardware: Counted
    batch: int  #: iterations in a hardware sample; with few, much of the sample is not the operation

    @property
    def ratio(self) -> float:
        return self.path / self.hardware.both


def header_of(result: Result, by: str) -> Header:
    """The session's header. Raises ResultError for the other kind, or without header or counters."""
    name = f"{result.session.id} ({result.session.target})"
    if result.session.by != by:
        raise ResultError(f"{name} is by {result.session.by}, not by {by}.", "The session by path comes first.")
    if result.header is None:
        raise ResultError(f"{name} has no header.", "Measure again.")
    if by == "time" and result.header.counters:
        raise ResultError(
            f"{name} has no hardware counters: {result.header.counters}.",
            "They need a processor that shows them (few virtual ones do), and kernel.perf_event_paranoid at 1 or less.",
        )
    return result.header


def check_kernels(path: Header, time: Header) -> None:
    """Raises ResultError if the kernels differ, for the table would show their difference."""
    kernels = [(header.uname.get("release", ""), header.uname.get("version", "")) for header in (path, time)]
    if kernels[0] != kernels[1]:
        told = " and ".join(f"{release} {version}" for release, version in kernels)
        raise ResultError(f"These are two kernels: {told}.", "'kernometer guest add' takes a kernel image as a file.")
    probes = {header.probe.get("source_digest") for header in (path, time)}
    if len(probes) > 1:
        raise ResultError("The two sessions are of different probes.", "Measure again with one version of Kernometer.")


def path_count(runs: Sequence[Run]) -> float:
    """Instructions of one operation: the median iteration less the median empty region, over all runs."""
    return median_low([(median_low(run.samples) - median_low(run.loop_cost or (0,))) / run.ops for run in runs])


def hardware_count(counted: Sequence[Counting], ops: float) -> Counted:
    """The median over counting runs, each a mean over its iterations. `ops`: operations in an iteration."""
    return Counted(*(median([counting.hardware[kind] / ops for counting in counted]) for kind in (USER, KERNEL)))


def lines(path: Result, time: Result) -> Iterator[Line]:
    """The rows of both sessions, without rows whose figure is net of a baseline, which the counters do not count.
    Raises ResultError if the sessions cannot be compared, or no row remains."""
    check_kernels(header_of(path, "path"), header_of(time, "time"))
    any_row = False
    for row in path.rows:
        workload = path.workloads.get(Row(row).workload)
        counted = [
            counting for counting in time.countings if counting.row == row and {USER, KERNEL} <= set(counting.hardware)
        ]
        runs = time.runs_of(row)
        if not counted or not runs or (workload is not None and workload.figure_less_baseline):
            continue
        any_row = True
        batch = median_low([counting.batch for counting in counted])
        yield Line(row, path_count(path.runs_of(row)), hardware_count(counted, runs[0].ops), batch)
    if not any_row:
        raise ResultError("The two sessions have no row in common that was counted.", "Measure the same rows.")


HEAD = (
    "| row | by path | hardware | user | kernel | path / hardware | in a sample |\n|---|---:|---:|---:|---:|---:|---:|"
)


def table(rows: Sequence[Line]) -> str:
    cells = [
        f"| `{line.row}` | {line.path:,.0f} | {line.hardware.both:,.0f} | {line.hardware.user:,.0f} "
        f"| {line.hardware.kernel:,.0f} | {line.ratio:.2f} | {line.batch:,} |"
        for line in rows
    ]
    return "\n".join((HEAD, *cells))


def caption(path: Result, time: Result) -> str:
    """The sources of the table."""
    header = header_of(time, "time")
    machine = f"Hardware: {header.cpu.get('model', '')}, less what switching the counters counts."
    return f"Linux {header.uname.get('release', '')}. By path: {path.session.machine}. {machine}"


def parsed(words: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--store", type=Path, help="the directory of results; Kernometer's own by default")
    parser.add_argument("path", metavar="BY-PATH")
    parser.add_argument("time", metavar="BY-TIME")
    return parser.parse_args(words)


def main(words: Sequence[str]) -> int:
    options = parsed(words)
    try:
        store = Store(options.store or default_folder())
        path, time = store.load(options.path), store.load(options.time)
        print(f"{table(list(lines(path, time)))}\n\n{caption(path, time)}")
    except KernometerError as error:
        print(f"error: {error.text} {error.next_step}".rstrip(), file=sys.stderr)
        return int(error.status)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
