"""Verdicts, many rows at once, and what "undecided" says it would take."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import pytest
from scipy.stats import false_discovery_control  # type: ignore[import-untyped]  # scipy carries no types

from kernometer.stats.intervals import Contrast, paired, t_quantile, welch
from kernometer.stats.model import RowComparison, Verdict
from kernometer.stats.verdict import MOST_UNITS, Draft, judge, smallest_log, smallest_ratio, units_needed, verdict
from tests.support.stats.simulate import upper_bound

if TYPE_CHECKING:
    from numpy.typing import NDArray

DELTA = 0.02
EDGE = math.log1p(DELTA)


@pytest.mark.parametrize(
    ("low", "high", "rejected", "expected"),
    [
        (-0.01, 0.01, False, Verdict.EQUIVALENT),
        (0.005, 0.015, True, Verdict.EQUIVALENT),  # real, and too small to matter
        (0.01, 0.05, True, Verdict.SLOWER),
        (0.01, 0.05, False, Verdict.UNDECIDED),  # alone it would be; among many rows it is not
        (-0.05, -0.01, True, Verdict.FASTER),
        (-0.01, 0.05, False, Verdict.UNDECIDED),
        (-EDGE, EDGE, False, Verdict.EQUIVALENT),
        (-EDGE, EDGE * 1.001, False, Verdict.UNDECIDED),
    ],
)
def test_rule(low: float, high: float, rejected: bool, expected: Verdict) -> None:
    assert verdict(low, high, rejected, DELTA) is expected


def drafts(contrast: Contrast) -> list[Draft]:
    """A row for each element of a contrast."""
    return [
        Draft(
            RowComparison(f"w/{i}", "w", Verdict.UNDECIDED),
            Contrast(contrast.log_ratio[i], contrast.se[i], contrast.df[i]),
            sd_log=float(contrast.se[i]),
            units=3,
        )
        for i in range(len(contrast.log_ratio))
    ]


def test_p_values_are_adjusted_over_all_rows_in_their_order() -> None:
    """Benjamini and Hochberg by hand: 0.01 4/1, 0.04 4/3 twice (ties), 0.5; a row without a test takes no part."""
    df = np.full(4, 9.0)
    t = np.array([float(t_quantile(1 - p / 2, 9.0)) for p in (0.04, 0.01, 0.5, 0.04)])
    made = drafts(Contrast(t, np.ones(4), df))
    untested = Draft(RowComparison("w/untested", "w", Verdict.FAILED))
    judged = judge([*made[:2], untested, *made[2:]], DELTA)
    assert [row.p_adjusted for row in judged if row.row != "w/untested"] == pytest.approx(
        [0.04 * 4 / 3, 0.04, 0.5, 0.04 * 4 / 3]
    )
    assert judge([untested], DELTA) == (untested.row,)


def rejections(logs_a: NDArray[np.float64], logs_b: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Which rows of which comparisons are rejected after adjustment; shape (comparisons, rows)."""
    p = welch(logs_a, logs_b).p()
    return np.asarray(false_discovery_control(p, axis=-1) <= 0.05)


@pytest.mark.parametrize("shared", [0.0, 0.02], ids=["independent", "shared session effect"])
def test_comparison_of_the_same_kernel_rarely_has_any_false_row(shared: float) -> None:
    """40 rows, nothing differs, 4 sessions a side. Expected: a single false row in at most 5 % of comparisons."""
    rng = np.random.default_rng(12)
    comparisons, rows = 2000, 40
    a, b = (
        shared * rng.standard_normal((comparisons, 1, 4)) + 0.01 * rng.standard_normal((comparisons, rows, 4))
        for _ in range(2)
    )
    assert rejections(a, b).any(axis=1).mean() <= upper_bound(0.05, comparisons)


def test_unadjusted_rows_would_be_false_in_most_comparisons() -> None:
    """The twin: without the adjustment 40 rows have a false one in 85 % of comparisons."""
    rng = np.random.default_rng(13)
    a, b = (0.01 * rng.standard_normal((1000, 40, 6)) for _ in range(2))
    assert (welch(a, b).p() < 0.05).any(axis=1).mean() > 0.7


def test_share_of_false_rows_among_the_rejected_is_held() -> None:
    """10 of 40 rows are 10 % slower. Expected: at most 5 % of the rejected rows are false, and the 10 are found."""
    rng = np.random.default_rng(14)
    comparisons = 1000
    a, b = (0.01 * rng.standard_normal((comparisons, 40, 5)) for _ in range(2))
    b[:, :10] += math.log(1.1)
    rejected = rejections(a, b)
    false = rejected[:, 10:].sum(axis=1) / np.maximum(rejected.sum(axis=1), 1)
    assert false.mean() <= 0.05 + 3.3 * false.std() / math.sqrt(comparisons)
    assert rejected[:, :10].mean() > 0.99


@pytest.mark.parametrize("sd", [0.002, 0.005, 0.01])
def test_equivalence_is_false_in_two_and_a_half_of_a_hundred_at_most(sd: float) -> None:
    """B is slower by exactly delta. Expected: called equivalent in at most 2.5 %."""
    rng = np.random.default_rng(15)
    trials = 20_000
    low, high = welch(sd * rng.standard_normal((trials, 4)), EDGE + sd * rng.standard_normal((trials, 4))).interval()
    assert np.mean((low >= -EDGE) & (high <= EDGE)) <= upper_bound(0.025, trials)


