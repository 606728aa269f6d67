"""A against A: what Kernometer says of two sides that are the same. Prints the table of docs/agreement.md.

usage: .venv/bin/python scripts/agreement.py [--pairs N] [--blocks N] [--sessions N] [--seconds S] [WORKLOAD...]

Every *pair* is an experiment of its own: by `ab`, both sides this host's probe, in alternating blocks; by `compare`,
two labels whose sessions were taken in turn. What is not "equivalent" or "undecided" is a false alarm.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from statistics import median
from typing import Any

#: A handful of every family, so that ten pairs take minutes.
WORKLOADS = (
    "clock/monotonic", "syscall/getppid", "syscall/write-null", "syscall/stat", "syscall/open-close", "syscall/mix",
    "ctx/pipe-pair", "ctx/signal-pair", "ipc/pipe-throughput", "proc/fork-exit", "proc/fork-exec", "proc/thread",
    "sig/catch", "mem/touch", "mem/fault-cow", "mem/fault-file", "fs/read", "fs/write", "cpu/arith-double",
    "cpu/hanoi",
)  # fmt: skip  # names as they are said, not one a line
#: What the suites of today are held to: two runs of the same kernel that differ by more.
FAR = 0.10


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


def ab_pair(store: str, options: argparse.Namespace) -> list[dict[str, Any]]:
    words = ("--blocks", str(options.blocks), "--seconds", str(options.seconds))
    return judged(store, "ab", *words, "local", "local", *options.workloads)


def compare_pair(store: str, options: argparse.Namespace, number: int) -> list[dict[str, Any]]:
    sides = (f"a{number}", f"b{number}")
    for session in range(options.sessions):
        for side in sides if session % 2 == 0 else sides[::-1]:
            words = ("--json", "--runs", "10", "--seconds", str(options.seconds), "--label", side)
            kernometer(store, "run", *words, *options.workloads)
    return judged(store, "compare", *(f"label:{side}" for side in sides))


HEAD = (
    "| by | pairs | rows | slower | faster | equivalent | undecided | neither | hold 1 | median apart | over 10 % |\n"
    "|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|"
)


def line(verb: str, pairs: list[list[dict[str, Any]]]) -> str:
    """One verb's: of all its rows; of the median difference, the least and the most that a pair had."""
    away = [[abs(math.log(row["ratio"])) for row in pair if row["ratio"]] for pair in pairs]
    medians = [100 * math.expm1(median(distances)) for distances in away]
    rows = [row for pair in pairs for row in pair]
    verdicts = Counter(row["verdict"] for row in rows)
    told = [row for row in rows if row["low"] is not None]
    held = sum(row["low"] <= 1 <= row["high"] for row in told)
    four = [verdicts.pop(name, 0) for name in ("slower", "faster", "equivalent", "undecided")]
    far = sum(distance > math.log1p(FAR) for distances in away for distance in distances)
    cells = (f"`{verb}`", len(pairs), len(rows), *four, verdicts.total(), f"{held} ({100 * held / len(told):.1f} %)")
    return "| " + " | ".join(map(str, cells)) + f" | {min(medians):.2f} to {max(medians):.2f} % | {far} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=10)
    parser.add_argument("--blocks", type=int, default=10, help="of an ab")
    parser.add_argument("--sessions", type=int, default=4, help="a side, of a compare")
    parser.add_argument("--seconds", type=float, default=0.03, help="of sampling, one run of one row")
    parser.add_argument("workloads", nargs="*", default=WORKLOADS)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        store = str(Path(folder) / "store")
        print(HEAD, flush=True)
        for verb in ("ab", "compare"):
            pairs = []
            for number in range(1, options.pairs + 1):
                print(f"{verb}: pair {number} of {options.pairs}", file=sys.stderr)
                pairs.append(ab_pair(store, options) if verb == "ab" else compare_pair(store, options, number))
            print(line(verb, pairs), flush=True)


if __name__ == "__main__":
    main()
