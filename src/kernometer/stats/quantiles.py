"""Quantiles of an operation's time, with intervals, from iterations timed alone. docs/statistics.md, "Quantiles"."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from kernometer.arrays import Floats, np, special
from kernometer.results.model import Result, Run, Session
from kernometer.stats.core import readings
from kernometer.stats.cost import CLOCK_STEPS, in_order, middle_of, summed, unusable
from kernometer.stats.figures import figures, with_values
from kernometer.stats.intervals import LEVEL, t_quantile
from kernometer.stats.model import Comparison, Flag, FlagCode, Quantile, RowFigure, Tail
from kernometer.stats.warmup import inflation, warmup
from kernometer.tables import grouped

#: The quantiles that are shown.
SHOWN = (0.5, 0.9, 0.99, 0.999)
#: The least share of a run that is left out at its start: its first iterations take several times as long, in every
#: run, and would be its 99 % quantile.
START = 1 / 8
#: Runs that follow each other are alike, so a session is divided into so many stretches (batch means: Schmeiser,
#: Operations Research 30, 1982), of which at least LEAST_ALONE must be unlike their neighbours.
STRETCHES, LEAST_ALONE = 20, 10
#: A kind of run that is a tenth of all is missing among so many in 1 session of 100.
LEAST_RUNS = 160
#: A remark: the median's figure is of the quiet samples alone, and a tail of those would be one of chosen moments.
OF_ALL = "quantiles are of all samples, on a quiet core or not, but for the start of each run"
#: Probability beyond either end of an interval.
BEYOND = (1 - LEVEL) / 2
#: Hyndman and Fan's type 8, whose bias does not depend on the distribution.
METHOD: Final = "median_unbiased"


def tails(result: Result, wanted: Sequence[float] = SHOWN) -> dict[str, Tail]:
    """The tail of every row of a session by time, at these quantiles."""
    if result.session.by != "time":
        return {}
    runs = grouped((run.row, run) for run in summed(result.runs))
    return {row: _tail(result, of_row, wanted) for row, of_row in runs.items()}


def quantile_figures(result: Result, q: float) -> dict[str, RowFigure]:
    """As `figures`, of all samples: each row's cost is its quantile, with its interval in this session. A row whose
    quantile is not known has no cost, and a flag with the reason."""
    of_row = tails(result, (q,))
    if result.session.experiment:
        of_row = {row: _in_blocks(tail) for row, tail in of_row.items()}
    return {row: _as_figure(figure, of_row[row]) for row, figure in figures(result).items() if row in of_row}


def _in_blocks(tail: Tail) -> Tail:
    """As a side of an `ab` needs it: numbers alone, for its runs may be alike, since what lasts is on both sides."""
    more_runs = math.ceil((LEAST_RUNS / tail.runs - 1) * tail.samples) if tail.runs else 0
    return replace(tail, quantiles=tuple(_lacking(each, more_runs, tail.samples) for each in tail.quantiles))


def _lacking(quantile: Quantile, more_runs: int, samples: int) -> Quantile:
    missing = max(0, more_runs, samples_needed(quantile.q) - samples)
    return replace(quantile, missing=missing, seconds=quantile.seconds * missing / max(1, quantile.missing))


def _as_figure(figure: RowFigure, tail: Tail) -> RowFigure:
    known = tail.quantiles[0] if tail.quantiles else None
    made = replace(figure, unit="ns", better="lower", cost=None, low=None, high=None, flags=())
    if known is None or known.missing:
        why = tail.why if known is None else f"{quantile_name(known.q)} needs {missing_words(known)} (samples)"
        made = replace(made, flags=(Flag(FlagCode.FEW_SAMPLES, why),))
    else:
        made = replace(made, cost=known.value, low=known.low, high=known.high)
    return with_values(made, 0.0)


def asked_for(session: Session) -> float | None:
    """The quantile that a session was measured for; None: the median, or a session from elsewhere that is damaged."""
    q = session.effort.get("quantile")
    return q if isinstance(q, float) and 0 < q < 1 else None


def runs_in_a_block(q: float, blocks: int, samples: int) -> int:
    """The runs of a row on each side, each of so many samples, in one of so many blocks of an `ab`: all together tell a
    quantile, and a block has an iteration beyond it. At least a stretch of them, so that a kind of run that is a tenth
    of all is in most blocks: one wild block in ten decides nothing."""
    beyond = (1 - q) * (1 - START) * samples
    return max(LEAST_RUNS // STRETCHES, math.ceil(LEAST_RUNS / blocks), math.ceil(1 / beyond))


def quantile_logs(result: Result, row: str, q: float) -> dict[int, float]:
    """By block, the log of the quantile of the row's iterations in all of its runs; without blocks in which no
    iteration is expected to lie beyond it."""
    usable = (run for run in summed(result.runs) if run.row == row and not unusable(run, less_baseline=False))
    of_blocks = grouped((run.block, net_samples(run)) for run in usable)
    each = {block: np.concatenate(of_runs) for block, of_runs in of_blocks.items()}
    enough = (samples for samples in each.items() if len(samples[1]) * (1 - q) >= 1)
    return {
        block: math.log(value) for block, samples in enough if (value := np.quantile(samples, q, method=METHOD)) > 0
    }


def judged_by(q: float, comparison: Comparison) -> Comparison:
    """The same, which says that it is of a quantile."""
    return replace(comparison, quantile=quantile_name(q), remarks=(*comparison.remarks, OF_ALL))


def quantile_name(q: float) -> str:
    """`p99.9`."""
    return f"p{100 * q:.10g}"


def missing_words(quantile: Quantile) -> str:
    """`3,000 more, +20 s`: samples, and the time that they take."""
    return f"{quantile.missing:,} more, +{max(1, math.ceil(quantile.seconds)):,} s"


def _why_not(result: Result, runs: Sequence[Run]) -> str:
    """Why these runs have no tail; "" if they have one."""
    workload = result.workloads.get(runs[0].workload)
    if workload is not None and workload.unit == "count":
        return "it counts, and takes no time"
    if workload is not None and workload.figure_less_baseline:
        return "its figure is net of a baseline, which has a tail of its own"
    if runs[0].params.get("time") in ("user", "system"):
        return "a kernel accounts such time in ticks"
    each = max(run.batch * run.ops for run in runs)
    if each > 1:
        return f"a sample is the mean of {each:,.0f} operations, and a mean has no tail"
    return ""


def _tail(result: Result, runs: Sequence[Run], wanted: Sequence[float]) -> Tail:
    usable = [run for run in runs if not unusable(run, less_baseline=False)]
    why = _why_not(result, runs) if usable else "no run could be used"
    if why:
        return Tail(why=why)
    each = [net_samples(run) for run in usable]
    together = np.sort(np.concatenate(each))
    seconds = math.fsum(run.seconds for run in usable) / len(together)
    least = CLOCK_STEPS * max(run.resolution_ns for run in usable)
    if np.median(together) <= least:
        return Tail(why="an iteration takes less than the clock shows")
    reached = {q: effective(each, together, q) for q in wanted}
    last, _lacking = reached[max(wanted)]
    return Tail(
        runs=len(each),
        samples=len(together),
        quantiles=tuple(_quantile(len(each), together, q, reached[q], seconds) for q in wanted),
        greatest=float(together[-1]),
        longer=-math.expm1(math.log(1 - LEVEL) / last) if last >= 1 else 1.0,
    )


def net_samples(run: Run) -> Floats:
    """ns of each iteration, less the median clock and the loop; all but the start of the run, on a quiet core or not.
    Shape (samples,)."""
    samples = np.asarray(run.samples, dtype=np.float64)
    clock = middle_of(sorted(run.clock_cost)) if run.clock_cost else 0.0
    beside = readings(run)
    loop = max(0.0, middle_of(in_order(beside)) - clock / run.loop_batch) if len(beside) else 0.0
    start = max(math.ceil(START * len(samples)), warmup(samples)) if len(samples) > 1 else 0
    return np.asarray(samples[start:] - clock - loop)


def _quantile(runs: int, together: Floats, q: float, reached: tuple[int, int], seconds: float) -> Quantile:
    """`reached`: what `effective` says of q."""
    n, lacking = reached
    low, high = enclosing(q, n, together)
    needed = math.ceil(samples_needed(q) * len(together) / (n or len(together))) - len(together)
    missing = max(needed, math.ceil(lacking * len(together) / runs), 0)
    return Quantile(q, float(np.quantile(together, q, method=METHOD)), low, high, missing, missing * seconds)


def samples_needed(q: float) -> int:
    """How many independent samples have an order statistic at either side of the quantile, with 95 %."""
    return math.ceil(math.log(BEYOND) / math.log(max(q, 1 - q)))


def effective(each: Sequence[Floats], together: Floats, q: float) -> tuple[int, int]:
    """How many independent samples tell as much about the quantile q as the samples of these runs, and how many runs
    are missing before that can be said (the first is then 0). `together`: all of their samples, sorted.

    The share of samples beyond the quantile differs from run to run; n independent samples would make the variance of
    the mean share q (1 - q) / n (Woodruff, JASA 47, 1952; Korn and Graubard, Survey Methodology 24, 1998). Runs that
    are like their neighbours tell less. Never more than the samples, and fewer by Student's t for few runs.
    """
    total = len(together)
    lacking = LEAST_RUNS - len(each)
    if lacking > 0:
        return 0, lacking
    at = np.quantile(together, q, method=METHOD)
    counts = np.array([(len(run), np.count_nonzero(run > at), np.count_nonzero(run == at)) for run in each])
    sizes, above, equal = np.array([part.sum(axis=0) for part in np.array_split(counts, STRETCHES)]).T
    if equal.any():  # of these so many lie above that the share of all is 1 - q
        above = above + equal * min(1.0, max(0.0, ((1 - q) * total - above.sum()) / equal.sum()))
    apart = above - above.sum() / total * sizes
    alike = inflation(apart) ** 2
    if LEAST_ALONE * alike > STRETCHES:
        return 0, math.ceil(len(each) * (LEAST_ALONE * alike / STRETCHES - 1))
    variance = alike * STRETCHES / (STRETCHES - 1) * float(apart @ apart) / total**2
    independent = min(total, q * (1 - q) / variance) if variance > 0 else total
    wider = t_quantile(1 - BEYOND, total - 1) / t_quantile(1 - BEYOND, STRETCHES / alike - 1)
    return max(1, int(independent * float(wider) ** 2)), 0


def enclosing(q: float, n: int, ordered: Floats) -> tuple[float | None, float | None]:
    """The order statistics that enclose the quantile q with 95 %, of sorted samples that tell as much as n independent
    ones. None: such a sample is not there."""
    at_low, at_high = (_binomial_quantile(p, n, q) for p in (BEYOND, 1 - BEYOND))
    each = len(ordered) / max(n, 1)
    low = ordered[math.floor((at_low - 1) * each)] if n and at_low > 0 else None
    high = ordered[min(len(ordered), math.ceil((at_high + 1) * each)) - 1] if n and at_high < n else None
    return None if low is None else float(low), None if high is None else float(high)


def _binomial_quantile(p: float, n: int, q: float) -> int:
    """The least number of samples below the quantile q, of n, that is not exceeded with probability p."""
    return bisect_left(range(n), p, key=lambda k: float(special.bdtr(k, n, q)))
