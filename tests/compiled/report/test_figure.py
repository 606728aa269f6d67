"""Named figures: each drawn from a made-up result in every form, and what is said where rows are lacking."""

from __future__ import annotations

import csv
import io
import json
import math
import re
import subprocess
from functools import cache
from xml.etree import ElementTree

import pytest

from kernometer.errors import UsageError
from kernometer.report.literature.definition import PaperFigure, find, paper_figures
from kernometer.report.literature.draw import picture
from kernometer.report.literature.points import Drawing, Source, Value, draw, source_of, source_of_published
from kernometer.report.literature.text import COLUMNS, as_csv
from kernometer.results import papers
from kernometer.results.model import Result, Unsupported
from kernometer.results.rows import Row
from kernometer.stats.figures import figures as row_figures
from kernometer.targets import build
from tests.support.results import make
from tests.support.stats.simulate import path_result
from tests.support.turns import some

NAMES = (
    *("chawla-1", "chawla-3", "chawla-4", "chawla-5", "chawla-6", "corbet-1", "corbet-2"),
    *("griffiths-1", "griffiths-2", "griffiths-3", "griffiths-4", "griffiths-5", "loew-1", "loew-2"),
    *("miao-2", "miao-3", "miao-4", "miao-5", "miao-6", "miao-7", "miao-aim"),
)


def rows_for(figure: PaperFigure) -> list[str]:
    """Rows that fit its patterns: the first `*` with three values, a second with one."""
    patterns = [row for group in figure.group for row in group.rows] + [row for bar in figure.bar for row in bar.rows]
    return [pattern.replace("*", str(number), 1).replace("*", "16") for pattern in patterns for number in (4, 64, 1024)]


def source(figure: PaperFigure, name: str, factor: float = 1.0) -> Source:
    """A value with an interval for each row; runs of single iterations."""
    values, runs = {}, {}
    for number, row in enumerate(rows_for(figure)):
        of = [axis for axis in figure.y if axis.of_bytes or axis.unit == "MB/s"]
        kind = "B/s" if of and "latency" not in row else "ns"
        value = 1000.0 * factor * (1 + number)
        values[row] = Value(value, kind, 0.9 * value, 1.2 * value)
        runs[row] = make.run(row=row, batch=1)
    return Source(name, values, runs=runs)


def drawing(name: str) -> Drawing:
    figure = find(name)
    return draw(figure, [source(figure, "one"), source(figure, "two", 1.5)])


def test_every_figure_of_the_sources_is_defined() -> None:
    assert sorted(paper_figures()) == sorted(NAMES)


@pytest.mark.parametrize("name", some(NAMES, 0.01, every=3))
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


@cache
def catalogue() -> dict[str, bool]:
    """Every row of the probe, and whether it can be measured by path."""
    done = subprocess.run(
        [build.probe(), "--list", "--json", "--profile", "full"], capture_output=True, text=True, check=True, timeout=60
    )
    workloads = [json.loads(line) for line in done.stdout.splitlines() if line.startswith('{"type":"workload"')]
    return {row["row"]: row["path_n"] > 0 for workload in workloads for row in workload["rows"]}


@pytest.mark.parametrize("name", NAMES)
def test_its_rows_are_in_the_catalogue(name: str) -> None:
    """Expected: the last row of a part that has a meaning by path can be measured so. Broken: a row was renamed, and
    the figure can be drawn of nothing."""
    for part in find(name).parts:
        found = [[row for row in catalogue() if Row(row).values(pattern) is not None] for pattern in part.rows]
        assert all(found), part
        assert not part.by_path or any(catalogue()[row] for row in found[-1]), part


@pytest.mark.parametrize("name", ["miao-3", "miao-4", "miao-5", "miao-6", "miao-7"])
def test_the_papers_own_bars_come_out(name: str) -> None:
    """Expected: Linux 100, MINIX 3 as table 1 and 2 have it, no interval."""
    publication = papers.load("published/miao-2011").publication
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
    with pytest.raises(UsageError, match="shows single iterations; mine has syscall/getpid in batches of 8") as batched:
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


