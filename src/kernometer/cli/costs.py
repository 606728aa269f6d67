"""What `explain` says by counts: of two structures of Trio by events, of other guests by topic of their functions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path

from kernometer.cli import many
from kernometer.cli.env import Env
from kernometer.cli.planning import plan_for
from kernometer.errors import UsageError
from kernometer.explain.costs import Explained, explained, side
from kernometer.explain.partitions import MONO, structure_of, switches_of
from kernometer.explain.topics import Topical, of_results
from kernometer.report.explanation.costs import blocks, page
from kernometer.report.profile.functions import topic_blocks
from kernometer.report.write.file import write
from kernometer.results.model import Result
from kernometer.results.rows import Row

#: Of one target, in search of its units.
LOOKED_AT = 50


def are_of_trio(specs: Sequence[str]) -> bool:
    """Whether both are. Raises UsageError if they are, and not exactly one has its services in the kernel."""
    found = [each[0] for spec in specs if (each := structure_of(spec))]
    within = [each for each in found if switches_of(each)[0] == MONO]
    if len(found) == len(specs) and len(within) != 1:
        raise UsageError(
            "One of two structures is to have its services in the kernel, the other servers.",
            "For example: qemu:trio-mono qemu:trio-micro",
        )
    return len(found) == len(specs)


def measured(env: Env, specs: Sequence[str], words: Sequence[str]) -> dict[str, list[Result]]:
    """Of each target a session of the rows, stored under one label: if all are Trio with one of Trio's units, else with
    profiles. Raises UsageError if one is no guest, or has no profile; and as are_of_trio does."""
    of_trio = are_of_trio(specs)
    how = many.Rounds(many.fresh_label("explain"), profiled="" if of_trio else "median")
    found: dict[str, list[Result]] = {spec: [] for spec in specs}
    for units, rows in ((True, ()), (False, words)):
        if units and not of_trio:
            continue
        plan_of = partial(plan_for, by="path", profile="quick", words=rows, seed=None)
        for column in many.measure(env, specs, specs[1:], "path", plan_of, how, unit_costs=units) or ():
            found[column.name] += column.results
    return found


def kept(env: Env, results: Mapping[str, Result]) -> Explained | None:
    """The costs by these two sessions and, of the same kernels, the newest ones of Trio's units; None without them."""
    if len(results) != 2 or not all(_is_counted(one) for one in results.values()):
        return None
    sides = {one.session.target: [one, *_units_of(env, one)] for one in results.values()}
    return costs_of(sides) if len(sides) == 2 else None


def _is_counted(result: Result) -> bool:
    return result.session.by == "path" and structure_of(result.session.target) is not None


def _units_of(env: Env, like: Result) -> Iterator[Result]:
    """The newest session of Trio's units on that very kernel."""
    store = env.store()
    for summary in store.summaries(target=like.session.target, by="path", newest=LOOKED_AT):
        if summary.image != like.session.image:
            continue
        found = store.read(summary.path)
        if any(Row(run.row).is_unit_cost for run in found.runs):
            yield found
            return


def costs_of(sides: Mapping[str, Sequence[Result]]) -> Explained | None:
    """None if not exactly one of the two has servers, or one lacks the units."""
    (name_a, a), (name_b, b) = sides.items()
    return explained(side(name_a, a), side(name_b, b), [*a, *b])


def topics_of(sides: Mapping[str, Sequence[Result]]) -> tuple[Topical, ...]:
    """Of the operations that both have profiles of; none without two systems."""
    a, b = sides.values()
    return of_results(a, b)


def tell_topics(env: Env, rows: Sequence[Topical], names: Sequence[str]) -> None:
    """On the terminal."""
    a, b = names
    env.show(topic_blocks(rows, (a, b), with_trio=any(map(structure_of, names))))


def tell(env: Env, costs: Explained, report_file: Path | None) -> None:
    """On the terminal, and as a page."""
    if not env.json:
        env.show(blocks(costs))
    if report_file is not None:
        write(report_file, page(costs))
        env.say(f"The report is in {report_file}.")
