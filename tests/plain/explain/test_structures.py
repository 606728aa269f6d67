"""How much is structure and how much is writing: is each factor of the systems that it names, and of all operations?"""

from __future__ import annotations

from dataclasses import astuple

import pytest

from kernometer.explain.costs import REST
from kernometer.explain.structure_factors import Operation, answer, of_operations
from tests.support.explain.structures import found
from tests.support.stats.simulate import path_result

#: Structure 2 and 8 times, writing 4 and 2 times.
COUNTS = {
    "syscall/getppid": {"linux": 400.0, "mono": 100.0, "hybrid": 160.0, "micro": 200.0},
    "proc/fork-exit": {"linux": 2000.0, "mono": 1000.0, "hybrid": 4000.0, "micro": 8000.0},
}
OPERATIONS = tuple(Operation(row, counts) for row, counts in COUNTS.items())


def test_factors_are_geometric_and_of_one_system_beside_another() -> None:
    """Expected: sqrt(2 × 8), sqrt(4 × 2); the two steps of the structure multiply to the whole. Broken: a mean of
    ratios, in which A beside B and B beside A do not agree."""
    of = of_operations(OPERATIONS, None)
    assert of.structure and of.written and of.domains and of.spaces
    assert astuple(of.structure) == pytest.approx((4.0, 2.0, 8.0, 2))
    assert astuple(of.written) == pytest.approx((8**0.5, 2.0, 4.0, 2))
    assert of.domains.mean * of.spaces.mean == pytest.approx(of.structure.mean)
    assert (of.written_more, of.structure_more) == (("syscall/getppid",), ("proc/fork-exit",))
    assert of.events == {}


@pytest.mark.parametrize("missing", ["linux", "micro", "hybrid"])
def test_a_system_that_is_not_there_takes_its_factors_and_no_others(missing: str) -> None:
    """Expected: an answer without what nobody measured. Broken: a ratio to nothing."""
    few = tuple(Operation(row, {k: v for k, v in of.items() if k != missing}) for row, of in COUNTS.items())
    of = of_operations(few, None)
    told = {"written": of.written, "structure": of.structure, "domains": of.domains, "spaces": of.spaces}
    gone = {"linux": {"written"}, "micro": {"structure", "spaces"}, "hybrid": {"domains", "spaces"}}[missing]
    assert {name for name, factor in told.items() if factor is None} == gone
    assert bool(of.written_more or of.structure_more) == (missing == "hybrid")


def test_a_row_that_one_system_lacks_is_no_part_of_its_factors() -> None:
    more = (*OPERATIONS, Operation("fs/read", {"mono": 100.0, "micro": 300.0}), Operation("fs/write", {"mono": 0.0}))
    of = of_operations(more, None)
    assert of.structure is not None and of.written is not None
    assert (of.structure.operations, of.written.operations) == (3, 2)


def test_shares_of_events_are_means_of_operations_and_sum_to_one() -> None:
    """Expected: every operation that differs counts alike. Broken: one large operation decides alone."""
    costs = found()
    of = of_operations((), costs)
    [read] = [each for each in costs.rows if each.difference]
    parts = {part.kind: part.cost / read.difference for part in read.parts}
    assert of.events == pytest.approx(parts | {REST: read.rest / read.difference})
    assert sum(of.events.values()) == pytest.approx(1)
    assert [*of.events][-1] == REST


def test_sessions_give_figures_by_system_and_units_are_no_operations() -> None:
    """Expected: workloads of both sessions in the registry's order, without Trio's own rows."""
    systems = {
        name: [path_result(name, {row: int(of[name]) for row, of in COUNTS.items()} | {"trio/trap": 83})]
        for name in ("linux", "mono", "micro")
    }
    of = answer(systems)
    assert {each.row: each.counts for each in of.operations} == {
        row: {name: count for name, count in counts.items() if name != "hybrid"} for row, counts in COUNTS.items()
    }
    assert of.costs is None
