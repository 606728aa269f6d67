"""What disturbed a session is a share that was measured, told in one sentence, or not at all."""

from __future__ import annotations

import pytest

from kernometer.report.words.flags import folded, noisy
from kernometer.results.model import Result
from kernometer.stats.figures import figures
from kernometer.stats.flags import disturbance
from kernometer.stats.model import FlagCode
from tests.support.stats.simulate import result, run, session

WALL = 20_000_000.0


def of(*meters: dict[str, float], **changes: object) -> Result:
    runs = [
        run([1_000_000] * 20, run=number, meter={"wall_ns": WALL, **meter}, **changes)
        for number, meter in enumerate(meters)
    ]
    return result(session("s"), runs)


@pytest.mark.parametrize(
    ("meter", "said"),
    [
        ({"steal_ns": 0.08 * WALL}, "the hypervisor took the CPU for 8 % of the time"),
        ({"run_delay_ns": 0.4 * WALL}, "other processes had the CPU for 40 % of the time"),
        ({"others_busy": 0.8}, "the other CPUs were busy during 100 % of the runs"),
    ],
)
def test_what_was_measured_is_named_with_its_share(meter: dict[str, float], said: str) -> None:
    sentence = noisy(disturbance(of(*[meter] * 5)))
    assert sentence.startswith("A noisy machine: ")
    assert said in sentence
    assert sentence.count(",") == 1  # one cause, and what to do


def test_a_quiet_machine_and_one_that_tells_nothing_have_no_sentence() -> None:
    assert noisy(disturbance(of({"steal_ns": 0.0, "run_delay_ns": 0.02 * WALL, "others_busy": 0.1}))) == ""
    assert noisy(disturbance(of({"steal_ns": -1.0, "others_busy": -1.0}))) == ""


def test_two_small_causes_are_not_one_large_one() -> None:
    assert noisy(disturbance(of({"steal_ns": 0.03 * WALL, "run_delay_ns": 0.04 * WALL}))) == ""


def test_waiting_for_a_process_of_ones_own_is_no_disturbance() -> None:
    """A row with a peer hands its CPU over. Expected: that time, and the peer's load, are not told as a neighbour's."""
    assert noisy(disturbance(of({"run_delay_ns": 0.5 * WALL, "others_busy": 0.9}, peer_cpu=0))) == ""


def test_by_path_nothing_disturbs() -> None:
    counted = result(session("s", by="path"), [run([100], batch=1)])
    assert disturbance(counted) is None


def test_what_asks_for_nothing_is_not_shown_beside_rows() -> None:
    """Expected: disturbed and outliers never; another flag not where more than half of at least eight rows have it."""
    few = [*figures(of({}, {})).values()]
    assert {flag.code for flag in few[0].flags} == {FlagCode.FEW_RUNS}
    assert FlagCode.FEW_RUNS in folded(few * 8)
    assert FlagCode.FEW_RUNS not in folded(few * 7)
    assert {FlagCode.DISTURBED, FlagCode.OUTLIERS} <= folded(few)
