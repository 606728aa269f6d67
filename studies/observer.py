"""What measuring changes: the probe as shipped against builds of it without one part of measuring.

usage: .venv/bin/python -m studies.observer [--blocks N] [--seconds S] [--json | --write] [WORKLOAD...]

`kernometer ab` compares each build with the probe as shipped, row by row of the quick profile (or of the named
workloads) in alternating blocks, with the same CPU, batch and linkage. The ratio is the cost as shipped over that
without the part: 1.05 means that the part adds 5 %. `--write` puts the table into docs/agreement.md; otherwise it is
printed. Twenty blocks of all rows take about ten minutes.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from statistics import median
from typing import Any

from kernometer.campaign.session import records
from kernometer.results.model import Header
from kernometer.targets.base import Deadline, Job
from kernometer.targets.local import from_spec
from studies.agreement import judged
from studies.section import AGREEMENT, here, put, table_line

#: The omitted part, and the flags of the build that omits it.
BUILDS = {
    "the meter": "-DKM_METER=0",
    "the loop beside": "-DKM_BESIDE=0",
    "the counters": "-DHAVE_PERF_EVENT=0",
    "verification": "-DKM_VERIFY=0",
    "nothing (the same code, placed otherwise)": "-falign-functions=64",
}
COUNTERS = "the counters"
#: Seconds for one run of the null call.
PATIENCE = 60
#: A part that changes a row by more must leave the timed runs, or the row's page must name it.
LIMIT = 0.02


@dataclass(frozen=True, slots=True)
class Effect:
    """One part's effect on one row: cost with it over cost without, with the 95 % interval of paired blocks."""

    part: str
    row: str
    ratio: float
    low: float
    high: float

    @property
    def beyond(self) -> bool:
        """Whether the whole interval is beyond LIMIT."""
        return self.low > 1 + LIMIT or self.high < 1 / (1 + LIMIT)

    def __str__(self) -> str:
        shown = f"{self.ratio:.3f} ({self.low:.3f} to {self.high:.3f})"
        return f"**{shown}**" if self.beyond else shown


def effects(part: str, rows: Sequence[Mapping[str, Any]]) -> list[Effect]:
    """The effects on the rows that an `ab` judged, by name; rows without an interval (a side failed) are left out."""
    with_interval = sorted((row for row in rows if row["low"] is not None), key=lambda row: str(row["row"]))
    return [Effect(part, row["row"], row["ratio"], row["low"], row["high"]) for row in with_interval]


def measured(part: str, flags: str, options: argparse.Namespace) -> list[Effect]:
    """One `ab` of the build against the probe as shipped. If it fails, the program ends with the compiler's output."""
    words = ("--blocks", str(options.blocks), "--seconds", str(options.seconds))
    with tempfile.TemporaryDirectory(prefix="observer-") as store:
        return effects(part, judged(store, "ab", *words, f"local:{flags}", "local", *options.workloads))


def without_counters() -> str:
    """Why there are no hardware counters here; "" if there are."""
    row = "syscall/getppid"
    job = Job(("--only", "calibrate", "--seconds", "0.001", f"{row}@"), allowed=frozenset((row,)))
    read = [record for record, _ in records(from_spec("local"), job, Deadline.after(PATIENCE))]
    return next(record for record in read if isinstance(record, Header)).counters


SUMMARY = (
    "| left out | build | rows | median ratio | half of the intervals within | hold 1 | beyond ±2 % |\n"
    "|---|---|---:|---:|---:|---:|---:|"
)


def summary(part: str, flags: str, rows: Sequence[Effect], silent: str) -> str:
    if silent:
        return table_line(part, f"`{flags}`", "", "", f"no counters here, so this line says nothing: {silent}", "", "")
    half = math.expm1(median(math.log(row.high / row.low) / 2 for row in rows))
    held = sum(row.low <= 1 <= row.high for row in rows)
    far = sum(row.beyond for row in rows)
    middle = f"{median(row.ratio for row in rows):.3f}"
    return table_line(part, f"`{flags}`", len(rows), middle, f"±{100 * half:.1f} %", held, far)


def table(changes: Sequence[Effect]) -> str:
    """A line for each row that a part changes beyond LIMIT, a column for each measured part."""
    parts = list(dict.fromkeys(effect.part for effect in changes))
    cells = {(effect.row, effect.part): str(effect) for effect in changes}
    rows = dict.fromkeys(effect.row for effect in changes if effect.beyond)
    lines = (table_line(f"`{row}`", *(cells.get((row, part), "") for part in parts)) for row in rows)
    return "\n".join((table_line("row", *parts), f"|---|{'---:|' * len(parts)}", *lines))


def report(builds: Mapping[str, str], changes: Sequence[Effect], silent: str, options: argparse.Namespace) -> str:
    lines = [SUMMARY]
    for part, flags in builds.items():
        own = [effect for effect in changes if effect.part == part]
        lines.append(summary(part, flags, own, silent if part == COUNTERS else ""))
    far = sum(effect.beyond for effect in changes)
    caption = (
        f"{here()}; {options.blocks} blocks, {options.seconds:g} s of sampling a run.\n"
        f"Beyond ±{100 * LIMIT:g} %, in bold below: {far} of {len(changes)} intervals."
    )
    return "\n\n".join((caption, "\n".join(lines), table(changes)))


def parsed(words: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--blocks", type=int, default=20, help="at least 2")
    parser.add_argument("--seconds", type=float, default=0.03, help="sampling time of one run of one row")
    parser.add_argument("--json", action="store_true", help="print a list of effects instead of the tables")
    parser.add_argument("--write", action="store_true", help="write the table into docs/agreement.md")
    parser.add_argument("workloads", nargs="*", metavar="WORKLOAD")
    return parser.parse_args(words)


def main(words: Sequence[str], builds: Mapping[str, str] = BUILDS) -> int:
    options = parsed(words)
    silent = without_counters()
    changes: list[Effect] = []
    for part, flags in builds.items():
        if part != COUNTERS or not silent:
            changes += measured(part, flags, options)
    if options.json:
        print(json.dumps([{**asdict(effect), "beyond": effect.beyond} for effect in changes]))
        return 0
    put(AGREEMENT, "studies/observer", report(builds, changes, silent, options), write=options.write)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
