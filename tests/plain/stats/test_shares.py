"""Intervals of shares."""

from __future__ import annotations

import math

import pytest
from scipy.stats import binomtest  # type: ignore[import-untyped]  # scipy carries no types

from kernometer.stats.intervals import wilson


@pytest.mark.parametrize(("count", "of"), [(0, 1000), (1, 10), (5, 10), (499, 500), (10, 10)])
def test_it_is_wilsons_interval(count: int, of: int) -> None:
    """Expected: SciPy's ends. Broken: an end that is another method's."""
    wanted = binomtest(count, of).proportion_ci(method="wilson")
    assert math.isclose(wilson(count, of)[0], wanted.low, abs_tol=1e-12)
    assert math.isclose(wilson(count, of)[1], wanted.high, abs_tol=1e-12)


def test_nothing_counted_says_nothing() -> None:
    assert wilson(0, 0) == (0.0, 1.0)
