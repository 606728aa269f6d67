#!/usr/bin/env python3
"""Path lengths, as the emulator counts them, against a processor's own counters: the table that docs/path.md asks for.

usage: .venv/bin/python scripts/counters.py sample
       .venv/bin/python scripts/counters.py table [--store DIR] [--sample USER,KERNEL] BY-PATH BY-TIME

BY-PATH is a session by path of a guest, BY-TIME one by time of a machine that runs the same kernel and lets the probe
count; both are named as for `kernometer show`. `sample` prints what the counters see of a sample without an operation
in it (their own switching, the clock), to be taken off by `--sample`; it is measured here: run it on that machine.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median, median_low

from kernometer.errors import KernometerError, ResultError
from kernometer.results.model import Header, Result, Run
from kernometer.results.store import Store, default_folder
from kernometer.targets import build

USER, KERNEL = "instructions_user", "instructions_kernel"
#: Iterations in a sample, few and many: what a sample costs by itself is the difference, and nearly gone in the second.
FEW, MANY = 1, 500
RUNS = 9
PROBE_SECONDS = 300


@dataclass(frozen=True, slots=True)
class Counted:
    """Instructions in user mode and in the kernel."""

    user: float
    kernel: float

    @property
    def both(self) -> float:
        return self.user + self.kernel


NOTHING = Counted(0, 0)


@dataclass(frozen=True, slots=True)
class Line:
    """A row in both worlds, in instructions per operation."""

    row: str
    path: float
    hardware: Counted
    batch: int  #: iterations in a sample of the hardware's: the fewer, the more of a sample is not the operation

    @property
    def ratio(self) -> float:
        return self.path / self.hardware.both


def header_of(result: Result, by: str) -> Header:
    """Raises ResultError for a session of another kind, or without what is needed."""
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
    """Raises ResultError where the two kernels are not one: a table of two would show their difference."""
    kernels = [(one.uname.get("release", ""), one.uname.get("version", "")) for one in (path, time)]
    if kernels[0] != kernels[1]:
        told = " and ".join(f"{release} {version}" for release, version in kernels)
        raise ResultError(f"These are two kernels: {told}.", "'kernometer guest add' takes a kernel image as a file.")
    probes = {one.probe.get("source_digest") for one in (path, time)}
    if len(probes) > 1:
        raise ResultError("The two sessions are of different probes.", "Measure again with one version of Kernometer.")


def path_count(runs: Sequence[Run]) -> float:
    """Instructions of one operation: the median iteration less the median empty region, over all runs."""
    return median_low([(median_low(run.samples) - median_low(run.loop_cost or (0,))) / run.ops for run in runs])


def hardware_count(runs: Sequence[Run], sample: Counted) -> Counted:
    """The median over runs, each a mean over all its iterations; `sample` is taken off once in every sample."""

    def of(kind: str, off: float) -> float:
        return median([(run.hardware[kind] - off / run.batch) / run.ops for run in runs])

    return Counted(of(USER, sample.user), of(KERNEL, sample.kernel))


def lines(path: Result, time: Result, sample: Counted) -> Iterator[Line]:
    """The rows that both sessions have. One whose figure has a baseline taken off is left out: the counters saw none.

    Raises ResultError where the sessions cannot be set side by side, or nothing is left.
    """
    check_kernels(header_of(path, "path"), header_of(time, "time"))
    found = False
    for row in path.rows:
        workload = path.workloads.get(row.partition("@")[0])
        counted = [run for run in time.runs_of(row) if {USER, KERNEL} <= set(run.hardware)]
        if not counted or (workload is not None and workload.figure_less_baseline):
            continue
        found = True
        batch = median_low([run.batch for run in counted])
        yield Line(row, path_count(path.runs_of(row)), hardware_count(counted, sample), batch)
    if not found:
        raise ResultError("The two sessions have no row in common that was counted.", "Measure the same rows.")


HEAD = (
    "| row | by path | hardware | user | kernel | path / hardware | in a sample |\n|---|---:|---:|---:|---:|---:|---:|"
)


def table(found: Sequence[Line]) -> str:
    rows = [
        f"| `{one.row}` | {one.path:,.0f} | {one.hardware.both:,.0f} | {one.hardware.user:,.0f} "
        f"| {one.hardware.kernel:,.0f} | {one.ratio:.2f} | {one.batch:,} |"
        for one in found
    ]
    return "\n".join((HEAD, *rows))


def caption(path: Result, time: Result, sample: Counted) -> str:
    """What the table was made of."""
    header = header_of(time, "time")
    off = (
        f"{sample.user:,.0f} + {sample.kernel:,.0f} taken off each sample" if sample != NOTHING else "nothing taken off"
    )
    return (
        f"Linux {header.uname.get('release', '')}. By path: {path.session.machine}. "
        f"Hardware: {header.cpu.get('model', '')}; {off}."
    )


def sample_cost(few: Sequence[Run], many: Sequence[Run]) -> Counted:
    """What a sample costs by itself, from the same row in samples of few and of many iterations."""

    def of(kind: str) -> float:
        counts = [median([run.hardware[kind] for run in runs]) for runs in (few, many)]
        return (counts[0] - counts[1]) / (1 / few[0].batch - 1 / many[0].batch)

    return Counted(of(USER), of(KERNEL))


def runs_here(batch: int) -> list[Run]:
    """Of the null call by this host's probe. Raises ResultError where it cannot count."""
    words = ("--runs", str(RUNS), "--batch", str(batch), "--seconds", "0.1", "syscall/getppid@")
    done = subprocess.run(
        (str(build.probe()), *words),
        stdout=subprocess.PIPE,
        timeout=PROBE_SECONDS,
        check=True,
        stdin=subprocess.DEVNULL,
    )
    records = [json.loads(line) for line in done.stdout.splitlines() if line.startswith(b"{")]
    why = next((record["counters"] for record in records if record["type"] == "header"), "the probe says nothing")
    if why:
        raise ResultError(f"There are no hardware counters here: {why}.", "Run this on a machine that has them.")
    return [Run(**{key: record[key] for key in NEEDED}) for record in records if record["type"] == "run"]


#: What of a run is looked at.
NEEDED = ("row", "workload", "run", "batch", "samples", "hardware")


def parsed(words: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("sample")
    of_table = commands.add_parser("table")
    of_table.add_argument("--store", type=Path, help="the folder of results; Kernometer's own by default")
    of_table.add_argument("--sample", default="0,0", metavar="USER,KERNEL", help="as `sample` prints it")
    of_table.add_argument("path", metavar="BY-PATH")
    of_table.add_argument("time", metavar="BY-TIME")
    return parser.parse_args(words)


def main(words: Sequence[str]) -> int:
    options = parsed(words)
    try:
        if options.command == "sample":
            cost = sample_cost(runs_here(FEW), runs_here(MANY))
            print(f"{cost.user:.0f},{cost.kernel:.0f}")
            return 0
        store = Store(options.store or default_folder())
        sample = Counted(*map(float, options.sample.split(",")))
        path, time = store.load(options.path), store.load(options.time)
        print(f"{table(list(lines(path, time, sample)))}\n\n{caption(path, time, sample)}")
    except KernometerError as error:
        print(f"error: {error.text} {error.next_step}".rstrip(), file=sys.stderr)
        return int(error.status)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
