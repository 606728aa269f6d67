"""The time until an interval is narrow enough: known spreads, known answers."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from kernometer.results.model import Run
from kernometer.stats.figures import figure
from kernometer.stats.intervals import median_interval, t_quantile
from kernometer.stats.model import RowFigure
from studies.precision import bounds, half_width, runs_until, seconds_until, spread
from tests.support.stats.simulate import ROW, exact_run, result, run, session, workload


def test_the_least_number_is_enough_and_one_fewer_is_not() -> None:
    """Expected: the half-width meets the width at n, misses it at n - 1. Broken: too few, by the normal law."""
    for sd in (0.002, 0.01, 0.05, 0.3):
        for width in (0.01, 0.02, 0.05):
            n = runs_until(sd, width)
            assert n is not None

            def half(runs: int, sd: float = sd) -> float:
                of_mean = float(t_quantile(0.975, runs - 1)) * sd / math.sqrt(runs)
                return of_mean if runs < 5 else of_mean * math.sqrt(math.pi / 2)

            assert half(n) <= math.log1p(width)
            assert n == 2 or half(n - 1) > math.log1p(width)


def test_no_spread_needs_two_runs_and_a_wild_one_has_no_answer() -> None:
    assert runs_until(0.0, 0.01) == 2
    assert runs_until(50.0, 0.01) is None
    with pytest.raises(ValueError, match="cannot be met"):
        runs_until(0.1, 0.0)


def test_so_many_runs_have_that_width_in_simulation() -> None:
    """Known truth: 10,000 sessions of as many runs as it says are as narrow as asked in the mean, and not narrower."""
    n = runs_until(0.03, 0.02)
    assert n is not None
    logs = np.random.default_rng(5).normal(0.0, 0.03, (2_000, n))
    widths = [high - low for low, high in map(median_interval, logs.tolist())]
    assert float(np.mean(widths)) / 2 == pytest.approx(math.log1p(0.02), rel=0.1)


def figure_of(*runs: Run) -> RowFigure:
    definition = workload(runs[0].workload)
    return figure(result(session("s"), runs, workloads={definition.name: definition}), runs[0].row)


def test_a_row_is_told_in_seconds_of_its_own_runs() -> None:
    """Three runs of 0.5 s whose logs have a known spread: so many runs of half a second."""
    runs = [
        run([round(1e6 * math.exp(step))] * 5, seconds=0.5, clock_cost=(), loop_cost=()) for step in (0, 0.02, 0.04)
    ]
    row = figure_of(*runs)
    assert spread(row) == pytest.approx(0.02, rel=1e-3)
    needed = runs_until(0.02, 0.01)
    assert needed is not None
    assert seconds_until(row, 0.01) == pytest.approx(needed * 0.5)
    assert half_width(row) == pytest.approx(math.exp(float(t_quantile(0.975, 2)) * 0.02 / math.sqrt(3)) - 1, rel=1e-2)


def test_one_run_says_nothing_of_the_time() -> None:
    row = figure_of(run([1_000_000] * 5))
    assert (spread(row), seconds_until(row, 0.01), half_width(row)) == (None, None, None)


@pytest.mark.parametrize(
    ("changes", "word"),
    [
        ({"samples": [2_000_000_000], "batch": 1, "stopped": "time", "seconds": 2.1}, "one iteration takes 2 s"),
        ({"samples": [1_000_000] * 50, "seconds": 0.5}, "0.45 s of a run lie outside"),
        ({"samples": [1_000_000] * 50, "seconds": 0.06}, "the spread of its runs"),
    ],
)
def test_what_bounds_a_row_is_named(changes: dict[str, Any], word: str) -> None:
    runs = [run(**(changes | {"samples": [value + step for value in changes["samples"]]})) for step in (0, 10_000)]
    assert bounds(figure_of(*runs), runs).startswith(word)


def test_the_spread_of_five_runs_is_that_of_the_second_and_fourth() -> None:
    row = figure(result(session("s"), [exact_run(100 * math.exp(0.01 * i), run=i) for i in range(5)]), ROW)
    assert spread(row) == pytest.approx(0.02 / 1.349, rel=1e-4)
