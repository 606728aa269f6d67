"""A campaign of faults in the calls of the probe (faulty.py): a million, on this machine and on Trio, in hours.

usage: make campaign-probe [WORDS="--write …"]
       .venv/bin/python -m tests.campaigns.probe [--faults N] [--minutes N] [--seed N] [--jobs N] [--write]

Every call of the probe has another seed; one in four batches of calls has faults in the driver too. Prints what became
of the rows; --write puts it into studies/reliability/README.md. Exit status 1: a wrong figure, a row that hung, or a
process, file or queue that was left behind.
"""

from __future__ import annotations

import argparse
import math
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from kernometer.guests.kernels import trio
from studies.section import commit, here, written
from tests.support.probe.faulty import Call, Reference, Verdict, build, calls_in, judge
from tests.support.trio.boot import Kernel, boot, initramfs

PAGE = Path(__file__).parents[2] / "studies/reliability/README.md"
FAULTS, SEED = 1_000_000, 1
#: Of one batch; a call has a limit of its own (repeat.c).
BATCH_SECONDS = 3600.0
#: Calls without faults, for the reference.
CLEAN_CALLS = 4
GUESTS_FOLDER = "/tmp"  # noqa: S108  # in a guest nobody else is
#: By time the batch is given, so that each run does the same work.
BY_TIME = ("--by", "time", "--only", "time", "--batch", "3", "--samples", "5", "--seconds", "2", "--runs", "1")
BY_PATH = ("--by", "path")


@dataclass(frozen=True)
class Where:
    """A place and a way to run the probe, and its share of all faults."""

    name: str
    words: tuple[str, ...]
    percent: int
    calls: int  #: in one batch: on Trio a boot
    structure: str = ""  #: of Trio; "": this machine


PLACES = (
    Where("this machine, by path", BY_PATH, 55, 10),
    Where("this machine, by path, all rows", (*BY_PATH, "--profile", "full"), 15, 3),
    Where("this machine, by time", BY_TIME, 5, 5),
    Where("Trio mono, by path", BY_PATH, 15, 8, "mono"),
    Where("Trio micro, by path", BY_PATH, 10, 4, "micro"),
)

#: Runs so many calls from a seed on: without faults, with faults in runs, or in the driver too.
Runner = Callable[[int, int, str], list[Call]]
#: For repeat.c: whether runs and the driver get faults.
WHO = {"nobody": ("0", "0"), "runs": ("1", "0"), "all": ("1", "1")}


def on_this_machine(programs: tuple[Path, Path], words: Sequence[str]) -> Runner:
    def run(seed: int, calls: int, who: str) -> list[Call]:
        with tempfile.TemporaryDirectory(prefix="faults-") as folder:
            command = (str(programs[0]), str(seed), str(calls), *WHO[who], folder, str(programs[1]), *words)
            done = subprocess.run(command, capture_output=True, timeout=BATCH_SECONDS, check=True)
        return list(calls_in(done.stdout.decode(errors="replace").splitlines()))

    return run


def on_trio(programs: tuple[Path, Path], words: Sequence[str], kernel: Kernel) -> Runner:
    files = {f"bin/{name}": file.read_bytes() for name, file in zip(("repeat", "faulty"), programs, strict=True)}

    def run(seed: int, calls: int, who: str) -> list[Call]:
        inside = ("repeat", str(seed), str(calls), *WHO[who], GUESTS_FOLDER, "/bin/faulty", *words)
        ended = boot(kernel, initramfs(inside, files), seconds=BATCH_SECONDS)
        assert ended.status == 0, str(ended)
        return list(calls_in(ended.bulk.decode(errors="replace").splitlines()))

    return run


@dataclass
class Done:
    """What a place came to."""

    where: Where
    first: int
    last: int = 0
    calls: int = 0
    seconds: float = 0.0
    verdict: Verdict = field(default_factory=Verdict)


def of_place(where: Where, run: Runner, faults: int, seed: int, seconds: float) -> Done:
    """Until it has injected so many, those apart that met only the meters beside the samples; or its time is over."""
    done, began, batch = Done(where, seed), time.monotonic(), 0
    reference = Reference.of(run(0, CLEAN_CALLS, "nobody"))
    while done.verdict.injected - done.verdict.metered < faults and time.monotonic() - began < seconds:
        for call in run(seed, where.calls, "all" if batch % 4 == 3 else "runs"):
            judge(call, reference, verdict=done.verdict)
        seed, batch = seed + where.calls, batch + 1
        done.calls += where.calls
        print(
            f"campaign: {where.name}: {done.verdict.injected:,} faults, {len(done.verdict.wrong)} found",
            file=sys.stderr,
        )
    done.last, done.seconds = seed - 1, time.monotonic() - began
    return done


