"""The gate: what fails it, what it tells, what is allowed."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec import structs

from kernometer.results.model import Failure, Result
from kernometer.stats.compare import compare
from kernometer.stats.gate import Allowance, Gate, Outcome, gate
from kernometer.stats.path import SAME_LAYOUT
from tests.support.stats.simulate import ROW, of_costs, path_result

OTHER = {"image": "linux 6.12 sha256:2"}
ALIKE = {"layout": "1f"}


def times(name: str, cost: float, started: float) -> Result:
    return of_costs(name, {ROW: (cost,) * 3}, started=started)


def by_path(a: dict[str, int], b: dict[str, int], *allowed: Allowance, **of_b: Any) -> Gate:
    both = {"layout": of_b.pop("layout")} if "layout" in of_b else {}
    return judged(path_result("a", a, **both), path_result("b", b, **both, **of_b), *allowed)


def judged(a: Result, b: Result, *allowed: Allowance) -> Gate:
    return gate(compare([a], [b], history=None), [a], [b], allowed)


@pytest.mark.parametrize(
    ("count", "changes", "expected"),
    [
        (10_000, OTHER, Outcome.SAME),
        (10_001, {**OTHER, **ALIKE}, Outcome.WORSE),  # one instruction, and only the code differs
        (9_999, {**OTHER, **ALIKE}, Outcome.BETTER),
        (10_001, OTHER, Outcome.SAME),  # within the floor of 1 %: another layout may be all of it
        (10_150, OTHER, Outcome.WORSE),
        (10_110, OTHER, Outcome.WORSE),  # beyond the floor, though within delta: counts contain no chance
        (9_850, OTHER, Outcome.BETTER),
        (10_001, {**OTHER, **ALIKE, "machine": "qemu 7.2 microvm, 2000 MiB"}, Outcome.SAME),
        (12_000, {"state": "booted"}, Outcome.UNDECIDED),  # a kernel against itself
        (10_001, {}, Outcome.UNDECIDED),
    ],
)
def test_a_row_by_path(count: int, changes: dict[str, str], expected: Outcome) -> None:
    """Expected: told apart to the instruction for one layout, beyond the floor for two. Broken: a false alarm by
    layout, or an instruction that goes unseen."""
    found = by_path({ROW: 10_000}, {ROW: count}, **changes)
    (row,) = found.rows
    assert row.outcome is expected
    assert found.passed is (expected is not Outcome.WORSE)


def test_the_same_layout_is_said_and_needs_equal_states() -> None:
    assert SAME_LAYOUT in by_path({ROW: 100}, {ROW: 101}, **OTHER, **ALIKE).comparison.remarks
    assert SAME_LAYOUT not in by_path({ROW: 100}, {ROW: 101}, **OTHER, **ALIKE, state="booted").comparison.remarks


def test_a_row_that_failed_or_is_on_one_side_only_fails_it() -> None:
    """Expected: each with its reason. Broken: a row that crashes now passes, as it has no figure."""
    a = path_result("a", {ROW: 100, "x/y": 5, "x/z": 5})
    b = path_result("b", {ROW: 100, "x/new": 1}, **OTHER)
    b = structs.replace(b, failures=(Failure(row="x/y", text="it died"),))
    found = judged(a, b)
    lost = {row.judged.row: row.judged.notes for row in found.rows_with(Outcome.LOST)}
    assert lost == {"x/y": ("failed on B: it died",), "x/z": ("measured on A only",), "x/new": ("measured on B only",)}
    assert not found.passed
    assert judged(a, b, Allowance("x/*")).passed
    assert not judged(a, b, Allowance("x/*", 0.5)).passed  # what is lost has no share


def test_an_allowance_is_for_its_rows_and_its_share() -> None:
    a, b = {ROW: 1000, "x/y@n=1": 1000}, {ROW: 1030, "x/y@n=1": 1050}
    assert not by_path(a, b, Allowance("x/y", 0.05), **OTHER).passed
    assert by_path(a, b, Allowance("x/y", 0.051), Allowance("sys*", 0.031), **OTHER).passed
    assert by_path({"x/y": 1000}, {"x/y": 1100}, Allowance("x/y", 0.1), **OTHER).passed  # in binary 1.1 - 1 is more
    assert not by_path(a, b, Allowance("x/y", 0.049), Allowance("sys*", 0.03), **OTHER).passed


def test_by_time_the_verdict_decides_and_too_little_fails() -> None:
    """Expected: slower fails, undecided passes and is told; without any interval nothing passes. Broken: one session
    a side, which decides nothing, lets everything through."""
    a = [times(f"a{n}", 100.0 + 0.1 * n, started=1e5 * n) for n in range(6)]
    b = [times(f"b{n}", 120.0 + 0.1 * n, started=1e5 * n + 1e4) for n in range(6)]
    assert gate(compare(a, b, history=None), a, b).rows_with(Outcome.WORSE)
    assert gate(compare(b, a, history=None), b, a).passed
    found = judged(a[0], b[0])
    assert (found.passed, found.rows_with(Outcome.WORSE)) == (False, ())
    assert "nothing can be decided" in found.empty


def test_nothing_measured_on_both_sides_fails() -> None:
    found = by_path({ROW: 1}, {"x/y": 1})
    assert (found.passed, found.empty) == (False, "no row was measured on both sides")
