"""Figures of one result: a row's cost with its interval within the session. docs/statistics.md, "A row's figure"."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import compress
from statistics import median, median_low
from typing import Any

from kernometer.errors import ResultError
from kernometer.results.iteration import net_costs
from kernometer.results.model import By, Counting, Result, Run, Workload
from kernometer.stats.core import Core, edge_of_runs
from kernometer.stats.cost import RunCost, geometric, run_cost, summed, unusable
from kernometer.stats.counters import user_part
from kernometer.stats.flags import flags
from kernometer.stats.intervals import mean_of, median_interval
from kernometer.stats.levels import levels, middle_mean
from kernometer.stats.model import Flag, FlagCode, RowFigure
from kernometer.tables import grouped

#: The setting of the directory for temporary files, and the one condition of a row that is not a setting.
FOLDER, RELATION = "folder", "relation of its two CPUs"
#: A figure needs so many runs with quiet samples. With fewer, all samples of all runs count.
LEAST_QUIET = 3
#: A run below the resolution is left out if at most one of so many is: that is noise, and not the row.
UNRESOLVED = 10
#: Fewer runs are few: the extremes of four enclose the median in 87 of 100 cases, those of five in 94.
FEW_FOR_MEDIAN = 5


def figures(result: Result, core: Core | None = None, *, bare: bool = False) -> dict[str, RowFigure]:
    """The figure of every row that has a run, in the result's order. `core`: the state of the core over several results
    that belong together; None: that of this result. `bare`: without what only this session's table tells (runs, flags,
    conditions, `counting`), which takes a third of the time."""
    runs = grouped((run.row, run) for run in summed(result.runs))
    counted = result.counted() if not bare else {}
    edge = core.edge if core else edge_of_runs(result.runs)
    return {
        row: _figure(result, row, of_row, None if bare else counted.get(row, ()), edge) for row, of_row in runs.items()
    }


def instructions(result: Result) -> dict[str, float]:
    """The value of every row whose figure is a count of instructions, in the result's order."""
    known = figures(result).items()
    return {row: figure.value for row, figure in known if figure.value is not None and figure.unit == "instructions"}


@dataclass(frozen=True, slots=True)
class Counted:
    """What is counted by path: the word for it, and its value of one operation of each row of a session."""

    what: str
    rows: Callable[[Result], Mapping[str, float]]


INSTRUCTIONS = Counted("instructions", instructions)


def figure(result: Result, row: str) -> RowFigure:
    """The figure of one row. Raises ResultError if the result has no run of it."""
    runs = [run for run in summed(result.runs) if run.row == row]
    if not runs:
        raise ResultError(f"the result {result.session.id} has no run of {row}", "kernometer show lists its rows")
    return _figure(result, row, runs, result.counted().get(row, ()), edge_of_runs(result.runs))


def _figure(
    result: Result,
    row: str,
    runs: Sequence[Run],
    counted: Sequence[Counting] | Sequence[Run] | None,
    edge: float | None,
) -> RowFigure:
    """`counted`: None for a bare figure."""
    by = result.session.by
    workload = result.workloads.get(runs[0].workload)
    less_baseline = workload is not None and workload.figure_less_baseline
    counts = workload is not None and workload.unit == "count"
    unit = "count" if counts else "instructions" if by == "path" else workload.unit if workload else "ns"
    good: list[Run] = []
    remarks: list[Flag] = []
    for run in runs:
        why = unusable(run, less_baseline, unit)
        if why:
            remarks.append(Flag(FlagCode.PROBE, f"run {run.run} could not be used: {why}"))
        else:
            good.append(run)
    good, costs, left_out = _settled(good, by, lambda run, edge: run_cost(run, by, less_baseline, unit, edge), edge)
    remarks += left_out
    told: dict[str, Any] = {}
    if counted is not None:
        one_cpu = result.header is not None and result.header.cpu.get("online") == 1
        told = {
            "runs": tuple(cost.figure for cost in costs),
            "conditions": _conditions(result, workload, runs),
            "flags": (*(flags(good, costs, by, unit, counted, one_cpu=one_cpu) if costs else ()), *remarks),
            "counting": _times_as_long(counted, good),
        }
    empty = RowFigure(
        row=row,
        workload=runs[0].workload,
        params=dict(runs[0].params),
        unit=unit,
        per=workload.per if workload else "",
        better=workload.better if workload and (counts or by == "time") else "lower",
        revision=runs[0].revision,
        **told,
    )
    if not costs:
        return empty
    parts = _cost_parts(unit, costs, by, good[0].bytes)
    if unit != "instructions":
        return replace(empty, **parts)
    each = [cost for run in good for cost in net_costs(run, less_baseline=less_baseline)]
    kinds, mean = levels(each), middle_mean(each)
    user = None if less_baseline else user_part(row, result)  # a baseline's events are not stored
    total = mean if kinds else parts.get("cost")
    kernel = None if user is None or total is None else max(0.0, total - max(0.0, user))
    return replace(empty, **parts, levels=kinds, mean=mean, kernel_part=kernel)  # once: it takes as long as a sort


