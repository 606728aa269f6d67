"""The cost of an operation by one run, net and gross.

docs/statistics.md, "Net cost", "Below resolution" and "A command".
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median_low

from msgspec.structs import replace

from kernometer.arrays import Floats, Truths, np
from kernometer.results.iteration import baseline_of, net_of
from kernometer.results.model import Baseline, By, Run
from kernometer.results.rows import Row
from kernometer.stats.core import enough, quiet_baseline, quiet_samples, readings
from kernometer.stats.model import RunFigure
from kernometer.stats.warmup import warmup

#: A sample's net time must span this many steps of the clock: both its ends are rounded, so a shorter time may read as
#: one step or as none.
CLOCK_STEPS = 2.0
#: It must also span this many standard deviations of the empty bracket; by chance 3 brackets of 1,000 are longer.
BRACKET_SPREADS = 3.0
#: It must also exceed this share of the loop's cost: the loop's place in memory changes its cost by as much.
LOOP_DOUBT = 1.0
#: With a baseline it must also exceed this many standard errors of the difference of the two medians.
BASELINE_ERRORS = 3.0
#: The interquartile range of a normal distribution, in standard deviations; and the standard error of a median against
#: that of a mean: sqrt(pi / 2).
IQR_OF_SD = 1.349
MEDIAN_OF_MEAN = math.sqrt(math.pi / 2)
#: Larger counts are invalid, and would not fit a double.
LARGEST = 2**53


@dataclass(frozen=True, slots=True)
class RunCost:
    """A run's figure, and what the flags are made of. Counts have no warm-up, no resolution and no spread by chance."""

    figure: RunFigure
    detection_limit: float = 0.0  #: the least net cost per operation that this run could detect
    kept: Sequence[float] = ()  #: the samples of the figure, ns, sorted; none of counts
    net: float = 1.0  #: the median of these, net, ns
    resolution: float = 0.0  #: of the clock, ns
    base_error: float = 0.0  #: the standard error of what a baseline subtracts from a sample, ns

    @property
    def below(self) -> bool:
        """Whether the cost is below the detection limit."""
        return self.figure.cost <= self.detection_limit

    @property
    def step_share(self) -> float:
        """The clock's resolution as a share of the median sample; 0 by path."""
        middle = middle_of(self.kept) if self.kept else 0.0
        return self.resolution / middle if middle > 0 else 0.0

    @property
    def se_log(self) -> float:
        """The standard error of the figure's logarithm, from the spread of its samples."""
        if not self.kept:
            return 0.0
        return math.hypot(median_error(self.kept), self.base_error) / self.net if self.net > 0 else math.inf

    @property
    def far(self) -> int:
        """Samples far outside (`OUTLIERS`)."""
        return far_out(self.kept, self.resolution) if self.kept else 0


def unusable(run: Run, less_baseline: bool, unit: str = "ns") -> str:
    """Why this record gives no figure; "" if it does. Records come from files and guests, so they are checked here."""
    for what, samples in (
        ("samples", run.samples),
        ("clock", run.clock_cost),
        ("loop", run.loop_cost),
        ("baseline", run.baseline.samples if run.baseline else ()),
    ):
        if samples and not (min(samples) > -LARGEST and max(samples) < LARGEST):
            return f"a value of its {what} is out of range"
    if not run.samples:
        return "it has no samples"
    if unit == "count" and min(run.samples) < 1:
        return "it counted nothing"
    if not 1 <= run.batch < LARGEST or run.loop_batch >= LARGEST:
        return f"a batch of {run.batch} is impossible"
    if not (1 / LARGEST < run.ops < LARGEST):  # less would make any sample infinite
        return f"{run.ops} operations in an iteration are impossible"
    if not (0 <= run.resolution_ns < LARGEST and 0 <= run.seconds < LARGEST):
        return "its clock's resolution or its length is impossible"
    if run.baseline is not None and not (1 <= run.baseline.batch < LARGEST and run.baseline.samples):
        return "its baseline has no samples"
    if less_baseline and run.baseline is None:
        return "the figure is net of a baseline, and none was measured"
    return ""


