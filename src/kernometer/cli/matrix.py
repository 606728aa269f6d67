"""`kernometer matrix`: many systems, measured or stored, against one: a table, a heat map, and what changed when."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from kernometer.cli import many
from kernometer.cli.arguments import targets as split_targets
from kernometer.cli.arguments import workloads as split_workloads
from kernometer.cli.env import Env
from kernometer.cli.planning import check_machines, plan_for
from kernometer.errors import Status, UsageError
from kernometer.results.model import By, Result
from kernometer.results.store import Store
from kernometer.stats.series import Column


def command(
    env: Env,
    names: tuple[str, ...],
    specs: tuple[str, ...],
    machines: tuple[str, ...],
    aside: tuple[str, ...],
    workloads: tuple[str, ...],
    profile: str,
    by: By,
    unit_costs: bool,
    boots: int,
    jobs: int | None,
    scheduler: str,
    resume: bool,
    label: str,
    seed: int | None,
    functions: bool,
    processor: str,
    different_machines: bool,
    dry_run: bool,
    **showing: Any,
) -> Status:
    shown = many.Shown(**showing)
    beside = split_targets(aside)
    if bool(names) == bool(specs):
        raise UsageError("Give either stored results or targets.", "For example: kernometer matrix label:kernels")
    if names and machines:
        raise UsageError("--machine is for what is measured; stored results have their machines.", "Leave it out.")
    if specs and shown.measure and by != "path":
        raise UsageError("--in shows what is counted by path.", "Add --by path.")
    if resume and (names or not label):
        raise UsageError("--resume goes on with a campaign that has a label.", "Give --on and --label as at first.")
    if names:
        columns = stored(env.store(), names, beside)
    else:
        chosen = many.on_machines(split_targets(specs), machines)
        each = [spec for spec in chosen if spec not in beside] + [*beside]
        different_machines |= bool(machines)
        plan = partial(plan_for, by=by, profile=profile, words=split_workloads(workloads), seed=seed)
        label = label or many.fresh_label("matrix")
        rounds = many.Rounds(
            *(label, boots, jobs, "median" if functions else "", processor),
            different_machines=different_machines,
            dry_run=dry_run,
            scheduler=scheduler,
            resume=resume,
        )
        measured = many.measure(env, each, beside, by, plan, rounds, unit_costs=unit_costs)
        if measured is None:
            return Status.DONE
        columns = measured
    if names and not different_machines:
        measured_on = {column.name: {result.session.machine for result in column.results} for column in columns}
        check_machines({name: machines_of for name, machines_of in measured_on.items() if machines_of})
    return many.judge(env, columns, shown)


def stored(store: Store, names: Sequence[str], aside: Sequence[str]) -> list[Column]:
    """All sessions of one label, target and host are one column, by time; a session without a label is a column of its
    own. A session that was cut off is left out if a later one is complete and has its rows: it was measured again.

    `aside` as for `measured`. Raises ResultError if a name has no result, UsageError if `aside` names no column.
    """
    groups: dict[str, dict[str, Result]] = {}
    for result in (member for name in dict.fromkeys(names) for member in store.load_set(name)):
        groups.setdefault(result.session.label or result.session.id, {})[result.session.id] = result
    columns: dict[tuple[str, str], list[Result]] = {}
    for label, results in groups.items():
        hosts: dict[str, set[str]] = {}
        for result in results.values():
            hosts.setdefault(result.session.target, set()).add(result.session.host_id)
        for result in sorted(results.values(), key=lambda each: each.session.started):
            target = result.session.target
            name = f"{target} on host {result.session.host_id[:8]}" if len(hosts[target]) > 1 else target
            columns.setdefault((label, name), []).append(result)
    named = _named([*columns])
    known = {key: {named[key], sessions[0].session.target} for key, sessions in columns.items()}
    unknown = [spec for spec in aside if not any(spec in names for names in known.values())]
    if unknown:
        raise UsageError(f"{unknown[0]!r} is not one of the systems.", f"They are {', '.join(named.values())}.")
    kept = {key: _without_again(sessions) for key, sessions in columns.items()}
    made = [
        Column(named[key], tuple(sessions), _why(sessions), bool(known[key].intersection(aside)))
        for key, sessions in kept.items()
    ]
    return sorted(made, key=lambda column: column.aside)


def _named(keys: Sequence[tuple[str, str]]) -> dict[tuple[str, str], str]:
    """Names by target if all differ, else by label (or id), else by both."""
    labels, targets = [label for label, _ in keys], [target for _, target in keys]
    if len(set(targets)) == len(keys):
        return dict(zip(keys, targets, strict=True))
    if len(set(labels)) == len(keys):
        return dict(zip(keys, labels, strict=True))
    return {key: f"{key[0]} {key[1]}" for key in keys}


def _without_again(results: Sequence[Result]) -> list[Result]:
    def again(cut: Result) -> bool:
        later = (other for other in results if other.session.started > cut.session.started and other.complete)
        return not cut.complete and any({*cut.rows} <= {*other.rows} for other in later)

    return [result for result in results if not again(result)]


def _why(results: Sequence[Result]) -> str:
    """Why a session of a column is not complete; "" if all are."""
    for result in results:
        if result.end is None:
            return "a session was cut off"
        if not result.end.complete:
            return result.end.reason or "a session is not whole"
    return ""
