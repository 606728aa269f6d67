"""Named figures: each drawn from a made-up result in every form, and what is said where rows are lacking."""

from __future__ import annotations

import csv
import io
import math
import re
import subprocess
from fnmatch import fnmatchcase
from xml.etree import ElementTree

import pytest

from kernometer.errors import UsageError
from kernometer.report.figure import Figure, figures, find
from kernometer.report.figure_draw import picture
from kernometer.report.figure_points import Drawing, Source, Value, draw, matches, source_of, source_of_published
from kernometer.report.figure_text import COLUMNS, as_csv
from kernometer.results import published
from kernometer.results.model import Result, Unsupported
from kernometer.stats.curves import tags
from kernometer.stats.figures import figures as row_figures
from kernometer.targets import build
from tests.results import make
from tests.stats.simulate import path_result

NAMES = (
    *("chawla-1", "chawla-3", "chawla-4", "chawla-5", "chawla-6", "corbet-1", "corbet-2"),
    *("griffiths-1", "griffiths-2", "griffiths-3", "griffiths-4", "griffiths-5", "loew-1", "loew-2"),
    *("miao-3", "miao-4", "miao-5", "miao-6", "miao-7"),
)


def rows_for(figure: Figure) -> list[str]:
    """Rows that fit its patterns: the first `*` with three values, a second with one."""
    patterns = [row for group in figure.group for row in group.rows] + [row for bar in figure.bar for row in bar.rows]
    return [pattern.replace("*", str(number), 1).replace("*", "16") for pattern in patterns for number in (4, 64, 1024)]


def source(figure: Figure, name: str, factor: float = 1.0) -> Source:
    """A value with an interval for each row; runs of single iterations."""
    values, runs = {}, {}
    for number, row in enumerate(rows_for(figure)):
        of = [axis for axis in figure.y if axis.whole or axis.unit == "MB/s"]
        kind = "B/s" if of and "latency" not in row else "ns"
        value = 1000.0 * factor * (1 + number)
        values[row] = Value(value, kind, 0.9 * value, 1.2 * value)
        runs[row] = make.run(row=row, batch=1)
    return Source(name, values, runs=runs)


def drawing(name: str) -> Drawing:
    figure = find(name)
    return draw(figure, [source(figure, "one"), source(figure, "two", 1.5)])


