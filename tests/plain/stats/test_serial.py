"""Sessions in a row are alike: is no difference found that is none, and is one found that is there?"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import pytest

from kernometer.results.model import Result
from kernometer.stats import serial
from kernometer.stats.compare import compare
from kernometer.stats.history import entry
from kernometer.stats.intervals import Contrast, welch
from kernometer.stats.model import Comparison
from kernometer.stats.serial import generalised, in_a_row, variance_in_a_row
from kernometer.stats.verdict import units_needed
from tests.support.stats.simulate import drifting, of_costs, upper_bound
from tests.support.turns import some

if TYPE_CHECKING:
    from numpy.typing import NDArray

IN_A_ROW = "in a row"


def order(kind: str, count: int) -> str:
    return "A" * count + "B" * count if kind == IN_A_ROW else ("ABBA" * count)[: 2 * count]


def contrasts(units: NDArray[np.float64], turns: str, slower: float = 0.0) -> list[Contrast]:
    """As `compare` makes them, of each series of units."""
    times = np.arange(len(turns), dtype=float)
    a, b = (np.array([turn == side for turn in turns]) for side in "AB")
    row = in_a_row(times[a], times[b])
    return [
        generalised(one[a], one[b] + slower, times[a], times[b]) if row else welch(one[a], one[b] + slower)
        for one in units
    ]


def found(made: Sequence[Contrast]) -> float:
    return float(np.mean([one.p() < 0.05 for one in made]))


@pytest.mark.parametrize("kind", [IN_A_ROW, "in turn"])
@pytest.mark.parametrize("count", [3, 5, 10])
@pytest.mark.parametrize("neighbours", some([0.0, 0.3, 0.5, 0.7], 0.01, every=2))
def test_neighbours_alike_are_no_difference(kind: str, count: int, neighbours: float) -> None:
    """A/A of units whose neighbours correlate. Expected: at most 5 % differ. Broken: Welch's 10 to 38 % in a row."""
    made = contrasts(drifting(np.random.default_rng(1), (1000, 2 * count), neighbours), order(kind, count))
    assert found(made) <= upper_bound(0.05, len(made))


@pytest.mark.parametrize("count", [3, 5, 10])
def test_pause_between_the_sides_lets_the_mood_change(count: int) -> None:
    """Between A and B, time for twenty units. Expected: 5 % at most differ. Broken: the last of A and the first of B
    are taken for neighbours, and the difference of the moods for one of the sides (9 to 17 %)."""
    units = drifting(np.random.default_rng(8), (1000, 2 * count + 20), 0.7)
    made = contrasts(units, "A" * count + "-" * 20 + "B" * count)
    assert found(made) <= upper_bound(0.05, len(made))


@pytest.mark.slow(minutes=0.02)
@pytest.mark.parametrize(
    "turns", ["AABB", "AABBB", "AABAABBB", "AAABBBAAABBB", "AABBBBAA", "BBBBBAAAAABBBBB", "A" * 5 + "B" * 15]
)
@pytest.mark.parametrize("neighbours", [0.0, 0.3, 0.5, 0.7])
def test_neighbours_alike_in_other_orders(turns: str, neighbours: float) -> None:
    made = contrasts(drifting(np.random.default_rng(2), (5000, len(turns)), neighbours), turns)
    assert found(made) <= upper_bound(0.05, len(made))


def test_difference_in_a_row_is_found() -> None:
    """Five a side, neighbours at 0.3. Expected: 10 % is found in 80 of 100 up to a spread of 2.5 % between sessions."""
    units = drifting(np.random.default_rng(3), (2000, 10), 0.3)
    assert found(contrasts(0.020 * units, order(IN_A_ROW, 5), math.log(1.1))) > 0.9
    assert found(contrasts(0.025 * units, order(IN_A_ROW, 5), math.log(1.1))) > 0.8


