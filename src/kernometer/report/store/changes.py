"""Rows over stored sessions on the terminal and as a document: what changed when, and with which kernel."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from rich.table import Table
from rich.text import Text

from kernometer.report.session.systems import single
from kernometer.report.words.units import ratio_text
from kernometer.stats.changes import FEWEST, Change, Course
from kernometer.text import printable

if TYPE_CHECKING:
    from rich.console import Console

#: Characters of a fact.
FACT = 100


def print_courses(console: Console, courses: Sequence[Course], *, whole: bool) -> None:
    """`whole`: every point; without it only rows with a change, and the points around it. A table each target
    and each build of the probe, which is named if a target has several."""
    kinds = dict.fromkeys((one.target, one.by, one.probe) for one in courses)
    for target, by, probe in kinds:
        mine = [one for one in courses if (one.target, one.by, one.probe) == (target, by, probe)]
        changed = [one for one in mine if one.changes]
        of = f" ({probe})" if sum(kind[:2] == (target, by) for kind in kinds) > 1 else ""
        console.print(Text(printable(f"{target} by {by}{of}: {len(changed)} of {len(mine)} rows changed"), "bold"))
        if shown := mine if whole else changed:
            console.print(_table(shown, whole=whole))
        if short := [len(one.points) for one in mine if one.short]:
            told = f"{len(short)} rows were measured on {max(short)} occasions or fewer; a change takes {FEWEST}."
            console.print(Text(told, "dim"))


def _table(courses: Sequence[Course], *, whole: bool) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for head in ("row", "measured", "figure", "ratio", "what changed"):
        table.add_column(head, justify="right" if head in ("figure", "ratio") else "left", overflow="fold")
    for course in courses:
        at = {change.at: change for change in course.changes}
        places = range(len(course.points)) if whole else sorted({place for each in at for place in (each - 1, each)})
        for number, place in enumerate(places):
            name = printable(course.row) if number == 0 else ""
            point, change = course.points[place], at.get(place)
            when = f"{datetime.fromtimestamp(point.started, UTC):%Y-%m-%d %H:%M}"
            told = (ratio_text(change.ratio), "; ".join(_told(change)) or "nothing known") if change else ()
            table.add_row(*map(Text, (name, when, single(point.figure).text, *told)))
    return table


def _told(change: Change) -> Iterator[str]:
    """Each fact's parts that differ: an image's version, or its digest's beginning."""
    for what, before, after in change.facts:
        a, b = _short(before, after), _short(after, before)
        yield printable(f"{what}: {a or 'none'} → {b or 'none'}", FACT)


def _short(text: str, other: str) -> str:
    words = [word for word in text.split() if word not in other.split()]
    return " ".join(word[:19] if word.startswith("sha256:") else word for word in words)


def document(courses: Sequence[Course]) -> list[dict[str, Any]]:
    """For --json; costs in ns, by path in instructions."""
    return [
        {
            "row": one.row,
            "target": one.target,
            "by": one.by,
            "probe": one.probe,
            "enough": not one.short,
            "points": [
                {"started": each.started, "sessions": each.sessions, "cost": each.figure.cost, **each.facts}
                for each in one.points
            ],
            "changes": [
                {
                    "sessions": one.points[each.at].sessions,
                    "ratio": each.ratio,
                    "facts": [{"what": what, "before": a, "after": b} for what, a, b in each.facts],
                }
                for each in one.changes
            ],
        }
        for one in courses
    ]
