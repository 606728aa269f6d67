"""The interval of a share: how many of a number of trials. docs/statistics.md, "Shares"."""

from __future__ import annotations


def wilson(found: int, of: int, level: float = 0.95) -> tuple[float, float]:
    """Wilson's score interval of found/of, from 0 to 1: it keeps its level also for few trials and shares near 0 or 1
    (Brown, Cai, DasGupta, 2001). Raises ValueError without a trial."""
    from scipy import stats  # type: ignore[import-untyped]  # scipy carries no types

    interval = stats.binomtest(found, of).proportion_ci(level, method="wilson")
    return float(interval.low), float(interval.high)
