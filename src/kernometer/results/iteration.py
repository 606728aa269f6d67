"""The iteration that gives a row's figure by path. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median_low

from kernometer.results.model import Run


@dataclass(frozen=True, slots=True)
class Iteration:
    """One iteration of one run, and what is subtracted from it."""

    run: Run
    sample: int  #: its index in `run.samples`
    number: int  #: how many iterations of the row were executed before it, in all runs

    @property
    def gross(self) -> int:
        """Instructions between the two readings of the clock."""
        return int(self.run.samples[self.sample])


def bracket_of(run: Run) -> int:
    """Instructions of the empty bracket."""
    return int(median_low(run.loop_cost)) if run.loop_cost else 0


def baseline_of(run: Run) -> int:
    """Instructions of the row's baseline, net of the bracket; 0 without one."""
    return int(median_low(run.baseline.samples)) - bracket_of(run) if run.baseline else 0


def net_cost(run: Run, *, less_baseline: bool) -> float:
    """Instructions of an operation by one run: the lower median, a measured count, less the bracket and, if
    `less_baseline`, the baseline."""
    return net_of(run, median_low(run.samples), less_baseline=less_baseline)


def net_of(run: Run, count: int, *, less_baseline: bool) -> float:
    """The same of an iteration of this count."""
    return _net(run, [count], less_baseline)[0]


def net_costs(run: Run, *, less_baseline: bool) -> list[float]:
    """The net cost of each iteration of a run, the cheapest first."""
    return _net(run, sorted(run.samples), less_baseline)


def _net(run: Run, samples: Sequence[int], less_baseline: bool) -> list[float]:
    bracket = bracket_of(run)
    base = baseline_of(run) / run.baseline.batch if less_baseline and run.baseline is not None else 0.0
    batch, ops = run.batch, run.ops
    return [((sample - bracket) / batch - base) / ops for sample in samples]


def median_iteration(runs: Sequence[Run], *, less_baseline: bool) -> Iteration | None:
    """The first iteration whose count is the row's figure: the lower median of the runs' net costs. None without
    samples. `runs` are all runs of one row by path, in the order of their execution."""
    good = [run for run in runs if run.samples]
    if not good:
        return None
    wanted = median_low([net_cost(run, less_baseline=less_baseline) for run in good])
    before = 0
    for run in runs:
        if run.samples and net_cost(run, less_baseline=less_baseline) == wanted:
            sample = list(run.samples).index(median_low(run.samples))
            return Iteration(run, sample, before + sample)
        before += len(run.samples)
    return None
