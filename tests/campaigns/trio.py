"""A campaign of the fuzzer: ten million random calls and eight thousand sequences, half an hour or more; and ten
million random messages of hostile services (hostile_campaign.py).

usage: make campaign-trio [WORDS="--write …"]
       .venv/bin/python -m tests.campaigns.trio [--calls N] [--sequences N] [--messages N] [--boots N] [--seed N]
                                               [--jobs N] [--write]

Boots Trio with other seeds each time: the kernel as it is used for calls and for sequences, and the one that checks
itself for a tenth of as many of both. Says what each boot found, and prints the tables; --write puts them into
trio/user/fuzz/campaign.md. Exit status 1: something was found.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from itertools import product
from pathlib import Path

from kernometer import source_folder
from kernometer.errors import KernometerError
from kernometer.guests.kernels import trio
from studies.section import commit, here, written
from tests.campaigns import hostile as hostile_campaign
from tests.support.trio import fuzzing, hostility
from tests.support.trio.boot import Kernel
from tests.support.trio.fuzzing import Report, findings
from tests.support.trio.user_programs import PROGRAMS, USER, make

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "trio/user/fuzz/campaign.md"
CALLS, SEQUENCES, BOOTS, SEED = 10_000_000, 8_000, 8, 1000
MESSAGES = 10_000_000
#: The kernel that checks itself is slower: it gets one part in so many.
CHECKED_PART = 10
#: Beyond any machine's need: a boot's calls take some three minutes.
BOOT_SECONDS = 7200.0


@dataclass(frozen=True)
class Job:
    """One boot."""

    kernel: str  #: usual, checked
    what: str  #: calls, sequences
    seed: int
    count: int

    @property
    def command(self) -> tuple[str, ...]:
        """For the guest."""
        return (fuzzing.calls if self.what == "calls" else fuzzing.sequences)(self.seed, self.count)

    def __str__(self) -> str:
        return f"{self.kernel} kernel, seed {self.seed}, {self.count:,} {self.what}"


@dataclass(frozen=True)
class Done:
    """What became of it."""

    job: Job
    report: Report
    found: Sequence[str]
    seconds: float


def planned(calls: int, sequences: int, boots: int, seed: int) -> list[Job]:
    """The longest first, so that none is left over at the end."""
    jobs = [
        Job(kernel, what, seed + number, max(1, total // boots // part))
        for kernel, part in (("usual", 1), ("checked", CHECKED_PART))
        for what, total in (("calls", calls), ("sequences", sequences))
        for number in range(boots)
    ]
    return sorted(jobs, key=lambda job: (job.what, -job.count))


def done(job: Job, kernel: Kernel, programs: Path) -> Done:
    began = time.monotonic()
    ended = fuzzing.run(kernel, programs, *job.command, seconds=BOOT_SECONDS)
    report = Report.read(ended.bulk.decode(errors="replace"))
    return Done(job, report, findings(ended), time.monotonic() - began)


def campaign(jobs: Sequence[Job], workers: int) -> Iterator[Done]:
    """Each as it ends, with a line on the standard error."""
    with tempfile.TemporaryDirectory(prefix="campaign-") as name, ThreadPoolExecutor(workers) as pool:
        folder = Path(name)
        print("campaign: compiling …", file=sys.stderr)
        programs = make(USER, folder / "user", *PROGRAMS)
        kernels = {"usual": Kernel.trio(trio.built("mono")), "checked": fuzzing.checked_kernel()}
        running = [pool.submit(done, job, kernels[job.kernel], programs) for job in jobs]
        for number, each in enumerate(as_completed(running), 1):
            one = each.result()
            said = "nothing found" if not one.found else "; ".join(one.found)
            print(f"campaign: {number} of {len(jobs)}: {one.job}, {one.seconds:.0f} s: {said}", file=sys.stderr)
            yield one


def of_boots(all_done: Sequence[Done]) -> Iterator[str]:
    """A line for each kernel and kind."""
    yield "| kernel | boots, seeds | made | processes | ended by a signal | stuck | found | boots' time |"
    yield "|---|---|---:|---:|---:|---:|---:|---:|"
    for kernel, what in product(("usual", "checked"), ("calls", "sequences")):
        some = [each for each in all_done if (each.job.kernel, each.job.what) == (kernel, what)]
        if not some:
            continue
        seeds = sorted(each.job.seed for each in some)
        figures = Counter[str]()
        for each in some:
            figures.update(each.report.figures)
        signals = sum(sum(each.report.signals.values()) for each in some)
        of_calls = (f"{figures['processes']:,}", f"{signals:,}", str(figures["stuck"]))
        yield (
            f"| {kernel} | {len(some)}, {seeds[0]} to {seeds[-1]} | {figures[what]:,} {what} | "
            f"{' | '.join(of_calls if what == 'calls' else '–––')} | {sum(len(each.found) for each in some)} | "
            f"{sum(each.seconds for each in some) / 60:.0f} min |"
        )


def of_errors(all_done: Sequence[Done]) -> Iterator[str]:
    """How often each errno came, of both kernels' calls."""
    errors = Counter[str]()
    for each in all_done:
        errors.update(each.report.errors)
    yield "| errno | calls |"
    yield "|---|---:|"
    for name in sorted(errors, key=lambda name: (not name.split()[0].isdigit(), name.split()[0].zfill(4))):
        yield f"| {name} | {errors[name]:,} |"


