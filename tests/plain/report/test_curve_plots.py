"""Curves drawn: is every value where it must be, is a gap a gap, and does a picture hold nothing but ours?"""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernometer.report.chart.curves import MARKS, Line, ratios, values
from kernometer.report.page import build, render
from kernometer.stats.curves import Curve, Point
from kernometer.stats.figures import figures
from kernometer.stats.model import RowComparison, RowFigure, Verdict
from tests.support.report import factory

[ANY] = [one for row, one in figures(factory.curved(runs=2)).items() if row == "mem/chase@bytes=4096,stride=64"]
XS = (4096.0, 8192.0, 16384.0, 1048576.0)


def figure(value: float | None, low: float | None = None, high: float | None = None) -> RowFigure:
    return replace(ANY, value=value, value_low=low, value_high=high)


def line(index: int, *given: float | None) -> Line:
    return Line("AB"[index], index, tuple(figure(one, one and one * 0.9, one and one * 1.1) for one in given))


def path(svg: str, name: str) -> str:
    found = re.search(rf'<path class="{name}" d="([^"]*)"', svg)
    assert found is not None, name
    return found[1]


def places(svg: str, name: str) -> list[tuple[float, float]]:
    """The points of a line."""
    return [(float(x), float(y)) for x, y in re.findall(r"[ML]([\d.]+) ([\d.]+)", path(svg, name))]


def drawn(*lines: Line, xs: tuple[float, ...] = XS) -> str:
    plot = values("bytes", xs, lines, "title", "text")
    assert plot is not None
    ET.fromstring(plot.svg)  # noqa: S314  # our own markup
    return plot.svg


def compared(*ratios_: float | None, verdict: Verdict = Verdict.SLOWER) -> Curve[RowComparison]:
    points = (
        Point(x, f"r{x}", RowComparison(f"r{x}", "r", verdict, ratio, ratio and ratio * 0.99, ratio and ratio * 1.01))
        for x, ratio in zip(XS, ratios_, strict=True)
    )
    return Curve("mem/chase@bytes=*,stride=64", "mem/chase", "bytes", (), tuple(points))


def test_both_axes_are_logarithmic_beyond_a_decade() -> None:
    """Expected: twice as much is the same way further, from 4 KiB on and from 10 ns on."""
    (a, b, c, d) = places(drawn(line(0, 10, 20, 40, 1000)), "s s0")
    assert b[0] - a[0] == pytest.approx(c[0] - b[0], abs=0.2) and d[0] - c[0] == pytest.approx(
        6 * (b[0] - a[0]), abs=0.6
    )
    assert a[1] - b[1] == pytest.approx(b[1] - c[1], abs=0.2), "and up is more"


def test_within_a_decade_values_stand_on_zero() -> None:
    """Expected: 3 is three times as high above the base as 1. Broken: a flat curve looks steep."""
    svg = drawn(line(0, 1, 2, 3, 1), xs=(1.0, 2.0, 3.0, 4.0))
    base = 230 - 42
    (a, b, c, _d) = [base - y for _x, y in places(svg, "s s0")]
    assert (b / a, c / a) == pytest.approx((2, 3), rel=0.01)
    assert ">0 ns<" in svg


def test_all_systems_are_in_one_picture_and_differ_in_dash_and_mark() -> None:
    svg = drawn(line(0, 1, 2, 3, 4), line(1, 2, 3, 4, 5))
    for name in ("v v0", "v v1", "s s0", "s s1", "k k0", "k k1"):
        assert path(svg, name)
    assert len(set(MARKS)) == len(MARKS) and MARKS[0] in path(svg, "k k0") and MARKS[1] in path(svg, "k k1")


def test_a_point_without_a_value_is_a_gap() -> None:
    """Expected: no line leads over what was not measured; a system without any value is no line."""
    svg = drawn(line(0, 1, None, 3, 4), line(1, None, None, None, None))
    assert path(svg, "s s0").count("M") == 2 and len(places(svg, "s s0")) == 3
    assert path(svg, "s s1") == ""
    assert values("bytes", XS, [line(0, None, None, None, None)], "", "") is None
    assert values("bytes", XS, [Line("A", 0, (None,) * 4)], "", "") is None


def test_the_band_goes_along_both_ends_of_the_intervals() -> None:
    svg = drawn(line(0, 100, 100, 100, 100))
    ys = {y for _x, y in places(svg, "v v0")}
    (middle,) = {y for _x, y in places(svg, "s s0")}
    assert len(ys) == 2 and min(ys) < middle < max(ys)


def test_an_interval_without_end_leaves_the_curve_its_room() -> None:
    """Expected: two runs' interval reaches a factor of a thousand; the axis does not follow it."""
    wild = Line("A", 0, (figure(10, 1e-9, 1e9), figure(20), figure(40), figure(1000)))
    ys = [y for _x, y in places(drawn(wild), "s s0")]
    assert ys[0] - ys[3] > 20
    odd = Line("A", 0, (figure(10, 0, float("inf")), figure(20), figure(40), figure(30)))
    assert places(drawn(odd), "v v0")


