"""Consecutive units are alike: a contrast that uses their order in time. docs/statistics.md, "In a row"."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import groupby, pairwise

from kernometer.arrays import Floats, Truths, np
from kernometer.stats.intervals import Contrast, from_variances, unsettled

#: The correlation of neighbouring units that an interval allows for if the sides were measured in a row: twice that of
#: sessions of one kernel (0.3 to 0.4).
NEIGHBOURS = 0.7
#: A side with more units is judged by so many batches, each the mean of its units (Schmeiser 1982): of a hundred
#: sessions in an hour not only neighbours are alike, and sessions 29 minutes apart are one occasion all day.
BATCHES = 5


def in_a_row(starts_a: Sequence[float], starts_b: Sequence[float]) -> bool:
    """Whether correlation moves the sides' means further apart than Welch's t expects from the spread within the sides.
    Uses the units' starting times, at least 2 per side. False if the sides took turns: correlation then moves both."""
    starts = np.asarray([*starts_a, *starts_b], dtype=np.float64)
    ordered = np.argsort(starts, kind="stable")
    of_b, steps = ordered >= len(starts_a), np.diff(starts[ordered])
    r = _correlation(steps, float(np.median(steps)))
    own_a, own_b, between = (r[np.ix_(x, y)].mean() for x, y in ((~of_b, ~of_b), (of_b, of_b), (~of_b, of_b)))
    # For units of variance 1, s²/n is expected to be (1 - own) / (n - 1), and the mean's variance is own.
    expected = (1 - own_a) / (len(starts_a) - 1) + (1 - own_b) / (len(starts_b) - 1)
    return bool(own_a + own_b - 2 * between > expected)


def generalised(
    a: Sequence[float], b: Sequence[float], starts_a: Sequence[float], starts_b: Sequence[float]
) -> Contrast:
    """Welch's t with generalised least squares (Aitken 1935): logs and starting times of units, at least 2 per side.

    B less A, by the weights w that are best at the correlation R of the batches: d = w·y and se² = u'Ru, where u is w
    times the side's standard deviation, from the side's own residuals: s² = e'R⁻¹e / (n - 1).
    """
    y, of_b, steps = _batches(a, b, starts_a, starts_b)
    usual = float(np.median(np.diff(sorted((*starts_a, *starts_b)))))
    r, sides = _correlation(steps, usual), np.stack([np.ones(len(y)), of_b])
    whitened = sides @ np.linalg.inv(r)
    w = np.linalg.solve(whitened @ sides.T, whitened)[1]
    u, parts = np.zeros(len(y)), []
    for side in (~of_b, of_b):
        own, logs = r[np.ix_(side, side)], y[side]
        inverse = np.linalg.inv(own)
        e = logs - logs @ inverse.sum(axis=0) / inverse.sum()
        variance = e @ inverse @ e / (len(logs) - 1)
        u[side] = w[side] * math.sqrt(variance)
        parts.append((u[side] @ own @ u[side], len(logs) - 1.0))
    df = from_variances(0.0, *parts, cautious=unsettled(int((~of_b).sum()), int(of_b.sum()))).df
    return Contrast(np.asarray(w @ y), np.asarray(math.sqrt(u @ r @ u)), df)


def variance_in_a_row(n: int, neighbours: float) -> float:
    """The variance of that d for n units of A, then n of B, of variance 1, in closed form. Without correlation 2/n."""
    count, size, steady = min(n, BATCHES), max(1.0, n / BATCHES), 1 - neighbours
    # The variance of a batch's mean: Bayley and Hammersley (1946).
    of_batch = (size * (1 - neighbours**2) - 2 * neighbours * (1 - neighbours**size)) / (size * steady) ** 2
    return float(of_batch * (1 - neighbours**2) / (neighbours + steady * (1 + (count - 1) * steady) / 2))


def _correlation(steps: Floats, usual: float) -> Floats:
    """`NEIGHBOURS` to the power of the units' distance in order of time: AR(1), for n - 1 steps. A pause counts as many
    places as usual steps fit into it, for the machine's condition may not outlast it."""
    places = np.concatenate([[0.0], np.cumsum(np.maximum(1.0, steps // (usual or math.inf)))])
    return np.asarray(NEIGHBOURS ** np.abs(np.subtract.outer(places, places)), dtype=np.float64)


def _batches(
    a: Sequence[float], b: Sequence[float], starts_a: Sequence[float], starts_b: Sequence[float]
) -> tuple[Floats, Truths, Floats]:
    """Batches of consecutive units in order of time: their means, whether they are of B, and the steps between them. No
    batch spans units of the other side. A step goes from the last unit of a batch to the first of the next."""
    sides = ((False, starts_a, a), (True, starts_b, b))
    units = [(start, log, is_b) for is_b, starts, logs in sides for start, log in zip(starts, logs, strict=True)]
    means, of_b, first, last = [], [], [], []
    for is_b, group in groupby(sorted(units, key=lambda unit: unit[0]), key=lambda unit: unit[2]):
        starts, logs, _ = zip(*group, strict=True)
        count = min(len(logs), math.ceil(BATCHES * len(logs) / len(b if is_b else a)))
        for i, j in pairwise(len(logs) * k // count for k in range(count + 1)):
            means.append(math.fsum(logs[i:j]) / (j - i))
            of_b.append(is_b)
            first.append(starts[i])
            last.append(starts[j - 1])
    return np.array(means), np.array(of_b), np.subtract(first[1:], last[:-1])