def _settled(
    runs: list[Run], by: By, cost_of: Callable[[Run, float | None], RunCost], edge: float | None
) -> tuple[list[Run], list[RunCost], list[Flag]]:
    """The runs of a figure, with their costs: those on a quiet core, if there are enough, without unresolved ones."""
    costs = [cost_of(run, edge) for run in runs]
    told: list[Flag] = []
    quiet = [cost.figure.quiet > 0 for cost in costs]
    if LEAST_QUIET <= sum(quiet) < len(runs):
        runs, costs = list(compress(runs, quiet)), list(compress(costs, quiet))
    elif not all(quiet):
        told.append(Flag(FlagCode.SHARED, f"{quiet.count(False)} of {len(runs)} runs found no quiet core"))
        costs = [cost_of(run, None) for run in runs]
    below = [cost.below for cost in costs]
    if by == "time" and 0 < sum(below) <= len(runs) / UNRESOLVED:
        told.append(Flag(FlagCode.OUTLIERS, f"{sum(below)} of {len(runs)} runs resolved nothing and are left out"))
        resolved = [not is_below for is_below in below]
        runs, costs = list(compress(runs, resolved)), list(compress(costs, resolved))
    return runs, costs, told


def _conditions(result: Result, workload: Workload | None, runs: Sequence[Run]) -> dict[str, str]:
    """The values of what the figure depends on. A disk's rows do not use the directory for temporary files."""
    told = result.header.settings if result.header else {}
    of_disk = "disk" in runs[0].params
    names = [name for name in (workload.settings if workload else ()) if not (of_disk and name == FOLDER)]
    conditions = {name: told[name] for name in names if name in told}
    relations = "; ".join(sorted({run.relation for run in runs} - {""}))
    return conditions | ({RELATION: relations} if relations else {})


def _times_as_long(counted: Sequence[Counting] | Sequence[Run], runs: Sequence[Run]) -> float | None:
    """How many times as long a sample takes in the counting run; None without such a run."""
    slow = [median_low(counting.samples) / counting.batch for counting in counted if isinstance(counting, Counting)]
    fast = [median_low(run.samples) / run.batch for run in runs]
    return median_low(slow) / median_low(fast) if slow and fast and median_low(fast) > 0 else None


def _cost_parts(unit: str, costs: Sequence[RunCost], by: By, moved: float) -> dict[str, Any]:
    """The row's figure, or only the gross figure if a run is below the clock's resolution: fields of RowFigure."""
    gross = _middle([cost.figure.gross for cost in costs], by)
    baselines = [cost.figure.baseline for cost in costs if cost.figure.baseline is not None]
    baseline = (median_low(baselines) if by == "path" else median(baselines)) if baselines else None
    parts: dict[str, Any] = {"gross": gross, "baseline": baseline}
    if any(cost.below for cost in costs):
        return parts
    values = [cost.figure.cost for cost in costs]
    low, high = (min(values), max(values)) if by == "path" else interval_of_runs(values)
    cost, exact = _middle(values, by), by == "path" and low == high
    return parts | {"cost": cost, "low": low, "high": high, "exact": exact} | _values(unit, moved, cost, low, high)


def _middle(values: Sequence[float], by: By) -> float | None:
    """The median of the runs; by path a measured count. None if it would not be a cost."""
    if by == "path":
        return median_low(values)
    return median(values) if min(values) > 0 else None


def interval_of_runs(costs: Sequence[float]) -> tuple[float | None, float | None]:
    """95 % interval of the median of these runs; for too few runs that of normal logarithms."""
    if len(costs) < FEW_FOR_MEDIAN:
        return log_interval(costs)

    return median_interval(costs)


def log_interval(costs: Sequence[float]) -> tuple[float | None, float | None]:
    """95 % t interval of the geometric mean of two or more positive costs; None for one."""
    if len(costs) < 2:
        return None, None
    if min(costs) == max(costs):
        return costs[0], costs[0]

    low, high = mean_of([math.log(cost) for cost in costs]).interval()
    return _exp(float(low)), _exp(float(high))


def _exp(log: float) -> float:
    """exp without overflow: the interval of two wild runs may exceed any double."""
    return math.exp(min(log, 700.0))


def with_values(row: RowFigure, moved: float) -> RowFigure:
    """Adds the figure in the row's own unit. `moved`: bytes per operation."""
    return replace(row, **_values(row.unit, moved, row.cost, row.low, row.high))


def _values(unit: str, moved: float, cost: float | None, low: float | None, high: float | None) -> dict[str, Any]:
    """A cost and the ends of its interval in the row's own unit: fields of RowFigure. The ends of a rate and of a count
    are swapped: a low cost is a high rate."""
    scale = {"B/s": moved * 1e9, "1/s": 1e9, "count": 1.0}.get(unit)
    if scale is None:
        return {"value": cost, "value_low": low, "value_high": high}
    if not 0 < scale < math.inf:
        return {}

    def rate(cost: float | None) -> float | None:
        if not cost:
            return None
        value = scale / cost
        return round(value, 9) if unit == "count" else value  # 1/(1/49) is not 49

    return {"value": rate(cost), "value_low": rate(high), "value_high": rate(low)}


def pooled(rows: Sequence[RowFigure], costs: Sequence[float]) -> RowFigure:
    """One side of a comparison as one figure: the geometric mean over its units, with the interval between them.
    `rows`: the row's figure in each session; `costs`: the cost of each unit (a session, a boot, an occasion)."""
    if len(rows) == 1:
        return rows[0]
    first = next((row for row in rows if row.cost is not None), rows[0])
    together = replace(  # what is not named here, nor by with_values, stays the first session's
        first,
        runs=tuple(run for row in rows for run in row.runs),
        flags=tuple(dict.fromkeys(flag for row in rows for flag in row.flags)),
    )
    if not costs or first.cost is None or first.value is None:
        return together
    low, high = log_interval(costs)
    exact = low == high and all(row.exact for row in rows)
    together = replace(together, cost=geometric(costs), low=low, high=high, exact=exact)
    moved = first.value * first.cost / 1e9  # bytes of an operation
    return with_values(together, moved)
