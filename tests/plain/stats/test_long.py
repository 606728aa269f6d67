"""The questions of the other files of this folder, with so many trials that a rate is known to a tenth of its size.

Left out of the default run; `make test` takes its turn with them, `make test-all` runs all.
"""

from __future__ import annotations

import numpy as np
import pytest

from kernometer.stats.alternate import ab
from kernometer.stats.compare import compare
from kernometer.stats.history import history_of
from kernometer.stats.intervals import BOOTSTRAP_UNITS, bootstrap_difference, paired, welch
from kernometer.stats.warmup import warmup
from tests.support.stats.rates import false_alarms, misses, rate, sides
from tests.support.stats.simulate import heavy, sessions, upper_bound

ROWS = [f"w/{i}" for i in range(4000)]


@pytest.mark.slow(minutes=0.02)
@pytest.mark.parametrize("n", [16, 40, 250, 1500])
def test_stationary_samples_have_no_warmup_in_many_runs(n: int) -> None:
    trials = 20_000 if n < 1000 else 5000
    rng = np.random.default_rng(n)
    rate_found = np.mean([warmup(one) > 0 for one in rng.normal(size=(trials, n))])
    assert rate_found <= upper_bound(0.01, trials)
    assert rate_found > 0.001


@pytest.mark.slow(minutes=0.02)
@pytest.mark.parametrize("units", [2, 3, 5, 8])
def test_welch_rejects_equal_sides_in_five_of_a_hundred_at_most(units: int) -> None:
    rng = np.random.default_rng(units)
    trials = 400_000
    for noise in (rng.standard_normal, lambda shape: heavy(rng, shape)):
        p = welch(noise((trials, units)), noise((trials, units))).p()
        assert np.mean(p < 0.05) <= upper_bound(0.05, trials)


@pytest.mark.slow(minutes=0.7)
def test_ab_holds_its_error_rate_under_drift_in_many_rows() -> None:
    judged = ab(*sides(np.random.default_rng(1), 8, drift=0.01, of=lambda rng, shape: heavy(rng, shape), rows=ROWS))
    rejected, missed = rate(judged, 1.0)
    assert rejected <= upper_bound(0.05, len(ROWS))
    assert missed <= upper_bound(0.05, len(ROWS))


@pytest.mark.slow(minutes=0.4)
def test_single_sessions_hold_their_error_rate_in_many_rows() -> None:
    a, b, *earlier = sessions("s", 5, np.random.default_rng(2), between=0.02, rows=ROWS, runs=3)
    judged = compare([a], [b], history=history_of(earlier))
    assert false_alarms(judged) <= upper_bound(0.05, len(ROWS))
    assert misses(judged, 1.0) <= upper_bound(0.05, len(ROWS))


@pytest.mark.slow(minutes=0.04)
def test_bootstrap_beside_t_takes_false_alarms_away() -> None:
    """20 exponential differences, where t alone is wrong in 7.5 %. Expected: fewer where both must agree."""
    rng = np.random.default_rng(3)
    trials, alone, both = 2000, 0, 0
    for _ in range(trials):
        d = rng.exponential(size=BOOTSTRAP_UNITS) - 1
        t_low, t_high = (float(end) for end in paired(d).interval())
        low, high = bootstrap_difference(None, d, resamples=500)
        alone += t_low > 0 or t_high < 0
        both += (t_low > 0 and low > 0) or (t_high < 0 and high < 0)
    assert both < alone
    assert both / trials <= 0.08
