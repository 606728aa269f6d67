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
from tests.support.stats.simulate import ROW, of_costs, path_result

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


def with_settings(result: Result, **settings: str) -> Result:
    """The same, with a header that tells these, of which ROW hangs on `governor` and `folder`."""
    assert result.header is not None
    header = msgspec.structs.replace(result.header, settings=settings)
    workload = msgspec.structs.replace(result.workloads[ROW], settings=("governor", "folder"))
    return msgspec.structs.replace(result, header=header, workloads={**result.workloads, ROW: workload})


def test_setting_that_a_row_hangs_on_is_named_where_the_sides_differ() -> None:
    """Expected: a note with both values, at the rows that hang on it. Broken: 30 % slower, for a governor."""
    a, b = two(130.0)
    b = with_settings(b, governor="performance", folder="ext4 rw", overcommit_memory="2")
    rows = by_row(ab(with_settings(a, governor="powersave", folder="ext4 rw", overcommit_memory="0"), b))
    assert rows[ROW].notes == ("governor: powersave | performance",)
    assert rows[OTHER].notes == ()
    assert rows[ROW].verdict is Verdict.SLOWER


def test_setting_that_one_side_does_not_tell_is_named() -> None:
    a, b = two(100.0)
    [note] = by_row(ab(a, with_settings(b, folder="tmpfs rw,size=9k")))[ROW].notes
    assert note == "folder: not told | tmpfs rw,size=9k"


def test_folder_says_nothing_of_a_row_on_a_disk_of_its_own() -> None:
    a, b = two(100.0)
    on_disk = changed(with_settings(b, folder="tmpfs rw"), params={"disk": "ext4"})
    assert by_row(ab(a, on_disk))[ROW].notes == ()


def test_relation_of_two_cpus_is_named_where_the_sides_differ() -> None:
    """Expected: siblings here, sockets there: no kernel's doing, and said."""
    a, b = two(100.0, relation="sibling")
    [note] = by_row(ab(changed(a, relation="other-package"), b))[ROW].notes
    assert note == "relation of its two CPUs: other-package | sibling"
