"""A campaign over many targets: its cells, their order, and what became of each target.

A cell is one session: by path one of each target, by time one of each target in each round, on each machine. `Places`
measure cells: this host (`here`), or the workers of a scheduler (`scheduler`). A target that fails gets an outcome with
the reason, and the others continue.
"""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

import msgspec

from kernometer.campaign.plan import Plan
from kernometer.errors import KernometerError, StoppedError, UsageError
from kernometer.results.model import AnyRecord, Result
from kernometer.results.store import Store

Listen = Callable[["AnyRecord"], None]
#: The complete sessions of an interrupted campaign, the oldest first, by target and host ("" by path).
Finished = Mapping[tuple[str, str], tuple[Path, ...]]


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of one target, by time on one machine."""

    target: str
    machine: str = ""  #: the cell's
    paths: tuple[Path, ...] = ()  #: its sessions, the oldest first, even one that was cut off
    error: KernometerError | None = None  #: why it failed

    @property
    def name(self) -> str:
        return _name(self.target, self.machine)

    @property
    def why(self) -> str:
        """The error's text, without the target's name before it; "" without an error."""
        return self.error.text.removeprefix(f"{self.target}: ") if self.error is not None else ""


@dataclass(slots=True)
class Cell:
    """One session to be measured."""

    target: str
    plan: Plan
    machine: str = ""  #: one of the places' machines; "": on any
    tries: int = 0

    @property
    def name(self) -> str:
        return _name(self.target, self.machine)


def _name(target: str, machine: str) -> str:
    return f"{target} on {machine}" if machine else target


class Places(Protocol):
    """Where cells are measured."""

    @property
    def machines(self) -> tuple[str, ...]:
        """By time every target is measured on each of them."""

    def host(self, target: str, machine: str) -> str:
        """`Session.host_id` of a session by time of that target there."""

    def measured(self, waiting: deque[Cell]) -> Generator[tuple[Cell, Outcome], None, None]:
        """Takes each cell from `waiting` when it begins; yields it with its outcome. Closing ends what is measured."""


def measure_cells(
    plan: Plan, targets: Sequence[str], places: Places, label: str, rounds: int = 1, finished: Finished | None = None
) -> list[Outcome]:
    """Measures every cell that is not `finished`. One outcome for each target, by time for each target and machine.

    A target that fails is left out of later rounds. Ctrl-C ends all cells, keeps what was measured, and raises
    StoppedError.
    """
    machines = places.machines if plan.by == "time" else ("",)
    outcomes: dict[str, Outcome] = {}
    for target in targets:
        for machine in machines:
            host = places.host(target, machine) if plan.by == "time" else ""
            begun = Outcome(target, machine, (finished or {}).get((target, host), ()))
            outcomes[begun.name] = begun
    rounds = rounds if plan.by == "time" else 1  # counts do not vary
    planned = ((number, cell) for number in range(rounds) for cell in _round(plan, targets, machines, number))
    waiting = deque(cell for number, cell in planned if len(outcomes[cell.name].paths) <= number)
    try:
        with closing(places.measured(waiting)) as measured:
            for cell, outcome in measured:
                before = outcomes[cell.name]
                error = before.error or outcome.error
                outcomes[cell.name] = replace(before, paths=(*before.paths, *outcome.paths), error=error)
                if error is not None:
                    for later in [cell_waiting for cell_waiting in waiting if cell_waiting.name == cell.name]:
                        waiting.remove(later)
    except KeyboardInterrupt as interrupt:
        raise StoppedError(
            "Interrupted. What was measured until then is kept.", f"kernometer list --label '{label}'"
        ) from interrupt
    return [*outcomes.values()]


def _round(plan: Plan, targets: Sequence[str], machines: Sequence[str], number: int) -> Iterator[Cell]:
    """By time in random order, with a seed for this round; both come from the plan's seed."""
    if plan.by == "path":
        yield from (Cell(target, plan) for target in targets)
        return
    for machine in machines:
        source = random.Random(repr((plan.seed, number, machine)))  # noqa: S311  # an order, not a secret
        order = source.sample(targets, len(targets))
        of_round = replace(plan, seed=source.getrandbits(32))
        yield from (Cell(target, of_round, machine) for target in order)


def finished(store: Store, label: str, plan: Plan) -> Finished:
    """The complete sessions of that label. Raises UsageError if one of them is not of this plan."""
    paths: dict[tuple[str, str], tuple[Path, ...]] = {}
    for summary in reversed(store.summaries(label=label)):
        if summary.complete and not summary.problem:
            result = store.read(summary.path)
            differs = _other_plan(result, plan)
            if differs:
                raise UsageError(
                    f"The session {summary.id} of the label {label!r} was measured {differs}.",
                    "Give the same words as then, or another --label.",
                )
            key = (result.session.target, result.session.host_id if plan.by == "time" else "")
            paths[key] = (*paths.get(key, ()), summary.path)
    return paths


def _other_plan(result: Result, plan: Plan) -> str:
    """How the session was measured unlike the plan; "" if it was not."""
    session = result.session
    there = {*result.rows, *(failure.row for failure in result.failures), *(lack.row for lack in result.unsupported)}
    if session.experiment:
        return "as a side of an 'ab'"
    if (session.by, session.profile) != (plan.by, plan.profile):
        return f"by {session.by} with the profile {session.profile}"
    if plan.by == "time" and session.effort != msgspec.to_builtins(plan.effort):
        return "with another effort"
    if lacking := [row for row in plan.rows if row not in there]:
        return f"without {lacking[0]}"
    if plan.profiled and not result.profiles:
        return "without profiles"
    return ""
