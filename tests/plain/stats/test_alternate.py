"""`ab`: is a difference within blocks found, and is drift, however strong, no difference?"""

from __future__ import annotations

import msgspec
import numpy as np
import pytest

from kernometer.errors import ResultError
from kernometer.stats.alternate import ab
from kernometer.stats.model import Comparison, RowComparison, Verdict
from tests.support.stats.rates import Noise, normal, rate, sides
from tests.support.stats.simulate import ROW, exact_run, heavy, of_costs, result, run, session, upper_bound
from tests.support.turns import in_turn

ROWS = [f"w/{i}" for i in range(500)]


def only(comparison: Comparison) -> RowComparison:
    (row,) = comparison.rows
    return row


@pytest.mark.parametrize("blocks", in_turn([3, 10], 0.03, always=[3]))
@pytest.mark.parametrize("drift", [0.0, 0.01], ids=["calm", "drift and step"])
@pytest.mark.parametrize("of", [normal, heavy], ids=["normal", "heavy"])
def test_same_target_twice_holds_its_error_rate(blocks: int, drift: float, of: Noise) -> None:
    """A/A, 500 rows each. Expected: 5 % at most, also where speed drifts by 1 % a run and steps by 20 %."""
    judged = ab(*sides(np.random.default_rng(blocks), blocks, drift=drift, of=of, rows=ROWS))
    rejected, missed = rate(judged, 1.0)
    assert rejected <= upper_bound(0.05, len(ROWS))
    assert missed <= 0.07
    # Some row of the 500 is called different in 5 % of such comparisons at most, so two of them hardly ever.
    assert judged.count(Verdict.SLOWER) + judged.count(Verdict.FASTER) <= 1


@pytest.mark.parametrize("drift", [0.0, 0.005], ids=["calm", "drift and step"])
def test_slowdown_of_known_size_is_found_under_drift(drift: float) -> None:
    judged = ab(*sides(np.random.default_rng(2), 10, ratio=1.05, drift=drift, rows=ROWS))
    assert judged.count(Verdict.SLOWER) > 0.97 * len(ROWS)
    assert rate(judged, 1.05)[1] <= upper_bound(0.05, len(ROWS))


def test_equal_targets_with_little_noise_are_equivalent() -> None:
    judged = ab(*sides(np.random.default_rng(3), 10, noise=0.003, drift=0.001, rows=ROWS))
    assert judged.count(Verdict.EQUIVALENT) > 0.99 * len(ROWS)


def test_undecided_row_says_what_it_could_see_and_how_many_minutes_more() -> None:
    """10 blocks of 1 s (0.5 s a side), 5 % noise. Expected: 5 to 8 % could be seen; a minute or two is missing."""
    judged = ab(*sides(np.random.default_rng(4), 10, noise=0.05, rows=ROWS[:50]))
    undecided = [row for row in judged.rows if row.verdict is Verdict.UNDECIDED]
    assert len(undecided) > 40
    assert np.median([row.smallest for row in undecided if row.smallest]) == pytest.approx(0.07, abs=0.02)
    # sd of a difference 0.07, delta 0.0198: about (2.8 x 0.07 / 0.0198)^2 = 100 blocks of 1 s in all.
    assert np.median([row.minutes_missing for row in undecided if row.minutes_missing]) == pytest.approx(1.5, abs=0.6)
    assert all(row.sessions_missing is None for row in undecided)


def test_one_wild_block_widens_the_interval_and_stays() -> None:
    """Expected: nothing dropped: undecided. Broken: an outlier removed, or a verdict from one block."""
    a, b = sides(np.random.default_rng(5), 8, noise=0.002)
    wild = [*b.runs[:-1], exact_run(300.0, run=7, block=7)]
    row = only(ab(a, result(b.session, wild)))
    assert row.verdict is Verdict.UNDECIDED
    assert row.units_a == 8


def test_twenty_blocks_ask_the_bootstrap_too() -> None:
    row = only(ab(*sides(np.random.default_rng(6), 20, ratio=1.1)))
    assert row.verdict is Verdict.SLOWER


def test_interrupted_run_keeps_the_whole_blocks_and_tells() -> None:
    a, b = sides(np.random.default_rng(7), 6, ratio=1.2)
    row = only(ab(a, result(b.session, b.runs[:4])))
    assert (row.units_a, row.units_b, row.verdict) == (4, 4, Verdict.SLOWER)
    assert row.notes == ("2 blocks have one side only and are left out",)


@pytest.mark.parametrize("blocks", [0, 1])
def test_fewer_than_two_blocks_decide_nothing(blocks: int) -> None:
    a, b = sides(np.random.default_rng(8), 3, ratio=2.0)
    if blocks == 0:
        a = result(a.session, a.runs[:1])
        b = result(b.session, b.runs[1:])
    else:
        a, b = result(a.session, a.runs[:1]), result(b.session, b.runs[:1])
    row = only(ab(a, b))
    assert row.verdict is Verdict.UNDECIDED
    assert row.minutes_missing == pytest.approx((2 - blocks) / 60)


def test_runs_of_one_block_are_one_unit() -> None:
    """Expected: two runs a side in each of 4 blocks are 4 pairs, not 8."""
    a, b = sides(np.random.default_rng(9), 8)
    runs = [exact_run(100.0 + i, run=i, block=i // 2) for i in range(8)]
    assert only(ab(result(a.session, runs), result(b.session, runs))).units_a == 4


def test_constant_blocks_are_decided() -> None:
    a, b = sides(np.random.default_rng(10), 4, noise=0.0, ratio=1.5)
    row = only(ab(a, b))
    assert row.verdict is Verdict.SLOWER
    assert row.ratio == pytest.approx(1.5)


def test_results_of_different_experiments_are_refused() -> None:
    a, _ = sides(np.random.default_rng(11), 3)
    with pytest.raises(ResultError, match="not the two sides") as raised:
        ab(a, of_costs("other", {ROW: [100.0]}))
    assert "compare" in raised.value.next_step


def test_row_below_resolution_is_undecided() -> None:
    a, b = sides(np.random.default_rng(12), 3)
    nothing = result(session("A", experiment="ab-1"), [run([20] * 9, batch=1, run=i, block=i) for i in range(3)])
    assert only(ab(nothing, b)).notes == ("below the clock's resolution on A",)
    assert only(ab(a, b)).verdict is not Verdict.FAILED


def test_batches_that_differ_between_the_sides_are_said() -> None:
    """Expected: a note where one side is too slow for a common batch, none where the batch is one. Broken: silence."""
    a, b = sides(np.random.default_rng(5), 6)
    assert only(ab(a, b)).notes == ()
    slow = tuple(
        msgspec.structs.replace(run, batch=20 * run.batch, samples=tuple(20 * sample for sample in run.samples))
        for run in b.runs
    )
    (note,) = only(ab(a, msgspec.structs.replace(b, runs=slow))).notes
    assert note.startswith(f"{a.runs[0].batch} and {20 * a.runs[0].batch} iterations in a sample")
