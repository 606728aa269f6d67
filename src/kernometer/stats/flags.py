"""Reasons to take a figure with care, and what disturbed a session. A flag never drops or changes a figure.

docs/statistics.md, "Flags" and "A noisy machine".
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import fmean

from kernometer.arrays import np, special
from kernometer.results.model import By, Counting, Result, Run
from kernometer.results.rows import Row
from kernometer.stats.core import core_of
from kernometer.stats.cost import RunCost
from kernometer.stats.model import Flag, FlagCode

#: COARSE_CLOCK: one step of the clock against the median sample.
COARSE_STEP = 0.01
#: FEW_RUNS: with two runs a t interval is 12.7 standard errors wide on each side, with three 4.3.
FEW = 3
#: UNSTABLE: the runs' standard deviation. At 5 %, five runs leave an interval of +-6 %, three times the usual delta.
UNSTABLE_SD = 0.05
#: UNSTABLE: the samples within the runs explain such a deviation with a probability below this.
UNSTABLE_P = 0.01
#: By path: counts of the runs that differ by more than the default layout floor.
UNSTABLE_PATH = 0.01
#: OUTLIERS: share of a row's samples beyond the outer fences. Timer ticks alone hit one sample in nine on a virtual
#: machine; at a fifth the median is at the 62nd percentile of the rest, a third of their standard deviation away.
OUTLIER_SHARE = 0.20
#: OUTLIERS: with so many runs, one is far if it is this many scaled median deviations away, and at least this far.
OUTLIER_RUNS, OUTLIER_DEVIATIONS, OUTLIER_RUN_LOG = 8, 6.0, 0.05

#: DISTURBED: shares of the run's wall time: taken by a hypervisor; in which the process was runnable and did not run.
#: They are half of the usual delta, for more could by itself cause a difference of delta.
STEAL_SHARE = 0.01
DELAY_SHARE = 0.01
#: DISTURBED: share of samples with an involuntary switch. Where a tenth is slow, the median stands at the 56th
#: percentile of the undisturbed ones, 0.14 of their standard deviation.
INVOLUNTARY_SHARE = 0.10
#: DISTURBED: samples that ended on another CPU than they began on. Caches and clock change for all later samples.
MIGRATIONS = 0
#: DISTURBED: load of the other CPUs; above a half, a sibling thread or the shared cache is contended.
OTHERS_BUSY = 0.5
#: With so many voluntary switches per iteration a workload waits for a process of its own: its time in the run queue
#: and its involuntary switches are then part of the work.
WAITS = 0.01

#: COUNTS_DISAGREE: relative tolerance, and a number that the start of a run may cost (first touches of code and stack).
COUNT_TOLERANCE = 0.05
COUNT_SLACK = 10.0

#: Texts that came from a machine are cut to this.
TEXT_LIMIT = 300


def flags(
    runs: Sequence[Run],
    costs: Sequence[RunCost],
    by: By,
    unit: str = "ns",
    counted: Sequence[Counting] | Sequence[Run] = (),
    *,
    one_cpu: bool = False,
) -> tuple[Flag, ...]:
    """All flags of one row. `runs` and `costs` correspond, one each for a run; `counted`: see Result.counted;
    `one_cpu`: the system has no other, so that no process needs to be bound to it."""
    wrong = counts_disagree(counted)
    waits = waits_for_its_own(runs, counted)
    disturbance = () if by == "path" or unit == "count" else (disturbed(runs, waits=waits),)
    of_counts = (unstable, few_runs)  # clock, CPU and neighbours do not change a count
    of_times = (below_resolution, coarse_clock, not_pinned, unstable, few_runs, outliers)
    rules: tuple[Callable[[Sequence[Run], Sequence[RunCost], By], Flag | None], ...]
    rules = of_counts if unit == "count" else of_times
    made = [wrong, *disturbance, *(rule(runs, costs, by) for rule in rules if rule is not not_pinned or not one_cpu)]
    ordered = sorted((flag for flag in made if flag is not None), key=lambda flag: list(FlagCode).index(flag.code))
    return (*ordered, *probe_remarks(runs))


def below_resolution(_runs: Sequence[Run], costs: Sequence[RunCost], by: By) -> Flag | None:
    below = [cost for cost in costs if cost.below]
    if not below:
        return None
    unit = "instructions" if by == "path" else "ns"
    worst = min(below, key=lambda cost: cost.figure.cost)
    return Flag(
        FlagCode.BELOW_RESOLUTION,
        f"{_of_runs(len(below), len(costs))} saw nothing above the resolution: {worst.figure.cost:.3g} {unit} net, "
        f"and the least cost that could be detected is {worst.detection_limit:.3g} {unit}",
    )


def coarse_clock(_runs: Sequence[Run], costs: Sequence[RunCost], _by: By) -> Flag | None:
    step = max(cost.step_share for cost in costs)
    if step <= COARSE_STEP:
        return None
    return Flag(FlagCode.COARSE_CLOCK, f"one step of the clock is {_percent(step)} of a sample")


def disturbed(runs: Sequence[Run], *, waits: bool) -> Flag | None:
    """By time only: by path other processes execute none of the guest's instructions. `waits`: waits_for_its_own."""
    causes = {run.run: why for run in runs if (why := disturbances(run, waits=waits))}
    if not causes:
        return None
    shown = "; ".join(f"run {number}: {', '.join(why)}" for number, why in list(causes.items())[:3])
    return Flag(FlagCode.DISTURBED, f"{_of_runs(len(causes), len(runs))}: {shown}{' …' if len(causes) > 3 else ''}")


