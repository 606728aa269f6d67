"""A campaign against those who read results: ten million broken ones (fuzzing.py), half an hour or more.

usage: make campaign-reader [WORDS="--write …"]
       .venv/bin/python -m tests.campaigns.reader [--inputs N] [--minutes N] [--seed N] [--jobs N] [--write]

Each process has a bounded memory. Prints what became of the inputs, by what was done to them; --write puts it into
studies/reliability/README.md. Exit status 1: something came out that is not documented.
"""

from __future__ import annotations

import argparse
import math
import os
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from studies.section import commit, here, written
from tests.support.results.fuzzing import CHUNK, MORE_BYTES, Found, campaign

PAGE = Path(__file__).parents[2] / "studies/reliability/README.md"
INPUTS, SEED = 10_000_000, 1
#: Inputs between two words on the standard error.
SAY_EVERY = 500_000


def table(found: Found) -> Iterator[str]:
    """A line for each mutation: its inputs, by outcome."""
    cells = Counter[tuple[str, str]]()
    for name, n in found.outcomes.items():
        kind, colon, outcome = name.partition(": ")
        if colon:
            cells[kind, outcome] = n
            cells["all", outcome] += n
    outcomes = sorted({outcome for _, outcome in cells})
    yield f"| first mutation | {' | '.join(outcomes)} |"
    yield f"|---|{'---:|' * len(outcomes)}"
    for kind in sorted({kind for kind, _ in cells}, key=lambda kind: (kind == "all", kind)):
        yield f"| {kind} | {' | '.join(f'{cells[kind, outcome]:,}' for outcome in outcomes)} |"


def text(found: Found, seeds: Sequence[int], seconds: float) -> str:
    inputs = sum(n for name, n in found.outcomes.items() if ": " in name) + len(found.wrong)
    streams = [f"{n:,} {name.partition(' ')[2]}" for name, n in sorted(found.outcomes.items()) if ": " not in name]
    wrong = "Found:\n\n" + "\n".join(f"- {line}" for line in found.wrong[:50]) if found.wrong else "Nothing was found."
    return "\n\n".join(
        (
            f"Commit {commit()}; {here()}.",
            f"{inputs:,} inputs of seeds {seeds[0]} to {seeds[-1]}, {CHUNK:,} each, in {seconds / 60:.0f} min. "
            f"One in eight also came as a probe's output: {', '.join(streams)}. A process had at most "
            f"{found.peak_bytes / (1 << 20):.0f} MiB more than at its beginning; its limit was {MORE_BYTES >> 20} MiB.",
            "\n".join(table(found)),
            wrong,
        )
    )


def options(words: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m tests.campaigns.reader",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--inputs", metavar="N", type=int, default=INPUTS, help=f"in all ({INPUTS:,})")
    parser.add_argument("--minutes", metavar="N", type=float, default=math.inf, help="at most (no limit)")
    parser.add_argument("--seed", metavar="N", type=int, default=SEED, help=f"the first ({SEED})")
    parser.add_argument("--jobs", metavar="N", type=int, default=os.cpu_count() or 1, help="processes (the CPUs)")
    parser.add_argument("--write", action="store_true", help=f"put the results into {PAGE.name}")
    return parser.parse_args(words)


def main(words: Sequence[str]) -> int:
    given = options(words)
    seeds = range(given.seed, given.seed + -(-given.inputs // CHUNK))
    began, found = time.monotonic(), Found()
    for number, one in enumerate(campaign(seeds, given.jobs), 1):
        found.add(one)
        if number * CHUNK % SAY_EVERY == 0:
            print(f"campaign: {number * CHUNK:,} inputs, {len(found.wrong)} found", file=sys.stderr)
        if time.monotonic() - began > given.minutes * 60:
            seeds = seeds[:number]
            break
    result = text(found, seeds, time.monotonic() - began)
    print(result)
    if given.write:
        PAGE.write_text(written(PAGE.read_text(), "reader", result))
    return 1 if found.wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
