"""What a person is told while a measurement goes on."""

from __future__ import annotations

import io
import time
from dataclasses import replace

import numpy as np
import pytest

from kernometer.campaign.plan import Plan, effort_of
from kernometer.cli import progress as module
from kernometer.cli.env import Env
from kernometer.cli.progress import _further, progress
from kernometer.results.model import Unsupported
from kernometer.stats.quantiles import LEAST_RUNS
from tests.support.results import make
from tests.support.stats.simulate import ROW, of_times

#: Seconds; far beyond what is needed.
FAR = 60.0
PLAN = Plan("time", "quick", (ROW,), (ROW,), effort_of("quick"), 1)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("err", [io.StringIO(), Terminal()], ids=["stream", "terminal"])
def test_a_target_that_says_nothing_is_told_of_on_the_way(err: io.StringIO, monkeypatch: pytest.MonkeyPatch) -> None:
    """Expected: how long, and when it is given up; again after a record. Broken: a terminal that stands still."""
    monkeypatch.setattr(module, "QUIET_SECONDS", 0.2)
    until = time.monotonic() + FAR
    with progress(Env(io.StringIO(), err, color=False), PLAN, silence=300.0) as listen:
        for times in (1, 2):
            while err.getvalue().count("no row for 0 s; one without output for 300 s is given up") < times:
                assert time.monotonic() < until
                time.sleep(0.01)
            listen(make.run())


def test_runs_are_asked_for_until_the_quantile_is_known_or_the_time_is_spent(monkeypatch: pytest.MonkeyPatch) -> None:
    """Expected: at most as many as were made, then none. Broken: a session without an end, or of means."""
    plan = Plan("time", "quick", (ROW,), (ROW,), effort_of("quick", quantile=0.99, budget=FAR), 1)
    of_runs = {n: of_times(np.random.default_rng(1).normal(1000, 10, (n, 16))) for n in (40, LEAST_RUNS)}
    further = _further(plan)
    assert [further(made) for made in of_runs.values()] == [{ROW: 40}, {}]
    assert further(of_times(np.ones((40, 16)), batch=100)) == {}
    assert _further(replace(plan, effort=effort_of("quick", budget=FAR)))(of_runs[40]) == {}
    began = time.monotonic()
    monkeypatch.setattr("kernometer.cli.progress.time.monotonic", lambda: began + 2 * FAR)
    assert further(of_runs[40]) == {}


def test_nothing_is_said_while_records_come() -> None:
    err = io.StringIO()
    with progress(Env(io.StringIO(), err), PLAN) as listen:
        for number in range(3):
            listen(make.run(number))
    assert err.getvalue() == ""


def test_runs_within_a_time_have_no_number_and_no_time_left_below_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Broken: "measured 3,826 of 2,760 runs, about 0 s left"."""
    monkeypatch.setattr(module, "LINE_SECONDS", 0.0)
    for budget, told in ((FAR, ", about 60 s left"), (1e-9, "")):
        err = io.StringIO()
        plan = replace(PLAN, effort=replace(PLAN.effort, budget=budget))
        with progress(Env(io.StringIO(), err), plan) as listen:
            for number in range(3):
                listen(make.run(number))
        assert err.getvalue().splitlines() == [f"measured {number} runs{told}" for number in (1, 2, 3)]


@pytest.mark.parametrize(("paired", "runs"), [(False, 5), (True, 4)])
def test_runs_add_up_where_a_target_lacks_a_row(paired: bool, runs: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two sessions of three rows, the first without one. Expected: its run is not waited for; in blocks not the other
    side's either. Broken: 5 of 6 runs at the end."""
    monkeypatch.setattr(module, "LINE_SECONDS", 0.0)
    monkeypatch.setattr(module, "TELLING_SHARE", 2.0)
    plan, err = replace(PLAN, by="path", rows=("a", "b", "c"), unsupported=("d",)), io.StringIO()
    with progress(Env(io.StringIO(), err), plan, 2, paired=paired) as listen:
        listen(Unsupported(row="d", reason="as where the plan was made"))
        listen(Unsupported(row="c", reason="no c"))
        for row in ("a", "b", "a", "b", "c")[:runs]:
            listen(make.run(0, row))
        if paired:
            listen(Unsupported(row="c", reason="no c"))
    told = [line for line in err.getvalue().splitlines() if line.startswith("measured")]
    assert (told[0], told[-1]) == (f"measured 1 of {runs} runs", f"measured {runs} of {runs} runs")


def test_a_missing_row_is_told_of_once_and_a_missing_unit_cost_in_the_table_alone() -> None:
    """Expected: what this kernel lacks. Broken: `make run` warns of units that no structure of Trio has."""
    err = io.StringIO()
    with progress(Env(io.StringIO(), err), PLAN) as listen:
        for row in ("ctx/yield", "trio/notify", "ctx/yield@same-cpu"):
            listen(Unsupported(row=row, reason=f"no {row.partition('@')[0]}"))
    assert err.getvalue() == "ctx/yield: unsupported here: no ctx/yield\n"