def test_the_corridor_is_delta_on_both_sides_of_1_and_marks_say_the_verdict() -> None:
    plot = ratios(compared(1.0, 1.5, None, 0.9), 0.05, "B", "title", "text")
    assert plot is not None
    ET.fromstring(plot.svg)  # noqa: S314  # as above
    top, bottom = (float(one) for one in re.findall(r"M62 ([\d.]+)H426V([\d.]+)H", path(plot.svg, "corridor"))[0])
    one = float(re.findall(r"M62 ([\d.]+)H", path(plot.svg, "one"))[0])
    assert one - top == pytest.approx(bottom - one, abs=0.11) and top < one
    assert plot.svg.count('href="#m-slower"') == 3 and "↑ B slower" in plot.svg
    assert ratios(compared(None, None, None, None), 0.05, "B", "", "") is None


def test_a_ratio_without_interval_or_beyond_all_bounds_is_drawn() -> None:
    curve = compared(1.0, 1e6, 1e-6, 1.0, verdict=Verdict.UNDECIDED)
    bare = replace(
        curve, points=tuple(replace(one, item=replace(one.item, low=None, high=None)) for one in curve.points)
    )
    endless = replace(
        curve, points=tuple(replace(one, item=replace(one.item, low=0.0, high=float("inf"))) for one in curve.points)
    )
    for each in (curve, bare, endless):
        plot = ratios(each, 0.02, "B", "", "")
        assert plot is not None and len(places(plot.svg, "s")) == 4


@given(st.lists(st.floats(1e-9, 1e15), min_size=3, max_size=30, unique=True), st.floats(1e-6, 1e12), st.floats(1, 1e6))
def test_every_axis_has_two_ticks_and_not_too_many(xs: list[float], least: float, factor: float) -> None:
    xs.sort()
    made = [figure(least * factor ** (index / len(xs))) for index in range(len(xs))]
    plot = values("x", xs, [Line("A", 0, tuple(made))], "t", "d")
    assert plot is not None
    (labels_y, labels_x) = (re.findall(rf'text-anchor="{anchor}">([^<]+)<', plot.svg) for anchor in ("end", "middle"))
    assert 1 <= len(labels_y) <= 6 and 2 <= len(labels_x) <= 11


def test_sizes_have_binary_prefixes_where_they_are_whole() -> None:
    svg = drawn(line(0, 1, 2, 3, 4))
    assert ">4 Ki<" in svg and ">1 Mi<" in svg
    svg = drawn(line(0, 1, 2, 3, 4), xs=(1.0, 1000.0, 1025.0, 5000.0))
    assert ">5000<" in svg and "Ki" not in svg


def test_names_from_a_file_are_no_markup() -> None:
    plot = values(factory.HOSTILE, XS, [line(0, 1, 2, 3, 4)], factory.HOSTILE, factory.HOSTILE)
    assert plot is not None and "<script" not in plot.svg and "<img" not in plot.svg


def test_the_page_has_a_curve_once_with_its_points_folded_and_rows_that_stand_alone() -> None:
    a, b = factory.curved("before"), factory.curved("after", number=1)
    page = build(factory.systems(a, b), [factory.comparison(a, b)])
    [family] = [family for family in page.figures.families if family.key == "mem"]
    chase = next(workload for workload in family.workloads if workload.name == "mem/chase")
    assert chase.rows == () and [curve.name for curve in chase.curves] == [
        "mem/chase@bytes=*,stride=16", "mem/chase@bytes=*,stride=64"
    ]  # fmt: skip  # the names
    assert [row.parameters for row in chase.curves[0].rows][:2] == ["4096", "8192"]
    assert chase.curves[0].summary.startswith("12 points, 4096 … 8388608; A 1.5")
    [view] = page.comparisons
    assert [len(curve.rows) for curve in view.curves] == [12, 12]
    assert sum(view.curves[0].tallies.values()) == 12
    assert "largest decided difference 1.250 [1.200, 1.300] at" in view.curves[0].summary
    of_curves = [row for row in view.lines if "mem/chase" in row.row]
    assert [row.row for row in of_curves] == [curve.name for curve in chase.curves] and len(view.lines) == 12 + 2 + 1
    assert of_curves[0].ratio_text == "1.250" and sum(of_curves[0].verdicts.values()) == 12
    html = render(build(factory.systems(a, b), [factory.comparison(a, b)]))
    assert html.count('<figure class="curve"') == 4
    assert html.count(f'href="#{view.curves[0].anchor}"') == 1, "a line a curve, which leads to its picture"


def test_three_systems_are_three_lines_in_one_picture() -> None:
    results = [factory.curved(name, number=number) for number, name in enumerate(("one", "two", "three"))]
    page = build(
        factory.systems(*results),
        [factory.comparison(results[0], one, ("one", one.session.label)) for one in results[1:]],
    )
    [curve, _other] = [
        curve for family in page.figures.families for workload in family.workloads for curve in workload.curves
    ]
    assert curve.plot is not None
    assert all(f'class="s s{index}"' in curve.plot.svg for index in range(3))
