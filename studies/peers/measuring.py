"""Runs the two sides of each pair, block by block, and computes their ratio."""

from __future__ import annotations

import math
import os
import random
import shutil
import subprocess
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from kernometer.campaign.plan import EFFORTS, Plan
from kernometer.campaign.session import records
from kernometer.errors import KernometerError
from kernometer.results.model import Failure, Run, Unsupported, Workload
from kernometer.results.rows import Row
from kernometer.stats.cost import geometric, run_cost, unusable
from kernometer.stats.intervals import paired
from kernometer.targets.base import Deadline
from kernometer.targets.local import from_spec
from studies.peers.pairs import Pair
from studies.peers.reading import ReadingError

#: Seconds after which a command of either side is killed.
PATIENCE = 120.0
#: The fewest for an interval.
LEAST_BLOCKS = 2


@dataclass(frozen=True, slots=True)
class Agreement:
    """A measured pair: ns of one operation on each side, and theirs over ours with its 95 % interval."""

    pair: Pair
    ours: float
    theirs: float
    ratio: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Absent:
    """A pair that could not be measured, and why."""

    pair: Pair
    why: str


class SideError(RuntimeError):
    """One side of a pair failed, and has no figure."""


def last_cpus(count: int) -> list[int]:
    """The CPUs of both sides: the probe pins itself to the last allowed one, and its other process to the next."""
    allowed = sorted(os.sched_getaffinity(0))
    if len(allowed) < count:
        raise SideError(f"it needs {count} CPUs, but there are {len(allowed)}")
    return allowed[-count:]


def ours(pair: Pair, seconds: float, block: int, seed: int, folder: Path) -> float:
    """One run of each of its rows (of a command: as many executions as fit) and `added`, in ns of an operation. Raises
    ReadingError, SideError."""
    added = pair.read_added(output(pair.added, folder, pair.cpus)) if pair.added else 0.0
    return added + (of_rows(pair, seconds, block, seed) if pair.rows else 0.0)


def of_rows(pair: Pair, seconds: float, block: int, seed: int) -> float:
    words = () if pair.command else tuple(Row(row).argument for row in pair.rows)
    effort = EFFORTS["full"]
    plan = Plan("time", "full", words, pair.rows, effort, seed, pair.command)
    job = plan.job("--seconds", f"{seconds:.6g}", "--first-run", str(block), runs=1)
    definitions: dict[str, Workload] = {}
    costs: list[float] = []
    for record, _ in records(from_spec("local"), job, Deadline.after(PATIENCE)):
        if isinstance(record, Workload):
            definitions[record.name] = record
        elif isinstance(record, Failure | Unsupported):
            raise SideError(record.text if isinstance(record, Failure) else record.reason)
        elif isinstance(record, Run) and record.params.get("time", "real") == "real":
            less_baseline = definitions[record.workload].figure_less_baseline
            why = unusable(record, less_baseline)
            if why:
                raise SideError(why)
            figure = run_cost(record, "time", less_baseline).figure
            costs.append(figure.gross if pair.figure == "gross" else figure.cost)
    if len(costs) != len(pair.rows) or min(costs) <= 0:
        raise SideError(f"the probe gave {len(costs)} figures above nothing for {len(pair.rows)} rows")
    return sum(costs)


def theirs(pair: Pair, folder: Path) -> float:
    """One call of their command on the same CPUs; ns of an operation. Raises ReadingError, SideError."""
    said = output(pair.theirs, folder, pair.cpus)
    return pair.read((folder / pair.file).read_text() if pair.file else said)


def output(command: Sequence[str], folder: Path, cpus: int) -> str:
    """Its output, both streams in one. Raises SideError if it fails."""
    where = ",".join(map(str, last_cpus(cpus)))
    try:
        done = subprocess.run(
            ("taskset", "-c", where, *command),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=PATIENCE,
            check=False,
            cwd=folder,
            env=os.environ | {"LC_ALL": "C"},
        )
    except subprocess.TimeoutExpired as error:
        raise SideError(f"{command[0]} did not end within {PATIENCE:.0f} s") from error
    if done.returncode != 0:
        raise SideError(f"{command[0]} exited with status {done.returncode}: {done.stdout[-300:]}")
    return done.stdout


def measure(
    pairs: Sequence[Pair], blocks: int, seconds: float, seed: int, folder: Path, say: Callable[[str], None]
) -> Iterator[Agreement | Absent]:
    """In each block every pair once, in random order, and in each pair the two sides in random order.

    A block in which a side fails is reported, and gives no ratio of that pair. A pair that fails in half of the blocks
    or more, or whose program is missing, has a reason in place of a figure.
    """
    absent: dict[int, str] = {}
    failed: dict[int, str] = {}
    logs: dict[int, list[tuple[float, float]]] = {number: [] for number in range(len(pairs))}
    homes = [folder / str(number) for number in range(len(pairs))]
    for number, pair in enumerate(pairs):
        homes[number].mkdir()
        needed = (pair.before or pair.theirs)[0]
        if not shutil.which(needed):
            absent[number] = f"not installed here: {needed} (Debian: {pair.package})"
        elif pair.before:
            try:
                output(pair.before, homes[number], pair.cpus)
            except SideError as error:
                absent[number] = str(error)
    chance = random.Random(seed)  # noqa: S311  # an order, not a secret
    for block in range(blocks):
        for number in chance.sample(range(len(pairs)), len(pairs)):
            if number in absent:
                continue
            pair = pairs[number]
            try:
                if chance.random() < 0.5:
                    a, b = ours(pair, seconds, block, seed, homes[number]), theirs(pair, homes[number])
                else:
                    b, a = theirs(pair, homes[number]), ours(pair, seconds, block, seed, homes[number])
            except (SideError, ReadingError, KernometerError) as error:
                failed[number] = str(error)
                say(f"{pair.name} against {pair.theirs[0]}: {error}")
                continue
            logs[number].append((math.log(a), math.log(b)))
        say(f"block {block + 1} of {blocks} done")
    for number, pair in enumerate(pairs):
        if number in absent or len(logs[number]) < max(LEAST_BLOCKS, blocks / 2 + 0.5):
            yield Absent(pair, absent.get(number) or failed.get(number, "too few blocks"))
        else:
            yield agreement(pair, logs[number])


def agreement(pair: Pair, logs: Sequence[tuple[float, float]]) -> Agreement:
    """From the logarithms of both sides' costs by block, at least two blocks: the paired t interval of their ratio."""
    contrast = paired([b - a for a, b in logs])
    low, high = contrast.interval()
    means = (geometric([math.exp(log[side]) for log in logs]) for side in (0, 1))
    return Agreement(pair, *means, *(math.exp(float(log)) for log in (contrast.log_ratio, low, high)))
