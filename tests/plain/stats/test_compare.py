"""Stored results against each other: is the unit right, does the history help, is nothing decided without grounds?"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from scipy.stats import false_discovery_control  # type: ignore[import-untyped]  # scipy carries no types

from kernometer.errors import ResultError
from kernometer.results.model import Failure, Result, Unsupported
from kernometer.stats.compare import UNITS, compare, compare_many
from kernometer.stats.history import Grain, history_of
from kernometer.stats.model import Comparison, RowComparison, Verdict
from tests.support.stats.rates import false_alarms, misses
from tests.support.stats.simulate import ROW, header, of_costs, path_result, run, sessions, upper_bound
from tests.support.turns import in_turn

DAY = 86_400.0
ROWS = [f"w/{i}" for i in range(1000)]


def only(comparison: Comparison) -> RowComparison:
    (row,) = comparison.rows
    return row


def pair(first: float, second: float, runs: int = 20) -> tuple[list[Result], list[Result]]:
    """One session a side; processes spread by 0.1 %."""
    rng = np.random.default_rng(0)
    return tuple(  # type: ignore[return-value]  # two lists of one
        [of_costs(name, {ROW: list(level * np.exp(0.001 * rng.standard_normal(runs)))})]
        for name, level in (("a", first), ("b", second))
    )


def test_one_session_a_side_without_history_is_undecided() -> None:
    """Expected: undecided, with the sessions missing. Broken: a verdict from the spread within one session."""
    a, b = pair(100, 110)
    row = only(compare(a, b, history=None))
    assert row.verdict is Verdict.UNDECIDED
    assert row.sessions_missing is not None and row.sessions_missing >= 1
    assert (row.low, row.high, row.p, row.smallest) == (None, None, None, None)
    assert row.ratio is not None  # what was seen is shown; it decides nothing
    assert "history" in str(row.notes)


@pytest.mark.parametrize(("level", "expected"), [(110.0, Verdict.SLOWER), (91.0, Verdict.FASTER), (100.2, None)])
def test_one_session_a_side_with_history(level: float, expected: Verdict | None) -> None:
    """A history of five sessions that spread by 1 %: 10 % is seen; 0.2 % is not, and it says what could have been."""
    a, b = pair(100, level)
    rng = np.random.default_rng(1)
    known = history_of(sessions("h", 5, rng, between=0.01, first=3600))
    row = only(compare(a, b, history=known))
    if expected is None:
        assert row.verdict is Verdict.UNDECIDED
        assert row.smallest is not None and 0.01 < row.smallest < 0.2
        assert row.sessions_missing is not None and row.sessions_missing >= 1
    else:
        assert row.verdict is expected
    assert "this host's history" in str(row.notes)


def test_history_of_two_sessions_is_too_little_and_of_three_enough() -> None:
    a, b = pair(100, 200)
    rng = np.random.default_rng(2)
    three = sessions("h", 3, rng, between=0.01, first=3600)
    assert only(compare(a, b, history=history_of(three[:2]))).verdict is Verdict.UNDECIDED
    assert only(compare(a, b, history=history_of(three))).verdict is Verdict.SLOWER


@pytest.mark.parametrize(
    "change",
    [{"target": "wrap:taskset"}, {"profile": "full"}, {"machine": "qemu"}, {"experiment": "ab-1"}, {"host_id": "1f"}],
    ids=str,
)
def test_history_of_something_else_does_not_count(change: dict[str, Any]) -> None:
    """Expected: sessions of another target, profile or machine, or sides of an ab, tell nothing of this one."""
    a, b = pair(100, 200)
    rng = np.random.default_rng(3)
    other = history_of(sessions("h", 5, rng, between=0.01, first=3600, **change))
    assert only(compare(a, b, history=other)).verdict is Verdict.UNDECIDED


def test_sessions_under_judgement_are_not_their_own_history() -> None:
    """Expected: the store's history holds A and B too; they do not count. Broken: B's surprise widens its own test."""
    a, b = pair(100, 200)
    third = of_costs("h", {ROW: [150.0]}, started=60.0)
    known = history_of([*a, *b, third])
    row = only(compare(a, b, history=known))
    assert row.verdict is Verdict.UNDECIDED
    assert row.low is None and row.high is None


@pytest.mark.parametrize("gap", [120.0, DAY], ids=["one afternoon", "a day each"])
def test_difference_between_kernels_in_the_history_is_no_spread(gap: float) -> None:
    """Two kernels, 50 % apart, three sessions each. Expected: the spread is that within a kernel: 10 % is seen."""
    rng = np.random.default_rng(4)
    new = header(uname={"nodename": "host", "release": "7.0"})
    known = [
        *sessions("h", 3, rng, between=0.01, first=3600, gap=gap),
        *sessions("n", 3, rng, between=0.01, first=3600, gap=gap, cost=150.0, header=new),
    ]
    a, b = pair(100, 110)
    assert only(compare(a, b, history=history_of(known))).verdict is Verdict.SLOWER


def test_session_wilder_than_its_history_is_judged_by_its_own_runs() -> None:
    """A history that spreads by 0.1 %; B's three runs by a factor. Expected: undecided. Broken: 20 % slower, surely."""
    rng = np.random.default_rng(19)
    known = history_of(sessions("h", 6, rng, between=0.001, within=0.0, first=3600))
    a, calm, wild = (of_costs(n, {ROW: c}) for n, c in (("a", [100.0] * 3), ("b", [120.0] * 3), ("c", [60, 120, 240])))
    assert only(compare([a], [calm], history=known)).verdict is Verdict.SLOWER
    assert only(compare([a], [wild], history=known)).verdict is Verdict.UNDECIDED


