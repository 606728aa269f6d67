"""The forest plot: are order, axis, band and shapes right, and does the drawing hold what the specification says?"""

from __future__ import annotations

import math
import re
import xml.etree.ElementTree as ET
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernometer.report import forest
from kernometer.report.forest import PRINT, Point, domain, parts, ratio_text, spec, svg, ticks
from kernometer.stats.model import Verdict
from tests.report.factory import HOSTILE

POINTS = [
    Point("slow", 1.2, 1.1, 1.3, Verdict.SLOWER),
    Point("fast", 0.9, 0.85, 0.95, Verdict.FASTER),
    Point("same", 1.0, 0.99, 1.01, Verdict.EQUIVALENT),
    Point("open", 1.01, 0.9, 1.15, Verdict.UNDECIDED),
]


def rows(specification: dict[str, Any]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = specification["data"]["values"]
    return found


def test_rows_are_sorted_by_effect_and_cut_into_parts_of_one_page() -> None:
    many = [Point(f"r{index}", 1 + index / 100, 1, 2, Verdict.SLOWER) for index in range(90)]
    cut = parts(many)
    assert [len(part) for part in cut] == [30, 30, 30]
    ratios = [point.ratio for part in cut for point in part]
    assert ratios == sorted(ratios, reverse=True)


def test_verdicts_differ_in_shape_not_in_colour_alone() -> None:
    shapes = [row["shape"] for row in rows(spec(POINTS, delta=0.02, axis=(0.8, 1.4)))]
    assert len(set(shapes)) == len(POINTS)
    assert shapes[:2] == ["triangle-right", "triangle-left"], "slower points to where slower is"


def test_the_axis_is_logarithmic_and_the_band_is_delta_on_both_sides() -> None:
    made = spec(POINTS, delta=0.05, axis=(0.8, 1.4))
    scales = [
        layer["encoding"]["x"]["scale"]["type"] for layer in made["layer"] if "scale" in layer["encoding"].get("x", {})
    ]
    assert scales
    assert set(scales) == {"log"}
    [band] = made["layer"][0]["data"]["values"]
    assert math.log(band["low"]) == pytest.approx(-math.log(band["high"]))
    assert band["high"] == pytest.approx(1.05)


def test_a_few_large_effects_are_seen_in_their_size() -> None:
    """Expected: a row six times slower among thirty that agree lies on the axis. Broken: it is an arrow at its edge."""
    tame = [Point(f"r{index}", 1 + index / 1000, 0.9, 1.1, Verdict.UNDECIDED) for index in range(30)]
    low, high = domain([*tame, Point("large", 6.0, 5.8, 6.2, Verdict.SLOWER)], 0.02)
    assert low < 0.9
    assert high > 6.2


def test_one_wild_row_does_not_squeeze_all_others() -> None:
    """Expected: the axis stays near the others, and the wild one is an arrow at its edge with its figures in words."""
    tame = [Point(f"r{index}", 1 + index / 1000, 0.99, 1.03, Verdict.UNDECIDED) for index in range(20)]
    low, high = domain([*tame, Point("wild", 900.0, 0.001, 1e6, Verdict.SLOWER)], 0.02)
    assert 20 < high < 60
    assert 1 / 60 < low < 1
    [wild] = rows(spec([Point("wild", 900.0, 0.001, 1e6, Verdict.SLOWER)], delta=0.02, axis=(low, high)))
    assert wild["cut_low"]
    assert wild["cut_high"]
    assert wild["ratio"] == high
    assert wild["figures"] == "900  [0.001, 1e+06]"


@settings(deadline=None, max_examples=50)
@given(st.lists(st.floats(0.001, 1000), min_size=1, max_size=40), st.floats(0.001, 0.5))
def test_every_axis_shows_one_the_band_and_most_rows(ratios: list[float], delta: float) -> None:
    points = [Point(str(index), ratio, ratio / 1.1, ratio * 1.1, Verdict.SLOWER) for index, ratio in enumerate(ratios)]
    low, high = domain(points, delta)
    assert low < 1 / (1 + delta) < 1 < 1 + delta < high
    assert sum(low <= ratio <= high for ratio in ratios) >= 0.8 * len(ratios)
    shown = ticks(low, high, 9)
    assert 1.0 in shown
    assert shown == sorted(set(shown))
    assert all(low <= tick <= high for tick in shown)
    assert len(shown) <= 12


@pytest.mark.parametrize("layout", ["wide", "narrow"])
def test_the_drawing_holds_every_row_and_no_colour_of_its_own(layout: forest.Layout) -> None:
    drawing = svg(spec(POINTS, delta=0.02, axis=(0.8, 1.4), layout=layout))
    texts = {text.text for text in ET.fromstring(drawing).iter("{http://www.w3.org/2000/svg}text")}  # noqa: S314  # our own drawing
    assert {"slow", "fast", "same", "open"} <= texts
    assert not re.search(r'(?:fill|stroke)="(?:#|black|white|rgb)', drawing), "colours are the page's variables"


def test_a_drawing_for_paper_has_plain_colours() -> None:
    drawing = svg(spec(POINTS, delta=0.02, axis=(0.8, 1.4), palette=PRINT))
    assert "var(" not in drawing
    assert PRINT.slower in drawing


def test_a_hostile_name_is_text_in_the_drawing() -> None:
    drawing = svg(spec([Point(HOSTILE.split("\x1b")[0], 1.1, 1, 1.2, Verdict.SLOWER)], delta=0.02, axis=(0.8, 1.4)))
    root = ET.fromstring(drawing)  # noqa: S314  # our own drawing
    tags = {element.tag.rpartition("}")[2] for element in root.iter()}
    assert tags <= {"svg", "g", "path", "line", "text", "rect"}


def test_ratios_have_the_digits_that_matter() -> None:
    assert [ratio_text(value) for value in (1.0, 0.9876, 12.3456, 0.01234)] == ["1.000", "0.988", "12.35", "0.01234"]


def test_row_without_an_interval_does_not_look_like_one_that_is_known_exactly() -> None:
    """One session a side. Broken: 1.169 [1.169, 1.169]."""
    [row] = rows(
        spec([Point("seen", 1.169, 1.169, 1.169, Verdict.UNDECIDED, known=False)], delta=0.02, axis=(0.8, 1.4))
    )
    assert "no interval" in row["figures"]
    assert "[" not in row["figures"]
    counted = Point("counted", 1.169, 1.169, 1.169, Verdict.SLOWER, known=False, exact=True)
    assert "exact" in rows(spec([counted], delta=0.02, axis=(0.8, 1.4)))[0]["figures"]
