"""`ab`: two targets measured in randomised alternating blocks, so that whatever drifts does so for both.

A block is one run of one row in each arm, right after one another, in random order. Where starting a target is dear
(a wrapper that boots a kernel) it is one run of every row in each arm.
"""

from __future__ import annotations

import random
from dataclasses import replace
from typing import TYPE_CHECKING

from kernometer.campaign.plan import exactly
from kernometer.campaign.session import new_session, records, telling_what_is_kept
from kernometer.results.model import AnyRecord, Header, Unsupported, Workload
from kernometer.results.writer import new_session_id
from kernometer.targets.base import Deadline

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from kernometer.campaign.plan import Plan
    from kernometer.results.store import Store
    from kernometer.results.writer import ResultWriter
    from kernometer.targets.base import Target

#: Seconds that a call may take beyond its plan's own: a wrapper that boots a kernel, on a loaded machine.
CALL_PATIENCE = 300.0


def measure_pair(
    plan: Plan,
    targets: tuple[Target, Target],
    store: Store,
    label: str,
    blocks: int,
    listen: Callable[[AnyRecord], None],
) -> tuple[Path, Path]:
    """Measures both arms into two new files of the store that share an `experiment`; their paths.

    Ctrl-C leaves whole blocks and at most one half of a block, which the judgement leaves out.
    """
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
        for block, group in _schedule(plan, blocks, fine=all(target.quick_start for target in targets)):
            order = list(arms)
            _generator(plan.seed, block, *group).shuffle(order)
            for arm in order:
                arm.run(replace(plan, words=group), block, listen)
    return first.path, second.path


def _schedule(plan: Plan, blocks: int, *, fine: bool) -> Iterator[tuple[int, tuple[str, ...]]]:
    """(block, rows), each block's rows in an order of its own."""
    for block in range(blocks):
        rows = list(plan.rows)
        _generator(plan.seed, block).shuffle(rows)
        if fine and rows:
            yield from ((block, (exactly(row),)) for row in rows)
        else:
            yield block, plan.words


def _generator(seed: int, *parts: object) -> random.Random:
    """A generator of its own for each decision, so that the order can be repeated from the seed."""
    return random.Random(repr((seed, *parts)))  # noqa: S311 - an experiment's order, not a secret


class _Arm:
    """One target of the `ab` and its file. Header and definitions are asked for once."""

    def __init__(self, target: Target, writer: ResultWriter) -> None:
        self.target = target
        self.writer = writer
        self.defined: set[str] = set()  #: rows whose definition is in the file
        self.refused: set[str] = set()
        self.has_header = False

    def run(self, plan: Plan, block: int, listen: Callable[[AnyRecord], None]) -> None:
        extra: tuple[str, ...] = ("--first-run", str(block), "--block", str(block))
        if self.has_header and plan.words and self.defined.issuperset(word.removesuffix("@") for word in plan.words):
            extra += ("--continue",)
        until = Deadline.after(plan.patience + CALL_PATIENCE)
        for record, line in records(self.target, plan.job(*extra, runs=1), until):
            if self._is_new(record):
                self.writer.add(record, line)
                listen(record)

    def _is_new(self, record: AnyRecord) -> bool:
        """Definitions, and rows that cannot be measured here, are kept once."""
        if isinstance(record, Header):
            new, self.has_header = not self.has_header, True
            return new
        if isinstance(record, Workload):
            rows = {row.row for row in record.rows}
            new = not self.defined.issuperset(rows)
            self.defined |= rows
            return new
        if isinstance(record, Unsupported):
            new = record.row not in self.refused
            self.refused.add(record.row)
            return new
        return True