@pytest.mark.slow(minutes=0.06)
def test_one_session_a_side_with_history_holds_its_error_rate() -> None:
    """A/A by single sessions, the spread from four earlier ones; 1,000 rows. Expected: 5 % at most differ."""
    rng = np.random.default_rng(5)
    a, b, *earlier = sessions("s", 6, rng, between=0.01, rows=ROWS, runs=2)
    judged = compare([a], [b], history=history_of(earlier))
    assert false_alarms(judged) <= upper_bound(0.05, len(ROWS))
    assert misses(judged, 1.0) <= 0.07
    assert judged.count(Verdict.SLOWER) + judged.count(Verdict.FASTER) <= 1


@pytest.mark.slow(minutes=0.04)
def test_one_session_against_many_holds_its_error_rate() -> None:
    rng = np.random.default_rng(6)
    made = sessions("s", 9, rng, between=0.01, rows=ROWS[:400], runs=2)
    judged = compare(made[:1], made[1:5], history=history_of(made[5:]))
    assert false_alarms(judged) <= upper_bound(0.05, 400)


@pytest.mark.parametrize("count", in_turn([2, 4], 0.04, always=[2]))
def test_sessions_against_sessions_hold_their_error_rate(count: int) -> None:
    """A/A, `count` sessions a side, 500 rows. Expected: 5 % at most; the truth in 93 of 100 intervals."""
    rng = np.random.default_rng(7)
    made = sessions("s", 2 * count, rng, between=0.02, rows=ROWS[:500], runs=2)
    judged = compare(made[::2], made[1::2], history=None)
    assert false_alarms(judged) <= upper_bound(0.05, 500)
    assert misses(judged, 1.0) <= 0.07
    assert UNITS[Grain.SESSION] in judged.remarks


def test_known_slowdown_is_found_with_its_size() -> None:
    rng = np.random.default_rng(8)
    a = sessions("a", 4, rng, between=0.01, rows=ROWS[:300])
    b = sessions("b", 4, rng, between=0.01, rows=ROWS[:300], cost=110.0, first=60)
    judged = compare(a, b, history=None)
    assert judged.count(Verdict.SLOWER) > 295
    assert misses(judged, 1.1) <= upper_bound(0.05, 300)


@pytest.mark.slow(minutes=0.08)
def test_far_noisier_row_that_has_no_history_is_judged_by_the_noisy_ones() -> None:
    """Rows whose spreads differ by a factor of four, and half of them without a history. Expected: 5 % at most."""
    rng = np.random.default_rng(9)
    known_rows, new_rows = ROWS[:200], ROWS[200:600]
    spreads = {row: 0.005 * 4 ** rng.random() for row in (*known_rows, *new_rows)}

    def one(name: str, start: float, rows: Sequence[str]) -> Result:
        return of_costs(name, {row: [100 * math.exp(spreads[row] * rng.standard_normal())] for row in rows}, start)

    earlier = [one(f"h{i}", 3600.0 + 60 * i, known_rows) for i in range(6)]
    judged = compare([one("a", 0, new_rows)], [one("b", 60, new_rows)], history=history_of(earlier))
    assert false_alarms(judged) <= upper_bound(0.05, len(new_rows))
    assert all("of other rows" in str(row.notes) for row in judged.rows)


