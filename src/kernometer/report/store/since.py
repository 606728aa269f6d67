"""Rows over stored sessions as one HTML file: a chart a row, what changed it and when, by path also which functions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from kernometer.explain.functions import Difference
from kernometer.report.chart import courses as chart
from kernometer.report.chart.axis import Plot
from kernometer.report.chart.curves import MARKS
from kernometer.report.profile.functions import ChangedView, changed_view, common
from kernometer.report.session.absolute import anchor, family
from kernometer.report.session.systems import letter, single
from kernometer.report.store.changes import largest, size, told
from kernometer.report.words.names import name, sentence
from kernometer.report.words.units import counted, ratio_text
from kernometer.report.write.html import fill
from kernometer.results.commits import Commit
from kernometer.results.rows import Row
from kernometer.stats.changes import FEWEST, Change, Course, Point
from kernometer.stats.model import Verdict
from kernometer.tables import grouped

#: The moments that are shown: those with the largest changes; and the rows of one.
MOMENTS, ROWS = 25, 6
#: The sessions right before and after a change; the functions that make a row's change there; commits by session.
Sides = tuple[str, str]
Functions = Mapping[tuple[str, Sides], Difference]
Commits = Mapping[str, Commit]


@dataclass(frozen=True, slots=True)
class ChangeView:
    row: str
    anchor: str  #: of its chart
    number: int  #: there
    letter: str  #: of its target
    change: Change
    before: str
    after: str
    x: float
    when: str
    what: tuple[str, ...]
    difference: Difference | None

    @property
    def kind(self) -> str:
        return _verdict(self.change).value

    @property
    def ratio(self) -> str:
        return ratio_text(self.change.ratio)

    @property
    def functions(self) -> ChangedView | None:
        return changed_view(self.difference) if self.difference else None


@dataclass(frozen=True, slots=True)
class RowView:
    row: str
    anchor: str
    family: str
    now: str  #: the newest figure of each target
    plot: Plot | None
    changes: tuple[ChangeView, ...]
    smaller: int  #: how many changes are not shown


@dataclass(frozen=True, slots=True)
class Moment:
    """All rows that changed at one commit, or at one time; the largest change first."""

    when: str
    changes: tuple[ChangeView, ...]

    @property
    def what(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(fact for change in self.changes for fact in change.what))

    @property
    def counts(self) -> str:
        more = sum(change.kind == Verdict.SLOWER.value for change in self.changes)
        return f"{more} cost more, {len(self.changes) - more} less"

    @property
    def functions(self) -> str:
        """That make most of it; "" if not known."""
        return sentence(common([change.difference for change in self.changes if change.difference]))


def sides(course: Course, change: Change) -> Sides:
    return course.points[change.at - 1].sessions[-1], course.points[change.at].sessions[0]


def _verdict(change: Change) -> Verdict:
    return Verdict.SLOWER if change.ratio > 1 else Verdict.FASTER


def render(courses: Sequence[Course], commits: Commits, functions: Functions) -> str:
    """The page. `commits`: of all sessions, if these are in the order of a source tree, else empty."""
    return fill("since.html.j2", view(courses, commits, functions), "report.css", "matrix.css")


def view(courses: Sequence[Course], commits: Commits, functions: Functions) -> dict[str, Any]:
    points = [point for course in courses for point in course.points]
    sessions = {session for point in points for session in point.sessions}
    targets = [*dict.fromkeys(map(_target, courses))]
    page = _Page({key: letter(index) for index, key in enumerate(targets)}, commits, functions)
    rows = [page.row(lines) for lines in grouped(((course.row, course.by), course) for course in courses).values()]
    changed = sorted(
        (row for row in rows if row.changes), key=lambda row: -max(size(each.change) for each in row.changes)
    )
    moments = _moments(each for row in changed for each in row.changes)
    first, last = (_date(edge(point.started for point in points)) for edge in (min, max))
    short = [len(course.points) for course in courses if course.short]
    few = f"{len(short)} lines have {max(short)} occasions or fewer; by time a change takes {FEWEST}." if short else ""
    return {
        "title": f"Since when: {counted(len(rows), 'row')}, {counted(len(sessions), 'session')}",
        "lead": f"{len(changed)} of {counted(len(rows), 'row')} changed between {first} and {last}.",
        "by": " and ".join(sorted({course.by for course in courses})),
        "over": "commits" if commits else "dates",
        "targets": [(page.letters[key], _name(key, targets)) for key in targets],
        "notes": [few] if few else [],
        "moments": sorted(moments[:MOMENTS], key=lambda moment: -moment.changes[0].x),
        "smaller": len(moments[MOMENTS:]),
        "changed": changed,
        "steady": [*grouped((row.family, row) for row in rows if not row.changes).items()],
        "most": ROWS,
    }


_Target = tuple[str, str, str]


def _target(course: Course) -> _Target:
    return course.target, course.by, course.probe


def _name(key: _Target, targets: Sequence[_Target]) -> str:
    several = sum(other[:2] == key[:2] for other in targets) > 1
    return name(f"{key[0]} by {key[1]}") + (f" ({name(key[2])})" if several else "")


def _date(started: float) -> str:
    return f"{datetime.fromtimestamp(started, UTC):%Y-%m-%d %H:%M}"


def _moments(changes: Iterable[ChangeView]) -> list[Moment]:
    """The largest first."""
    ordered = sorted(changes, key=lambda each: -size(each.change))
    return [Moment(when, tuple(views)) for when, views in grouped((each.when, each) for each in ordered).items()]


@dataclass(frozen=True, slots=True)
class _Page:
    """What all rows share."""

    letters: Mapping[_Target, str]
    commits: Commits
    functions: Functions

    def _x(self, point: Point) -> float:
        return point.place if self.commits else point.started

    def _when(self, point: Point) -> str:
        return self.commits[point.sessions[0]].words if self.commits else _date(point.started)

    def _ticks(self, points: Iterable[Point]) -> list[tuple[float, str]]:
        """Commits, or days; within one day its hours."""
        at = {self._x(point): point for point in points}
        dates = {_date(point.started)[:10] for point in at.values()}
        part = slice(0, 10) if len(dates) > 1 else slice(11, None)
        return [(x, self._when(point)[slice(0, 7) if self.commits else part]) for x, point in sorted(at.items())]

    def row(self, courses: Sequence[Course]) -> RowView:
        """One row with the lines of all targets."""
        changes: list[ChangeView] = []
        lines = []
        for course in courses:
            own = [self._change(course, change, at) for at, change in enumerate(largest(course), len(changes) + 1)]
            marks = {each.change.at: (each.number, _verdict(each.change)) for each in own}
            points = tuple((self._x(point), point.figure) for point in course.points)
            lines.append(chart.Line([*self.letters].index(_target(course)) % len(MARKS), points, marks))
            changes += own
        row, over = name(courses[0].row), "commits" if self.commits else "dates"
        text = (
            "; ".join(f"{each.number}: {each.when}, {each.before} to {each.after}" for each in changes) or "no change"
        )
        now = [f"{self.letters[_target(course)]} {single(course.points[-1].figure).text}" for course in courses]
        ticks = self._ticks(point for course in courses for point in course.points)
        return RowView(
            row=row,
            anchor=_anchor(courses[0]),
            family=family(Row(courses[0].row).workload)[1],
            now=", ".join(now),
            plot=chart.courses(lines, ticks, f"{row} over {over}", text),
            changes=tuple(changes),
            smaller=sum(len(course.changes) for course in courses) - len(changes),
        )

    def _change(self, course: Course, change: Change, number: int) -> ChangeView:
        before, after = course.points[change.at - 1], course.points[change.at]
        return ChangeView(
            row=name(course.row),
            anchor=_anchor(course),
            number=number,
            letter=self.letters[_target(course)],
            change=change,
            before=single(before.figure).text,
            after=single(after.figure).text,
            x=self._x(after),
            when=self._when(after),
            what=tuple(told(change, without=("commit", "seed"))),
            difference=self.functions.get((course.row, sides(course, change))),
        )


def _anchor(course: Course) -> str:
    return f"{anchor(course.row)}-{course.by}"
