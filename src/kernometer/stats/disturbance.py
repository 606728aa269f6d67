"""What disturbed a whole session, each cause as a measured share. docs/statistics.md, "A noisy machine"."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

from kernometer.results.model import Result, Run
from kernometer.stats.core import core_of
from kernometer.stats.flags import OTHERS_BUSY, waits_for_its_own

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
    """The disturbance of a session; None by path, where nothing disturbs, and where no run tells of any."""
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
