"""Rows by path whose iterations are of several kinds. docs/statistics.md, "Levels"."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from itertools import pairwise
from statistics import fmean, median_low

from kernometer.stats.model import Level

#: With fewer iterations the start, one tick and one accident may be a tenth of them.
LEAST_ITERATIONS = 20
#: A level has at least this share of a row's iterations. At 1,000 ticks a second, a tick meets a tenth of iterations of
#: 100,000 instructions; a tick of such a kernel takes less than APART of that.
LEAST_SHARE = 0.10
#: A level also has at least so many of them: two of twenty may be accidents.
LEAST_OF_LEVEL = 3
#: Neighbouring counts that are further apart are of different kinds. The place of data in cache lines and pages, a
#: lock's slow path or one more rotation of a tree move an operation by less.
APART = 0.05
#: The share of the iterations that the mean leaves out at each end: ticks, the start, accidents.
TRIMMED = 0.05


def levels(costs: Sequence[float]) -> tuple[Level, ...]:
    """The levels of one row's iterations, net of the bracket, the lowest first; () if they have one level."""
    if len(costs) < LEAST_ITERATIONS or min(costs) <= 0:
        return ()
    ordered = sorted(costs)
    begins = (b for a, b in pairwise(sorted(set(ordered))) if b > a * (1 + APART))  # counts are few different ones
    bounds = [0, *(bisect_left(ordered, cost) for cost in begins), len(ordered)]
    kinds = [ordered[a:b] for a, b in pairwise(bounds)]
    least = max(LEAST_OF_LEVEL, LEAST_SHARE * len(costs))
    kept = tuple(Level(median_low(kind), len(kind) / len(costs)) for kind in kinds if len(kind) >= least)
    return kept if len(kept) > 1 else ()


def middle_mean(costs: Sequence[float]) -> float:
    """The mean of the iterations without the lowest and the highest. It follows the levels' shares without a jump."""
    beyond = int(TRIMMED * len(costs))
    return fmean(sorted(costs)[beyond : len(costs) - beyond])


def alike(a: Sequence[Level], b: Sequence[Level], apart: float) -> bool:
    """Whether two rows have equally many levels, pairwise within `apart` (relative)."""
    pairs = zip(a, b, strict=False)
    return len(a) == len(b) and all(max(x.cost, y.cost) <= min(x.cost, y.cost) * (1 + apart) for x, y in pairs)
