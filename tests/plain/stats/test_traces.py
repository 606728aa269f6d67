"""The state of the core on recorded traces: readings and samples of real machines under real loads, in traces/.

What the truth is, a trace tells itself: the runs of a row that no neighbour met, or the row on the same machine when it
was quiet.
"""

from __future__ import annotations

import json
import math
from pathlib import Path
from statistics import median

import pytest

from kernometer.results.model import Run
from kernometer.stats.core import Core, core_of, enough, quiet_samples
from kernometer.stats.cost import run_cost

TRACES = Path(__file__).parent / "traces"


def trace(name: str) -> list[Run]:
    recorded = json.loads((TRACES / f"{name}.json").read_text())["runs"]
    return [
        Run(workload=one["row"].partition("@")[0], resolution_ns=1.0, **one | {"clock_cost": (one["clock_cost"],)})
        for one in recorded
    ]


def test_a_neighbour_is_seen_and_its_share_is_told() -> None:
    """Expected: two levels, 0.34 and 0.45 to 0.7 ns an iteration. Broken: one level."""
    core = core_of(trace("neighbour"))
    assert core is not None and core.edge is not None
    assert 0.345 < core.edge < 0.45
    assert 0.2 < core.shared < 0.6


@pytest.mark.parametrize("name", ["quiet"])
def test_where_there_was_none_there_is_one_level(name: str) -> None:
    assert core_of(trace(name)) == Core(edge=None, shared=0.0)


@pytest.mark.parametrize("row", ["syscall/getppid", "ctx/pipe-pair@same-cpu", "mem/touch@pages=64", "proc/fork-exit"])
def test_a_runs_figure_is_that_of_the_quiet_core(row: str) -> None:
    """Expected: within 3 % of the runs that the neighbour never met, whichever share of the samples it met.

    Broken: the raw figure, up to 57 % above; or that of three samples which it met between two readings.
    """
    runs = trace("neighbour")
    core = core_of(runs)
    assert core is not None
    of_row = [run for run in runs if run.row == row]
    shares = [float(quiet_samples(run, core.edge).mean()) for run in of_row]
    costs = [run_cost(run, "time", less_baseline=False, edge=core.edge).figure for run in of_row]
    raw = [run_cost(run, "time", less_baseline=False).figure.cost for run in of_row]
    truth = median(cost.cost for cost, share in zip(costs, shares, strict=True) if share > 0.9)
    used = [cost for cost in costs if cost.quiet > 0]
    assert len(used) >= 2
    assert max(abs(math.log(cost.cost / truth)) for cost in used) < 0.03
    assert max(raw) / truth > 1.15
    assert [cost.quiet > 0 for cost in costs] == [enough(quiet_samples(run, core.edge)) for run in of_row]
