"""studies/agreement.py and studies/deciders.py: how experiments are cut and counted, on answers that were made up."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from kernometer.results.model import Result
from studies import agreement, deciders
from studies.peers import reading
from tests.support.stats.simulate import ROW, result, run, session


def test_windows_lie_side_by_side_and_hold_whole_turns() -> None:
    """Expected: ten, three and one window; of sessions each a multiple of four long (A B B A)."""
    assert [len(list(agreement.windows(300, tenths, 1))) for tenths in (1, 3, 10)] == [10, 3, 1]
    cut = list(agreement.windows(65, 3, 4))
    assert [(one.start, one.stop) for one in cut] == [(0, 16), (16, 32), (32, 48), (48, 64)]


def test_sessions_are_dealt_out_in_turn_and_in_a_row() -> None:
    """Known truth: sessions cost more by the hour. Expected: in a row the halves differ by that; in turn hardly."""
    rng = np.random.default_rng(1)

    def one(number: int) -> list[int]:
        return [int(20 + 1000 * (1 + 100 + number + noise)) for noise in 0.1 * rng.standard_normal(20)]

    made = [result(session(f"s{n}", started=100.0 * n), [run(one(n), run=k) for k in range(5)]) for n in range(16)]
    ratios = {in_turn: agreement.of_sessions(made, in_turn=in_turn)[0].ratio for in_turn in (True, False)}
    assert ratios[True] == pytest.approx(1.0, abs=0.005)
    assert (ratios[False] or 0) > 1.03


def test_a_window_of_blocks_is_an_experiment_of_its_own() -> None:
    """Known truth: B is 10 % slower in the last blocks only. Expected: the first ones say equal, the last slower."""
    rng = np.random.default_rng(2)

    def side(name: str, slow: float) -> Result:
        costs = [100 * (slow if block >= 20 else 1) * (1 + rng.normal(0, 0.001, 20)) for block in range(40)]
        runs = [
            run((20 + 1000 * (1 + cost)).astype(int).tolist(), run=block, block=block)
            for block, cost in enumerate(costs)
        ]
        return result(session(name, experiment="e", side=name), runs)

    a, b = side("A", 1.0), side("B", 1.1)
    first, last = (agreement.of_blocks(a, b, slice(start, start + 20)) for start in (0, 20))
    assert [(row.row, row.verdict.value) for row in (*first, *last)] == [(ROW, "equivalent"), (ROW, "slower")]
    assert agreement.line("`ab`", 3, [first, last]).startswith("| `ab` | 3 | 2 | 2 | 1 | 1 (50 %) | 1 (50.0 %) | ±")


def test_a_tool_that_prints_one_number_is_asked_on_both_sides() -> None:
    """Known truth: 3 % more on B. Expected: "slower" above half of it, else "the same"; half of the seconds each."""
    asked = []

    def words(seconds: float) -> Sequence[str]:
        asked.append(seconds)
        return ()

    tool = deciders.by_number(words, reading.witness)
    said = [tool(("echo", "witness: 100 ns"), ("echo", f"witness: {b} ns"), 10.0) for b in (103, 101, 99)]
    assert said == ["slower", "the same", "the same"]
    assert asked == [5.0] * 6


def test_answers_are_counted_by_the_truth() -> None:
    """Expected: what was right, missed and made up; an undecided try is neither right nor wrong."""
    answers = [("slower", "slower")] * 3 + [
        ("slower", "the same"),
        ("the same", "slower"),
        ("the same", "no answer (x)"),
    ]
    assert deciders.line("tool", answers, 10) == "| tool | 3 of 4 | 1 | 0 of 2 | 1 | 10 |"
