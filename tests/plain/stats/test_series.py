"""A series of systems: is the change found, and where it was made?"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from kernometer.errors import ResultError
from kernometer.results.model import Events, Result, RowInfo
from kernometer.stats.model import Verdict
from kernometer.stats.series import Change, Column, Series, series, versions
from tests.support.stats.simulate import ROW, header, of_costs, path_result, workload

OTHER = "ctx/yield"


def counted(name: str, counts: dict[str, int], **changes: Any) -> Result:
    """A session of a kernel of its own; without floors 1 % is the layout's."""
    return path_result(f"session {name}", counts, image=f"image {name}", **changes)


def columns(*counts: dict[str, int] | None, aside: int = -1) -> list[Column]:
    """Systems a, b, c…; None: it failed as a whole."""
    return [
        Column(
            "abcdefgh"[n],
            () if one is None else (counted("abcdefgh"[n], one),),
            "it panicked" if one is None else "",
            aside=n == aside,
        )
        for n, one in enumerate(counts)
    ]


def change(of: Series, row: str = ROW) -> Change:
    return next(one for one in of.changes if one.row == row)


def steps(of: Series, row: str = ROW) -> list[tuple[str, str, Verdict]]:
    return [(step.before, step.after, step.row.verdict) for step in change(of, row).steps]


def test_the_step_is_found_where_it_was_made() -> None:
    """Expected: one step, b to c. Broken: every later system is named, since all differ from the first."""
    found = series(columns({ROW: 1000}, {ROW: 1002}, {ROW: 1200}, {ROW: 1201}))
    assert steps(found) == [("b", "c", Verdict.SLOWER)]
    assert change(found).longer
    assert change(found).total is not None and change(found).total.ratio == 1.201  # type: ignore[union-attr]  # just so


def test_what_did_not_change_is_no_change() -> None:
    assert series(columns({ROW: 1000}, {ROW: 1002}, {ROW: 1000})).changes == ()


def test_there_and_back_are_two_steps_and_nothing_in_the_end() -> None:
    found = series(columns({ROW: 1000}, {ROW: 1200}, {ROW: 1000}))
    assert [verdict for _, _, verdict in steps(found)] == [Verdict.SLOWER, Verdict.FASTER]
    total = change(found).total
    assert total is not None and total.verdict is Verdict.EQUIVALENT
    assert change(found).longer


def test_a_change_too_slow_for_any_step_is_dated_against_the_first() -> None:
    """0.8 % a step, below the floor of 1 %. Expected: since the first that the floor tells from the first. Broken:
    it got 5 % longer, and no version did it."""
    found = series(columns(*({ROW: round(100_000 * 1.008**n)} for n in range(7))))
    assert steps(found) == []
    assert change(found).longer
    of_first = [found.cell(ROW, name) for name in "bcdefg"]
    decided = [cell.verdict is Verdict.SLOWER for cell in of_first if cell is not None]
    assert not decided[0] and decided[-1]
    assert change(found).since == "bcdefg"[decided.index(True)]


def test_a_failed_system_is_a_column_with_its_reason_and_no_step() -> None:
    """Expected: the next is held against the last that was measured. Broken: the change is lost with the hole."""
    found = series(columns({ROW: 1000}, None, {ROW: 1200}))
    assert steps(found) == [("a", "c", Verdict.SLOWER)]
    cell = found.cell(ROW, "b")
    assert cell is not None and (cell.verdict, cell.notes) == (Verdict.FAILED, ("it panicked",))


def test_one_aside_is_judged_and_stands_in_no_series() -> None:
    found = series(columns({ROW: 1000}, {ROW: 3000}, {ROW: 1001}, aside=1))
    assert found.changes == ()
    cell = found.cell(ROW, "b")
    assert cell is not None and cell.verdict is Verdict.SLOWER