def occasion(name: str, day: int, level: dict[str, float], rng: np.random.Generator, count: int = 3) -> list[Result]:
    """Sessions within minutes of each other: they share that day's mood."""
    return [
        of_costs(
            f"{name}{day}-{i}",
            {row: [100 * math.exp(mood + 0.004 * rng.standard_normal())] for row, mood in level.items()},
            started=day * DAY + 120 * i,
        )
        for i in range(count)
    ]


def moods(rng: np.random.Generator, rows: Sequence[str]) -> dict[str, float]:
    return {row: 0.03 * rng.standard_normal() for row in rows}


def test_all_of_a_today_and_all_of_b_tomorrow_is_undecided() -> None:
    """Batch effect of 3 %, sessions spread by 0.4 %. Expected: the occasion is the unit, one a side, so undecided.
    Broken: Welch on sessions calls most A/A rows different."""
    rng = np.random.default_rng(10)
    rows = ROWS[:100]
    a, b = (occasion(name, day, moods(rng, rows), rng) for name, day in (("a", 0), ("b", 1)))
    judged = compare(a, b, history=None)
    assert judged.count(Verdict.UNDECIDED) == len(rows)
    assert UNITS[Grain.OCCASION] in judged.remarks
    assert all("occasion" in str(row.notes) for row in judged.rows)


def test_occasions_with_a_history_of_occasions_hold_their_error_rate_and_find() -> None:
    """The same with five earlier days. Expected: 5 % at most in A/A, and 50 % slower is found."""
    rng = np.random.default_rng(11)
    rows = ROWS[:500]
    earlier = [one for day in range(5) for one in occasion("h", day, moods(rng, rows), rng, count=2)]
    a, b = (occasion(name, day, moods(rng, rows), rng) for name, day in (("a", 10), ("b", 11)))
    known = history_of(earlier)
    assert false_alarms(compare(a, b, history=known)) <= upper_bound(0.05, len(rows))
    slow = occasion("b", 11, {row: mood + math.log(1.5) for row, mood in moods(rng, rows).items()}, rng)
    assert compare(a, slow, history=known).count(Verdict.SLOWER) > 0.9 * len(rows)


def test_history_of_one_afternoon_says_nothing_about_another_day() -> None:
    """Expected: five sessions of one occasion do not tell how occasions spread. Broken: their 0.4 % judges days."""
    rng = np.random.default_rng(12)
    afternoon = occasion("h", 5, moods(rng, [ROW]), rng, count=5)
    a, b = (occasion(name, day, moods(rng, [ROW]), rng) for name, day in (("a", 0), ("b", 1)))
    assert only(compare(a, b, history=history_of(afternoon))).verdict is Verdict.UNDECIDED


@pytest.mark.slow(minutes=0.05)
def test_several_occasions_a_side_are_units() -> None:
    """Four days each, in turn: Welch on eight days. Expected: 5 % at most, although each day had three sessions."""
    rng = np.random.default_rng(13)
    rows = ROWS[:500]
    days = [occasion("d", day, moods(rng, rows), rng) for day in range(8)]
    judged = compare([s for day in days[::2] for s in day], [s for day in days[1::2] for s in day], history=None)
    assert {(row.units_a, row.units_b) for row in judged.rows} == {(4, 4)}
    assert false_alarms(judged) <= upper_bound(0.05, len(rows))


def test_both_sides_on_each_occasion_leave_the_session_the_unit() -> None:
    rng = np.random.default_rng(14)
    mood = [moods(rng, [ROW]) for _ in range(2)]
    a = [one for day in (0, 1) for one in occasion("a", day, mood[day], rng, count=2)]
    b = [one for day in (0, 1) for one in occasion("b", day, mood[day], rng, count=2)]
    judged = compare(a, b, history=None)
    assert UNITS[Grain.SESSION] in judged.remarks
    assert only(judged).units_a == 4


