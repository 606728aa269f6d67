"""`kernometer compare`: judges stored results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from kernometer.cli import gate as gates
from kernometer.cli import published
from kernometer.cli.env import Env
from kernometer.cli.planning import check_machines
from kernometer.cli.show_comparisons import known_layouts, show_comparisons
from kernometer.errors import UsageError
from kernometer.results.model import Result
from kernometer.results.store import Store
from kernometer.stats.compare import compare_many
from kernometer.stats.history import History, history_of
from kernometer.stats.model import Comparison


def command(
    env: Env,
    names: tuple[str, ...],
    baseline: str | None,
    delta: float,
    report_file: Path | None,
    whole: bool,
    points: bool,
    different_machines: bool,
    **gating: Any,
) -> None:
    gate = gates.wanted(**gating)
    first, others = _sides(names, baseline)
    store = env.store()
    sides = {name: store.column(name) for name in (first, *others)}
    if any(sides.values()):
        if gate is not None:
            raise UsageError("A table without samples has no verdicts, and so no gate.", "Leave --gate out.")
        published.compare(env, sides, report_file)
        return
    sets = {name: store.load_set(name) for name in (first, *others)}
    comparisons, history = judged(store, sets, delta, different_machines=different_machines)
    judgements = gates.judged(gate, sets, comparisons)
    show_comparisons(env, sets, comparisons, report_file, history, whole=whole, points=points, gates=judgements)
    if gate is not None:
        if any(gated.again for gated in judgements):
            env.say("Not measured again, since these sessions are stored: kernometer ab --gate does that.")
        raise click.exceptions.Exit(gates.tell(env, gate, judgements))


def judged(
    store: Store, sets: Mapping[str, Sequence[Result]], delta: float, *, different_machines: bool
) -> tuple[Sequence[Comparison], History]:
    """Compares the other sets with the first; returns also the history that it used."""
    results = [result for side in sets.values() for result in side]
    ways = {result.session.by for result in results}
    if not different_machines and len(ways) == 1:  # the statistics refuse times against counts
        check_machines({name: {result.session.machine for result in side} for name, side in sets.items()})
    history = history_of_hosts(store, results)
    (first, baseline), *others = sets.items()
    floors = known_layouts(store) if ways == {"path"} else ()
    comparisons = compare_many(baseline, dict(others), history=history, delta=delta, name_baseline=first, floors=floors)
    return comparisons, history


def _sides(names: tuple[str, ...], baseline: str | None) -> tuple[str, tuple[str, ...]]:
    first = baseline or (names[0] if names else "")
    others = tuple(dict.fromkeys(name for name in names if name != first))
    if not first or not others:
        raise UsageError(
            "At least two different results are needed.", "'kernometer list' shows them; for example: compare @1 @last"
        )
    return first, others


def history_of_hosts(store: Store, results: Sequence[Result]) -> History:
    """Earlier sessions of the hosts of `results`, without `results` themselves."""
    return history_of(store.history(*results))
