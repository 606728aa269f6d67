"""Does the warm-up rule find a transient, and only a transient?"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from kernometer.stats.figures import figure
from kernometer.stats.warmup import MAX_SHARE, MIN_SAMPLES, critical, midranks, warmup
from tests.support.stats.simulate import ROW, heavy, result, run, session, upper_bound

if TYPE_CHECKING:
    from numpy.typing import NDArray

TRIALS = 1000


def found(samples: NDArray[np.float64]) -> float:
    """Share of the runs, shape (runs, n), in which a warm-up was found."""
    return float(np.mean([warmup(one) > 0 for one in samples]))


@pytest.mark.parametrize("n", [MIN_SAMPLES, 30, 100, 500])
def test_stationary_samples_have_no_warmup(n: int) -> None:
    """Expected: found in 1 % of runs at most, whatever the samples' distribution. Broken: samples vanish at random."""
    rng = np.random.default_rng(n)
    for samples in (
        rng.normal(100, 1, (TRIALS, n)),
        np.exp(heavy(rng, (TRIALS, n))),
        np.round(rng.normal(100, 1, (TRIALS, n))),
    ):
        assert found(samples) <= upper_bound(0.01, TRIALS)


def test_stationary_samples_that_resemble_their_neighbours_have_no_warmup() -> None:
    """Expected: at most 5 % for a correlation of 0.5. Broken: without its correction the rule fires in a third."""
    rng = np.random.default_rng(5)
    noise = rng.normal(size=(TRIALS, 150))
    alike = np.zeros_like(noise)
    for i in range(1, noise.shape[1]):
        alike[:, i] = 0.5 * alike[:, i - 1] + noise[:, i]
    assert found(alike[:, 50:]) <= upper_bound(0.05, TRIALS)


@pytest.mark.parametrize("n", [40, 100, 400])
@pytest.mark.parametrize("sign", [1, -1])
def test_transient_at_the_start_is_found(n: int, sign: int) -> None:
    """Expected: a decaying start is cut in nearly every run, slower or faster; the rest is clean. Broken: it stays."""
    rng = np.random.default_rng(n)
    start = sign * 0.3 * np.exp(-np.arange(n) / (0.08 * n))
    runs = 100 * (1 + 0.01 * rng.standard_normal((300, n)) + start)
    assert found(runs) > 0.95
    cut = np.median([warmup(one) for one in runs])
    assert 0.1 * n <= cut <= 0.5 * n


def test_step_at_the_start_is_cut_where_it_ends() -> None:
    """Expected: the first 20 of 100 samples, 5 % slower, are left out, give or take one."""
    rng = np.random.default_rng(7)
    samples = 100 + rng.normal(0, 1, 100)
    samples[:20] += 5
    assert abs(warmup(samples) - 20) <= 1


def test_no_more_than_half_is_left_out() -> None:
    """Expected: drift over the whole run costs half of it at most. Broken: a run is thrown away."""
    for n in (MIN_SAMPLES, 17, 50, 333):
        assert warmup(np.linspace(200, 100, n)) <= n * MAX_SHARE


@pytest.mark.parametrize("samples", [[7.0] * 100, [1.0], [5.0] * (MIN_SAMPLES - 1)])
def test_constant_or_few_samples_are_kept(samples: list[float]) -> None:
    assert warmup(np.array(samples)) == 0


def test_one_huge_first_sample_is_no_warmup() -> None:
    """Expected: 0: a median bears it. Broken: a rule on means would cut, or be blinded by it."""
    rng = np.random.default_rng(3)
    samples = rng.normal(100, 1, 60)
    samples[0] = 1e9
    assert warmup(samples) == 0


def test_midranks_share_ties() -> None:
    assert list(midranks(np.array([3.0, 1.0, 3.0, 2.0]))) == [3.5, 1.0, 3.5, 2.0]


def test_critical_value_grows_with_the_number_of_cuts() -> None:
    assert critical(16) < critical(100) < critical(4096)


def test_figure_leaves_the_warmup_out_and_says_how_much() -> None:
    """Expected: 100 ns although the first third of the samples took 150."""
    rng = np.random.default_rng(11)
    samples = 20 + 1000 * (1 + rng.normal(100, 0.5, 60))
    samples[:20] += 50_000
    figured = figure(result(session("s"), [run([int(x) for x in samples])]), ROW)
    assert abs(figured.runs[0].warmup - 20) <= 1
    assert figured.cost == pytest.approx(100, rel=0.01)
    assert figured.runs[0].samples == 60 - figured.runs[0].warmup
