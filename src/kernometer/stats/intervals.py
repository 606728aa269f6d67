"""Intervals and tests on the logarithm, and the interval of a counted share.

docs/statistics.md, "Ratios and intervals", "Bootstrap" and "Shares". All functions of logarithms work along the last
axis, for one row or for ten thousand simulated rows.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from kernometer.arrays import ArrayLike, Floats, np, special, stats

#: The level of every printed interval.
LEVEL = 0.95
#: The least number of units for a bootstrap: on 10 a percentile interval of 95 % misses in 8 cases of 100.
BOOTSTRAP_UNITS = 20
RESAMPLES = 2000
#: The share of blocks that is trimmed at either end, from so many blocks on: with ten, differences that have only three
#: values reject 8.4 % of equal means.
TRIM, TRIM_FROM = 0.1, 20
#: The least number of blocks for a control variate, whose slope costs a degree of freedom.
LEAST_FOR_SLOPE = 6
#: Sides of uneven size are judged with the smaller one's degrees of freedom, unless it has this many units: Welch's own
#: reject too often. Two units against five, with four times the spread, reject 10.5 % of equal means.
SETTLED_UNITS = 5


def t_quantile(q: float, df: ArrayLike) -> Floats:
    """Student's t at probability q; degrees of freedom need not be whole. By scipy.special, as all that the rules need
    of distributions: scipy.stats has them too, but its import takes twice as long."""
    return np.asarray(special.stdtrit(np.asarray(df, dtype=np.float64), q), dtype=np.float64)


@dataclass(frozen=True, slots=True)
class Contrast:
    """A difference of logarithms (log cost of B less log cost of A) with its standard error, shape (...)."""

    log_ratio: Floats
    se: Floats
    df: Floats

    def interval(self, level: float = LEVEL) -> tuple[Floats, Floats]:
        """Both ends of the two-sided t interval, on the logarithm."""
        half = self.half_width(level)
        return self.log_ratio - half, self.log_ratio + half

    def half_width(self, level: float = LEVEL) -> Floats:
        """Half the width of that interval."""
        return t_quantile(0.5 + level / 2, self.df) * self.se

    def p(self) -> Floats:
        """Two-sided p value of "no difference". Without any spread: 1 at no difference, else 0."""
        with np.errstate(divide="ignore", invalid="ignore"):
            t = np.abs(self.log_ratio) / self.se
        exact = np.where(self.log_ratio == 0, 1.0, 0.0)
        return np.asarray(np.where(self.se > 0, 2 * special.stdtr(self.df, -t), exact), dtype=np.float64)


def median_interval(values: Sequence[float]) -> tuple[float, float]:
    """95 % interval of the median of the distribution of two or more values, whatever its shape.

    Between order statistics, interpolated (Hettmansperger and Sheather, Statistics & Probability Letters 4, 1986). The
    least and the largest of n enclose it in 1 - 2^(1-n) of all cases: 94 % for five values, less for fewer.
    """
    ordered, n = sorted(values), len(values)

    def level(k: int) -> float:  # of the k-th value from either end
        return 1 - 2 * float(special.bdtr(k - 1, n, 0.5))

    k = 1
    while level(k + 1) >= LEVEL:
        k += 1
    if level(k) <= LEVEL or 2 * (k + 1) > n:
        return ordered[k - 1], ordered[n - k]
    part = (level(k) - LEVEL) / (level(k) - level(k + 1))
    inward = (n - k) * part / (k + (n - 2 * k) * part)
    low = (1 - inward) * ordered[k - 1] + inward * ordered[k]
    high = (1 - inward) * ordered[n - k] + inward * ordered[n - k - 1]
    return low, high


def mean_of(values: ArrayLike) -> Contrast:
    """Student's t of a mean: values of shape (..., n), n >= 2."""
    d = np.asarray(values, dtype=np.float64)
    n = d.shape[-1]
    se = np.asarray(d.std(axis=-1, ddof=1) / np.sqrt(n))
    return Contrast(np.asarray(d.mean(axis=-1)), se, np.full(se.shape, n - 1.0))


def paired(differences: ArrayLike, beside: ArrayLike | None = None) -> Contrast:
    """The contrast of differences of logs within blocks, shape (..., n >= 2). One wild block in ten decides nothing.

    The mean without the tenth at either end, with the error of the differences with that tenth pulled in (Yuen and
    Dixon 1973); below `TRIM_FROM` blocks Student's t. `beside`, of the same shape, has the differences of a control
    variate, whose part is subtracted. Its slope is the median of the slopes of all pairs (Theil 1950, Sen 1968). The
    interval includes its error and one degree of freedom, and is that of blocks with equal control variates.
    """
    d = np.asarray(differences, dtype=np.float64)
    n = d.shape[-1]
    if beside is None or n < LEAST_FOR_SLOPE:
        return _trimmed(d)
    x = np.asarray(beside, dtype=np.float64)
    first, second = np.triu_indices(n, 1)
    run = x[..., second] - x[..., first]
    slopes = (d[..., second] - d[..., first]) / np.where(run == 0, np.nan, run)
    slope = np.nanmedian(np.where(np.isnan(slopes).all(axis=-1, keepdims=True), 0.0, slopes), axis=-1, keepdims=True)
    rest = _trimmed(d - slope * x)
    squares = ((x - x.mean(axis=-1, keepdims=True)) ** 2).sum(axis=-1)
    away = np.where(squares > 0, n * x.mean(axis=-1) ** 2 / np.where(squares > 0, squares, 1.0), 0.0)
    return Contrast(rest.log_ratio, rest.se * np.sqrt(1 + away), rest.df - 1)