def test_equivalence_is_found_where_it_is_plain() -> None:
    rng = np.random.default_rng(16)
    contrast = welch(*(0.003 * rng.standard_normal((500, 5)) for _ in range(2)))
    low, high = contrast.interval()
    assert np.mean((low >= -EDGE) & (high <= EDGE)) > 0.95


@pytest.mark.parametrize("n", [2, 3, 5, 20])
def test_smallest_difference_is_found_in_four_of_five(n: int) -> None:
    """Expected: a true difference of that size is rejected in 80 % of simulated comparisons, give or take 1 %."""
    rng = np.random.default_rng(n)
    trials = 40_000
    size = smallest_log(0.01 * math.sqrt(2 / n), 2 * (n - 1))
    a, b = 0.01 * rng.standard_normal((trials, n)), size + 0.01 * rng.standard_normal((trials, n))
    pooled_se = np.sqrt((a.var(axis=1, ddof=1) + b.var(axis=1, ddof=1)) / n)
    exact = Contrast(b.mean(axis=1) - a.mean(axis=1), pooled_se, np.full(trials, 2.0 * (n - 1)))
    assert np.mean(exact.p() < 0.05) == pytest.approx(0.80, abs=0.01)
    # Welch's own degrees of freedom are fewer with very few units: its power is a little less there, never more.
    assert np.mean(welch(a, b).p() < 0.05) <= 0.81


def test_blocks_needed_are_enough_and_not_one_too_many() -> None:
    needed = units_needed(0.03, DELTA, paired=True)
    assert needed is not None
    rng = np.random.default_rng(17)

    def power(n: int) -> float:
        return float(np.mean(paired(EDGE + 0.03 * rng.standard_normal((20_000, n))).p() < 0.05))

    assert power(needed) >= 0.79
    assert power(needed - 2) <= 0.81
    assert smallest_ratio(0.03 / math.sqrt(needed), needed - 1) <= DELTA
    assert smallest_ratio(0.03 / math.sqrt(needed - 1), needed - 2) > DELTA


def test_sessions_needed_are_enough_and_not_one_too_many() -> None:
    """Two sides have 2 (n - 1) degrees of freedom. Expected at a spread of 0.5 %: three a side, not two."""
    needed = units_needed(0.005, DELTA, paired=False)
    assert needed == 3
    assert smallest_ratio(0.005 * math.sqrt(2 / 3), 4) <= DELTA < smallest_ratio(0.005 * math.sqrt(2 / 2), 2)


def test_no_spread_needs_no_more_than_two_units() -> None:
    assert units_needed(0.0, DELTA, paired=False) == 2
    assert smallest_ratio(0.0, 3.0) == 0.0


def test_hopeless_spread_has_no_number() -> None:
    assert units_needed(50.0, DELTA, paired=False) is None
    (row,) = judge(
        [Draft(RowComparison("w", "w", Verdict.UNDECIDED), welch([0.0, 70.0], [0.0, 70.5]), sd_log=50.0)], DELTA
    )
    assert row.sessions_missing is None
    assert "no number of further units" in str(row.notes)
    assert MOST_UNITS >= 10_000


@pytest.mark.parametrize(("units", "missing"), [(4, 2), (6, 1), (9, 1)])
def test_what_is_missing_is_what_is_needed_less_what_there_is(units: int, missing: int) -> None:
    """Six units a side that spread by 1 % show 2 %. Expected: so many more, one at least. Broken: all six again."""
    contrast = Contrast(np.asarray(0.02), np.asarray(0.01), np.asarray(6.0))
    draft = Draft(RowComparison("w", "w", Verdict.UNDECIDED), contrast, sd_log=0.01, units=units)
    assert judge([draft], DELTA)[0].sessions_missing == missing


def test_undecided_rows_alone_say_what_is_missing() -> None:
    rng = np.random.default_rng(18)
    contrast = welch(0.02 * rng.standard_normal((60, 3)), 0.02 + 0.02 * rng.standard_normal((60, 3)))
    rows = judge(drafts(contrast), DELTA)
    assert {row.verdict for row in rows} >= {Verdict.UNDECIDED}
    for row in rows:
        assert (row.smallest is not None) == (row.verdict is Verdict.UNDECIDED)
        assert (row.sessions_missing is not None) == (row.verdict is Verdict.UNDECIDED)


def test_bootstrap_that_disagrees_leaves_a_row_undecided() -> None:
    """Expected: with 20 units and more a verdict must hold under both intervals."""
    contrast = paired(np.full(20, 0.1) + 0.001 * np.arange(20))
    row = RowComparison("w", "w", Verdict.UNDECIDED)
    (agree,) = judge([Draft(row, contrast, second=(0.08, 0.12), sd_log=0.01, paired=True, units=20)], DELTA)
    (not_so,) = judge([Draft(row, contrast, second=(-0.01, 0.3), sd_log=0.01, paired=True, units=20)], DELTA)
    assert (agree.verdict, not_so.verdict) == (Verdict.SLOWER, Verdict.UNDECIDED)
    assert "heavy tails" in str(not_so.notes)
