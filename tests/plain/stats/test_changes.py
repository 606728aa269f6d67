"""Change-points: found where there are some, and as seldom as said where there are none."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import replace
from statistics import median

import numpy as np
import pytest
from msgspec import msgpack

from kernometer.results.model import Result
from kernometer.stats import changes
from kernometer.stats.changes import FEWEST, LEVEL, Course, Past, change_points, past
from tests.support.stats.simulate import ROW, of_costs, path_result
from tests.support.turns import some

Draw = Callable[[np.random.Generator, int], np.ndarray]
SPREADS: dict[str, Draw] = {
    "normal": lambda source, n: source.normal(size=n),
    "heavy": lambda source, n: source.standard_t(2, size=n),
    "skewed": lambda source, n: source.lognormal(0, 1, size=n),
}


def courses(results: Iterable[Result]) -> tuple[Course, ...]:
    return changes.courses(map(past, results))


def times(name: str, cost: float, started: float) -> Result:
    return of_costs(name, {ROW: (cost,) * 3}, started=started)


@pytest.mark.parametrize("spread", SPREADS)
@pytest.mark.parametrize("length", some([12, 17, 40], 0.01, every=3))
def test_false_alarms_are_as_seldom_as_said(spread: str, length: int) -> None:
    """Expected: about LEVEL of 1,500 series without a change, whatever their spread. Broken: outliers are changes.

    Three standard errors above 1 % are 1.8 %."""
    source = np.random.default_rng(7)
    found = sum(bool(change_points(list(SPREADS[spread](source, length)))) for _ in range(1500))
    assert found / 1500 <= LEVEL + 3 * (LEVEL * (1 - LEVEL) / 1500) ** 0.5


@pytest.mark.parametrize("at", [[12], [8, 16]])
def test_a_clear_step_is_found_where_it_is(at: list[int]) -> None:
    """Expected: each step of five standard deviations, at its place in nine of ten series."""
    source = np.random.default_rng(3)
    right = 0
    for _ in range(100):
        values = source.normal(size=24)
        for number, place in enumerate(at, 1):
            values[place:] += 5 * (-1) ** (number + 1)
        right += change_points(list(values)) == at
    assert right >= 90


def test_equal_values_and_too_few_have_no_change() -> None:
    assert change_points([1.0] * 30) == []
    assert change_points([1.0 + n % 5 / 9 + 8 * (n > 5) for n in range(FEWEST - 1)]) == []
    assert change_points([1.0 + n % 5 / 9 + 8 * (n > 5) for n in range(FEWEST)]) == [6]


def test_by_path_each_other_count_is_a_change_with_its_image() -> None:
    counts = [138, 138, 139, 139, 138]
    results = [
        path_result(f"s{n}", {ROW: count}, started=float(n), image=f"linux {6 + (count > 138)} sha256:{count}")
        for n, count in enumerate(counts)
    ]
    (course,) = courses(reversed(results))
    assert [(one.at, one.facts) for one in course.changes] == [
        (2, (("image", "linux 6 sha256:138", "linux 7 sha256:139"),)),
        (4, (("image", "linux 7 sha256:139", "linux 6 sha256:138"),)),
    ]
    assert course.changes[0].ratio == pytest.approx(139 / 138)


def test_by_time_an_occasion_is_a_point() -> None:
    """Expected: 40 sessions of 12 occasions are 12 points, with the step between the sixth and the seventh. Broken: an
    evening's load is a change, as its sessions are counted one by one."""
    source = np.random.default_rng(1)
    results = [
        times(f"s{day}-{n}", (100 if day < 6 else 120) * (1 + 0.01 * source.normal()), started=86400.0 * day + 60 * n)
        for day in range(12)
        for n in range(3)
    ]
    (course,) = courses(results)
    assert [len(point.sessions) for point in course.points] == [3] * 12
    assert [one.at for one in course.changes] == [6]
    assert course.changes[0].ratio == pytest.approx(1.2, rel=0.05)
    (few,) = courses(results[:33])
    assert (few.changes, few.short) == ((), True)


def test_a_figure_of_another_definition_is_another_course() -> None:
    """Expected: two courses without a change. Broken: the new definition is a step of the kernel's."""
    counted = [path_result(f"s{n}", {ROW: 100 - 10 * (n > 1)}, path_definition=2 * (n > 1)) for n in range(4)]
    found = courses(counted)
    assert [len(course.points) for course in found] == [2, 2]
    assert [course.changes for course in found] == [(), ()]


def test_a_past_is_small_and_comes_back_as_it_was() -> None:
    """Expected: the same courses from what an index kept, without samples, runs and flags. Broken: a figure that reads
    otherwise the second time."""
    results = [of_costs(f"s{n}", {ROW: (100.0 + n, 101.0, 102.0)}, started=7200.0 * n) for n in range(14)]
    results += [path_result(f"p{n}", {ROW: 100 + n}, started=float(n)) for n in range(3)]
    made = [past(result) for result in results]
    kept = msgpack.encode(made)
    assert len(kept) / len(made) < 1200
    assert changes.courses(msgpack.decode(kept, type=list[Past])) == changes.courses(made) != ()


def test_sessions_of_commits_are_in_the_order_of_the_history() -> None:
    """Expected: by commit, whenever it was measured, and two commits of one kernel's name in one half hour are two
    points by time. Broken: a bisection is a zigzag, and builds with a fixed version string are one figure."""
    counts = {3: 139, 1: 138, 4: 139, 2: 138}
    made = [past(path_result(f"s{n}", {ROW: count}, started=float(at))) for at, (n, count) in enumerate(counts.items())]
    placed = [replace(each, place=int(each.entry.session[1:]), facts={"commit": each.entry.session}) for each in made]
    (course,) = changes.courses(placed)
    assert [point.sessions for point in course.points] == [("s1",), ("s2",), ("s3",), ("s4",)]
    assert [(one.at, one.facts) for one in course.changes] == [(2, (("commit", "s2", "s3"),))]
    timed = [past(times(f"s{n}", 100.0, started=60.0 * n)) for n in range(4)]
    (course,) = changes.courses(replace(each, place=number % 2) for number, each in enumerate(timed))
    assert [point.sessions for point in course.points] == [("s0", "s2"), ("s1", "s3")]


def test_deviations_from_a_median_grow_as_said() -> None:
    """Expected: of every beginning, with equal values too, what a sum over it gives."""
    source = np.random.default_rng(2)
    for length in (1, 2, 3, 10, 61):
        values = [float(value) for value in source.choice([3.0, *source.normal(5, 1, 9)], length)]
        away = changes._deviations(values)
        for at, found in enumerate(away[1:], 1):
            middle = median(values[:at])
            assert found == pytest.approx(math.fsum(abs(value - middle) for value in values[:at]), abs=1e-9)