def disturbances(run: Run, *, waits: bool) -> tuple[str, ...]:
    """What disturbed one run, each with its value. A value that is not reported (absent, negative) is no cause."""
    why = []
    wall = run.meter.get("wall_ns", -1.0)
    if wall > 0:
        # Steal (of the CPUs that the run used) is counted in ticks: the first may have begun before the run.
        steal = (run.meter.get("steal_ns", -1.0) - max(0.0, run.meter.get("tick_ns", 0.0))) / wall
        if steal > STEAL_SHARE:
            why.append(f"{_percent(steal)} stolen by the hypervisor")
        delay = run.meter.get("run_delay_ns", -1.0) / wall
        if delay > DELAY_SHARE and not waits:
            why.append(f"{_percent(delay)} of the time waiting for its CPU")
    switched = len({sample for sample, count in run.involuntary if count > 0}) / len(run.samples)
    if switched > INVOLUNTARY_SHARE and not waits:
        why.append(f"involuntary switches in {_percent(switched)} of the samples")
    if len(run.migrated) > MIGRATIONS:
        why.append(f"moved to another CPU in {len(run.migrated)} of {len(run.samples)} samples")
    if run.meter.get("others_busy", -1.0) > OTHERS_BUSY:
        why.append(f"the other CPUs {_percent(run.meter['others_busy'])} busy")
    return tuple(why)


def waits_for_its_own(runs: Sequence[Run], counted: Sequence[Counting] | Sequence[Run]) -> bool:
    """Whether the work switches to processes of its own, so that waiting for the CPU is part of it."""
    if any(run.peer_cpu >= 0 for run in runs):
        return True
    return any(
        counting.happened.get("switches", 0) > WAITS * max(counting.iterations, 1)
        or any(counting.claimed.get(what, 0) > WAITS for what in ("children", "switches", "any_switches"))
        for counting in counted
    )


def counts_disagree(counted: Sequence[Counting] | Sequence[Run]) -> Flag | None:
    wrong: dict[str, tuple[float, float]] = {}
    for counting in counted:
        for what, claim in counting.claimed.items():
            happened = counting.happened.get(what, -1.0)
            preempted = counting.happened.get("involuntary", 0.0) if what == "any_switches" else 0.0
            # Another process may have caused any number of the involuntary switches, from none to all.
            likely = min(max(claim * counting.iterations, happened - preempted), happened)
            if claim >= 0 and happened >= 0 and not counts_agree(claim * counting.iterations, likely):
                wrong.setdefault(what, (happened / max(counting.iterations, 1), claim))
    if not wrong:
        return None
    return Flag(
        FlagCode.COUNTS_DISAGREE,
        "; ".join(
            f"{_cut(what, 40)}: {happened:.4g} happened in an iteration, {claim:.4g} claimed"
            for what, (happened, claim) in wrong.items()
        ),
    )


def counts_agree(expected: float, happened: float) -> bool:
    """Whether a count around all samples of a run agrees with the claim; 0 never agrees with at least one."""
    if happened == 0 and expected >= 1:
        return False
    return abs(happened - expected) <= COUNT_SLACK + COUNT_TOLERANCE * expected


def not_pinned(runs: Sequence[Run], _costs: Sequence[RunCost], by: By) -> Flag | None:
    free = sum(run.cpu == -1 for run in runs if not Row(run.row).command)  # a command runs as it does alone
    if by == "path" or not free:
        return None
    return Flag(FlagCode.NOT_PINNED, f"{_of_runs(free, len(runs))} not bound to a CPU")