def test_sides_of_different_boots_have_the_boot_for_a_unit() -> None:
    """Three sessions in each of two boots: one unit a side. In two boots each: two. In one boot: three sessions."""
    rng = np.random.default_rng(15)

    def booted(name: str, boots: Sequence[str]) -> list[Result]:
        made = []
        for i, boot in enumerate(boots):
            made += sessions(f"{name}{i}", 1, rng, between=0.01, first=60.0 * i, boot=boot)
        return made

    one_each = only(compare(booted("a", "xxx"), booted("b", "yyy"), history=None))
    two_each = only(compare(booted("a", "xxz"), booted("b", "yyw"), history=None))
    same_boot = only(compare(booted("a", "xxx"), booted("b", "xxx"), history=None))
    assert (one_each.units_a, one_each.units_b, one_each.verdict) == (1, 1, Verdict.UNDECIDED)
    assert (two_each.units_a, same_boot.units_a) == (2, 3)


def test_guest_boots_for_every_session() -> None:
    """Two kernels, three sessions each, interleaved; a session is a boot. Expected: three units a side."""
    rng = np.random.default_rng(20)
    a, b = (sessions(n, 3, rng, between=0.01, machine="qemu", image=f"sha256:{n}", first=i) for i, n in enumerate("ab"))
    assert only(compare(a, b, history=None)).units_a == 3


def test_constant_sessions_are_decided_without_dividing_by_nothing() -> None:
    same = compare(*([of_costs(f"{x}{i}", {ROW: [100.0]}) for i in range(2)] for x in "ab"), history=None)
    assert only(same).verdict is Verdict.EQUIVALENT
    a = [of_costs(f"a{i}", {ROW: [100.0]}) for i in range(2)]
    b = [of_costs(f"b{i}", {ROW: [150.0]}) for i in range(2)]
    assert only(compare(a, b, history=None)).verdict is Verdict.SLOWER


def test_twenty_sessions_a_side_ask_the_bootstrap_too() -> None:
    rng = np.random.default_rng(16)
    a = sessions("a", 20, rng, between=0.01, gap=60)
    b = sessions("b", 20, rng, between=0.01, gap=60, first=30, cost=105)
    assert only(compare(a, b, history=None)).verdict is Verdict.SLOWER


def test_rows_of_one_side_only_are_failed_with_the_reason() -> None:
    a = [of_costs(f"a{i}", {ROW: [100.0], "w/x": [1.0], "w/y": [1.0], "w/z": [1.0]}) for i in range(2)]
    b = [
        of_costs(
            f"b{i}",
            {ROW: [100.0]},
            failures=(Failure(row="w/x", text="fork: EAGAIN"),),
            unsupported=(Unsupported(row="w/y", reason="no semaphores"),),
        )
        for i in range(2)
    ]
    comparison = compare(a, b, history=None, name_a="old", name_b="new")
    judged = {row.row: row for row in comparison.rows}
    assert {name: row.verdict for name, row in judged.items()} == {
        ROW: Verdict.EQUIVALENT,
        "w/x": Verdict.FAILED,
        "w/y": Verdict.NOT_THERE,
    }
    assert comparison.sentence.endswith("1 failed, 1 not there")
    assert judged["w/x"].notes == ("failed on new: fork: EAGAIN",)
    assert judged["w/y"].notes == ("unsupported on new: no semaphores",)
    assert judged["w/x"].a is not None and judged["w/x"].b is None
    assert "measured on old only, and left out: w/z" in comparison.remarks


def test_failure_in_one_of_two_sessions_is_told() -> None:
    a = [of_costs(f"a{i}", {ROW: [100.0]}) for i in range(2)]
    b = [of_costs("b0", {ROW: [100.0]}), of_costs("b1", {ROW: [100.0]}, failures=(Failure(row=ROW, text="x"),))]
    assert "failed at least once in 1 of 2 sessions of B" in str(only(compare(a, b, history=None)).notes)


