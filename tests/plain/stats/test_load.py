"""Peak and crossing of curves against load: are they points that were measured and decided?"""

from __future__ import annotations

import pytest

from kernometer.stats.curves import crossings, peak
from tests.support.stats.load import EQUAL, FASTER, OPEN, SLOWER, compared, load


def test_the_peak_is_the_highest_point_and_those_that_cannot_be_told_from_it() -> None:
    """Expected: 8 users, from 4 to 8; 32 are as high, but 16 in between are lower. Broken: a plateau with a dip."""
    found = peak(load(50, 90, 129, 130, 120, 129))
    assert found is not None
    assert (found.point.x, found.first, found.last) == (8, 4, 8)


def test_points_without_intervals_are_told_apart_and_those_without_a_value_left_out() -> None:
    found = peak(load(None, 81, 130, 129.9, half=None))
    assert found is not None
    assert (found.point.x, found.first, found.last) == (4, 4, 4)


def test_what_has_no_peak() -> None:
    """Expected: none where lower is better, and none where nothing has a value."""
    assert peak(load(3, 2, 1, better="lower")) is None
    assert peak(load(None, None, None)) is None


def test_two_curves_cross_between_decided_points() -> None:
    """Expected: ahead with few users, behind with many; undecided points lie between. As far off on both sides: the
    crossing is in the (logarithmic) middle of 2 and 32. Broken: a crossing made of noise."""
    curve = compared((FASTER, 0.8), (FASTER, 0.9), (OPEN, 1.1), (EQUAL, 0.99), (OPEN, None), (SLOWER, 1 / 0.9))
    (found,) = crossings(curve)
    assert (found.before.x, found.after.x) == (2, 32)
    assert found.at == pytest.approx(8)


def test_curves_that_never_change_places_do_not_cross() -> None:
    assert crossings(compared((SLOWER, 1.2), (OPEN, 0.7), (EQUAL, 1.0), (SLOWER, 1.1))) == ()
    assert crossings(compared((OPEN, 0.9), (OPEN, 1.1), (OPEN, None))) == ()


def test_every_change_of_places_is_told() -> None:
    found = crossings(compared((SLOWER, 1.5), (FASTER, 0.5), (SLOWER, 2.0)))
    assert [(one.before.x, one.after.x) for one in found] == [(1, 2), (2, 4)]
    assert all(one.before.x < one.at < one.after.x for one in found)
