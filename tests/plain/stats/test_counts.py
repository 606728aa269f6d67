"""A count (how many until the system refused) is no time: is it left alone, and is more of it better?"""

from __future__ import annotations

from typing import Any

import pytest

from kernometer.report.words.units import format_value
from kernometer.results.model import By, Result, Run
from kernometer.stats.alternate import ab
from kernometer.stats.compare import compare
from kernometer.stats.figures import figure, pooled
from kernometer.stats.model import FlagCode, RowFigure, Verdict
from tests.support.stats.simulate import header, result, run, session, workload

ROW = "limit/things"


def counted(*counts: int, **changes: Any) -> Run:
    """One run of climbs, as the probe prints it: batch 1, no clock, no loop."""
    fields: dict[str, Any] = {"row": ROW, "workload": ROW, "batch": 1, "iterations": len(counts), "resolution_ns": 0.0}
    return run(counts, **{**fields, "clock_cost": (), "loop_batch": 0, "loop_cost": (), **changes})


def of(name: str, *runs: Run, by: By = "time", started: float = 0.0, **changes: Any) -> Result:
    return result(
        session(name, started, by=by, **changes),
        runs,
        workloads={ROW: workload(ROW, "count")},
        header=header(by=by),
    )


def row(*runs: Run, by: By = "time") -> RowFigure:
    return figure(of("s", *runs, by=by), ROW)


@pytest.mark.parametrize("by", ["time", "path"])
def test_a_count_is_what_was_counted_however_time_is_taken(by: By) -> None:
    """Expected: the count, higher is better, cost its inverse. Broken: ns, instructions, or less a clock or a loop."""
    one = row(*(counted(49, 49, run=number) for number in range(3)), by=by)
    assert (one.value, one.value_low, one.value_high) == (49, 49, 49)
    assert (one.unit, one.better) == ("count", "higher")
    assert one.cost == pytest.approx(1 / 49)
    assert one.gross == one.cost
    assert one.flags == ()


def test_a_clock_beside_a_count_takes_nothing_off() -> None:
    """Whatever else a file holds: clock and loop are no counts."""
    odd = counted(300, clock_cost=(20.0,) * 5, loop_batch=10, loop_cost=(1020,) * 5, resolution_ns=400.0)
    assert row(odd).value == 300
    assert row(odd, by="path").value == 300


def test_a_count_of_a_run_is_one_that_was_counted() -> None:
    """Expected: the lower median. Broken: 9.5 files, or a first climb taken for warm-up."""
    assert row(counted(9, 10)).value == 9
    assert row(counted(*[500] * 30, *[100] * 40)).value == 100


def test_more_counted_is_faster_in_a_comparison() -> None:
    """Expected: a ratio of costs, so that twice as many is half the cost. Broken: more is called slower."""
    a = [of(f"a{i}", counted(1000 + i), started=1e5 * i) for i in range(4)]
    b = [of(f"b{i}", counted(2000 + i), started=1e5 * i + 5e4) for i in range(4)]
    (judged,) = compare(a, b, history=None).rows
    assert judged.verdict is Verdict.FASTER
    assert judged.ratio == pytest.approx(0.5, rel=0.01)
    assert judged.b is not None and judged.b.value == pytest.approx(2001.5, rel=0.001)


@pytest.mark.parametrize(
    ("b", "verdict"), [(200, Verdict.EQUIVALENT), (201, Verdict.EQUIVALENT), (150, Verdict.SLOWER)]
)
def test_equal_counts_on_both_sides_do_not_choke_ab(b: int, verdict: Verdict) -> None:
    """Counts hardly vary: no spread at all is no reason for no verdict."""
    blocks = range(6)
    first = of("a", *(counted(200, run=i, block=i) for i in blocks), experiment="e", side="A")
    second = of("b", *(counted(b, run=i, block=i) for i in blocks), experiment="e", side="B")
    (judged,) = ab(first, second).rows
    assert judged.verdict is verdict


@pytest.mark.parametrize("image", ["linux 6.1", "linux 6.12"])
@pytest.mark.parametrize(("b", "verdict"), [(1000, Verdict.EQUIVALENT), (900, Verdict.SLOWER), (1100, Verdict.FASTER)])
def test_by_path_a_count_is_compared_without_a_layout_floor(b: int, verdict: Verdict, image: str) -> None:
    """Expected: a count is a count. Broken: layout floors, which are about instructions; values of 1/1000."""
    sides = (
        of("a", counted(1000), by="path", image="linux 6.1"),
        of("b", counted(b), by="path", image=image),
    )
    (judged,) = compare([sides[0]], [sides[1]], history=None).rows
    assert judged.verdict is verdict
    assert judged.a is not None and judged.a.value == 1000
    assert judged.b is not None and judged.b.value == b
    assert "layout" not in str(judged.notes)


def test_sessions_together_are_a_count_too() -> None:
    together = pooled([row(counted(100)), row(counted(400))], [1 / 100, 1 / 400])
    assert together.value == pytest.approx(200)


def test_flags_of_time_are_not_raised_for_a_count() -> None:
    """A neighbour cannot change how many files may be open. Runs that differ are flagged like any others."""
    disturbed = counted(50, meter={"wall_ns": 1e9, "steal_ns": 5e8, "others_busy": 1.0}, cpu=-1, migrated=(0,))
    assert row(*(disturbed for _ in range(3))).flags == ()
    assert {flag.code for flag in row(counted(50), counted(90), counted(50)).flags} == {FlagCode.UNSTABLE}


def test_a_count_of_nothing_is_no_figure() -> None:
    """The probe reports a first step that was refused as an error; a file may hold anything."""
    one = row(counted(0))
    assert one.value is None
    assert [flag.code for flag in one.flags] == [FlagCode.PROBE]


@pytest.mark.parametrize(
    ("value", "text"), [(19992.0, "19,992"), (28.0, "28"), (2001.5, "2,002"), (48.5, "48.5"), (None, "–")]
)
def test_a_count_is_shown_as_a_number(value: float | None, text: str) -> None:
    assert format_value(value, "count") == text
