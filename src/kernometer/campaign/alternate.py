"""`ab`: measures two targets in randomised alternating blocks, so that drift affects both.

By time all rows are calibrated and counted in both arms first; the runs of a row then have the same batch in both.
In a block a row has one run in each arm (for a quantile several), directly after each other, in random order; if
starting a target takes long (a wrapper that boots a kernel), each arm has all its runs of every row one after another.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

from kernometer.campaign.plan import Phase, Plan
from kernometer.campaign.session import Measured, new_session, records, telling_what_is_kept
from kernometer.results.model import AnyRecord, Calibration, Failure, Header, Unsupported, Workload
from kernometer.results.rows import Row
from kernometer.results.store import Store
from kernometer.results.writer import ResultWriter, new_session_id
from kernometer.targets.base import Deadline, Target

#: Iterations in one sample of a row, and of its baseline.
Batch = tuple[int, int]
#: Batches that differ by a larger factor are not made equal.
MOST_APART = 10
#: Seconds that a call may take beyond its plan's: a wrapper may boot a kernel, on a loaded machine.
CALL_PATIENCE = 300.0


def measure_pair(
    plan: Plan,
    targets: tuple[Target, Target],
    store: Store,
    label: str,
    blocks: int,
    listen: Callable[[AnyRecord], None],
) -> tuple[Measured, Measured]:
    """Measures both arms into two new files of the store that share an `experiment`; each block has as many runs of a
    row as the plan's effort. Ctrl-C leaves whole blocks and at most a part of one, which the comparison ignores."""
    experiment = new_session_id()
    sessions = (
        new_session(plan, targets[0], label, experiment, "A"),
        new_session(plan, targets[1], label, experiment, "B"),
    )
    writers: list[ResultWriter] = []
    with (
        store.measuring(plan.by),
        telling_what_is_kept(writers),
        store.create(sessions[0]) as first,
        store.create(sessions[1]) as second,
    ):
        writers += (first, second)
        arms = (_Arm(targets[0], first), _Arm(targets[1], second))
        if plan.by == "time" and not plan.command:
            plan = _prepared(plan, arms, listen)
        for block, runs, part in _schedule(plan, blocks, fine=all(target.quick_start for target in targets)):
            order = list(arms)
            _generator(plan.seed, runs.start, *part.words).shuffle(order)
            for arm in order:
                arm.time(part, block, runs, listen)
    return Measured(first.path, first.result()), Measured(second.path, second.result())


def _prepared(plan: Plan, arms: tuple[_Arm, _Arm], listen: Callable[[AnyRecord], None]) -> Plan:
    """Calibrates and counts all rows in both arms. Returns the plan without rows that an arm cannot calibrate."""
    without = set[str]()
    for arm in arms:
        without |= arm.run(plan, listen, only="calibrate") | arm.refused
    a, b = arms
    a.batches, b.batches = common_batches(a.batches, b.batches)
    rows = tuple(row for row in plan.rows if row not in without)
    if rows != plan.rows:
        plan = replace(plan, rows=rows, words=tuple(Row(row).argument for row in rows))
    for arm in arms if rows else ():
        arm.run(plan, listen, only="count")
    return plan


def common_batches(a: Mapping[str, Batch], b: Mapping[str, Batch]) -> tuple[dict[str, Batch], dict[str, Batch]]:
    """The batches for each arm: the larger of the two, so that a sample is long enough in both. If they differ more
    than tenfold, each arm keeps its own, for the slower arm would need that many times as long."""
    of_a, of_b = dict(a), dict(b)
    for row in a.keys() & b.keys():
        if max(a[row][0], b[row][0]) <= MOST_APART * min(a[row][0], b[row][0]):
            of_a[row] = of_b[row] = (max(a[row][0], b[row][0]), max(a[row][1], b[row][1]))
    return of_a, of_b


def _schedule(plan: Plan, blocks: int, *, fine: bool) -> Iterator[tuple[int, range, Plan]]:
    """(block, the numbers of its runs, their plan), the rows in a new order each time."""
    each = plan.effort.runs
    for first in range(0, blocks * each if plan.rows or plan.command else 0, each):
        if not fine or plan.command:
            yield first // each, range(first, first + each), plan
            continue
        for run in range(first, first + each):
            rows = list(plan.rows)
            _generator(plan.seed, run).shuffle(rows)
            for row in rows:
                yield first // each, range(run, run + 1), replace(plan, words=(Row(row).argument,), rows=(row,))


def _generator(seed: int, *parts: object) -> random.Random:
    """A separate generator for each decision, so that the seed reproduces the order."""
    return random.Random(repr((seed, *parts)))  # noqa: S311 - an experiment's order, not a secret


def _named(plan: Plan) -> set[str]:
    """The rows that the plan's words name, if each word names one row."""
    return {Row.of_argument(word).name for word in plan.words}


class _Arm:
    """One target of the `ab` and its file."""

    def __init__(self, target: Target, writer: ResultWriter) -> None:
        self.target = target
        self.writer = writer
        self.defined: set[str] = set()  #: rows with a definition in the file
        self.ids: dict[str, int] = {}  #: those rows' ids
        self.refused: set[str] = set()
        self.batches: dict[str, Batch] = {}
        self.has_header = False

    def time(self, plan: Plan, block: int, runs: range, listen: Callable[[AnyRecord], None]) -> None:
        """These runs of each of the plan's rows."""
        words: tuple[str, ...] = ("--first-run", str(runs.start), "--block", str(block))
        if self.has_header and plan.words and self.defined.issuperset(_named(plan)):
            words += ("--continue",)
        phase: Phase = "time" if plan.by == "time" and not plan.command else ""
        self.run(plan, listen, *words, only=phase, runs=len(runs))

    def run(
        self, plan: Plan, listen: Callable[[AnyRecord], None], *words: str, only: Phase = "", runs: int = 1
    ) -> set[str]:
        """Calls the probe with these arguments; returns the rows that failed."""
        failed = set()
        asked = _named(plan)
        named = asked if asked and asked <= self.batches.keys() else self.batches.keys()  # as few names as possible
        if named:
            of_rows = sorted((self.ids[row], *self.batches[row]) for row in named)
            words += ("--batch", ",".join(f"{number}={n}/{m}" for number, n, m in of_rows))
        until = Deadline.after(plan.patience + CALL_PATIENCE)
        for record, line in records(self.target, plan.job(*words, only=only, runs=runs), until, listen):
            if isinstance(record, Calibration):
                self.batches[record.row] = (record.batch, record.baseline_batch)
            elif isinstance(record, Failure):
                failed.add(record.row)
            if self._is_new(record):
                self.writer.add(record, line)
        return failed

    def _is_new(self, record: AnyRecord) -> bool:
        """Whether to store the record: definitions and unsupported rows are stored once."""
        if isinstance(record, Header):
            new, self.has_header = not self.has_header, True
            return new
        if isinstance(record, Workload):
            rows = {row.row for row in record.rows}
            new = not self.defined.issuperset(rows)
            self.defined |= rows
            self.ids |= {row.row: row.id for row in record.rows}
            return new
        if isinstance(record, Unsupported):
            new = record.row not in self.refused
            self.refused.add(record.row)
            return new
        return True
