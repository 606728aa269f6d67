"""A second look at the rows that fail a gate: in new blocks, or on machines with other layouts. docs/gate.md."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from kernometer.campaign.alternate import measure_pair
from kernometer.campaign.plan import Plan
from kernometer.cli.env import Env
from kernometer.cli.floors import measured
from kernometer.cli.progress import progress
from kernometer.results.rows import Row
from kernometer.stats.alternate import ab
from kernometer.stats.gate import MACHINES, MOST_ROWS, Gate, Second, blocks, in_new_blocks, on_other_machines
from kernometer.targets.base import Target
from kernometer.targets.qemu import QemuTarget


@dataclass(frozen=True, slots=True)
class Again:
    """How the first look measured, so that a second can."""

    env: Env
    plan: Plan
    targets: tuple[Target, Target]
    label: str
    blocks: int

    def look(self, first: Gate) -> Mapping[str, Second]:
        """Measures the rows that fail once more: by row, without those that cannot be measured again."""
        rows = [row.judged.row for row in first.again]
        if not rows or first.empty or self.plan.command:
            return {}
        return self._by_path(first, rows) if self.plan.by == "path" else self._by_time(first, rows)

    def _plan_of(self, rows: list[str]) -> Plan:
        needs = {row: needed for row, needed in self.plan.needs.items() if row in rows}
        words = tuple(Row(row).argument for row in rows)
        return replace(self.plan, words=words, rows=tuple(rows), needs=needs, unsupported=(), profiled="")

    def _by_time(self, first: Gate, rows: list[str]) -> Mapping[str, Second]:
        store = self.env.store()
        plan = replace(self._plan_of(rows), seed=self.plan.seed + 1)  # another order
        rounds = blocks(self.blocks, len(self.plan.rows), len(rows))
        self.env.say(f"The gate fails on {_rows(rows)}: measured again, in {rounds} new blocks.")
        with progress(self.env, plan, 2 * rounds, paired=True) as listen:
            pair = measure_pair(plan, self.targets, store, self.label, rounds, listen)
        compared = first.comparison
        a, b = (store.as_read(side.result) for side in pair)
        return in_new_blocks(ab(a, b, compared.delta, name_a=compared.a, name_b=compared.b))

    def _by_path(self, first: Gate, rows: list[str]) -> Mapping[str, Second]:
        rotated: list[QemuTarget] = []
        for target in self.targets:
            if not isinstance(target, QemuTarget):
                self.env.say(f"Not measured again: {target.name} is not a guest, and only guests have other layouts.")
                return {}
            rotated += target.rotated(MACHINES + 1)[1:]
        rows = rows[:MOST_ROWS]
        self.env.say(f"The gate fails on {_rows(rows)}: measured again, on {MACHINES} machines with other layouts.")
        store = self.env.store()
        outcomes = measured(self.env, self._plan_of(rows), rotated)
        a, b = (
            [store.read(path) for outcome in side for path in outcome.paths]
            for side in (outcomes[:MACHINES], outcomes[MACHINES:])
        )
        judged = {row.row: row for row in first.comparison.rows if row.row in rows}
        seconds = {
            row: on_other_machines(first_look, a, b, first.comparison.delta) for row, first_look in judged.items()
        }
        return {row: second for row, second in seconds.items() if second is not None}


def _rows(rows: list[str]) -> str:
    return rows[0] if len(rows) == 1 else f"{len(rows)} rows"
