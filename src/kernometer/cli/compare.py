"""`kernometer compare`: judges stored results."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from kernometer.cli import gate as gates
from kernometer.cli import published
from kernometer.cli.env import Env
from kernometer.cli.planning import check_machines
from kernometer.cli.show_comparisons import known_layouts, show_comparisons, write_report
from kernometer.errors import Status, UsageError
from kernometer.results.model import Publication, Result
from kernometer.results.store import Store
from kernometer.stats.compare import compare_many
from kernometer.stats.history import History, history_of
from kernometer.stats.imported import beside, compare_imported
from kernometer.stats.model import Comparison


def command(
    env: Env,
    names: tuple[str, ...],
    baseline: str | None,
    delta: float,
    quantile: float | None,
    report_file: Path | None,
    everything: bool,
    points: bool,
    different_machines: bool,
    **gating: Any,
) -> Status:
    gate = gates.wanted(**gating)
    first, others = _sides(names, baseline)
    store = env.store()
    parts = {name: store.parted(name) for name in (first, *others)}
    imported = _imported({name: publications for name, (_paths, publications) in parts.items()}, delta)
    measured = all(paths for paths, _publications in parts.values())
    if not measured and (gate is not None or (imported and report_file)):
        raise UsageError(
            "A gate and a report are of measured results: a published table has no verdicts, an import no session.",
            "Leave --gate and --report out.",
        )
    if not measured and not imported:
        published.compare(env, {name: store.column(name) for name in parts}, report_file)
        return Status.DONE
    sets = {name: tuple(store.read(path) for path in paths) for name, (paths, _publications) in parts.items()}
    comparisons, history = (
        judged(store, sets, delta, quantile, different_machines=different_machines) if measured else ((), None)
    )
    judgements = gates.judged(gate, sets, comparisons)
    told = [*comparisons, *(_beside(each, comparisons, parts) for each in imported)]
    systems = {name: sets.get(name, ()) for each in told for name in (each.a, each.b)}
    for line in _left_out(parts, measured=measured, suites={each.a.partition(" of ")[0] for each in imported}):
        env.say(line)
    show_comparisons(env, systems, told, everything=everything, points=points, gates=judgements)
    write_report(env, sets, comparisons, history, report_file)
    if gate is not None:
        if any(gated.again for gated in judgements):
            env.say("Not measured again, since these sessions are stored: kernometer ab --gate does that.")
        return gates.tell(env, gate, systems, judgements)
    return Status.DONE


def _imported(sides: Mapping[str, Sequence[Publication]], delta: float) -> list[Comparison]:
    """A comparison for each suite that every side has files of, and each side but the first."""
    made: list[Comparison] = []
    for suite in dict.fromkeys(each.paper.suite for each in next(iter(sides.values()))):
        of_suite = {name: [each for each in side if each.paper.suite == suite] for name, side in sides.items()}
        files = {f"{suite} of {name}": side for name, side in of_suite.items()}
        if all(files.values()):
            made += compare_imported(files, delta)
    return made


def _left_out(
    parts: Mapping[str, tuple[Sequence[Path], Sequence[Publication]]], *, measured: bool, suites: Collection[str]
) -> Iterator[str]:
    """What a label means besides what is compared."""
    for name, (paths, publications) in parts.items():
        alone = [each.paper.title for each in publications if each.paper.suite not in suites]
        alone += [] if measured else ["a session of Kernometer"] * len(paths)
        if alone:
            yield f"{name}: left out, since another side has none: {', '.join(dict.fromkeys(alone))} ({len(alone)})"


def _beside(
    imported: Comparison, comparisons: Sequence[Comparison], parts: Mapping[str, tuple[object, Sequence[Publication]]]
) -> Comparison:
    """With what the sessions of the same sides decide."""
    for own in comparisons:
        if imported.a.endswith(f" of {own.a}") and imported.b.endswith(f" of {own.b}"):
            return beside(imported, own, parts[own.a][1])
    return imported


def judged(
    store: Store,
    sets: Mapping[str, Sequence[Result]],
    delta: float,
    quantile: float | None = None,
    *,
    different_machines: bool,
) -> tuple[Sequence[Comparison], History]:
    """Compares the other sets with the first; returns also the history that it used."""
    results = [result for side in sets.values() for result in side]
    ways = {result.session.by for result in results}
    if not different_machines and len(ways) == 1:  # the statistics refuse times against counts
        check_machines({name: {result.session.machine for result in side} for name, side in sets.items()})
    if quantile is not None and ways != {"time"}:
        raise UsageError("Quantiles are of times.", "Leave --quantile out.")
    history = history_of_hosts(store, results, quantile)
    (first, baseline), *others = sets.items()
    floors = known_layouts(store) if ways == {"path"} else ()
    comparisons = compare_many(
        baseline, dict(others), history=history, delta=delta, name_baseline=first, floors=floors, quantile=quantile
    )
    return comparisons, history


def _sides(names: tuple[str, ...], baseline: str | None) -> tuple[str, tuple[str, ...]]:
    first = baseline or (names[0] if names else "")
    others = tuple(dict.fromkeys(name for name in names if name != first))
    if not first or not others:
        raise UsageError(
            "At least two different results are needed.", "'kernometer list' shows them; for example: compare @1 @last"
        )
    return first, others


def history_of_hosts(store: Store, results: Sequence[Result], quantile: float | None = None) -> History:
    """Earlier sessions of the hosts of `results`, without `results` themselves. `quantile`: what is judged."""
    return history_of(store.history(*results), quantile)
