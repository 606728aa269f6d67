"""Quantiles of iterations timed alone: does the interval cover, is a session the unit, and what has no tail?"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from msgspec.structs import replace

from kernometer.results.model import Result
from kernometer.stats.alternate import SHORT, ab
from kernometer.stats.compare import compare
from kernometer.stats.core import core_of
from kernometer.stats.intervals import paired, welch
from kernometer.stats.model import Quantile, Tail, Verdict
from kernometer.stats.quantiles import (
    LEAST_RUNS,
    METHOD,
    OF_ALL,
    asked_for,
    effective,
    enclosing,
    runs_in_a_block,
    samples_needed,
    tails,
)
from tests.support.stats.simulate import ROW, of_times, upper_bound, workload
from tests.support.turns import in_turn

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Runs = NDArray[np.float64]  # (runs, samples)


def slow(rng: np.random.Generator, share: NDArray[np.float64] | float, shape: tuple[int, int]) -> Runs:
    """Iterations of which this share (of each run) is in a heavy tail."""
    body = rng.lognormal(0, 0.02, shape)
    hit = rng.random(shape) < np.broadcast_to(np.reshape(share, (-1, 1)), shape)
    return np.where(hit, body * (1 + rng.pareto(1.5, shape)), body)


def drawn(kind: str, rng: np.random.Generator, shape: tuple[int, int]) -> Runs:
    """alike: independent. moved: each run at a level of its own. bursts: every tenth run has ten times as many slow
    ones. lasting: that state begins for three runs in ten and stays for five. grouped: the slow ones come by tens.
    steps: moved, by a coarse clock."""
    runs = shape[0]
    if kind == "bursts":
        return slow(rng, np.where(rng.random(runs) < 0.1, 0.2, 0.02), shape)
    if kind == "lasting":
        state, stays = rng.random(runs) < 0.3, rng.random(runs) < 0.8
        for i in range(1, runs):
            state[i] = state[i - 1] if stays[i] else state[i]
        return slow(rng, np.where(state, 0.2, 0.02), shape)
    if kind == "grouped":
        return np.repeat(slow(rng, 0.02, (runs, shape[1] // 10)), 10, axis=1) * rng.lognormal(0, 0.02, shape)
    made = slow(rng, 0.02, shape)
    if kind in ("moved", "steps"):
        made *= np.exp(0.02 * rng.standard_normal((runs, 1)))
    return np.round(50 * made) if kind == "steps" else made


def intervals(made: Runs, q: float) -> tuple[float | None, float | None]:
    ordered = np.sort(made, axis=None)
    return enclosing(q, effective(list(made), ordered, q)[0], ordered)


@pytest.mark.parametrize("q", in_turn([0.5, 0.9, 0.99], 0.4, always=[0.99]))
@pytest.mark.parametrize(
    "kind", in_turn(["alike", "moved", "bursts", "lasting", "grouped", "steps"], 0.4, always=["bursts"])
)
def test_interval_holds_the_quantile_however_runs_differ(kind: str, q: float) -> None:
    """Sessions of 160 runs of 100 samples. Expected: of the known intervals 95 in 100 hold the truth; where states
    last, 89, and a third of the sessions need more runs before they have one (docs/statistics.md)."""
    known, missing = (60, 0.11) if kind == "lasting" else (75, 0.05)
    rng = np.random.default_rng(1)
    truth = np.quantile(drawn(kind, rng, (10_000, 100)), q)
    ends = [intervals(drawn(kind, rng, (LEAST_RUNS, 100)), q) for _ in range(100)]
    missed = [not low <= truth <= high for low, high in ends if low is not None and high is not None]
    assert len(missed) >= known
    assert np.mean(missed) <= upper_bound(missing, len(missed))


def test_samples_of_one_run_are_not_independent() -> None:
    """The mistake to avoid. Runs that differ: as if all samples were alone, most intervals miss; here few do."""
    rng = np.random.default_rng(2)
    truth = np.quantile(drawn("moved", rng, (10_000, 100)), 0.5)
    pooled = [np.sort(drawn("moved", rng, (LEAST_RUNS, 100)), axis=None) for _ in range(40)]
    ends = [enclosing(0.5, len(ordered), ordered) for ordered in pooled]
    assert np.mean([not (low or 0) <= truth <= (high or 0) for low, high in ends]) > 0.3


@pytest.mark.parametrize(("n", "q", "low", "high"), [(100, 0.5, 40, 61), (6, 0.5, 1, 6), (368, 0.99, 360, 368)])
def test_independent_samples_have_the_order_statistics_of_the_books(n: int, q: float, low: int, high: int) -> None:
    assert enclosing(q, n, np.arange(1.0, n + 1)) == (low, high)


@pytest.mark.parametrize(("q", "n"), [(0.5, 6), (0.9, 36), (0.99, 368), (0.999, 3688)])
def test_a_quantile_needs_so_many_samples(q: float, n: int) -> None:
    """Expected: with one sample fewer there is no upper end. Broken: the greatest sample, whatever their number."""
    assert samples_needed(q) == n
    assert None not in enclosing(q, n, np.arange(float(n)))
    assert enclosing(q, n - 1, np.arange(n - 1.0))[1] is None


def tail_of(made: Result) -> Tail:
    return tails(made)[ROW]


def quantile(tail: Tail, q: float) -> Quantile:
    return next(each for each in tail.quantiles if each.q == q)


def test_quantiles_are_net_of_the_clock_and_without_each_runs_start() -> None:
    """Runs that begin ten times as slow. Expected: the other iterations. Broken: the start is p99 of every run."""
    times = np.full((LEAST_RUNS, 80), 1000.0)
    times[:, :3] = 10_000
    tail = tail_of(of_times(times))
    assert tail.samples == LEAST_RUNS * 70
    known = quantile(tail, 0.99)
    assert (known.low, known.value, known.high, known.missing) == (1000, 1000, 1000, 0)
    assert tail.greatest == 1000


def test_no_sample_is_left_out_for_a_neighbour() -> None:
    """A neighbour on the core doubles every tenth stretch. Expected: p99 is that of all samples, though the median's
    figure is of the quiet ones. Broken: a tail of the quiet rest."""
    times = np.full((LEAST_RUNS, 100), 1000.0)
    times[:, 50:60] = 2000
    loop = tuple(4120 if 50 <= i <= 60 else 2068 for i in range(101))
    made = of_times(times, loop_batch=2048, loop_every=1, loop_cost=loop)
    state = core_of(made.runs)
    assert state is not None and state.edge is not None
    assert quantile(tail_of(made), 0.99).value == pytest.approx(2000, abs=2)


def test_few_samples_are_told_with_the_time_that_more_take() -> None:
    """160 runs of 8: 1,120 samples count, p99.9 needs four times as many at least. Expected: how many, how long."""
    tail = tail_of(of_times(np.random.default_rng(3).normal(1000, 10, (LEAST_RUNS, 8)), seconds=0.01))
    needed = quantile(tail, 0.999)
    assert needed.high is None and 2_568 <= needed.missing <= 10_000
    assert needed.seconds == pytest.approx(needed.missing * LEAST_RUNS * 0.01 / tail.samples)
    assert quantile(tail, 0.9).missing == 0
    assert 1 / 1120 < tail.longer < 1 / 100


def test_few_runs_have_no_interval_however_many_samples() -> None:
    """Expected: the runs' number decides, as a kind of run may be missing. Broken: an interval from one run."""
    tail = tail_of(of_times(np.random.default_rng(4).normal(1000, 10, (20, 800))))
    assert all(each.low is None and each.missing == (LEAST_RUNS - 20) * 700 for each in tail.quantiles)


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"batch": 100}, "mean of 100 operations"),
        ({"ops": 8.0}, "mean of 8 operations"),
        ({"params": {"time": "user"}}, "ticks"),
        ({"resolution_ns": 1000.0}, "less than the clock shows"),
    ],
    ids=str,
)
def test_what_has_no_tail_says_why(change: dict[str, Any], why: str) -> None:
    tail = tail_of(of_times(np.full((LEAST_RUNS, 80), 1500.0), **change))
    assert tail.quantiles == () and why in tail.why


