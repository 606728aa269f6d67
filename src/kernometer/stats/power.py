"""The smallest difference that a comparison could see, and the units it needs. docs/statistics.md, "Undecided"."""

from __future__ import annotations

import math
from bisect import bisect_left

from kernometer.stats.distributions import noncentrality, t_quantile
from kernometer.stats.intervals import LEVEL
from kernometer.stats.serial import BATCHES, variance_in_a_row

#: A difference counts as visible if 4 comparisons of 5 would find it, the convention of the field.
POWER = 0.80
#: More units are not a useful answer.
MOST_UNITS = 100_000


def smallest_log(se: float, df: float) -> float:
    """The smallest true difference of logs that a test at 5 % finds with 80 % power, by the noncentral t."""
    if se == 0:
        return 0.0
    return se * noncentrality(df, 1 - POWER, float(t_quantile(0.5 + LEVEL / 2, df)))


def smallest_ratio(se: float, df: float) -> float:
    """The same as a relative difference: 0.05 is 5 %."""
    return math.expm1(min(smallest_log(se, df), 700.0))


def units_needed(sd_log: float, delta: float, *, paired: bool, neighbours: float = 0.0) -> int | None:
    """How many units (pairs of a block, or units per side) show a difference of delta; None beyond `MOST_UNITS`.

    `sd_log`: the standard deviation of one unit's log (paired: of one block's log ratio). `neighbours`: the correlation
    between units measured in a row that the interval allows for.
    """
    target = math.log1p(delta)

    def seen(n: int) -> bool:
        variance = 1 / n if paired else variance_in_a_row(n, neighbours)
        independent = min(n, BATCHES) if neighbours else n
        return smallest_log(sd_log * math.sqrt(variance), (1 if paired else 2) * (independent - 1)) <= target

    candidates = range(2, MOST_UNITS + 1)
    at = bisect_left(candidates, True, key=seen)
    return candidates[at] if at < len(candidates) else None