def campaign(faults: int, seed: int, workers: int, seconds: float) -> Iterator[Done]:
    with tempfile.TemporaryDirectory(prefix="campaign-") as name, ThreadPoolExecutor(workers) as pool:
        programs, running = build(Path(name)), []
        for where in sorted(PLACES, key=lambda where: where.words != BY_TIME):  # the slowest first
            if where.structure:
                run = on_trio(programs, where.words, Kernel.trio(trio.built(where.structure)))
            else:
                run = on_this_machine(programs, where.words)
            running.append(pool.submit(of_place, where, run, faults * where.percent // 100, seed, seconds))
        for each in running:
            yield each.result()


#: As judge() names them.
OUTCOMES = ("error", "unsupported", "figure, faults met", "figure, none met", "output refused")
COLUMNS = ("injected", "of them in meters", "planned, not reached", *OUTCOMES, "found")


def cells(verdict: Verdict) -> Counter[str]:
    found = Counter({name: verdict.outcomes[name] for name in OUTCOMES})
    found["injected"] = verdict.injected
    found["of them in meters"] = verdict.metered
    found["planned, not reached"] = verdict.planned - verdict.injected
    found["found"] = len(verdict.wrong)
    return found


def of_places(all_done: Sequence[Done]) -> Iterator[str]:
    yield f"| where | calls, seeds | {' | '.join(COLUMNS)} | time |"
    yield f"|---|---|{'---:|' * len(COLUMNS)}---:|"
    total = Counter[str]()
    for each in all_done:
        row = cells(each.verdict)
        total += row
        figures = " | ".join(f"{row[name]:,}" for name in COLUMNS)
        seeds = f"{each.calls}, {each.first} to {each.last}"
        yield f"| {each.where.name} | {seeds} | {figures} | {each.seconds / 60:.0f} min |"
    yield f"| all | | {' | '.join(f'{total[name]:,}' for name in COLUMNS)} | |"


def of_faults(all_done: Sequence[Done]) -> Iterator[str]:
    """How many of each fault, and in which calls most."""
    counts: dict[str, Counter[str]] = {}
    for each in all_done:
        for name, n in each.verdict.faults.items():
            call, _, fault = name.partition(" ")
            counts.setdefault(fault, Counter())[call.strip("_")] += n
    yield "| fault | injected | most in |"
    yield "|---|---:|---|"
    for fault in sorted(counts, key=lambda fault: -counts[fault].total()):
        most = ", ".join(f"{call} {n:,}" for call, n in counts[fault].most_common(4))
        yield f"| {fault} | {counts[fault].total():,} | {most} |"


def text(all_done: Sequence[Done]) -> str:
    wrong = [f"- {each.where.name}, {line}" for each in all_done for line in each.verdict.wrong]
    what = "Found:\n\n" + "\n".join(wrong[:50]) if wrong else "Nothing was found."
    parts = (f"Commit {commit()}; {here()}.", "\n".join(of_places(all_done)), what, "\n".join(of_faults(all_done)))
    return "\n\n".join(parts)


def options(words: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m tests.campaigns.probe",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--faults", metavar="N", type=int, default=FAULTS, help=f"in all ({FAULTS:,})")
    parser.add_argument("--minutes", metavar="N", type=float, default=math.inf, help="a place has at most (no limit)")
    parser.add_argument("--seed", metavar="N", type=int, default=SEED, help=f"of each place's first call ({SEED})")
    parser.add_argument("--jobs", metavar="N", type=int, default=os.cpu_count() or 1, help="at a time (the CPUs)")
    parser.add_argument("--write", action="store_true", help=f"put the results into {PAGE.name}")
    return parser.parse_args(words)


def main(words: Sequence[str]) -> int:
    given = options(words)
    all_done = list(campaign(given.faults, given.seed, given.jobs, given.minutes * 60))
    result = text(all_done)
    print(result)
    if given.write:
        PAGE.write_text(written(PAGE.read_text(), "probe", result))
    return 1 if any(each.verdict.wrong for each in all_done) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
