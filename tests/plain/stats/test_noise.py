"""A host's own spread between sessions."""

from __future__ import annotations

import numpy as np
import pytest

from kernometer.stats.figures import figures
from kernometer.stats.history import Grain, entry, history_of, occasions, spread
from kernometer.stats.noise import known_spread, row_noise, spread_between_sessions
from tests.support.stats.simulate import ROW, of_costs, sessions, upper_bound


def test_two_sessions_give_a_spread_with_a_wide_interval() -> None:
    """What the second `make run` shows. Expected: |log ratio| / sqrt(2), from about a half to thirty times that."""
    noise = spread_between_sessions([figures(of_costs(str(i), {ROW: [cost]})) for i, cost in enumerate((100, 102))])
    assert noise is not None
    row = noise.rows[ROW]
    assert row.sd == pytest.approx(np.log(1.02) / np.sqrt(2))
    assert row.low == pytest.approx(0.446 * row.sd, rel=0.01)
    assert row.high == pytest.approx(31.9 * row.sd, rel=0.01)
    assert (noise.sessions, noise.worst) == (2, ROW)


def test_one_session_has_no_spread() -> None:
    assert spread_between_sessions([figures(of_costs("a", {ROW: [100.0]}))]) is None
    assert spread_between_sessions([]) is None
    assert (
        spread_between_sessions([figures(of_costs("a", {"w/x": [1.0]})), figures(of_costs("b", {ROW: [1.0]}))]) is None
    )


def test_equal_sessions_spread_by_nothing() -> None:
    noise = spread_between_sessions([figures(of_costs(str(i), {ROW: [100.0]})) for i in range(3)])
    assert noise is not None
    assert (noise.rows[ROW].sd, noise.rows[ROW].limit, noise.typical) == (0, 0, 0)


def test_repeatability_limit_is_exceeded_by_one_pair_in_twenty() -> None:
    """Simulated: the limit from 5 sessions, then a new pair. Expected: beyond it in 5 % of 20,000 tries."""
    rng = np.random.default_rng(1)
    trials = 20_000
    known = 0.01 * rng.standard_normal((trials, 5))
    new = np.abs(0.01 * np.diff(rng.standard_normal((trials, 2)), axis=1)[:, 0])
    limits = np.array([row_noise(ROW, variance, 4).limit for variance in known.var(axis=1, ddof=1)[:4000]])
    beyond = float(np.mean(np.expm1(new[:4000]) > limits))
    assert beyond <= upper_bound(0.05, 4000)
    assert beyond >= 0.03


def test_known_spread_needs_three_sessions_of_this_kind() -> None:
    rng = np.random.default_rng(2)
    made = sessions("s", 4, rng, between=0.01)
    like = entry(made[0])
    assert known_spread(history_of(made[:2]), like) is None
    known = known_spread(history_of(made), like)
    assert known is not None
    assert known.rows[ROW].sessions == 4
    other = sessions("o", 4, rng, between=0.01, target="wrap:x")
    assert known_spread(history_of(other), like) is None


def test_spread_within_an_occasion_is_not_that_between_days() -> None:
    """Days 5 % apart, sessions of a day 0.2 %. Expected: for sessions of one occasion the small one, for occasions the
    large one."""
    rng = np.random.default_rng(3)
    made = []
    for day in range(5):
        level = 100 * np.exp(0.05 * rng.standard_normal())
        made += sessions(f"d{day}", 3, rng, between=0.002, within=0.0, cost=level, first=86_400.0 * day)
    known, like = history_of(made), entry(made[0])
    near, far = (spread(known, ROW, like, of, without=()) for of in (Grain.SESSION, Grain.OCCASION))
    assert near is not None and far is not None
    assert (near.df, far.df) == (10, 4)
    assert np.sqrt(near.variance) < 0.005 < 0.02 < np.sqrt(far.variance)


def test_long_sessions_in_a_row_are_one_occasion() -> None:
    """A full profile takes two hours. Expected: what counts is the pause between sessions, not between their starts."""
    from kernometer.results.model import End

    made = [of_costs(str(i), {ROW: [1.0]}, started=7500.0 * i, end=End(complete=True, seconds=7200)) for i in range(3)]
    assert set(occasions(entry(one) for one in made).values()) == {0}
    apart = [of_costs(str(i), {ROW: [1.0]}, started=7500.0 * i) for i in range(3)]
    assert set(occasions(entry(one) for one in apart).values()) == {0, 1, 2}
