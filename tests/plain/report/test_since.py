"""Rows over commits or dates: what the page says of them, and what another project's chart gets."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import pytest

from kernometer.report.chart import courses as drawn
from kernometer.report.store import benchmark_action, since
from kernometer.report.store.changes import SHOWN
from kernometer.results.commits import Commit
from kernometer.stats.changes import Course, courses, past
from kernometer.stats.model import Verdict
from tests.support.report.courses import FIRST, LONG, commit, functions, made, results
from tests.support.report.factory import HOSTILE
from tests.support.report.html import ACTIVE, Elements
from tests.support.stats.simulate import path_result


def test_each_row_is_a_chart_with_every_target_and_its_changes() -> None:
    """Expected: numbered marks in the chart, each in the list with commit, figures, ratio and functions. Broken: a jump
    in a line, and the reader must look for the commit."""
    view = since.view(*made(), functions())
    assert [name for _letter, name in view["targets"]] == [
        "qemu:mine by path",
        "qemu:mine-micro by path",
        "local by time",
    ]
    opened = next(row for row in view["changed"] if row.row == "fs/open")
    assert [(one.number, one.letter, one.before, one.after, one.ratio) for one in opened.changes] == [
        (1, "A", "1,200 instr", "1,209 instr", "1.007"),
        (2, "A", "1,209 instr", "1,205 instr", "0.997"),
        (3, "B", "4,800 instr", "4,836 instr", "1.007"),
        (4, "B", "4,836 instr", "4,820 instr", "0.997"),
    ]
    assert opened.changes[0].when == commit(7).words
    assert opened.changes[0].functions is not None
    assert opened.changes[0].functions.summary == "+9: +6 in walk, +3 in copy (new)"
    assert opened.changes[1].functions is None
    assert opened.plot is not None
    numbers = re.findall(r'<text class="b"[^>]*>(\d+)</text>', opened.plot.svg)
    assert sorted(numbers) == ["1", "2", "3", "4"]
    assert opened.plot.svg.count('href="#m-slower"') == opened.plot.svg.count('href="#m-faster"') == 2
    (by_time,) = (row for row in view["changed"] if row.row == "syscall/getppid")
    assert [(one.letter, one.kind) for one in by_time.changes] == [("C", "slower")]
    assert {row.row for _family, rows in view["steady"] for row in rows} == {"syscall/getppid"}


def test_only_the_largest_changes_are_marked_and_the_others_are_counted() -> None:
    view = since.view(*made(), {})
    (ring,) = (row for row in view["changed"] if row.row == LONG)
    assert len(ring.changes) == 2 * SHOWN
    assert ring.smaller == 2 * (19 - SHOWN)


def test_what_changed_together_is_one_moment_with_the_newest_first() -> None:
    """Expected: by commit the rows that it changed on all targets, with the functions that make most of it; if there
    are too many those with the largest changes. Broken: a list of a thousand changes of one instruction."""
    view = since.view(*made(), functions())
    found = [moment.when for moment in view["moments"]]
    assert found == [commit(number).words for number in range(19, 0, -1) if commit(number).words in found]
    assert len(found) == 8  # six of a line with 19 changes, those of fs/open, and one by time
    (eighth,) = (one for one in view["moments"] if one.when == commit(7).words)
    assert eighth.counts == "2 cost more, 0 less"
    assert {f"{one.letter} {one.row}" for one in eighth.changes} == {"A fs/open", "B fs/open"}
    assert (eighth.what, eighth.functions) == ((), "walk in 1 row, copy (new) in 1 row")


def test_a_thousand_small_changes_do_not_hide_a_large_one() -> None:
    """Expected: of moments the largest, the others are counted. Broken: a list of changes of one instruction."""
    counts = [{f"a/{row}": 10_000 + at % 2 + 500 * (at > row) for row in range(9)} for at in range(40)]
    of = courses(past(path_result(f"s{at}", count, started=86400.0 * at)) for at, count in enumerate(counts))
    view = since.view(of, {}, {})
    assert [moment.when[:10] for moment in view["moments"][-9:]] == [
        f"1970-01-{row + 2:02}" for row in range(8, -1, -1)
    ]
    assert len(view["moments"]) <= since.MOMENTS


def test_over_dates_nothing_is_said_of_commits() -> None:
    page = since.render(*made(by_commit=False), {})
    assert "over dates" in page and "2026-11-18" in page
    assert commit(7).id[:7] not in page and "image: sha256:" in page


def test_targets_far_apart_have_panels_of_their_own() -> None:
    """Expected: a step of 1 % is as high beside a target that costs four times as much. Broken: two flat lines."""
    (course,) = courses(past(path_result(f"s{n}", {"a/b": 1000 + 10 * (n > 1)}, started=float(n))) for n in range(4))
    points = tuple((point.started, point.figure) for point in course.points)
    line = drawn.Line(0, points, {2: (1, Verdict.SLOWER)})
    far = tuple((at, replace(figure, value=4 * (figure.value or 0.0))) for at, figure in points)
    near = tuple((at, replace(figure, value=1.1 * (figure.value or 0.0))) for at, figure in points)

    def step(*lines: drawn.Line) -> float:
        plot = drawn.courses(lines, [(0.0, "x"), (3.0, "y")], "title", "text")
        assert plot is not None
        (path,) = re.findall(r'<path class="s s0" d="M([^"]*)"', plot.svg)
        heights = [float(point.split()[1]) for point in path.split("L")]
        return max(heights) - min(heights)

    assert step(line, replace(line, index=1, points=far)) == pytest.approx(step(line), abs=0.2)
    assert step(line, replace(line, index=1, points=near)) < step(line) / 5


def test_noise_is_not_blown_up_and_level_stretches_cost_nothing() -> None:
    """Expected: a chart spans 1 % of its figures at least; a line of 1,000 equal counts is two points."""
    (course,) = courses(past(path_result(f"s{n}", {"a/b": 10_000 + (n == 500)}, started=float(n))) for n in range(1000))
    points = tuple((point.started, point.figure) for point in course.points)
    plot = drawn.courses([drawn.Line(0, points, {})], [(0.0, "x"), (999.0, "y")], "title", "text")
    assert plot is not None
    (path,) = re.findall(r'<path class="s s0" d="M([^"]*)"', plot.svg)
    heights = [float(point.split()[1]) for point in path.split("L")]
    assert len(heights) <= 6
    assert max(heights) - min(heights) < 3


def test_strings_of_machines_and_commits_stay_text() -> None:
    page = Elements(since.render(*hostile(), {}))
    assert not ACTIVE & {tag for tag, _ in page.found}
    assert not any(name.startswith("on") for _, attributes in page.found for name in attributes)
    assert "\x1b" not in "".join(page.text)


def hostile() -> tuple[tuple[Course, ...], dict[str, Commit]]:
    one = replace(commit(0), subject=HOSTILE, author=HOSTILE)
    made = [
        past(path_result(f"s{n}", {HOSTILE: 100 + n}, started=float(n), target=HOSTILE, image=f"{HOSTILE} {n}"))
        for n in range(3)
    ]
    placed = [
        replace(each, label=HOSTILE, facts={"commit": f"{n}{HOSTILE}", **each.facts}) for n, each in enumerate(made)
    ]
    return courses(placed), {each.entry.session: one for each in placed}


def labelled(count: int) -> tuple[Course, ...]:
    pasts = (past(result) for result in results(count))
    return courses(replace(each, label=f"v{each.entry.session.rpartition('-')[2]}") for each in pasts)


def test_the_action_gets_the_newest_figures_as_costs() -> None:
    """Expected: of the sessions with the newest label, name, unit, value (smaller is better), range by time. Broken:
    its chart starts anew, calls a faster kernel an alert, or shows another commit's figures as this one's."""
    found = {each["name"]: each for each in json.loads(benchmark_action.newest(labelled(20)))}
    assert found["fs/open (qemu:mine by path)"] | {"extra": ""} == {
        "name": "fs/open (qemu:mine by path)",
        "unit": "instructions",
        "value": 1205,
        "extra": "",
    }
    by_time = found["syscall/getppid (local by time)"]
    assert by_time["unit"] == "ns" and 100 < by_time["value"] < 125 and by_time["range"].startswith("± ")
    (old,) = courses([past(path_result("old", {"a/b": 5}, label="v0", started=FIRST))])
    assert "a/b" not in benchmark_action.newest((*labelled(20), old))
    single = json.loads(benchmark_action.newest(made(by_commit=False)[0]))
    assert {each["name"].partition(" ")[2] for each in single} == {"(qemu:mine by path)"}  # no label: one session


def chart(text: str | None) -> dict[str, list[tuple[str, float]]]:
    """What the action's page draws: for each benchmark the commits and values, in their order."""
    assert text is not None and text.startswith("window.BENCHMARK_DATA = ")
    data = json.loads(text[len("window.BENCHMARK_DATA = ") :])
    lines: dict[str, list[tuple[str, float]]] = {}
    for entry in data["entries"][benchmark_action.SUITE]:
        assert {"message", "timestamp", "url"} <= entry["commit"].keys()
        assert isinstance(entry["commit"]["committer"]["username"], str) and isinstance(entry["date"], int)
        for bench in entry["benches"]:
            lines.setdefault(bench["name"], []).append((entry["commit"]["id"], bench["value"]))
    return lines


