"""Is a figure net of what it should be, in the right unit, with an interval that holds?"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from kernometer.errors import ResultError
from kernometer.results.model import Baseline, Counting, Run
from kernometer.stats.figures import figure, figures, pooled
from kernometer.stats.model import FlagCode, RowFigure
from tests.support.stats.simulate import (
    ROW,
    baseline,
    exact_run,
    heavy,
    of_costs,
    path_result,
    result,
    run,
    session,
    upper_bound,
    workload,
)


def codes(row: RowFigure) -> set[FlagCode]:
    return {flag.code for flag in row.flags}


def of(*runs: Run, **workload_changes: Any) -> RowFigure:
    """The figure of runs of one row."""
    definition = workload(runs[0].workload, **workload_changes)
    return figure(result(session("s"), runs, workloads={definition.name: definition}), runs[0].row)


def test_cost_is_net_of_clock_and_loop() -> None:
    """(101,020 - 20) / 1,000 - (1,020 - 20) / 1,000 = 100 ns, gross 101.02; over two operations an iteration, half."""
    row = of(run([101_020] * 5))
    assert row.cost == pytest.approx(100)
    assert row.gross == pytest.approx(101.02)
    assert row.baseline is None
    assert of(run([101_020] * 5, ops=2.0)).cost == pytest.approx(50)


def test_loop_cheaper_than_the_clock_is_taken_for_nothing() -> None:
    """Expected: a loop is never negative. Broken: noise in the loop's own samples makes the operation dearer."""
    assert of(run([100_020] * 5, loop_cost=(15,) * 5)).cost == pytest.approx(100)


@pytest.mark.parametrize(("less", "cost"), [(True, 60.0), (False, 100.0)])
def test_baseline_is_taken_off_where_the_definition_says_so_and_shown_always(less: bool, cost: float) -> None:
    row = of(run([101_020] * 5, baseline=baseline([20_520] * 5, batch=500)), less_baseline=less)
    assert row.baseline == pytest.approx(40)
    assert row.cost == pytest.approx(cost)


@pytest.mark.parametrize(
    ("costs", "middle"),
    [((50, 800, 100), 100), ((50, 800, 100, 200), 150), ((10, 20, 30, 40, 5_000), 30)],
    ids=["three", "four", "five"],
)
def test_row_is_the_median_of_its_runs(costs: tuple[float, ...], middle: float) -> None:
    """Expected: one wild run moves nothing. Broken: a mean of the runs, arithmetic or geometric, or a lower median."""
    assert of(*(exact_run(cost, run=i) for i, cost in enumerate(costs))).cost == pytest.approx(middle)


def test_interval_of_few_runs_is_that_of_the_geometric_mean() -> None:
    """Expected: below five runs a t interval of the logarithms, around (50 · 800 · 100)^(1/3)."""
    row = of(*(exact_run(cost, run=i) for i, cost in enumerate((50, 800, 100))))
    assert row.low is not None and row.high is not None
    assert math.sqrt(row.low * row.high) == pytest.approx(math.cbrt(50 * 800 * 100))
    spread = np.std(np.log([50, 800, 100]), ddof=1) / math.sqrt(3)
    assert math.log(row.high / row.low) / 2 == pytest.approx(4.302653 * spread)


def test_interval_of_five_runs_is_that_of_their_median() -> None:
    """Expected: the least and the largest of five, however wild. Broken: a t interval of their logarithms."""
    row = of(*(exact_run(cost, run=i) for i, cost in enumerate((10, 20, 30, 40, 5_000))))
    assert row.low == pytest.approx(10)
    assert row.high == pytest.approx(5_000)


@pytest.mark.parametrize(("runs", "cost"), [(10, 100.0), (9, None)])
def test_one_run_of_ten_that_resolved_nothing_is_left_out_and_one_of_nine_is_not(runs: int, cost: float | None) -> None:
    row = of(exact_run(0.0, run=0), *(exact_run(100.0, run=i) for i in range(1, runs)))
    assert row.cost == (pytest.approx(cost) if cost else None)
    assert (FlagCode.BELOW_RESOLUTION in codes(row)) == (cost is None)


def test_a_counting_run_is_so_many_times_as_long_as_a_timed_one() -> None:
    """Expected: 2,000 ns an iteration beside 100. Broken: the inverse."""
    counting = Counting(row=ROW, workload=ROW, batch=50, samples=(100_000,) * 3, iterations=150)
    stored = result(session("s"), [run([100_000] * 5)], countings=(counting,))
    assert figure(stored, ROW).counting == pytest.approx(20)


@pytest.mark.parametrize(
    ("unit", "value"), [("ns", 100.0), ("1/s", 1e9 / 100), ("B/s", 4096e9 / 100)], ids=["ns", "per-s", "bytes"]
)
def test_value_is_in_the_rows_unit_with_its_ends_in_order(unit: Any, value: float) -> None:
    row = of(*(exact_run(cost, run=i, bytes=4096.0) for i, cost in enumerate((90, 100, 1000 / 9))), unit=unit)
    assert row.value == pytest.approx(value)
    assert row.value_low is not None and row.value_high is not None
    assert row.value_low < value < row.value_high


def test_bandwidth_without_bytes_has_a_cost_and_no_value() -> None:
    row = of(exact_run(100.0), unit="B/s")
    assert row.cost == pytest.approx(100)
    assert row.value is None