def _trimmed(d: Floats) -> Contrast:
    n = d.shape[-1]
    if n < TRIM_FROM:
        return mean_of(d)
    cut = int(TRIM * n)
    ordered = np.sort(d, axis=-1)
    pulled = np.clip(ordered, ordered[..., cut : cut + 1], ordered[..., n - cut - 1 : n - cut])
    se = np.asarray(pulled.std(axis=-1, ddof=1) / ((1 - 2 * cut / n) * np.sqrt(n)))
    return Contrast(np.asarray(ordered[..., cut : n - cut].mean(axis=-1)), se, np.full(se.shape, n - 2.0 * cut - 1))


def welch(a: ArrayLike, b: ArrayLike) -> Contrast:
    """Welch's t: logs of units of A, shape (..., n), and of B, shape (..., m); n, m >= 2. B less A.

    Welch (1947), with Satterthwaite's degrees of freedom: the two sides may have different spreads. If their sizes
    differ and the smaller has fewer than `SETTLED_UNITS`, it has the smaller one's, which never reject too often (Hsu
    1938).
    """
    x, y = np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64)
    n, m = x.shape[-1], y.shape[-1]
    return from_variances(
        np.asarray(y.mean(axis=-1) - x.mean(axis=-1)),
        (np.asarray(x.var(axis=-1, ddof=1) / n), n - 1.0),
        (np.asarray(y.var(axis=-1, ddof=1) / m), m - 1.0),
        cautious=unsettled(n, m),
    )


def unsettled(n: int, m: int) -> bool:
    """Whether sides of n and m units are judged with the smaller one's degrees of freedom."""
    return n != m and min(n, m) < SETTLED_UNITS


def from_variances(log_ratio: ArrayLike, *parts: tuple[ArrayLike, float], cautious: bool = False) -> Contrast:
    """A contrast whose variance is the sum of independent parts, each (variance, its degrees of freedom).

    Satterthwaite (1946): df = (sum v)^2 / sum(v^2 / df); if all parts are 0, the sum of their df. `cautious`: the
    least df of any part.
    """
    variances = [np.asarray(v, dtype=np.float64) for v, _ in parts]
    total = np.asarray(sum(variances))
    below = np.asarray(sum(v**2 / df for v, (_, df) in zip(variances, parts, strict=True)))
    with np.errstate(divide="ignore", invalid="ignore"):
        df = np.where(below > 0, total**2 / below, sum(df for _, df in parts))
    if cautious:
        df = np.full(total.shape, min(df for _, df in parts))
    return Contrast(np.asarray(log_ratio, dtype=np.float64), np.sqrt(total), np.asarray(df, dtype=np.float64))


def bootstrap_difference(
    a: ArrayLike | None, b: ArrayLike, *, level: float = LEVEL, resamples: int = RESAMPLES, seed: int = 1
) -> tuple[float, float]:
    """BCa interval of mean(b) - mean(a), or of mean(b) if `a` is None; shapes (n,) and (m,), at least 20 each.

    Efron (1987), by SciPy. Units are resampled, each side by itself. Raises ValueError below `BOOTSTRAP_UNITS`, where
    its coverage is below its level.
    """
    sides = [np.asarray(side, dtype=np.float64) for side in (a, b) if side is not None]
    if any(len(x) < BOOTSTRAP_UNITS for x in sides):
        raise ValueError(f"a bootstrap needs at least {BOOTSTRAP_UNITS} units a side")

    def difference(*samples: Floats, axis: int = -1) -> Floats:
        return np.asarray(samples[-1].mean(axis) - (samples[0].mean(axis) if len(samples) > 1 else 0.0))

    if all(np.ptp(x) == 0 for x in sides):
        return float(difference(*sides)), float(difference(*sides))
    # random_state: the argument's name in the oldest SciPy allowed here
    made = stats.bootstrap(
        sides, difference, n_resamples=resamples, confidence_level=level, random_state=np.random.default_rng(seed)
    )
    return float(made.confidence_interval.low), float(made.confidence_interval.high)


#: The quantile of the normal distribution for both sides of 95 %.
Z = 1.959963984540054


def wilson(count: int, total: int, z: float = Z) -> tuple[float, float]:
    """Both ends of Wilson's interval (JASA 22, 1927) for the share count / total; (0, 1) if the total is 0."""
    if total == 0:
        return 0.0, 1.0
    share, spread = count / total, z * z / total
    middle = (share + spread / 2) / (1 + spread)
    half = z / (1 + spread) * math.sqrt((share * (1 - share) + spread / 4) / total)
    return max(middle - half, 0.0), min(middle + half, 1.0)
