"""Rows that are one by name, and yet not the same thing: what a comparison says, and what it does not."""

from __future__ import annotations

from collections.abc import Callable

import msgspec
import pytest

from kernometer.results.model import Result
from kernometer.stats.alternate import ab
from kernometer.stats.compare import compare
from kernometer.stats.history import Grain, entry, history_of, spread
from kernometer.stats.model import Comparison, RowComparison, Verdict
from tests.stats.simulate import ROW, of_costs, path_result

OTHER = "ctx/yield"


def changed(result: Result, **fields: object) -> Result:
    """The same with these fields in each run of ROW."""
    runs = tuple(msgspec.structs.replace(run, **fields) if run.row == ROW else run for run in result.runs)
    return msgspec.structs.replace(result, runs=runs)


def two(cost: float, **fields: object) -> tuple[Result, Result]:
    """A session, and one whose row ROW has these fields and costs so many ns where the first's costs 100."""
    runs = [1.0, 1.001, 0.999]
    a, b = (
        of_costs(side, {ROW: [of * one for one in runs], OTHER: [50 * one for one in runs]}, experiment="e", side=side)
        for side, of in (("A", 100.0), ("B", cost))
    )
    return a, changed(b, **fields)


def by_row(judged: Comparison) -> dict[str, RowComparison]:
    return {row.row: row for row in judged.rows}


@pytest.mark.parametrize(
    "judge",
    [ab, lambda a, b: compare([a], [b], history=None), lambda a, b: compare([a, b], [b_again(b)], history=None)],
)
def test_revisions_of_a_row_are_not_compared(judge: Callable[[Result, Result], Comparison]) -> None:
    """Expected: no ratio, and both revisions named; the other row as ever. Broken: a kernel blamed for a definition."""
    rows = by_row(judge(*two(200.0, revision=3)))
    assert (rows[ROW].verdict, rows[ROW].ratio) == (Verdict.UNDECIDED, None)
    assert "revision 1" in rows[ROW].notes[0] and "3 on" in rows[ROW].notes[0]
    assert rows[OTHER].ratio is not None


def b_again(b: Result) -> Result:
    return msgspec.structs.replace(b, session=msgspec.structs.replace(b.session, id="b-again"))


def test_revisions_of_a_row_are_not_compared_by_path() -> None:
    b = changed(path_result("b", {ROW: 900}), revision=2)
    row = by_row(compare([path_result("a", {ROW: 1000})], [b], history=None))[ROW]
    assert (row.verdict, row.ratio) == (Verdict.UNDECIDED, None)


def test_history_of_one_revision_is_none_of_another() -> None:
    """Ten sessions of revision 1 that spread by 20 %, four of revision 2 by 1 %. Expected: the four alone."""
    old = [of_costs(f"o{i}", {ROW: [100 + 20.0 * (i % 2)]}, started=60.0 * i) for i in range(10)]
    new = [changed(of_costs(f"n{i}", {ROW: [50 + 0.5 * (i % 2)]}, started=3e3 + i), revision=2) for i in range(4)]
    found = spread(history_of([*old, *new]), ROW, entry(new[0]), Grain.SESSION, without=())
    assert found is not None
    assert (found.df, found.of_row) == (3, True)
    assert found.variance < 0.01**2