def test_counts_by_path_are_exact_integers() -> None:
    """Expected: the lower median less the bracket, no float in between. Broken: 12,344.999…"""
    stored = path_result("p", {ROW: 12_345})
    row = figure(stored, ROW)
    assert (row.cost, row.gross, row.unit, row.better) == (12_345, 12_352, "instructions", "lower")
    assert (row.low, row.high) == (12_345, 12_345)
    assert row.flags == ()
    even = result(
        session("q", by="path"), [run([10, 11], batch=1, loop_batch=1, loop_cost=(7, 8), clock_cost=(), cpu=-1)]
    )
    assert figure(even, ROW).cost == 3


def test_rate_by_path_is_still_a_count() -> None:
    stored = result(
        session("p", by="path"),
        [run([1007] * 3, batch=1, loop_batch=1, loop_cost=(7,), clock_cost=(), bytes=4096.0)],
        workloads={ROW: workload(unit="B/s")},
    )
    row = figure(stored, ROW)
    assert (row.unit, row.better, row.value) == ("instructions", "lower", 1000)


def test_all_samples_alike_give_an_interval_of_no_width() -> None:
    row = of(*(exact_run(100.0, run=i) for i in range(5)))
    assert row.cost == row.low == row.high == pytest.approx(100)


def test_one_run_has_no_interval() -> None:
    row = of(exact_run(100.0))
    assert (row.low, row.high) == (None, None)
    assert FlagCode.FEW_RUNS in codes(row)


def test_row_that_was_not_measured_is_an_error() -> None:
    with pytest.raises(ResultError, match="no run of syscall/x"):
        figure(of_costs("s", {ROW: [1.0]}), "syscall/x")


@pytest.mark.parametrize(
    "change",
    [
        {"batch": 0},
        {"ops": 0.0},
        {"ops": math.nan},
        {"samples": ()},
        {"samples": (2**70,)},
        {"resolution_ns": math.inf},
        {"clock_cost": (math.nan,)},
        {"baseline": Baseline(batch=0, samples=(1,))},
    ],
    ids=str,
)
def test_run_that_makes_no_sense_is_named_and_the_others_count(change: dict[str, Any]) -> None:
    """Expected: a hostile record is left out by name. Broken: a crash, or a figure made of it."""
    bad = run(change.pop("samples", [101_020] * 3), run=9, **change)
    row = of(exact_run(100.0, run=0), bad, exact_run(100.0, run=2))
    assert row.cost == pytest.approx(100)
    assert [one.run for one in row.runs] == [0, 2]
    assert any(flag.code is FlagCode.PROBE and "run 9 could not be used" in flag.detail for flag in row.flags)
    assert of(bad).cost is None


def test_missing_baseline_of_a_row_that_needs_one_is_no_figure() -> None:
    row = of(run([101_020] * 5), less_baseline=True)
    assert row.cost is None
    assert "none was measured" in row.flags[0].detail


@given(
    samples=st.lists(st.integers(-(2**60), 2**60), max_size=40),
    clock=st.lists(st.floats(), max_size=5),
    batch=st.integers(-5, 2**40),
    ops=st.floats(),
    moved=st.floats(),
    meter=st.dictionaries(st.sampled_from(["wall_ns", "steal_ns", "run_delay_ns", "others_busy"]), st.floats()),
    counts=st.dictionaries(st.sampled_from(["faults", "reads"]), st.floats()),
    by=st.sampled_from(["time", "path"]),
)
@example(samples=[1021], clock=[], batch=1, ops=2.2e-309, moved=0.0, meter={}, counts={}, by="path")
@settings(max_examples=150, deadline=None)
def test_no_record_makes_figures_raise(
    samples: list[int],
    clock: list[float],
    batch: int,
    ops: float,
    moved: float,
    meter: dict[str, float],
    counts: dict[str, float],
    by: Any,
) -> None:
    """Expected: any numbers give a figure or none. Broken: one damaged file ends a comparison of a hundred."""
    made = [
        run(
            samples,
            run=i,
            clock_cost=tuple(clock),
            batch=batch,
            ops=ops,
            bytes=moved,
            meter=meter,
            claimed=counts,
            happened=counts,
        )
        for i in range(2)
    ]
    row = figures(result(session("s", by=by), made, workloads={ROW: workload(unit="B/s")}))[ROW]
    assert row.cost is None or 0 < row.cost < math.inf


def test_interval_within_a_session_covers_the_truth() -> None:
    """95 % intervals over runs of heavy-tailed samples, with an effect of each process: at least 93 of 100.

    1,000 rows, 5 runs of 40 samples: an honest 95 % misses more than 7 % of them with probability 0.002.
    """
    rng = np.random.default_rng(20261121)
    rows = [f"w/{i}" for i in range(1000)]
    made = []
    for row in rows:
        levels = 100 * np.exp(0.02 * rng.standard_normal(5))
        for number, level in enumerate(levels):
            samples = 1020 + 1000 * level * np.exp(0.02 * heavy(rng, (40,)))
            made.append(run([int(x) for x in samples], row=row, workload=row, run=number))
    covered = [
        one.low <= 100 <= one.high
        for one in figures(result(session("s"), made)).values()
        if one.low is not None and one.high is not None
    ]
    assert len(covered) == len(rows)
    assert np.mean(covered) >= 0.93
    assert 1 - np.mean(covered) <= upper_bound(0.05, len(rows))


def test_pooled_side_is_the_mean_of_its_units_with_the_spread_between_them() -> None:
    one, other = (figure(of_costs(str(i), {ROW: [cost] * 3}), ROW) for i, cost in enumerate((100.0, 121.0)))
    both = pooled([one, other], [100.0, 121.0])
    assert both.cost == both.value == pytest.approx(110)
    assert both.low is not None and both.low < 100
    assert len(both.runs) == 6
    assert pooled([one], [100.0]) == one