def run_cost(run: Run, by: By, less_baseline: bool, unit: str = "ns", edge: float | None = None) -> RunCost:
    """The figure of one usable run: ns per operation by time, instructions by path; for a count its inverse. `edge`:
    that of the quiet level (stats/core.py). A run with fewer than `ENOUGH` quiet samples uses all its samples."""
    if unit == "count":
        return _of_count(run)
    return _by_path(run, less_baseline) if by == "path" else _by_time(run, less_baseline, edge)


def _by_path(run: Run, less_baseline: bool) -> RunCost:
    """Counts are exact: the figure is the lower median, a measured count, less the empty bracket (`loop_cost`, batch
    1)."""
    base = None if run.baseline is None else baseline_of(run) / run.baseline.batch / run.ops
    count = median_low(run.samples)
    return _counted(run, net_of(run, count, less_baseline=less_baseline), count / run.batch / run.ops, base)


def _of_count(run: Run) -> RunCost:
    """The lower median is a measured count. Nothing is subtracted, for it includes neither clock nor loop."""
    cost = 1 / median_low(run.samples)
    return _counted(run, cost, cost, None)


def _counted(run: Run, cost: float, gross: float, baseline: float | None) -> RunCost:
    return RunCost(RunFigure(run.run, run.block, cost, gross, baseline, len(run.samples), 0, run.seconds, run.batch))


def _by_time(run: Run, less_baseline: bool, edge: float | None) -> RunCost:
    clock_samples = sorted(run.clock_cost)
    clock = middle_of(clock_samples) if clock_samples else 0.0
    samples, beside = np.asarray(run.samples, dtype=np.float64), readings(run)
    settled, share = True, 1.0
    if not run.loop_every:
        edge = None
    if edge is not None:
        quiet = quiet_samples(run, edge)
        settled = enough(quiet) and not (less_baseline and run.baseline and not enough(quiet_baseline(run, edge)))
        if settled:
            samples, beside, share = samples[quiet], beside[beside <= edge], float(quiet.mean())
    warm = warmup(samples)  # a neighbour that comes or goes is not a transient
    kept = in_order(samples[warm:])
    reference = middle_of(in_order(beside)) if len(beside) else None
    loop = 0.0 if reference is None else max(0.0, reference - clock / run.loop_batch)
    middle = middle_of(kept)
    net = middle - clock - loop * run.batch
    limits = [
        CLOCK_STEPS * run.resolution_ns,
        BRACKET_SPREADS * robust_sd(clock_samples),
        LOOP_DOUBT * loop * run.batch,
    ]
    base, base_error = None, 0.0
    if run.baseline is not None:
        base, of_baseline = _baseline(run.baseline, quiet_baseline(run, edge if settled else None), clock, loop)
        if less_baseline:
            net -= base * run.batch
            base_error = of_baseline * run.batch
            limits.append(BASELINE_ERRORS * math.hypot(median_error(kept), base_error))
    operations = run.batch * run.ops
    figure = RunFigure(
        run=run.run,
        block=run.block,
        cost=net / operations,
        gross=middle / operations,
        baseline=None if base is None else base / run.ops,
        samples=len(kept),
        warmup=warm,
        seconds=run.seconds,
        batch=run.batch,
        quiet=share if settled else 0.0,
        reference=reference if run.loop_every else None,
    )
    return RunCost(figure, max(limits) / operations, kept, net, run.resolution_ns, base_error)


def _baseline(baseline: Baseline, quiet: Truths, clock: float, loop: float) -> tuple[float, float]:
    """The baseline's net cost of one iteration and the standard error of its median, ns, from its quiet samples."""
    samples = np.asarray(baseline.samples, dtype=np.float64)
    if enough(quiet):
        samples = samples[quiet]
    kept = in_order(samples[warmup(samples) :])
    return (middle_of(kept) - clock) / baseline.batch - loop, median_error(kept) / baseline.batch


