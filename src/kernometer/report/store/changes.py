"""Rows over stored sessions on the terminal and as a document: what changed when, and with which kernel."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from datetime import UTC, datetime
from typing import Any

from kernometer.report.session.systems import single
from kernometer.report.words.units import counted, ratio_text
from kernometer.report.write.document import pick, plain
from kernometer.report.write.terminal import Block, Grid, Line
from kernometer.stats.changes import FEWEST, Change, Course
from kernometer.text import printable

#: Characters of a fact; the changes of a row's line that table and page show, the largest.
FACT, SHOWN = 100, 6


def blocks(histories: Sequence[Course], *, every: bool) -> Iterator[Block]:
    """For the terminal, one table per target and build of the probe, which is named if a target has several. `every`:
    every point; without it only rows with a change, and the points around the largest ones."""
    kinds = dict.fromkeys((history.target, history.by, history.probe) for history in histories)
    for target, by, probe in kinds:
        mine = [history for history in histories if (history.target, history.by, history.probe) == (target, by, probe)]
        changed = [history for history in mine if history.changes]
        built = f" ({probe})" if sum(kind[:2] == (target, by) for kind in kinds) > 1 else ""
        yield Line(printable(f"{target} by {by}{built}: {len(changed)} of {len(mine)} rows changed"), "bold")
        if shown := mine if every else changed:
            heads = ("row", "measured", "figure", "ratio", "what changed")
            yield Grid(heads, (line for history in shown for line in _lines(history, every=every)), left=(0, 1, 4))
            if not every and any(len(history.changes) > SHOWN for history in shown):
                yield Line("kernometer list --history ROW shows every session of a row.", "dim")
        if short := [len(history.points) for history in mine if history.short]:
            lacking = f"{len(short)} rows were measured on {max(short)} occasions or fewer; a change takes {FEWEST}."
            yield Line(lacking, "dim")


def _lines(history: Course, *, every: bool) -> Iterator[Sequence[str]]:
    at = {change.at: change for change in (history.changes if every else largest(history))}
    places = range(len(history.points)) if every else sorted({place for each in at for place in (each - 1, each)})
    for number, place in enumerate(places):
        name = printable(history.row) if number == 0 else ""
        point, change = history.points[place], at.get(place)
        when = f"{datetime.fromtimestamp(point.started, UTC):%Y-%m-%d %H:%M}"
        what = (ratio_text(change.ratio), "; ".join(told(change)) or "nothing known") if change else ("", "")
        yield name, when, single(point.figure).text, *what
    if smaller := len(history.changes) - len(at):
        yield "", "", "", "", f"and {counted(smaller, 'smaller change')}"


def largest(history: Course) -> tuple[Change, ...]:
    """The changes that are shown, in their order."""
    known = sorted(history.changes, key=size, reverse=True)[:SHOWN]
    return tuple(change for change in history.changes if change in known)


def size(change: Change) -> float:
    """How large, up or down: never below 1."""
    return max(change.ratio, 1 / change.ratio)


#: Facts that a commit tells better.
TOLD_BY_COMMIT = ("image", "kernel")


def told(change: Change, without: Collection[str] = ()) -> Iterator[str]:
    """Each fact's parts that differ: an image's version, or its digest's beginning; of commits the measured one before,
    and the first with the change."""
    if any(what == "commit" for what, _before, _after in change.facts):
        without = (*without, *TOLD_BY_COMMIT)
    for what, before, after in (fact for fact in change.facts if fact[0] not in without):
        a, b = _short(before, after), _short(after, before)
        words = f"{before.partition(' ')[0]}..{after}" if what == "commit" else f"{a or 'none'} → {b or 'none'}"
        yield printable(f"{what}: {words}", FACT)


def _short(text: str, other: str) -> str:
    words = [word for word in text.split() if word not in other.split()]
    return " ".join(word[:19] if word.startswith("sha256:") else word for word in words)


def document(histories: Sequence[Course]) -> list[dict[str, Any]]:
    """For --json; costs in ns, by path in instructions."""
    return [
        pick(history, "row", "target", "by", "probe")
        | {
            "enough": not history.short,
            "points": [
                pick(each, "started", "sessions") | {"cost": each.figure.cost, **each.facts} for each in history.points
            ],
            "changes": [
                {
                    "sessions": plain(history.points[each.at].sessions),
                    "ratio": each.ratio,
                    "facts": [{"what": what, "before": a, "after": b} for what, a, b in each.facts],
                }
                for each in history.changes
            ],
        }
        for history in histories
    ]
