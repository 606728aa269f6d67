"""Intervals drawn in cells: is every value where it must be, and does one wild row leave the others their room?"""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernometer.report.chart.axis import Axis, Span, axis_of, percent_label, span
from kernometer.report.comparison.view import named_view
from kernometer.report.words.units import ratio_text
from kernometer.stats.model import Comparison, RowComparison, Verdict


def test_the_axis_is_logarithmic_and_the_band_is_delta_on_both_sides() -> None:
    """Expected: 2 is as far from 1 as 1/2 is."""
    axis = Axis(0.25, 4.0, delta=0.05)
    assert [axis.place(ratio) for ratio in (0.25, 0.5, 1.0, 2.0, 4.0)] == [0, 25, 50, 75, 100]
    start, width = axis.band
    assert 50 - start == pytest.approx(width / 2, abs=0.02)


def test_a_bar_has_its_interval_and_is_cut_at_the_ends_of_the_axis() -> None:
    axis = Axis(0.25, 4.0, delta=0.02)
    inside = axis.bar(Span(1.0, 0.5, 2.0))
    assert inside is not None
    assert (inside.at, inside.low, inside.width, inside.cut_low, inside.cut_high) == (50, 25, 50, False, False)
    beyond = axis.bar(Span(900.0, 0.001, 1e6))
    assert beyond is not None
    assert (beyond.at, beyond.low, beyond.width, beyond.cut_low, beyond.cut_high) == (100, 0, 100, True, True)
    assert axis.bar(None) is None


def test_what_cannot_stand_on_a_logarithmic_axis_is_not_drawn() -> None:
    assert [span(ratio, 1, 2) for ratio in (None, 0.0, -1.0, math.inf, math.nan)] == [None] * 5
    assert span(1.5, 0.0, math.inf) == Span(1.5, 1.5, 1.5) == span(1.5, None, None)


def test_a_few_large_effects_are_seen_in_their_size() -> None:
    """Expected: a row six times slower among thirty that agree lies on the axis. Broken: it is an arrow at its edge."""
    tame = [Span(1 + index / 1000, 0.9, 1.1) for index in range(30)]
    axis = axis_of([*tame, Span(6.0, 5.8, 6.2)], 0.02)
    assert axis.low < 0.9 and axis.high > 6.2


def test_one_wild_row_does_not_squeeze_all_others() -> None:
    """Expected: the axis stays near the others, and the wild one is an arrow at its edge with its figures in words."""
    tame = [Span(1 + index / 1000, 0.99, 1.03) for index in range(20)]
    axis = axis_of([*tame, Span(900.0, 0.001, 1e6), None], 0.02)
    assert 20 < axis.high < 60 and 1 / 60 < axis.low < 1


@settings(deadline=None, max_examples=50)
@given(st.lists(st.floats(0.001, 1000), max_size=40), st.floats(0.001, 0.5))
def test_every_axis_shows_one_the_band_and_most_rows(ratios: list[float], delta: float) -> None:
    axis = axis_of([Span(ratio, ratio / 1.1, ratio * 1.1) for ratio in ratios], delta)
    assert axis.low < 1 / (1 + delta) < 1 < 1 + delta < axis.high
    assert sum(axis.low <= ratio <= axis.high for ratio in ratios) >= 0.8 * len(ratios)
    places = [at for at, _label in axis.ticks]
    assert "1.000" in [label for _at, label in axis.ticks]
    assert places == sorted(set(places)) and len(places) <= 8
    assert all(0 <= at <= 100 for at in places)


def test_verdicts_are_marks_and_a_failed_row_has_none() -> None:
    rows = (
        RowComparison("w/slow", "w", Verdict.SLOWER, ratio=1.5, low=1.4, high=1.6),
        RowComparison("w/broken", "w", Verdict.FAILED, ratio=1.5),
        RowComparison("w/none", "w", Verdict.UNDECIDED),
    )
    view = named_view(Comparison("A", "B", "compare", 0.02, rows), {})
    assert [row.bar is not None for row in view.lines] == [True, False, False]


def test_ratios_have_the_digits_that_matter() -> None:
    assert [ratio_text(value) for value in (1.0, 0.9876, 12.3456, 0.01234)] == ["1.000", "0.988", "12.35", "0.01234"]
    assert [percent_label(value) for value in (1.0, 1.1, 0.95)] == ["0", "+10 %", "-5 %"]