def test_figures_net_of_a_baseline_have_no_tail() -> None:
    made = of_times(np.full((LEAST_RUNS, 80), 1500.0))
    net = replace(made, workloads={ROW: workload(less_baseline=True)})
    assert "baseline" in tail_of(net).why


def units(rng: np.random.Generator, shape: tuple[int, int], samples: int) -> NDArray[np.float64]:
    """The logarithm of each session's p99, of sessions that spread by 5 %."""
    made = [np.quantile(slow(rng, 0.02, (shape[1], samples)), 0.99, axis=1, method=METHOD) for _ in range(shape[0])]
    return np.log(made) + 0.05 * rng.standard_normal(shape)


@pytest.mark.parametrize("count", in_turn([2, 3, 5], 0.05, always=[3]))
def test_sessions_judged_by_a_quantile_hold_their_error_rate(count: int) -> None:
    """A/A, `count` sessions a side, each of the fewest samples that know p99. Expected: 5 % at most differ."""
    rng = np.random.default_rng(5)
    a, b = (units(rng, (400, count), samples_needed(0.99)) for _ in "AB")
    assert np.mean(welch(a, b).p() < 0.05) <= upper_bound(0.05, 400)


def in_turns(rng: np.random.Generator, tail: float) -> Iterator[tuple[list[Result], list[Result]]]:
    """A B A B …: medians alike, iterations of the tail (one in twenty) `tail` times as long on B."""
    sides: tuple[list[Result], list[Result]] = ([], [])
    for number in range(6):
        times = 1000 * rng.lognormal(0, 0.01, (LEAST_RUNS, 8))
        hit = rng.random(times.shape) < 0.05
        times[hit] *= 3 * (tail if number % 2 else 1)
        sides[number % 2].append(of_times(times, f"s{number}", 120.0 * number))
    yield sides