def test_another_system_is_no_step_of_the_first_ones_versions() -> None:
    """Linux, Linux, FreeBSD. Expected: the step between the two Linux, and FreeBSD judged in its cell alone. Broken:
    an operation got shorter "when" another kernel stood beside it."""
    made = columns({ROW: 1000}, {ROW: 1200}, {ROW: 800})
    other = header(uname={"sysname": "FreeBSD", "release": "14.3"})
    made[2] = replace(made[2], results=(counted("c", {ROW: 800}, header=other),))
    found = series(made)
    assert steps(found) == [("a", "b", Verdict.SLOWER)]
    assert change(found).total is not None and change(found).total.ratio == 1.2  # type: ignore[union-attr]  # just so
    cell = found.cell(ROW, "c")
    assert cell is not None and cell.verdict is Verdict.FASTER
    assert [column.name for column in versions(made[1:])] == ["b"]
    assert series([made[0], made[2]]).changes == ()


def test_a_row_that_only_some_measured() -> None:
    found = series(columns({ROW: 1000, OTHER: 5}, {ROW: 1000}))
    assert found.cell(OTHER, "b") is None
    assert set(found.rows) == {ROW, OTHER}
    assert found.cell(ROW, "a") is None


def test_rows_stand_as_the_registry_has_them() -> None:
    made = columns({OTHER: 5, ROW: 1000}, {OTHER: 5, ROW: 1000})
    given = {
        name: type(workload())(**{f: getattr(workload(name), f) for f in workload().__struct_fields__ if f != "rows"},
                               rows=(RowInfo(row=name, id=number),))
        for name, number in ((ROW, 2), (OTHER, 4))
    }  # fmt: skip  # a definition a line
    results = tuple(counted(name, {OTHER: 5, ROW: 1000}, workloads=given) for name in "ab")
    assert series(made).rows == (OTHER, ROW)
    assert series([Column(n, (one,)) for n, one in zip("ab", results, strict=True)]).rows == (ROW, OTHER)


def test_another_baseline_and_none() -> None:
    made = columns({ROW: 1000}, {ROW: 1200}, None)
    found = series(made, baseline="b")
    cell = found.cell(ROW, "a")
    assert cell is not None and cell.verdict is Verdict.FASTER
    assert steps(found) == [("a", "b", Verdict.SLOWER)]
    with pytest.raises(ResultError, match="The baseline c has no session"):
        series(made, baseline="c")
    with pytest.raises(ResultError, match="two systems"):
        series(columns({ROW: 1}, None))


def events(counts: dict[str, int], regions: int = 10) -> tuple[Events, ...]:
    return (Events(row=ROW, regions=regions, counts=counts, empty={"instructions": 0}, empty_regions=1),)


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        ({"instructions": 12_000, "cr3_writes": 30}, {"cr3_writes": 2.0}),
        ({"instructions": 12_000, "cr3_writes": 11}, {}),  # 0.1 an operation is a tick's
        ({"instructions": 40_000, "cr3_writes": 30}, {}),  # the sums grew by 3000 an operation, the median by 200
    ],
)
def test_events_are_named_where_they_tell_the_same_change(more: dict[str, int], expected: dict[str, float]) -> None:
    """Expected: two more writes an operation. Broken: what a row's start did is blamed for the change of its median."""
    a = counted("a", {ROW: 1000}, events=events({"instructions": 10_000, "cr3_writes": 10}))
    b = counted("b", {ROW: 1200}, events=events(more))
    (step,) = change(series([Column("a", (a,)), Column("b", (b,))])).steps
    assert dict(step.events) == expected


def test_by_time_sessions_are_the_unit() -> None:
    """Expected: five sessions a side tell 10 %. Broken: one session's processes are taken for five."""
    sides = {
        name: tuple(
            of_costs(f"{name}{n}", {ROW: [cost * (1 + 0.002 * n)]}, 60.0 * n, header=header()) for n in range(5)
        )
        for name, cost in (("a", 100.0), ("b", 110.0), ("c", 110.1))
    }
    found = series([Column(name, results) for name, results in sides.items()])
    assert steps(found) == [("a", "b", Verdict.SLOWER)]
    assert found.cell(ROW, "c") is not None
