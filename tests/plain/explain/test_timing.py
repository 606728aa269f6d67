"""From cycles to time: the rate is that of user mode alone, and rows are judged by it, near or not."""

from __future__ import annotations

import math

import pytest

from kernometer.explain.cycles import Modelled, cycles, modelled
from kernometer.explain.timing import FACTOR, Judgement, judge
from kernometer.results.model import Result
from tests.support.explain import memory
from tests.support.explain.memory import SKYLAKE
from tests.support.stats.simulate import path_result

COUNTS: dict[str, dict[str, int]] = {
    "cpu/dhrystone": {"instructions": 400_000},
    "cpu/whetstone": {"instructions": 800_000},
    "clock/cycles": {"instructions": 20_000},
    "clock/times": {"instructions": 1_000, "syscalls": 1},
    "syscall/getppid": {"instructions": 300, "syscalls": 1},
    "syscall/stat": {"instructions": 3_000, "syscalls": 1, "l1i_misses": 100},
    "proc/fork-exit": {"instructions": 150_000, "irets": 9},
    "mem/touch": {"instructions": 3_000, "irets": 1},
}
RATE = 0.25


def timed(**slower: float) -> Result:
    """Each row takes RATE ns a cycle, those of a family so many times that."""
    times = {
        row: round(cycles(counts, SKYLAKE).value * RATE * slower.get(row.partition("/")[0], 1.0))
        for row, counts in COUNTS.items()
    }
    return path_result("host", times)


def by_row(by_path: Result) -> dict[str, Modelled]:
    return modelled([by_path])[1]


def judged(by_time: Result) -> Judgement:
    of = judge(by_row(memory.modelled("path", COUNTS)), [by_time])
    assert of is not None
    return of


def test_what_a_cycle_takes_is_told_by_user_mode() -> None:
    """Expected: the rate that the times were made with, and every row near. Broken: kernel rows move the rate."""
    of = judged(timed())
    assert of.rate == pytest.approx(RATE, rel=0.01)
    assert {row.row for row in of.user} == {"cpu/dhrystone", "cpu/whetstone", "clock/cycles"}
    assert all(row.ratio == pytest.approx(1, rel=0.02) for row in of.rows)
    together = of.group("syscall", "proc", "mem")
    assert together and together.passes
    slow = judged(timed(syscall=9, proc=9, mem=9))
    assert slow.rate == pytest.approx(RATE, rel=0.01)
    assert not any(row.near for row in slow.rows)


@pytest.mark.parametrize(("slower", "near"), [(1.45, True), (1 / 1.45, True), (1.55, False), (1 / 1.55, False)])
def test_near_is_a_factor_up_or_down(slower: float, near: bool) -> None:  # a case of the table
    """Expected: FACTOR either way. Broken: an error upward counts less than one downward."""
    [row] = (row for row in judged(timed(proc=slower)).rows if row.family == "proc")
    assert row.near is near
    assert row.error == pytest.approx(math.exp(abs(math.log(slower))) - 1, rel=0.03)
    assert FACTOR == 1.5


def test_without_rows_in_user_mode_nothing_is_judged() -> None:
    """Expected: None, as nothing tells how long a cycle is. Broken: a division by nothing, or a guess."""
    few = {row: counts for row, counts in COUNTS.items() if row.startswith("syscall")}
    assert judge(by_row(memory.modelled("path", few)), [timed()]) is None
