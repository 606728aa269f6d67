"""The interval of a share."""

from __future__ import annotations

import pytest

from kernometer.stats.proportions import wilson


@pytest.mark.parametrize(
    ("found", "of", "low", "high"), [(0, 10, 0.0, 0.278), (10, 10, 0.722, 1.0), (99, 100, 0.946, 0.998)]
)
def test_shares_near_the_ends_have_intervals_within_them(found: int, of: int, low: float, high: float) -> None:
    """Expected: Wilson's, as published in tables. Broken: none of ten counts as never."""
    assert wilson(found, of) == pytest.approx((low, high), abs=0.001)


def test_without_a_trial_there_is_no_share() -> None:
    with pytest.raises(ValueError, match="n"):
        wilson(0, 0)
