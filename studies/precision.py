"""How long a row must be measured for an interval of a given width. docs/cost.md, "How it is found"."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Sequence
from statistics import fmean, median, quantiles, stdev

from kernometer.results.model import Run
from kernometer.stats.cost import IQR_OF_SD, MEDIAN_OF_MEAN
from kernometer.stats.figures import FEW_FOR_MEDIAN
from kernometer.stats.intervals import LEVEL, t_quantile
from kernometer.stats.model import RowFigure

#: The fewest runs for an interval.
LEAST_RUNS = 2
#: More runs than this are not a useful answer.
MOST_RUNS = 100_000
#: A run that ended by its time with so few samples is as long as its iterations (probe/sample.c: LEAST_SAMPLES).
FEW_SAMPLES = 5
#: If runs differ by more (standard deviation of their logs), this is named besides any other reason.
WIDE_LOG = 0.05


def runs_until(sd_log: float, half_width: float) -> int | None:
    """The least number of runs whose median has a 95 % interval within ±half_width (0.01: 1 %), if they are normal.

    `sd_log`: the standard deviation of one run's log cost, taken as known. None beyond `MOST_RUNS`. Raises ValueError
    for an invalid width.
    """
    if not half_width > 0:
        raise ValueError(f"a half-width of {half_width} cannot be met")
    target = math.log1p(half_width)

    def narrow(n: int) -> bool:
        of_mean = float(t_quantile(0.5 + LEVEL / 2, n - 1)) * sd_log / math.sqrt(n)
        return of_mean * (MEDIAN_OF_MEAN if n >= FEW_FOR_MEDIAN else 1) <= target

    candidates = range(LEAST_RUNS, MOST_RUNS + 1)
    at = bisect_left(candidates, True, key=narrow)
    return candidates[at] if at < len(candidates) else None


def spread(row: RowFigure) -> float | None:
    """The standard deviation of the logs of its runs' costs; None below two runs, or with one below the resolution.
    From `FEW_FOR_MEDIAN` runs on by their quartiles, for a wild run hardly moves the interval of a median."""
    if row.cost is None or len(row.runs) < LEAST_RUNS:
        return None
    logs = [math.log(run.cost) for run in row.runs]
    if len(logs) < FEW_FOR_MEDIAN:
        return stdev(logs)
    low, _, high = quantiles(logs, n=4, method="inclusive")
    return (high - low) / IQR_OF_SD


def seconds_until(row: RowFigure, half_width: float) -> float | None:
    """Wall seconds of runs like these, with set-up, until the interval is that narrow; None if it never is."""
    sd = spread(row)
    runs = None if sd is None else runs_until(sd, half_width)
    return None if runs is None else runs * fmean(run.seconds for run in row.runs)


def half_width(row: RowFigure) -> float | None:
    """The upper half of its 95 % interval within this session, relative: 0.01 is 1 %."""
    return None if row.cost is None or row.high is None else row.high / row.cost - 1


def bounds(row: RowFigure, runs: Sequence[Run]) -> str:
    """Why this row takes its time: a long iteration, untimed parts, the spread of its runs."""
    seconds = fmean(run.seconds for run in runs)
    timed = 0.0 if row.unit == "count" else fmean(_timed(run) for run in runs)
    words = []
    if seconds - timed > seconds / 2:
        words.append(f"{seconds - timed:.2g} s of a run lie outside its timed regions")
    elif all(run.batch == 1 and run.stopped == "time" and len(run.samples) <= FEW_SAMPLES for run in runs):
        words.append(f"one iteration takes {median(median(run.samples) for run in runs) / 1e9:.2g} s")
    sd = spread(row)
    if sd is not None and (not words or sd > WIDE_LOG):
        words.append("the spread of its runs")
    return "; ".join(words) or "its runs are as long as asked"


def _timed(run: Run) -> float:
    """Seconds within timed regions, with the baseline's."""
    return (sum(run.samples) + sum(run.baseline.samples if run.baseline else ())) / 1e9