def counted(name: str, **counts: float) -> Source:
    """A session by path that has what can be measured so of the figure's rows."""
    figure = find(name)
    patterns = [row for part in figure.parts for row in part.rows]
    rows = [
        row
        for row, by_path in catalogue().items()
        if by_path and any(Row(row).values(one) is not None for one in patterns)
    ]
    values = {row: Value(counts.get("count", 500.0), "instructions", moved=counts.get("moved", 0)) for row in rows}
    runs = {row: make.run(row=row, batch=1) for row in rows}
    return Source("counted", values, runs=runs, by="path", target="qemu:linux-6.1")


@pytest.mark.parametrize("name", sorted(set(NAMES) - {"griffiths-1", "griffiths-4"}))
def test_a_figure_is_drawn_from_a_session_by_path(name: str) -> None:
    """Expected: counts, called so. Broken: refused for rows that there are by time alone; "seconds" over counts."""
    made = draw(find(name), [counted(name), counted(name, count=1000.0)])
    for panel in made.panels:
        assert any(series.points for series in panel.series)
        if panel.kind == "bars":
            assert {point.y for point in panel.series[1].points} == {50.0}
            assert panel.x_title == "operations per instruction, counted = 100 (more is better)"
        else:
            assert panel.unit == "instructions"
            assert panel.y_title.endswith("instructions")


def test_rows_that_stand_for_others_and_rows_by_time_alone_are_said() -> None:
    remarks = draw(find("miao-7"), [counted("miao-7"), counted("miao-7")]).remarks
    assert remarks[0] == "UnixBench: syscall/mix (counted, counted), not syscall/mix-fixed-time"
    assert remarks[1:] == ("not drawn: syscall/mix-loops@loops=10000 (counted): it can be measured by time only",)
    with pytest.raises(UsageError, match="by time only"):
        draw(find("griffiths-1"), [counted("griffiths-1")])


def test_a_row_that_all_results_have_goes_before_one_that_some_have() -> None:
    """Broken: the system's own dc of one result against busybox's of another, though both have busybox's."""
    values = {row: Value(100.0, "1/s") for bar in find("miao-2").bar for row in bar.rows}
    [panel] = draw(find("miao-2"), [Source("all", values), Source("some", values)]).panels
    assert len(panel.series[0].points) == 3
    some = {row: value for row, value in values.items() if row != "sh/dc"}
    made = draw(find("miao-2"), [Source("all", values), Source("some", some)])
    assert made.remarks == ("dc: sqrt(2): sh/dc-busybox (all, some), not sh/dc",)


def test_a_count_is_scaled_to_the_bytes_that_the_figure_shows() -> None:
    """Expected: 64 MiB by reads of 1 KiB are 65536 reads. Broken: the count of one read under the title of 64 MiB."""
    point = draw(find("chawla-5"), [counted("chawla-5", count=700.0, moved=1024)]).panels[0].series[0].points[0]
    assert point.y == 700.0 * 65536


def test_the_command_for_rows_by_path_measures_by_path() -> None:
    with pytest.raises(UsageError) as refused:
        draw(find("miao-4"), [Source("a", {}, by="path", target="qemu:x y"), counted("miao-4")])
    assert refused.value.next_step == (
        "Measure them: kernometer run --profile full --by path --on 'qemu:x y' "
        "sh/script-busybox-1 sh/script-busybox-8 sh/script-busybox-16."
    )
    with pytest.raises(UsageError, match="others counts"):
        draw(find("miao-4"), [source(find("miao-4"), "timed"), counted("miao-4")])


def test_what_a_grid_lacks_is_said() -> None:
    """Expected: rows that were not measured, and the paper's 0.00 as below resolution. Broken: a blank and no word."""
    [remark] = draw(find("loew-1"), [counted("loew-1")]).remarks
    assert remark.startswith("counted lacks 6 of 9 rows fs/create-read@files=*,reads=*: (10, 1000) (100, 100)")
    publication = papers.load("published/loew-2016").publication
    made = draw(find("loew-1"), [source_of_published("MINIX 3", publication, "minix3")])
    assert made.panels[0].series[0].blank == {"10, 10": "below resolution"}
    assert made.remarks == ("not drawn: fs/create-read@files=10,reads=10 (MINIX 3): below resolution: printed as 0.00",)
    assert b"below resolution" in picture(made, "svg")


def test_bars_need_a_second_result() -> None:
    figure = find("miao-6")
    with pytest.raises(UsageError, match="two results"):
        draw(figure, [source(figure, "one")])


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
