"""Warm-up: how many leading samples of a run belong to an initial transient. docs/statistics.md, "Warm-up"."""

from __future__ import annotations

import math
from functools import lru_cache

from kernometer.arrays import Floats, np

#: Fewer samples are not searched: the rule could not show a transient at its 1 % level.
MIN_SAMPLES = 16
#: The shortest head that counts: one or two odd samples do not move a median.
MIN_HEAD = 3
#: The largest share that is left out: what lasts longer than half a run is not its start.
MAX_SHARE = 0.5
#: The largest |z| of a stationary run exceeds CRITICAL_BASE + CRITICAL_SLOPE ln(n) in 1 run of 100, for 16 to 4,096
#: samples (simulated; tests/plain/stats/test_warmup.py tests it).
CRITICAL_BASE = 2.55
CRITICAL_SLOPE = 0.15


def critical(n: int) -> float:
    """The value that max |z| of n exchangeable samples exceeds with a probability of 1 %."""
    return CRITICAL_BASE + CRITICAL_SLOPE * math.log(n)


def midranks(x: Floats) -> Floats:
    """Ranks 1 … n; equal values share the mean of theirs."""
    ordered = np.sort(x)
    return np.asarray((ordered.searchsorted(x, "left") + ordered.searchsorted(x, "right") + 1) / 2, dtype=np.float64)


def warmup(samples: Floats) -> int:
    """How many leading samples to leave out: 0 without a transient, at most half.

    Shape (n,): samples of one run in the order taken, any unit. For every cut k the ranks before it are compared with
    those after it (the Mann-Whitney z, exact for ties), as in rank tests for one change point (Pettitt 1979). The
    largest |z|, reduced if neighbouring samples of the second half are alike, must exceed `critical(n)`. With ranks one
    huge sample cannot make or hide a transient.
    """
    n = len(samples)
    if n < MIN_SAMPLES:
        return 0
    centred = midranks(samples) - (n + 1) / 2
    squares = float(centred @ centred)
    if squares == 0:
        return 0
    sums = np.cumsum(centred)[MIN_HEAD - 1 : int(n * MAX_SHARE)]
    z = np.abs(sums) / np.sqrt(_variances(n) * squares)
    best, least = int(z.argmax()), critical(n)
    # Similar neighbours only reduce |z|: most runs show without them that there is no transient.
    return MIN_HEAD + best if z[best] > least and z[best] / inflation(centred[n // 2 :]) > least else 0


@lru_cache(maxsize=64)
def _variances(n: int) -> Floats:
    """Of the sum of the ranks before each cut of n samples, per sum of squares of all ranks."""
    heads = np.arange(MIN_HEAD, int(n * MAX_SHARE) + 1)
    return np.asarray(heads * (n - heads) / (n * (n - 1.0)))


def inflation(x: Floats) -> float:
    """How much similar neighbours widen the spread of a mean: sqrt((1 + r) / (1 - r)), r of lag 1, never < 1. Computed
    from the second half of a run, after any transient at its start."""
    centred = x - x.mean()
    squares = float(centred @ centred)
    if squares == 0:
        return 1.0
    r = float(centred[:-1] @ centred[1:]) / squares
    return math.sqrt((1 + r) / (1 - r)) if 0 < r < 1 else 1.0