def test_a_longer_tail_is_found_by_its_quantile_alone() -> None:
    """Expected: p99 is slower by a fifth, the median alike. Broken: medians are judged whatever is asked."""
    for a, b in in_turns(np.random.default_rng(6), 1.2):
        (by_quantile,) = compare(a, b, history=None, quantile=0.99).rows
        (by_median,) = compare(a, b, history=None).rows
        assert by_quantile.verdict is Verdict.SLOWER and by_quantile.ratio == pytest.approx(1.2, abs=0.05)
        assert by_median.verdict is Verdict.EQUIVALENT


def test_an_unknown_quantile_is_undecided_and_says_what_it_needs() -> None:
    """Two sessions a side of means, or of too few samples. Expected: undecided with the reason. Broken: failed."""
    times = np.random.default_rng(7).normal(1000, 10, (20, 16))
    for change, why in (({"batch": 100}, "a mean has no tail"), ({}, "p99 needs ")):
        made = [of_times(times, f"s{number}", 120.0 * number, **change) for number in range(4)]
        judged = compare(made[::2], made[1::2], history=None, quantile=0.99)
        (row,) = judged.rows
        assert row.verdict is Verdict.UNDECIDED and why in str(row.notes)
        assert judged.sentence.startswith("p99 of B against A")


