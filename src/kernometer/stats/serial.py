"""Units that follow one another are alike: a contrast by their order in time. docs/statistics.md, "In a row"."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

from kernometer.stats.intervals import Contrast, from_variances, unsettled

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

#: The correlation of neighbouring units that an interval allows for where the sides were measured in a row: twice what
#: sessions of one kernel had (0.3 to 0.4).
NEIGHBOURS = 0.7
#: A longer row is judged by so many batches a side, each the mean of the units in it (Schmeiser 1982): of a hundred
#: sessions of one hour not only neighbours are alike, and sessions 29 minutes apart are one occasion all day.
BATCHES = 5


def in_a_row(starts_a: Sequence[float], starts_b: Sequence[float]) -> bool:
    """Whether correlation takes the sides' means further apart than Welch's t expects from the spread within the sides.

    By the times when units began, at least 2 a side. False where the sides took turns: there it brings them together.
    """
    n, m = len(starts_a), len(starts_b)
    r = _correlation((*starts_a, *starts_b))
    own_a, own_b, between = r[:n, :n].mean(), r[n:, n:].mean(), r[:n, n:].mean()
    # Of units of variance 1, s²/n is expected to be (1 - own) / (n - 1), and the mean's variance is own.
    return bool(own_a + own_b - 2 * between > (1 - own_a) / (n - 1) + (1 - own_b) / (m - 1))


def generalised(
    a: Sequence[float], b: Sequence[float], starts_a: Sequence[float], starts_b: Sequence[float]
) -> Contrast:
    """Welch's t with generalised least squares (Aitken 1935): logs of units and when they began, at least 2 a side.

    B less A, by the weights w that are best at the correlation R of the batches: d = w·y and se² = u'Ru, where u is w
    times the side's standard deviation, and that comes from the side's own residuals: s² = e'R⁻¹e / (n - 1).
    """
    import numpy as np

    logs_a, first_a = _batches(a, starts_a)
    logs_b, first_b = _batches(b, starts_b)
    y, r, n = np.array(logs_a + logs_b), _correlation(first_a + first_b), len(logs_a)
    sides = np.stack([np.ones(len(y)), np.arange(len(y)) >= n])
    whitened = sides @ np.linalg.inv(r)
    w = np.linalg.solve(whitened @ sides.T, whitened)[1]
    u, parts = np.zeros(len(y)), []
    for side in (slice(0, n), slice(n, None)):
        own, logs = r[side, side], y[side]
        inverse = np.linalg.inv(own)
        e = logs - logs @ inverse.sum(axis=0) / inverse.sum()
        variance = e @ inverse @ e / (len(logs) - 1)
        u[side] = w[side] * math.sqrt(variance)
        parts.append((u[side] @ own @ u[side], len(logs) - 1.0))
    df = from_variances(0.0, *parts, cautious=unsettled(n, len(y) - n)).df
    return Contrast(np.asarray(w @ y), np.asarray(math.sqrt(u @ r @ u)), df)


def variance_in_a_row(n: int, neighbours: float) -> float:
    """Of that d, for n units of A, then n of B, of variance 1, in closed form. Without correlation 2/n, as in turn."""
    count, size, steady = min(n, BATCHES), max(1.0, n / BATCHES), 1 - neighbours
    # Of a batch's mean: Bayley and Hammersley (1946).
    of_batch = (size * (1 - neighbours**2) - 2 * neighbours * (1 - neighbours**size)) / (size * steady) ** 2
    return float(of_batch * (1 - neighbours**2) / (neighbours + steady * (1 + (count - 1) * steady) / 2))


def _correlation(starts: Sequence[float]) -> NDArray[np.float64]:
    """`NEIGHBOURS` to the power of how many places units lie apart in order of time: AR(1)."""
    import numpy as np

    places = np.argsort(np.argsort(starts, kind="stable"))
    return np.asarray(NEIGHBOURS ** np.abs(np.subtract.outer(places, places)), dtype=np.float64)


def _batches(logs: Sequence[float], starts: Sequence[float]) -> tuple[list[float], list[float]]:
    """At most `BATCHES` means of units that follow one another, and when each batch began."""
    units = sorted(zip(starts, logs, strict=True))
    count = min(BATCHES, len(units))
    batches = [units[i:j] for i, j in pairwise(len(units) * k // count for k in range(count + 1))]
    return [math.fsum(log for _, log in batch) / len(batch) for batch in batches], [batch[0][0] for batch in batches]