def test_every_figure_of_the_sources_is_defined() -> None:
    assert sorted(figures()) == sorted(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_a_figure_is_drawn_in_every_form(name: str) -> None:
    """Expected: SVG that parses and holds its title and series, PNG and PDF by their signatures, CSV of all points."""
    made = drawing(name)
    svg = picture(made, "svg").decode()
    ElementTree.fromstring(svg)  # noqa: S314  # our own drawing
    words = re.sub(r"<[^>]*>", " ", svg)
    assert made.figure.title.split(":")[0] in words
    for panel in made.panels:
        for series in panel.series:
            assert series.label[:20] in words
    assert picture(made, "png").startswith(b"\x89PNG\r\n\x1a\n")
    assert picture(made, "pdf").startswith(b"%PDF-")
    lines = list(csv.DictReader(io.StringIO(as_csv(made))))
    assert tuple(lines[0]) == COLUMNS
    assert len(lines) == sum(len(series.points) for panel in made.panels for series in panel.series) > 0
    assert all(float(line["y"]) > 0 for line in lines)


@pytest.mark.parametrize("name", NAMES)
def test_its_rows_are_in_the_catalogue(name: str) -> None:
    """Broken: a row was renamed, and the figure can be drawn of nothing."""
    done = subprocess.run(
        [build.probe(), "--list", "--profile", "full"], capture_output=True, text=True, check=True, timeout=60
    )
    known = set(done.stdout.split())
    figure = find(name)
    for group in figure.group:
        assert all(any(matches(row, pattern) for row in known) for pattern in group.rows), group
    for bar in figure.bar:
        assert all(row in known for row in bar.rows), bar


@pytest.mark.parametrize("name", ["miao-3", "miao-4", "miao-5", "miao-6", "miao-7"])
def test_the_papers_own_bars_come_out(name: str) -> None:
    """Expected: Linux 100, MINIX 3 as table 1 and 2 have it, no interval."""
    publication = published.load("published/miao-2011").publication
    sources = [source_of_published(system, publication, system) for system in ("linux", "minix3")]
    [panel] = draw(find(name), sources).panels
    linux, minix = panel.series
    assert {point.y for point in linux.points} == {100.0}
    assert all(point.low is None for point in minix.points)
    bars = {str(point.x): round(point.y, 2) for point in minix.points}
    expected = {
        "miao-3": {"process creation": 0.55, "system call": 11.58, "Tower of Hanoi": 72.73},
        "miao-4": {"1 script": 56.83, "8 scripts at once": 104.02, "16 scripts at once": 112.12},
        "miao-5": {"copy, 4096 B": 12.78, "write, 1024 B": 76.06},
        "miao-6": {"double": 1.46, "float": 2.73, "int": 101.2},
        "miao-7": {"UnixBench": 11.58, "1000 iterations": 13.04, "10000 iterations": 13.2},
    }[name]
    assert bars.items() >= expected.items()


def test_a_bars_interval_is_that_of_a_ratio() -> None:
    """Expected: both sources' errors, on the logarithm; the reference itself has none."""
    figure = find("miao-7")
    of = {bar.rows[0]: Value(100.0, "ns", 100 / 1.1, 110.0) for bar in figure.bar}
    half = math.log(1.1)
    [panel] = draw(figure, [Source("a", of), Source("b", of)]).panels
    assert all(point.low is None for point in panel.series[0].points)
    for point in panel.series[1].points:
        assert point.y == pytest.approx(100)
        assert (point.low, point.high) == pytest.approx(
            (100 * math.exp(-half * math.sqrt(2)), 100 * math.exp(half * math.sqrt(2)))
        )


def test_a_time_for_all_bytes_turns_bandwidth_and_interval_round() -> None:
    figure = find("chawla-5")
    values = {row: Value(1e9, "B/s", 0.5e9, 2e9) for row in rows_for(figure)}
    point = draw(figure, [Source("a", values)]).panels[0].series[0].points[0]
    assert (point.y, point.low, point.high) == pytest.approx((0.067108864, 0.033554432, 0.134217728))


def test_missing_rows_are_answered_with_the_command_that_measures_them() -> None:
    figure = find("griffiths-4")
    with pytest.raises(UsageError) as refused:
        draw(figure, [Source("mine", {})])
    assert "mine lacks" in refused.value.text
    assert refused.value.next_step == (
        "Measure them: kernometer run --profile full " + " ".join(f"'{group.rows[0]}'" for group in figure.group) + "."
    )
    single = find("chawla-1")
    with pytest.raises(UsageError, match="lacks") as batched:
        draw(single, [Source("mine", {}, runs={row: make.run(row=row, batch=8) for row in rows_for(single)})])
    assert "--batch 1" in batched.value.next_step


def test_two_points_are_no_curve() -> None:
    figure = find("chawla-4")
    [pattern] = figure.group[0].rows
    values = {pattern.replace("*", str(n)): Value(1.0, "ns") for n in (1, 4)}
    with pytest.raises(UsageError):
        draw(figure, [Source("mine", values)])


def test_a_row_that_the_platform_cannot_do_is_said_and_the_rest_is_drawn() -> None:
    """Expected: the curve that there is, and the reason beside it. Broken: no figure where one row is impossible."""
    figure = find("chawla-5")
    whole = source(figure, "mine")
    cached, uncached = (group.rows[0] for group in figure.group)
    values = {cached.replace("*", str(n), 1): Value(1e9, "B/s") for n in (4, 64, 1024)}
    lacking = {uncached.replace("*", "4"): "nothing drops the cache"}
    made = draw(figure, [Source(whole.name, values, lacking)])
    assert len(made.panels[0].series) == 1
    assert "nothing drops the cache" in made.remarks[0]


def test_bars_need_a_second_result() -> None:
    figure = find("miao-6")
    with pytest.raises(UsageError, match="two results"):
        draw(figure, [source(figure, "one")])


def test_a_star_stays_within_one_tag() -> None:
    """Expected: the same row on another disk is another row. Broken: one line that jumps between two disks."""
    assert matches("fs/x@bytes=512", "fs/x@bytes=*")
    assert not matches("fs/x@bytes=512,ext4", "fs/x@bytes=*")
    assert fnmatchcase("fs/x@bytes=512,ext4", "fs/x@bytes=*")
    assert tags("a/b@procs=8,same-cpu") == {"procs": "8", "same-cpu": ""}


def test_a_real_shape_of_result_becomes_a_source() -> None:
    definition = make.workload("mem/x", rows=())
    result = Result(
        session=make.session(),
        header=make.header(),
        workloads={"mem/x": definition},
        runs=tuple(make.run(number, row="mem/x@bytes=4") for number in range(3)),
        unsupported=(Unsupported(row="mem/y", reason="no y"),),
    )
    made = source_of("mine", result, row_figures(result))
    assert made.values["mem/x@bytes=4"].unit == "ns"
    assert made.lacking == {"mem/y": "no y"}
    assert made.runs["mem/x@bytes=4"].run == 0


def test_exact_counts_have_no_interval_in_a_figure() -> None:
    """Expected: the count alone. Broken: ±0 %, and whiskers of no length."""
    result = path_result("counted", {"mem/x@bytes=4": 367})
    value = source_of("mine", result, row_figures(result)).values["mem/x@bytes=4"]
    assert (value.value, value.low, value.high) == (367, None, None)


def test_a_name_that_is_no_figure_is_answered_with_the_closest() -> None:
    with pytest.raises(UsageError) as refused:
        find("griffith-1")
    assert "griffiths-1" in refused.value.next_step
