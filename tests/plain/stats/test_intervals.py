"""Do the 95 % intervals hold what they say, on simulated sessions and blocks with a known truth?

Bounds: `upper_bound(share, trials)` is what an honest procedure exceeds in fewer than 1 of 2,000 tries.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import pytest

from kernometer.stats.intervals import BOOTSTRAP_UNITS, Contrast, bootstrap_difference, from_variances, paired, welch
from tests.support.stats.simulate import heavy, upper_bound

if TYPE_CHECKING:
    from numpy.typing import NDArray

TRIALS = 20_000
TRUTH = math.log(1.1)


def missed(contrast: Contrast, truth: float) -> float:
    """Share of intervals that do not hold the truth."""
    low, high = contrast.interval()
    return float(np.mean((low > truth) | (high < truth)))


def side(rng: np.random.Generator, units: int, between: float, tails: bool, level: float = 0.0) -> NDArray[np.float64]:
    """Session figures: session effect, and the mean of three process effects of 0.5 %."""
    session = heavy(rng, (TRIALS, units)) if tails else rng.standard_normal((TRIALS, units))
    process = rng.standard_normal((TRIALS, units, 3)).mean(axis=-1)
    return np.asarray(level + between * session + 0.005 * process)


@pytest.mark.parametrize("tails", [False, True], ids=["normal", "heavy"])
@pytest.mark.parametrize(("n", "m"), [(2, 2), (3, 3), (2, 5), (10, 10)])
@pytest.mark.parametrize("ratio_of_spreads", [1.0, 4.0])
def test_welch_on_sessions_covers_the_truth(n: int, m: int, ratio_of_spreads: float, tails: bool) -> None:
    """Expected: 95 of 100 where both sides spread alike, as they do when nothing differs; at least 93 where not."""
    rng = np.random.default_rng(n * 100 + m)
    a = side(rng, n, 0.01 * ratio_of_spreads, tails)
    b = side(rng, m, 0.01, tails, level=TRUTH)
    allowed = 0.05 if ratio_of_spreads == 1 else 0.065
    assert missed(welch(a, b), TRUTH) <= upper_bound(allowed, TRIALS) <= 0.0725


def test_uneven_sides_need_the_smaller_ones_degrees_of_freedom() -> None:
    """Two sessions, four times as wild, against five. Expected: at most 5 %. Broken: 10 %, by Welch's own."""
    rng = np.random.default_rng(9)
    a, b = side(rng, 2, 0.04, False), side(rng, 5, 0.01, False)
    assert missed(welch(a, b), 0.0) <= upper_bound(0.05, TRIALS)
    plain = from_variances(
        b.mean(axis=1) - a.mean(axis=1), (a.var(axis=1, ddof=1) / 2, 1.0), (b.var(axis=1, ddof=1) / 5, 4.0)
    )
    assert missed(plain, 0.0) > 0.08


@pytest.mark.parametrize("tails", [False, True], ids=["normal", "heavy"])
@pytest.mark.parametrize("n", [2, 5, 10, 30])
def test_paired_t_covers_the_truth(n: int, tails: bool) -> None:
    rng = np.random.default_rng(n)
    noise = heavy(rng, (TRIALS, n)) if tails else rng.standard_normal((TRIALS, n))
    assert missed(paired(TRUTH + 0.01 * noise), TRUTH) <= upper_bound(0.05, TRIALS)


def test_samples_of_a_session_are_no_units() -> None:
    """The pitfall: 200 samples a side of one session each, with a session effect of 1 %. Expected: Welch on them finds
    a difference in more than half of A/A pairs. It is why nothing here takes samples, or processes, for units."""
    rng = np.random.default_rng(1)
    trials = 2000
    a, b = (0.01 * rng.standard_normal((trials, 1)) + 0.01 * rng.standard_normal((trials, 200)) for _ in range(2))
    assert missed(welch(a, b), 0.0) > 0.5


def test_processes_of_a_session_are_no_units_either() -> None:
    rng = np.random.default_rng(2)
    a, b = (0.01 * rng.standard_normal((TRIALS, 1)) + 0.005 * rng.standard_normal((TRIALS, 10)) for _ in range(2))
    assert missed(welch(a, b), 0.0) > 0.5


