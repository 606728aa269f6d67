"""How often a rule errs, on simulated data."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from kernometer.results.model import Result
from kernometer.stats.model import Comparison
from tests.support.stats.simulate import (
    ROW,
    of_costs,
)

Noise = Callable[[np.random.Generator, tuple[int, ...]], NDArray[np.float64]]


def normal(rng: np.random.Generator, shape: tuple[int, ...]) -> NDArray[np.float64]:
    return rng.standard_normal(shape)


def sides(
    rng: np.random.Generator,
    blocks: int,
    *,
    ratio: float = 1.0,
    noise: float = 0.01,
    drift: float = 0.0,
    of: Noise = normal,
    rows: list[str] | None = None,
) -> tuple[Result, Result]:
    """Both sides of an `ab`: blocks in random order, `drift` from one run to the next, a step half way."""
    made: tuple[dict[str, list[float]], ...] = ({}, {})
    for row in rows or [ROW]:
        order = rng.integers(0, 2, blocks)
        step = np.where(np.arange(blocks) >= blocks // 2, 0.2 if drift else 0.0, 0.0)
        for which, costs in enumerate(made):
            slot = 2 * np.arange(blocks) + (order if which == 0 else 1 - order)
            logs = drift * slot + step + noise * of(rng, (blocks,)) + which * math.log(ratio)
            costs[row] = list(100 * np.exp(logs))
    a, b = (of_costs(name, costs, experiment="ab-1", side=name) for name, costs in zip("AB", made, strict=True))
    return a, b


def rate(comparison: Comparison, truth: float) -> tuple[float, float]:
    """(share of rows that reject equality, share of intervals that miss the truth), both unadjusted."""
    rejected = [row.p is not None and row.p < 0.05 for row in comparison.rows]
    missed = [not row.low <= truth <= row.high for row in comparison.rows if row.low is not None and row.high]
    return float(np.mean(rejected)), float(np.mean(missed))


def false_alarms(comparison: Comparison) -> float:
    """Share of rows whose own, unadjusted test rejects: the rows of one simulated comparison are its replicates."""
    return float(np.mean([row.p is not None and row.p < 0.05 for row in comparison.rows]))


def misses(comparison: Comparison, truth: float) -> float:
    """Share of rows whose interval does not hold the true ratio."""
    return float(np.mean([not row.low <= truth <= row.high for row in comparison.rows if row.low and row.high]))