def in_order(values: Floats) -> list[float]:
    """Sorted, shape (n,); a list, whose single values are read three times as fast as an array's."""
    made: list[float] = np.sort(values).tolist()
    return made


def robust_sd(ordered: Sequence[float]) -> float:
    """The standard deviation of sorted values by the interquartile range: wild samples, up to a quarter at either end,
    hardly move it."""
    if len(ordered) < 2:
        return 0.0
    return (quantile(ordered, 0.75) - quantile(ordered, 0.25)) / IQR_OF_SD


def quantile(ordered: Sequence[float], q: float) -> float:
    """Quantile of sorted values, linear between neighbours; numpy's own is slow on few values."""
    at = q * (len(ordered) - 1)
    low = int(at)
    high = min(low + 1, len(ordered) - 1)
    return float(ordered[low] + (at - low) * (ordered[high] - ordered[low]))


def middle_of(ordered: Sequence[float]) -> float:
    return quantile(ordered, 0.5)


def median_error(ordered: Sequence[float]) -> float:
    """Standard error of the median of independent samples, sorted, in their unit."""
    return MEDIAN_OF_MEAN * robust_sd(ordered) / math.sqrt(len(ordered))


#: Tukey's outer fence, in interquartile ranges; beyond it lies one sample of 400,000 of a normal distribution.
FENCE = 3.0
#: Samples within this share of the median from a quartile are never far: a clock's steps make narrow quartiles.
FENCE_SHARE = 0.05


def far_out(ordered: Sequence[float], resolution: float) -> int:
    """How many of these sorted samples lie beyond the outer fences. None is dropped."""
    low, middle, high = (quantile(ordered, q) for q in (0.25, 0.5, 0.75))
    reach = max(FENCE * (high - low), FENCE * resolution, FENCE_SHARE * abs(middle))
    return len(ordered) - bisect_right(ordered, high + reach) + bisect_left(ordered, low - reach)


def geometric(costs: Sequence[float]) -> float:
    """The geometric mean of positive costs; exact if all are equal, unlike exp(log)."""
    if min(costs) == max(costs):
        return costs[0]
    return math.exp(math.fsum(math.log(cost) for cost in costs) / len(costs))


def summed(runs: Sequence[Run]) -> tuple[Run, ...]:
    """The same runs. Runs of a command's user and system time get one sample, the sum of all their executions.

    A kernel that keeps its account at its tick charges a process that lives shorter than a tick to user or system time,
    as the tick found it, and to user time if no tick did. So a single execution tells nothing, and the sums tell too
    little system time: an execution that a tick found in the kernel stands for a whole tick there.
    """
    times = {_key(run, str(run.params.get("time"))): run for run in runs if Row(run.row).command}
    made = []
    for run in runs:
        user, system = (times.get(_key(run, which)) for which in ("user", "system"))
        if user is not None and system is not None and run in (user, system):
            of_user, of_system = _sums(user, system)
            total = of_user if run is user else of_system
            run = replace(run, samples=(total,), batch=len(run.samples))
        made.append(run)
    return tuple(made)


def _key(run: Run, which: str) -> tuple[str, str, int, int]:
    return run.workload, which, run.block, run.run


def _sums(user: Run, system: Run) -> tuple[int, int]:
    """User and system time of all executions of a run, ns."""
    pairs = [*zip(user.samples, system.samples, strict=False)]
    tick = system.resolution_ns
    short = [(of_user, of_system) for of_user, of_system in pairs if of_user + of_system < tick]
    by_tick = not any(of_user and of_system for of_user, of_system in short)
    total = sum(of_user + of_system for of_user, of_system in pairs)
    inside = sum(of_system for of_user, of_system in pairs if not by_tick or of_user + of_system >= tick)
    inside += sum(round(tick) for _of_user, of_system in short if by_tick and of_system)
    return max(0, total - inside), inside