def test_data_js_has_the_whole_history_and_other_suites_stay() -> None:
    """Expected: one entry a commit, oldest first; of the file as it was only our suite is replaced."""
    of, commits = made()
    text = benchmark_action.data_js(of, commits, "")
    lines = chart(text)
    assert lines["fs/open (qemu:mine by path)"] == [
        (commit(n).id, 1200 + 9 * (n >= 7) - 4 * (n >= 15)) for n in range(20)
    ]
    before = {"lastUpdate": 1, "repoUrl": "https://example.org/a", "entries": {"Rust": [{"x": 1}], "Kernometer": [1]}}
    text = benchmark_action.data_js(of, commits, "window.BENCHMARK_DATA = " + json.dumps(before))
    assert text is not None
    data = json.loads(text.partition(" = ")[2])
    assert data["entries"]["Rust"] == [{"x": 1}] and data["repoUrl"] == "https://example.org/a"
    assert data["entries"]["Kernometer"][0]["commit"]["url"] == f"https://example.org/a/commit/{commit(0).id}"
    assert chart(text) == lines
    assert data["lastUpdate"] == round(1000 * (FIRST + 86400 * 19))


def test_without_commits_labels_or_sessions_name_the_entries() -> None:
    pasts = [past(result) for result in results(3)]
    lines = chart(benchmark_action.data_js(courses(pasts), {}, ""))
    assert [name for name, _ in lines["fs/open (qemu:mine by path)"]] == [f"qemu:mine-{n}" for n in range(3)]
    lines = chart(benchmark_action.data_js(labelled(3), {}, ""))
    assert [name for name, _ in lines["fs/open (qemu:mine by path)"]] == ["v0", "v1", "v2"]


@pytest.mark.parametrize("before", ["", "window.BENCHMARK_DATA = {", "window.BENCHMARK_DATA = []", '{"entries": {}}'])
def test_another_file_is_not_replaced(before: str) -> None:
    assert (benchmark_action.data_js(*made(2), before) is None) == bool(before)
