"""The columns of a matrix: from what was measured just now, or from the store."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from kernometer.errors import UsageError
from kernometer.results.model import Result
from kernometer.results.store import Store, read_file
from kernometer.stats.series import Column

if TYPE_CHECKING:
    from kernometer.campaign.cells import Outcome


def measured(outcomes: Sequence[Outcome], aside: Sequence[str]) -> list[Column]:
    """One column per target (by time: per target and machine), in the order given. `aside` names targets, which stand
    aside on every machine, or columns. Raises ResultError if a file cannot be read."""
    return [
        Column(
            outcome.name,
            tuple(read_file(path) for path in outcome.paths),
            outcome.why,
            bool({outcome.name, outcome.target}.intersection(aside)),
        )
        for outcome in outcomes
    ]


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
        later = (other for other in results if other.session.started > cut.session.started and _complete(other))
        return not _complete(cut) and any({*cut.rows} <= {*other.rows} for other in later)

    return [result for result in results if not again(result)]


def _complete(result: Result) -> bool:
    return result.end is not None and result.end.complete


def _why(results: Sequence[Result]) -> str:
    """Why a session of a column is not complete; "" if all are."""
    for result in results:
        if result.end is None:
            return "a session was cut off"
        if not result.end.complete:
            return result.end.reason or "a session is not whole"
    return ""
