"""A against A: the verdicts of Kernometer on two equal sides, after one, three and ten minutes.

usage: .venv/bin/python -m studies.agreement [--minutes M] [--series N] [--write] [WORKLOAD...]

A series takes M minutes twice: for the blocks of an `ab` of this host with itself, and for successive sessions. Both
are cut into windows of a tenth, of three tenths and of the whole. A window of blocks is one experiment; a window of
sessions is two, since all are of one kernel: in turn (A B B A …) and in a row (A … A B … B). A verdict other than
"equivalent" or "undecided" is a false alarm.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import median
from typing import Any

import msgspec

from kernometer.results.model import Result
from kernometer.results.store import Store
from kernometer.stats.alternate import ab
from kernometer.stats.compare import compare
from kernometer.stats.model import RowComparison, Verdict
from studies.section import AGREEMENT, here, table_line, written

#: A few of every family, for ten pairs should take minutes.
WORKLOADS = (
    "clock/monotonic", "syscall/getppid", "syscall/write-null", "syscall/stat", "syscall/open-close", "syscall/mix",
    "ctx/pipe-pair", "ctx/signal-pair", "ipc/pipe-throughput", "proc/fork-exit", "proc/fork-exec", "proc/thread",
    "sig/catch", "mem/touch", "mem/fault-cow", "mem/fault-file", "fs/read", "fs/write", "cpu/arith-double",
    "cpu/hanoi",
)  # fmt: skip  # names in reading order, not one a line
#: Lengths of the windows, in tenths of a series.
WINDOWS = (1, 3, 10)
#: Blocks of the `ab` that measures how long a block takes.
PILOT = 5


def kernometer(store: str, *words: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "kernometer", "--store", store, *words],
        stdout=subprocess.PIPE,
        text=True,
        check=False,
        env=os.environ | {"COLUMNS": "120"},
    )
    if done.returncode not in (0, 1):
        sys.exit(done.returncode)
    return done.stdout


def judged(store: str, verb: str, *words: str) -> list[dict[str, Any]]:
    """The rows of an `ab` or a `compare`."""
    rows: list[dict[str, Any]] = json.loads(kernometer(store, verb, "--json", *words))[0]["rows"]
    return rows


def both_sides(store: str, blocks: int, workloads: Sequence[str]) -> tuple[Result, Result]:
    judged(store, "ab", "--blocks", str(blocks), "local", "local", *workloads)
    last = (Store(Path(store)).load(name) for name in ("@last", "@1"))
    a, b = sorted(last, key=lambda side: side.session.side)
    return a, b


def minutes_of_blocks(store: str, minutes: float, workloads: Sequence[str]) -> tuple[Result, Result]:
    """Both sides of an `ab` of that length."""
    seconds = sum(run.seconds for side in both_sides(store, PILOT, workloads) for run in side.runs) / PILOT
    return both_sides(store, max(20, int(60 * minutes / seconds)), workloads)


def minutes_of_sessions(store: str, minutes: float, workloads: Sequence[str]) -> list[Result]:
    end = time.monotonic() + 60 * minutes
    results: list[Result] = []
    while time.monotonic() < end or len(results) < 4 * max(WINDOWS):
        kernometer(store, "run", "--json", "--runs", "5", *workloads)
        results.append(Store(Path(store)).load("@last"))
    return results


def windows(length: int, tenths: int, multiple: int) -> Iterator[slice]:
    """Adjacent windows of `tenths` tenths in a series of `length`; each window's length is a multiple of `multiple`."""
    long = length * tenths // 10 // multiple * multiple
    for first in range(0, length - long + 1, long):
        yield slice(first, first + long)


def of_blocks(a: Result, b: Result, window: slice) -> tuple[RowComparison, ...]:
    def cut(side: Result) -> Result:
        return msgspec.structs.replace(
            side, runs=tuple(run for run in side.runs if window.start <= run.block < window.stop)
        )

    return ab(cut(a), cut(b)).rows


def of_sessions(results: Sequence[Result], *, in_turn: bool) -> tuple[RowComparison, ...]:
    half = len(results) // 2
    of_a = [number % 4 in (0, 3) if in_turn else number < half for number in range(len(results))]
    a, b = ([result for result, is_a in zip(results, of_a, strict=True) if is_a is side] for side in (True, False))
    return compare(a, b, history=None).rows


HEAD = (
    "| by | minutes | experiments | rows | false alarms | decided at ±2 % | hold 1 | median half-width |\n"
    "|---|---:|---:|---:|---:|---:|---:|---:|"
)


def line(name: str, minutes: float, experiments: Sequence[Sequence[RowComparison]]) -> str:
    rows = [row for experiment in experiments for row in experiment]
    told = [row for row in rows if row.low is not None and row.high is not None]
    alarms = sum(row.verdict in (Verdict.SLOWER, Verdict.FASTER) for row in rows)
    decided = sum(row.verdict is Verdict.EQUIVALENT for row in rows)
    held = sum(row.low <= 1 <= row.high for row in told)  # type: ignore[operator]  # both are set
    width = math.expm1(median(math.log(row.high / row.low) / 2 for row in told))  # type: ignore[operator]  # the same
    cells = (name, f"{minutes:.0f}", len(experiments), len(rows), alarms)
    shares = (f"{decided} ({decided / len(rows):.0%})", f"{held} ({held / len(told):.1%})", f"±{width:.2%}")
    return table_line(*cells, *(share.replace("%", " %") for share in shares))


def main(words: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=10.0, help="length of a series")
    parser.add_argument("--series", type=int, default=2)
    parser.add_argument("--write", action="store_true", help="write the table into docs/agreement.md")
    parser.add_argument("workloads", nargs="*", default=WORKLOADS)
    options = parser.parse_args(words)
    experiments: dict[tuple[str, int], list[tuple[RowComparison, ...]]] = {}
    with tempfile.TemporaryDirectory() as folder:
        for number in range(options.series):
            print(f"series {number + 1} of {options.series}", file=sys.stderr)
            store = str(Path(folder) / str(number))
            a, b = minutes_of_blocks(store, options.minutes, options.workloads)
            sessions = minutes_of_sessions(store, options.minutes, options.workloads)
            blocks = 1 + max(run.block for run in a.runs)
            for tenths in WINDOWS:
                experiments.setdefault(("`ab`", tenths), []).extend(
                    of_blocks(a, b, window) for window in windows(blocks, tenths, 1)
                )
                for name, in_turn in (("`compare`, in turn", True), ("`compare`, in a row", False)):
                    experiments.setdefault((name, tenths), []).extend(
                        of_sessions(sessions[window], in_turn=in_turn) for window in windows(len(sessions), tenths, 4)
                    )
    lines = [
        line(name, options.minutes * tenths / 10, experiments[name, tenths]) for name, tenths in sorted(experiments)
    ]
    text = f"{here()}; {options.series} series.\n\n" + "\n".join((HEAD, *lines))
    print(text)
    if options.write:
        AGREEMENT.write_text(written(AGREEMENT.read_text(), "studies/agreement", text))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