def test_drift_breaks_an_unpaired_test_and_not_a_paired_one() -> None:
    """1 % drift a run. Expected: paired in random order, at most 5 % of A/A pairs differ; A before B, nearly all."""
    rng = np.random.default_rng(3)
    blocks = 10
    order = rng.integers(0, 2, (TRIALS, blocks))
    slot = 2 * np.arange(blocks)
    a = 0.01 * (slot + order) + 0.005 * rng.standard_normal((TRIALS, blocks))
    b = 0.01 * (slot + 1 - order) + 0.005 * rng.standard_normal((TRIALS, blocks))
    assert missed(paired(b - a), 0.0) <= upper_bound(0.05, TRIALS)
    first = 0.01 * np.arange(blocks) + 0.005 * rng.standard_normal((TRIALS, blocks))
    then = 0.01 * (blocks + np.arange(blocks)) + 0.005 * rng.standard_normal((TRIALS, blocks))
    assert missed(welch(first, then), 0.0) > 0.9


def test_pairing_takes_a_common_walk_out() -> None:
    """A machine whose speed walks at random: blocks share it. Expected: paired intervals hold, and are far narrower."""
    rng = np.random.default_rng(4)
    walk = np.cumsum(0.02 * rng.standard_normal((TRIALS, 12)), axis=1)
    a, b = (walk + 0.004 * rng.standard_normal((TRIALS, 12)) for _ in range(2))
    assert missed(paired(b - a), 0.0) <= upper_bound(0.05, TRIALS)
    assert np.median(paired(b - a).se) < 0.2 * np.median(welch(a, b).se)


@pytest.mark.parametrize(("skewed", "least"), [(False, 0.91), (True, 0.87)], ids=["normal", "exponential"])
def test_bootstrap_covers_the_truth_from_twenty_units_up(skewed: bool, least: float) -> None:
    """BCa on 20 pairs. It only ever takes a verdict back: the t interval stands beside it."""
    rng = np.random.default_rng(1)
    trials, held = 800, 0
    for _ in range(trials):
        d = rng.exponential(size=BOOTSTRAP_UNITS) - 1 if skewed else rng.standard_normal(BOOTSTRAP_UNITS)
        low, high = bootstrap_difference(None, 0.02 * d, resamples=500)
        held += low <= 0 <= high
    assert held / trials >= least


def test_bootstrap_of_two_sides_agrees_with_welch_on_normal_data() -> None:
    rng = np.random.default_rng(6)
    a, b = rng.normal(0, 0.01, 60), rng.normal(0.05, 0.03, 40)
    low, high = bootstrap_difference(a, b)
    t_low, t_high = welch(a, b).interval()
    assert low == pytest.approx(float(t_low), abs=0.004)
    assert high == pytest.approx(float(t_high), abs=0.004)


def test_bootstrap_of_few_units_is_refused() -> None:
    """Expected: an error, since on 10 units a percentile interval misses in 8 of 100."""
    with pytest.raises(ValueError, match="at least 20"):
        bootstrap_difference(None, np.zeros(BOOTSTRAP_UNITS - 1))


def test_bootstrap_of_constant_units_is_a_point() -> None:
    assert bootstrap_difference(np.zeros(20), np.full(20, 0.5)) == (0.5, 0.5)


def test_no_spread_at_all_is_certain() -> None:
    """Expected: equal constants p = 1, different ones p = 0, no division by zero."""
    same, other = welch([1.0, 1.0], [1.0, 1.0]), welch([1.0, 1.0], [2.0, 2.0])
    assert (float(same.p()), float(other.p())) == (1.0, 0.0)
    low, high = other.interval()
    assert float(low) == float(high) == 1.0


def test_satterthwaite_lies_between_the_smaller_part_and_the_sum() -> None:
    contrast = from_variances(0.0, (1.0, 3.0), (0.2, 10.0))
    assert 3 < float(contrast.df) < 13
    assert float(contrast.se) == pytest.approx(math.sqrt(1.2))


@pytest.mark.parametrize(
    ("of_a", "of_b", "df"), [(4, 6, 3.0), (5, 6, None), (4, 4, None)], ids=["uneven", "settled", "even"]
)
def test_a_small_side_of_uneven_ones_gives_its_own_degrees_of_freedom(of_a: int, of_b: int, df: float | None) -> None:
    """Expected: below five units alone (Hsu), else Satterthwaite's, which are more."""
    a, b = (np.linspace(0, 0.01, count) for count in (of_a, of_b))
    found = float(welch(a, b).df)
    assert found == df if df is not None else found > min(of_a, of_b) - 1


def test_a_slope_that_is_estimated_takes_a_degree_of_freedom() -> None:
    differences, beside = np.random.default_rng(3).normal(0, 0.01, (2, 8))
    assert float(paired(differences).df) == 7
    assert float(paired(differences, beside).df) == 6
