"""`kernometer report`: results and their comparison as one HTML file."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

from kernometer.cli.env import Env
from kernometer.cli.show_comparisons import known_layouts
from kernometer.report.page import build, render
from kernometer.report.write.file import write
from kernometer.results.model import Result
from kernometer.stats.alternate import ab
from kernometer.stats.compare import compare_many
from kernometer.stats.floors import Layout
from kernometer.stats.history import History, history_of
from kernometer.stats.model import Comparison


def command(env: Env, names: tuple[str, ...], output: Path, delta: float) -> None:
    store = env.store()
    systems = name_systems([each for name in dict.fromkeys(names) for each in by_target(store.load_set(name))])
    results = [result for members in systems.values() for result in members]
    earlier = history_of(store.history(*results))
    floors = known_layouts(store) if all(result.session.by == "path" for result in results) else ()
    comparisons = _compare(systems, earlier, delta, floors)
    named = history_of({result.session.id: result for result in results}.values())
    sessions = History((*earlier.entries, *named.entries))
    write(output, render(build(systems, comparisons, sessions, floors=floors)))
    for comparison in comparisons:
        env.say(comparison.sentence)
    env.say(f"The report is in {output}.")


def by_target(members: Sequence[Result]) -> list[Sequence[Result]]:
    """A set of sessions as sets of one target (and side) each, in the order in which these were first measured. A
    matrix and an `ab` store the sessions of several targets under one label, and these are different systems."""
    systems: dict[tuple[str, str], list[Result]] = {}
    for member in sorted(members, key=lambda member: (member.session.started, member.session.side)):
        systems.setdefault((member.session.target, member.session.side), []).append(member)
    return [*systems.values()]


def name_systems(sets: Sequence[Sequence[Result]]) -> dict[str, Sequence[Result]]:
    """Each set of sessions under a name that stays valid, unlike `@last`: the first of label, target, time and id by
    which all sets differ."""
    candidates = [
        [_common(member.session.label for member in members) for members in sets],
        [_common(member.session.target for member in members) for members in sets] if len(sets) > 1 else [],
        [f"{datetime.fromtimestamp(members[0].session.started, UTC):%Y-%m-%d %H:%M UTC}" for members in sets],
    ]
    for names in candidates:
        if names and all(names) and len(set(names)) == len(sets):
            return dict(zip(names, sets, strict=True))
    return {members[0].session.id: members for members in sets}


def _common(values: Iterable[str]) -> str:
    """The value that all have in common, else ""."""
    different = set(values)
    return different.pop() if len(different) == 1 else ""


def _compare(
    systems: Mapping[str, Sequence[Result]], history: History, delta: float, floors: Sequence[Layout]
) -> Sequence[Comparison]:
    """Compares all with the first; the two sides of one `ab` by their blocks. Empty for a single system."""
    (first, baseline), *others = systems.items()
    if not others:
        return ()
    if len(others) == 1 and len(baseline) == len(others[0][1]) == 1:
        a, b = baseline[0], others[0][1][0]
        if a.session.experiment and a.session.experiment == b.session.experiment:
            return (ab(a, b, delta, name_a=first, name_b=others[0][0], floors=floors),)
    return compare_many(baseline, dict(others), history=history, delta=delta, name_baseline=first, floors=floors)