def test_row_below_resolution_is_undecided_and_not_zero() -> None:
    """Expected: undecided, naming the clock. Broken: a ratio of nothing to something."""
    low = of_costs("a", {ROW: [100.0]})
    low = Result(**{**{f: getattr(low, f) for f in low.__struct_fields__}, "runs": (run([20] * 9, batch=1),)})
    row = only(compare([low], [of_costs("b", {ROW: [100.0]})], history=None))
    assert row.verdict is Verdict.UNDECIDED
    assert row.notes == ("below the clock's resolution on A",)


def test_runs_that_cannot_be_used_are_a_failure() -> None:
    broken = of_costs("a", {ROW: [100.0]})
    broken = Result(**{**{f: getattr(broken, f) for f in broken.__struct_fields__}, "runs": (run([], batch=1),)})
    row = only(compare([broken], [of_costs("b", {ROW: [100.0]})], history=None))
    assert (row.verdict, row.notes) == (Verdict.FAILED, ("no run could be used on A",))


def test_several_against_one_baseline_are_one_family() -> None:
    """Expected: a p value is adjusted for the rows of all comparisons. Broken: each comparison has its own 5 %."""
    rng = np.random.default_rng(17)
    base = sessions("a", 4, rng, between=0.01, rows=ROWS[:10])
    others = {name: sessions(name, 4, rng, between=0.01, rows=ROWS[:10], first=30) for name in "xyz"}
    alone = compare(base, others["x"], history=None)
    together = compare_many(base, others, history=None, name_baseline="base")
    assert [c.b for c in together] == ["x", "y", "z"]
    assert {c.a for c in together} == {"base"}
    assert [r.p for r in together[0].rows] == [r.p for r in alone.rows]
    every = [row for comparison in together for row in comparison.rows]
    assert [r.p_adjusted for r in every] == list(false_discovery_control([r.p for r in every if r.p is not None]))
    assert [r.p_adjusted for r in together[0].rows] != [r.p_adjusted for r in alone.rows]


def test_time_against_path_is_refused() -> None:
    with pytest.raises(ResultError, match="by time and by path"):
        compare([of_costs("a", {ROW: [100.0]})], [path_result("b", {ROW: 100})], history=None)


def test_counts_of_two_definitions_are_refused() -> None:
    """Expected: the older session, what was different in it, and what to do. Broken: a kernel that clears a page by one
    instruction is slower than one that stores 512 times."""
    old, new = path_result("old", {ROW: 100}), path_result("new", {ROW: 90}, path_definition=2)
    for a, b in (([old], [new]), ([new], [old]), ([new, old], [path_result("b", {ROW: 90}, path_definition=2)])):
        with pytest.raises(ResultError, match="session old each iteration of a string instruction") as caught:
            compare(a, b, history=None)
        assert "measure it anew" in caught.value.next_step


def test_senseless_sides_are_refused() -> None:
    one = of_costs("a", {ROW: [100.0]})
    for a, b in (([], [one]), ([one], [one]), ([one, one], [of_costs("b", {ROW: [1.0]})])):
        with pytest.raises(ResultError):
            compare(a, b, history=None)


def test_sentence_counts_the_verdicts() -> None:
    rng = np.random.default_rng(18)
    a = sessions("a", 3, rng, between=0.001, rows=ROWS[:5])
    b = sessions("b", 3, rng, between=0.001, rows=ROWS[:5], first=30)
    assert compare(a, b, history=None, name_a="old", name_b="new").sentence == (
        "new against old: 0 slower, 0 faster, 5 equivalent (±2 %), 0 undecided, 0 failed"
    )


def test_disturbed_rows_are_judged_and_it_is_said() -> None:
    calm = [of_costs(f"a{i}", {ROW: [100.0]}) for i in range(2)]
    meter = {"wall_ns": 1e9, "steal_ns": 5e8, "tick_ns": 1e7}
    loud = []
    for i in range(2):
        one = of_costs(f"b{i}", {ROW: [100.0]})
        fields = {f: getattr(one, f) for f in one.__struct_fields__}
        loud.append(Result(**{**fields, "runs": (run([101_020] * 3, meter=meter),)}))
    judged = compare(calm, loud, history=None)
    assert only(judged).verdict is Verdict.EQUIVALENT
    assert any("B: 1 of 1 rows have disturbed runs" in remark for remark in judged.remarks)