def tables(all_done: Sequence[Done]) -> str:
    found = [f"- {each.job}: {line}" for each in all_done for line in each.found]
    parts = (
        f"Commit {commit()}; {here()}.",
        "\n".join(of_boots(all_done)),
        "Found:\n\n" + "\n".join(found) if found else "Nothing was found.",
        "\n".join(of_errors(all_done)),
    )
    return "\n\n".join(parts)


def messages(all_made: Sequence[hostile_campaign.Made]) -> str:
    """The same of hostile services."""
    found = [f"- {line}" for each in all_made for line in each.found]
    what = "Found:\n\n" + "\n".join(found) if found else "Nothing was found."
    return "\n\n".join((f"Commit {commit()}; {here()}.", "\n".join(hostile_campaign.table(all_made)), what))


def options(words: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m tests.campaigns.trio", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--calls", metavar="N", type=int, default=CALLS, help=f"in all ({CALLS:,})")
    parser.add_argument("--sequences", metavar="N", type=int, default=SEQUENCES, help=f"in all ({SEQUENCES:,})")
    parser.add_argument("--messages", metavar="N", type=int, default=MESSAGES, help=f"in all ({MESSAGES:,})")
    parser.add_argument("--boots", metavar="N", type=int, default=BOOTS, help=f"among which they are divided ({BOOTS})")
    parser.add_argument("--seed", metavar="N", type=int, default=SEED, help=f"of the first boot ({SEED})")
    parser.add_argument("--jobs", metavar="N", type=int, default=os.cpu_count() or 1, help="boots at a time (the CPUs)")
    parser.add_argument("--write", action="store_true", help=f"put the tables into {PAGE.relative_to(ROOT)}")
    return parser.parse_args(words)


def main(words: Sequence[str]) -> int:
    given = options(words)
    parts, found = {}, False
    if given.calls or given.sequences:
        all_done = list(campaign(planned(given.calls, given.sequences, given.boots, given.seed), given.jobs))
        parts["campaign"] = tables(all_done)
        found = any(each.found for each in all_done)
    if given.messages:
        masks = hostility.masks(source_folder("trio"))
        all_made = list(hostile_campaign.campaign(given.messages, given.seed, given.jobs, masks))
        parts["hostile services"] = messages(all_made)
        found = found or any(each.found for each in all_made)
    for part, text in parts.items():
        print(text)
        if given.write:
            PAGE.write_text(written(PAGE.read_text(), part, text))
    return 1 if found else 0


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except KernometerError as error:
        sys.exit(f"campaign: {error}")
