"""The distributions that the rules need, on arrays. scipy is imported by the first call.

Only scipy.special: scipy.stats has them too, but its import takes twice as long.
"""

from __future__ import annotations

from kernometer.arrays import ArrayLike, Floats, np, special


def t_quantile(q: float, df: ArrayLike) -> Floats:
    """Student's t at probability q; degrees of freedom need not be whole."""
    return np.asarray(special.stdtrit(np.asarray(df, dtype=np.float64), q), dtype=np.float64)


def t_below(df: ArrayLike, t: ArrayLike) -> Floats:
    """Probability that Student's t is below `t`."""
    return np.asarray(special.stdtr(df, t), dtype=np.float64)


def binomial_below(k: int, n: int, share: float = 0.5) -> float:
    """Probability of at most k hits in n trials, each a hit with probability `share`."""
    return float(special.bdtr(k, n, share))


def noncentrality(df: float, q: float, t: float) -> float:
    """How many standard errors a t's mean must move so that it is below `t` with probability q."""
    return float(special.nctdtrinc(df, q, t))


def chi2_above(df: float, x: float) -> float:
    """Probability that a chi-square exceeds x."""
    return float(special.chdtrc(df, x))


def chi2_quantile(q: float, df: float) -> float:
    """Chi-square at probability q."""
    return float(special.chdtri(df, 1 - q))