@pytest.mark.parametrize("count", [8, 24])
def test_day_of_sessions_29_minutes_apart_is_no_row_of_equals(count: int) -> None:
    """All of A, then all of B, with moods of four hours that make up 80 % of the variance. Expected: at most 5 %
    differ. Broken: the chain's sessions are one occasion, and interchangeable."""
    rng = np.random.default_rng(4)
    mood = drifting(rng, (1500, 2 * count), math.exp(-0.5 / 4))
    units = math.sqrt(0.8) * mood + math.sqrt(0.2) * rng.standard_normal(mood.shape)
    assert found(contrasts(units, order(IN_A_ROW, count))) <= upper_bound(0.05, len(units))


def test_without_correlation_it_is_welch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serial, "NEIGHBOURS", 0.0)
    a, b = np.random.default_rng(5).standard_normal((2, 5))
    mine, theirs = generalised(a, b, range(5), range(5, 10)), welch(a, b)
    assert [float(x) for x in (mine.log_ratio, mine.se, mine.df)] == pytest.approx(
        [float(x) for x in (theirs.log_ratio, theirs.se, theirs.df)]
    )


@pytest.mark.parametrize(("count", "expected"), [(2, 0.570), (5, 0.495)])
def test_variance_in_a_row_is_that_of_the_contrast(count: int, expected: float) -> None:
    """Against the spread of the contrast itself in 4,000 series; in turn 2/n."""
    made = contrasts(drifting(np.random.default_rng(6), (4000, 2 * count), serial.NEIGHBOURS), order(IN_A_ROW, count))
    assert variance_in_a_row(count, serial.NEIGHBOURS) == pytest.approx(expected, abs=0.001)
    assert np.var([one.log_ratio for one in made]) == pytest.approx(expected, rel=0.1)
    assert variance_in_a_row(count, 0.0) == pytest.approx(2 / count)


def test_more_sessions_are_missing_in_a_row() -> None:
    in_turn, row = (units_needed(0.01, 0.02, paired=False, neighbours=r) for r in (0.0, serial.NEIGHBOURS))
    assert in_turn is not None and row is not None and in_turn == 6 < row


def measured(turns: str, neighbours: float) -> tuple[list[Result], list[Result]]:
    """300 rows of sessions two minutes apart that spread by 1 %."""
    rng = np.random.default_rng(7)
    rows = drifting(rng, (300, len(turns)), neighbours)
    made = [
        of_costs(f"{turn}{i}", {f"w/{row}": [100 * math.exp(0.01 * rows[row, i])] for row in range(300)}, 120.0 * i)
        for i, turn in enumerate(turns)
    ]
    a, b = ([one for one, turn in zip(made, turns, strict=True) if turn == side] for side in "AB")
    return a, b


def alarms(comparison: Comparison) -> float:
    return float(np.mean([row.p is not None and row.p < 0.05 for row in comparison.rows]))


def test_compare_knows_the_order_from_the_times() -> None:
    """Five a side in a row, listed in any order. Expected: at most 5 % differ, and what it cost is said."""
    a, b = measured("AAAAABBBBB", 0.5)
    judged = compare(a, b, history=None)
    assert alarms(judged) <= upper_bound(0.05, 300)
    (remark,) = (one for one in judged.remarks if "in a row" in one)
    assert "times as wide" in remark and "A B B A" in remark
    assert compare(a[::-1], b[::-1], history=None).rows[0].p == pytest.approx(judged.rows[0].p)


@pytest.mark.slow(minutes=0.03)
def test_compare_of_sessions_in_turn_is_welch() -> None:
    a, b = measured("ABBAABBAAB", 0.5)
    judged = compare(a, b, history=None)
    assert not any("in a row" in one for one in judged.remarks)
    logs = [[math.log(one.figures["w/0"].cost or 0) for one in map(entry, side)] for side in (a, b)]
    assert judged.rows[0].p == pytest.approx(float(welch(*logs).p()))


def test_one_session_a_side_has_no_row() -> None:
    a, b = measured("AB", 0.0)
    assert not any("in a row" in one for one in compare(a, b, history=None).remarks)