def unstable(_runs: Sequence[Run], costs: Sequence[RunCost], by: By) -> Flag | None:
    """Compares the spread of the runs with the spread of the samples within them: a chi-square test of the ratio."""
    if len(costs) < 2 or any(cost.below for cost in costs):
        return None
    if by == "path":
        low, high = min(c.figure.cost for c in costs), max(c.figure.cost for c in costs)
        if high <= low * (1 + UNSTABLE_PATH):
            return None
        return Flag(FlagCode.UNSTABLE, f"the counts of the runs differ: {low:.6g} to {high:.6g}")
    between = float(np.var([math.log(cost.figure.cost) for cost in costs], ddof=1))
    within = sum(cost.se_log**2 for cost in costs) / len(costs)
    if between <= UNSTABLE_SD**2:
        return None
    if within > 0 and special.chdtrc(len(costs) - 1, (len(costs) - 1) * between / within) > UNSTABLE_P:
        return None
    return Flag(
        FlagCode.UNSTABLE,
        f"runs spread by {_percent(math.sqrt(between))} (one standard deviation); "
        f"the samples within them explain {_percent(math.sqrt(within))}",
    )


def few_runs(runs: Sequence[Run], _costs: Sequence[RunCost], by: By) -> Flag | None:
    if by == "path" or len(runs) >= FEW:
        return None
    return Flag(FlagCode.FEW_RUNS, f"{len(runs)} run{'s' if len(runs) > 1 else ''}; an interval needs {FEW} or more")


def outliers(_runs: Sequence[Run], costs: Sequence[RunCost], by: By) -> Flag | None:
    """Samples far out, and whole runs far from the others. The figure still includes them."""
    if by == "path":
        return None
    details = []
    far, samples = sum(cost.far for cost in costs), sum(cost.figure.samples for cost in costs)
    if far > OUTLIER_SHARE * samples:
        details.append(f"{_percent(far / samples)} of the samples are far from the rest")
    lone = lone_runs(costs)
    if lone:
        details.append(f"run{'s' if len(lone) > 1 else ''} {', '.join(map(str, lone))} far from the other runs")
    return Flag(FlagCode.OUTLIERS, "; ".join(details)) if details else None


def lone_runs(costs: Sequence[RunCost]) -> tuple[int, ...]:
    """Numbers of the runs whose log is many median absolute deviations away from the median of all."""
    if len(costs) < OUTLIER_RUNS or any(cost.figure.cost <= 0 for cost in costs):
        return ()
    logs = np.log([cost.figure.cost for cost in costs])
    away = np.abs(logs - np.median(logs))
    # 1.4826: makes the median absolute deviation the standard deviation of a normal distribution.
    reach = max(OUTLIER_DEVIATIONS * 1.4826 * float(np.median(away)), OUTLIER_RUN_LOG)
    return tuple(cost.figure.run for cost, distance in zip(costs, away, strict=True) if distance > reach)


def probe_remarks(runs: Sequence[Run]) -> tuple[Flag, ...]:
    """The workload's remarks, each text once."""
    said = (warning.get("text") or warning.get("code", "") for run in runs for warning in run.warnings)
    return tuple(Flag(FlagCode.PROBE, text) for text in dict.fromkeys(_cut(text, TEXT_LIMIT) for text in said) if text)


def _of_runs(some: int, runs: int) -> str:
    return f"{some} of {runs} run{'s' if runs > 1 else ''}"


def _percent(share: float) -> str:
    return f"{100 * share:.3g} %"


def _cut(text: str, limit: int) -> str:
    return text if len(text) <= limit else text[: limit - 1] + "…"


#: Shares from which on a cause is reported: of the samples, of the CPU's time, of the runs.
SHARED, TAKEN, BUSY = 0.05, 0.05, 0.2


@dataclass(frozen=True, slots=True)
class Disturbance:
    """The causes of one session by time; those that the platform does not report are 0."""

    shared: float  #: share of the samples with a neighbour on the core; figures use the others
    stolen: float  #: share of the runs' time that the hypervisor gave to others
    waited: float  #: share of their time that runs without processes of their own waited for their CPU
    busy: float  #: share of the runs during which the other CPUs were more than half busy

    @property
    def quiet(self) -> bool:
        """Whether no cause reaches its share."""
        return self.shared < SHARED and max(self.stolen, self.waited) < TAKEN and self.busy < BUSY


def disturbance(result: Result) -> Disturbance | None:
    """The disturbance of a session; None by path, where nothing disturbs, and if no run reports any."""
    core, counted = core_of(result.runs), result.counted()
    if result.session.by == "path" or not (core or any(run.meter for run in result.runs)):
        return None
    alone = [run for run in result.runs if not waits_for_its_own((run,), counted.get(run.row, ()))]
    return Disturbance(
        shared=core.shared if core else 0.0,
        stolen=_share(result.runs, "steal_ns"),
        waited=_share(alone, "run_delay_ns"),
        busy=fmean(run.meter.get("others_busy", 0.0) > OTHERS_BUSY for run in alone) if alone else 0.0,
    )


def _share(runs: Sequence[Run], what: str) -> float:
    told = [run for run in runs if run.meter.get(what, -1.0) >= 0 and run.meter.get("wall_ns", 0.0) > 0]
    wall = sum(run.meter["wall_ns"] for run in told)
    return sum(run.meter[what] for run in told) / wall if wall else 0.0
