"""The price of each boundary: is what was put into made-up figures found in them again, and what is missing named?"""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernometer.explain.boundary_prices import Boundaries, boundaries, of_results
from kernometer.explain.partitions import Pair, cut, cut_of, merged, structure_of, target
from tests.support.explain.boundaries import CALLS, PLAN, ROW, interactions, once, prices, session, systems
from tests.support.stats.simulate import path_result

PRICES = {"a": 100.0, "b": 200.0, "c": 30.0, "d": 0.0}


def priced(of: dict[str, dict[str, float]]) -> Boundaries:
    found = boundaries(of)
    assert found is not None
    return found


def test_prices_that_add_up_leave_no_rest() -> None:
    found = priced(systems(PRICES, {}))
    (row,) = found.rows
    assert row.cuts == PRICES
    assert set(row.pairs) == set(CALLS)
    assert not any(row.pairs.values())
    assert (row.predicted, row.rest) == (1330, 0)
    assert row.merges == {("a", "b"): 5, ("b", "c"): 5, ("b", "d"): 5}
    assert (found.missing, row.missing) == ((), ())


def test_an_interaction_is_found_at_its_pair_and_leaves_no_rest() -> None:
    """Expected: a boundary that both cuts pay is taken off once, at the pair. Broken: it stands in the rest."""
    (row,) = priced(systems(PRICES, {("b", "c"): -80})).rows
    assert {pair: more for pair, more in row.pairs.items() if more} == {("b", "c"): -80}
    assert (row.predicted, row.rest) == (1250, 0)


def test_what_no_pair_explains_is_the_rest() -> None:
    """Expected: an interaction of services that never call each other, or of three. Broken: it is hidden in a sum."""
    (row,) = priced(systems(PRICES, {("a", "d"): 7}, beyond=-30)).rows
    assert row.rest == 7 - 30


@given(prices, interactions, st.integers(-999, 999))
def test_whatever_was_put_in_is_found(one: dict[str, float], more: dict[Pair, float], beyond: int) -> None:
    (row,) = priced(systems(one, more, beyond)).rows
    assert row.cuts == one
    assert row.pairs == dict.fromkeys(CALLS, 0.0) | more
    assert row.rest == beyond


positive = st.fixed_dictionaries({each: st.integers(0, 5000) for each in "ab"} | dict.fromkeys("cd", st.just(0)))


@given(positive, interactions, once, st.integers(-999, 999))
def test_what_any_cut_costs_is_counted_once(
    one: dict[str, float], more: dict[Pair, float], of_any: int, beyond: int
) -> None:
    """Half of the services are never come to. Expected: what is paid for a first cut, and not again, is told from own
    prices and interactions; these are in the rest. Broken: it is summed for each cut and taken off for each pair."""
    (row,) = priced(systems(one, more, beyond, of_any)).rows
    assert (row.shared, row.own) == (of_any, one)
    assert row.beyond == dict.fromkeys(CALLS, 0.0) | more
    assert row.rest_once == beyond + sum(more.values())
    assert row.rest == beyond + of_any * (1 + len(CALLS) - len(PLAN.services))


def test_a_cut_that_costs_less_than_any_other_shares_what_it_costs() -> None:
    """a is called by none, so that its cut makes no other wait: 10 where any other costs 40, and 40 with both.
    Expected: nothing of its own, no interaction, no rest. Broken: 30 too few, and 30 too much at each of its pairs."""
    entry = {"a": 10.0, "b": 40.0, "c": 40.0, "d": 40.0}
    own = {"a": 0.0, "b": 200.0, "c": 0.0, "d": 0.0}
    given = systems(own, {}, beyond=40)
    for name, of in given.items():
        of[ROW] += max((entry[each] for each in cut_of(name)), default=0.0)
    (row,) = priced(given).rows
    assert (row.cuts["a"], row.shared, row.own) == (10, 40, own)
    assert not any(row.beyond.values())
    assert (row.predicted_once, row.rest_once) == (1240, 0)


