"""Figures as github-action-benchmark takes and keeps them, so that a project's chart goes on with ours.

Its tool `customSmallerIsBetter` reads a JSON array of `name`, `unit`, `value`, `range` and `extra`. Its chart reads
data.js: a script with one object, in which `entries` has, by suite, one entry a commit with such an array as `benches`.
Values are costs, so that smaller is better whatever the row's own unit.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from kernometer.results.commits import Commit
from kernometer.stats.changes import Course, Point
from kernometer.tables import grouped
from kernometer.text import printable

TOOL = "customSmallerIsBetter"
#: The suite in data.js, and what a workflow gives as the action's `name`.
SUITE = "Kernometer"
_PREFIX = "window.BENCHMARK_DATA = "
_UNITS = {"instructions": "instructions", "count": "1/count"}


def newest(courses: Sequence[Course]) -> str:
    """The figures of the newest session, and of those of its commit or label, for the action's `output-file-path`."""
    ends = [(course, course.points[-1]) for course in courses]
    last = max((point for _course, point in ends), key=_at)
    return json.dumps([_bench(course, point) for course, point in ends if _key(point) == _key(last)], indent=1) + "\n"


def data_js(courses: Sequence[Course], commits: Mapping[str, Commit], before: str) -> str | None:
    """All figures as data.js; of `before`, the file as it was or "", other suites stay. None if that is no data.js.
    `commits`: of sessions; one without is named by its label or its id."""
    data: Any = {"lastUpdate": 0, "repoUrl": "", "entries": {}}
    if before:
        try:
            data = json.loads(before.removeprefix(_PREFIX))
        except ValueError:
            return None
        if not (before.startswith(_PREFIX) and isinstance(data, dict) and isinstance(data.get("entries"), dict)):
            return None
    every = sorted(((point, course) for course in courses for point in course.points), key=lambda pair: _at(pair[0]))
    entries: list[dict[str, Any]] = []
    for key, pairs in grouped((_key(point), (point, course)) for point, course in every).items():
        point, commit = pairs[0][0], commits.get(pairs[0][0].sessions[0])
        who = {"name": commit.author if commit else "", "username": commit.author if commit else ""}
        facts = {
            "id": commit.id if commit else printable(key),
            "message": commit.subject if commit else printable(point.facts["image"] or point.facts["kernel"], 200),
            "timestamp": datetime.fromtimestamp(commit.when if commit else point.started, UTC).isoformat(),
            "url": f"{data['repoUrl']}/commit/{commit.id}" if commit and data.get("repoUrl") else "",
        }
        benches = [_bench(course, point) for point, course in pairs]
        date = round(1000 * point.started)
        entries.append(
            {"commit": {"author": who, "committer": who, **facts}, "date": date, "tool": TOOL, "benches": benches}
        )
    data["entries"][SUITE] = entries
    data["lastUpdate"] = max(entry["date"] for entry in entries)
    return _PREFIX + json.dumps(data, indent=1) + "\n"


def _at(point: Point) -> tuple[int, float]:
    return point.place, point.started


def _key(point: Point) -> str:
    """What the figures of one commit share."""
    return point.facts.get("commit") or point.label or point.sessions[-1]


def _bench(course: Course, point: Point) -> dict[str, Any]:
    figure = point.figure
    cost, low, high = figure.cost or 0.0, figure.low, figure.high
    said = f"per {figure.per}; sessions {', '.join(point.sessions)}; {point.facts['kernel']}"
    bench = {
        "name": printable(f"{course.row} ({course.target} by {course.by})"),
        "unit": _UNITS.get(figure.unit, "ns"),
        "value": cost,
        "extra": printable(said, 300),
    }
    spread = max(high - cost, cost - low) if low is not None and high is not None else 0.0
    return bench | ({"range": f"± {spread:.3g}"} if spread else {})