def of_ab(
    rng: np.random.Generator, q: float, samples: int, blocks: int = 20, tail: float = 1.0
) -> tuple[Result, Result]:
    """Both sides of an `ab` in blocks of eight runs, whose speed drifts by 1 % a run; on B the iterations near and
    beyond the quantile take `tail` times as long."""
    drift = np.exp(np.cumsum(0.01 * rng.standard_normal((8 * blocks, 1)), axis=0))
    times = [drawn("alike", rng, (8 * blocks, samples)) for _ in "AB"]
    times[1] = np.where(times[1] > np.quantile(times[1], 2 * q - 1), tail * times[1], times[1])
    a, b = (
        replace(
            made := of_times(1000 * drift * of_side, side),
            session=replace(made.session, experiment="ab-1", side=side, effort={"batch": 1, "quantile": q}),
            runs=tuple(replace(run, block=run.run // 8) for run in made.runs),
        )
        for side, of_side in zip("AB", times, strict=True)
    )
    return a, b


@pytest.mark.parametrize(
    "kind", in_turn(["alike", "moved", "bursts", "lasting", "grouped", "steps"], 0.1, always=["bursts"])
)
def test_blocks_judged_by_a_quantile_hold_their_error_rate(kind: str) -> None:
    """A/A, runs in turn, 20 blocks of eight a side. Expected: 5 % at most differ. Broken: whatever kind of run one side
    happens to have more of is a difference."""
    rng = np.random.default_rng(8)
    made = [drawn(kind, rng, (2 * 8 * 20, 50)).reshape(20, 8, 2, 50).swapaxes(1, 2) for _ in range(150)]
    logs = np.log(np.quantile(np.reshape(made, (150, 20, 2, -1)), 0.99, axis=3, method=METHOD))
    assert np.mean(paired(logs[..., 1] - logs[..., 0]).p() < 0.05) <= upper_bound(0.05, 150)


def test_what_drifts_is_a_known_quantile_in_blocks() -> None:
    """A/A under drift. Expected: equivalent, since both sides drift. Broken: no verdict, as within a session."""
    a, b = of_ab(np.random.default_rng(8), 0.9, 64)
    assert [row.verdict for row in ab(a, b).rows] == [Verdict.EQUIVALENT]
    assert quantile(tail_of(a), 0.9).missing > 0


def test_an_ab_by_a_quantile_finds_a_longer_tail_that_medians_do_not() -> None:
    """Expected: p90 slower by a fifth, in the sentence too; the same sessions without the quantile are equivalent."""
    a, b = of_ab(np.random.default_rng(9), 0.9, 64, tail=1.2)
    by_quantile = ab(a, b)
    (row,) = by_quantile.rows
    assert (row.verdict, row.units_a) == (Verdict.SLOWER, 20) and row.ratio == pytest.approx(1.2, abs=0.02)
    assert row.a is not None and row.a.cost == pytest.approx(1030, rel=0.3)
    assert by_quantile.sentence.startswith("p90 of B against A") and OF_ALL in by_quantile.remarks
    a, b = (replace(one, session=replace(one.session, effort={})) for one in (a, b))
    (by_median,) = ab(a, b).rows
    assert by_median.verdict is Verdict.EQUIVALENT


@pytest.mark.parametrize(
    ("q", "blocks", "samples", "said"),
    [(0.99, 10, 32, "A: p99 needs 2,240 more, +"), (0.9999, 20, 300, SHORT)],
    ids=["few runs", "few samples in a block"],
)
def test_an_ab_that_cannot_tell_its_quantile_says_what_it_needs(q: float, blocks: int, samples: int, said: str) -> None:
    (row,) = ab(*of_ab(np.random.default_rng(10), q, samples, blocks)).rows
    assert row.verdict is Verdict.UNDECIDED and said in " ".join(row.notes)


@pytest.mark.parametrize(
    ("q", "blocks", "runs"), [(0.5, 20, 8), (0.99, 20, 8), (0.99, 10, 16), (0.99, 40, 8), (0.9999, 20, 23)]
)
def test_a_block_has_the_runs_that_its_quantile_needs(q: float, blocks: int, runs: int) -> None:
    assert runs_in_a_block(q, blocks, 512) == runs


@pytest.mark.parametrize("effort", [{}, {"quantile": 0.0}, {"quantile": "p99"}, {"quantile": 2.0}, {"quantile": True}])
def test_a_session_that_names_no_quantile_is_judged_by_its_median(effort: dict[str, Any]) -> None:
    assert asked_for(replace(of_times(np.ones((1, 8))).session, effort=effort)) is None