@pytest.mark.parametrize("gone", ["mono", cut("b"), cut("b", "c")])
def test_without_one_of_its_guests_nothing_is_predicted_and_the_guest_is_named(gone: str) -> None:
    """Expected: the other prices, and no sum. Broken: a sum that lacks a price looks like a saving."""
    given = systems(PRICES, {})
    given[gone] = {}
    found = priced(given)
    assert found.missing == (gone,)
    (row,) = found.rows
    assert row.missing == (gone,)
    assert (row.predicted, row.rest) == (None, None)
    assert (row.predicted_once is None) is (row.rest_once is None) is (gone != cut("b", "c"))
    assert ("a" in row.cuts) is (gone != "mono")


def test_a_guest_that_was_never_measured_is_named_too() -> None:
    """Expected: a pair needs both single cuts, a merge its pair. Broken: services of which nothing is said."""
    given = systems(PRICES, {})
    for gone in (cut("d"), cut("a", "b"), "micro"):
        del given[gone]
    assert set(priced(given).missing) == {cut("d"), cut("a", "b"), "micro"}


def test_a_row_that_failed_on_one_guest_is_missing_there_alone() -> None:
    given = systems(PRICES, {})
    for name, of in given.items():
        if name != merged(("b", "d")):
            of["a/c"] = 10.0
    found = priced(given)
    assert found.missing == ()
    assert [row.missing for row in found.rows] == [(), (merged(("b", "d")),)]
    assert found.rows[1].rest == 0


def test_structures_without_a_cut_have_no_boundary() -> None:
    assert boundaries({"mono": {ROW: 1.0}, "micro": {ROW: 2.0}, merged(("a", "b")): {ROW: 1.0}}) is None


# Stored sessions -----------------------------------------------------------------------------------------------------


def test_sessions_are_told_apart_by_their_targets() -> None:
    """Expected: other kernels and other machines are left out; of two sessions the newer counts."""
    mono, old = session("mono", 100, started=2.0), session("mono", 50, started=1.0)
    others = (session("mono", 7, "+memory=64"), session(cut("b"), 7, "+memory=64"), path_result("linux", {ROW: 9}))
    tried = (target("micro"), target(cut("c"), "+memory=64"), "qemu:linux-6.1")
    found = of_results((mono, old, session(cut("a"), 110), *others, session("micro", 300)), tried)
    assert found is not None
    (row,) = found.rows
    assert row.figures == {"mono": 100, cut("a"): 110, "micro": 300}
    assert found.services == ("a",)
    assert found.missing == ()
    assert of_results((mono, *others)) is None
    failed = of_results((mono, session(cut("a"), 110), session("micro", 300)), (target(cut("a", "b")),))
    assert failed is not None
    assert set(failed.missing) == {cut("a", "b"), cut("b")}


# Partitions ----------------------------------------------------------------------------------------------------------


def test_each_partition_is_measured_once_and_mono_first() -> None:
    found = PLAN.structures
    assert found[0] == "mono"
    assert len(set(found)) == len(found) == 1 + 4 + 4 + 1 + 3 + 2
    assert found[1:6] == ("mono+apart=a", "mono+apart=b", "mono+apart=c", "mono+apart=d", "mono+apart=a,b")


def test_a_pair_with_a_service_between_cannot_be_one_process() -> None:
    """Expected: a calls c by way of b too. Broken: a kernel that does not build, or a pair left out without a word."""
    assert PLAN.refused == ((("a", "c"), "b"),)
    assert "micro+together=a,c" not in PLAN.structures


def test_a_target_is_a_structure_and_a_machine() -> None:
    assert structure_of("qemu:trio-mono+apart=a,b+memory=64") == ("mono+apart=a,b", "+memory=64")
    assert structure_of(target("micro", "+memory=64")) == ("micro", "+memory=64")
    assert structure_of("qemu:linux-6.1") is None
