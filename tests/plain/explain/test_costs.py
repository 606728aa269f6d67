"""The price of servers: are the prices those that the units hold, and is the rest what they leave?"""

from __future__ import annotations

import pytest

from kernometer.explain.costs import KINDS, Side, explained
from tests.support.explain.structures import BEYOND, TRUE, found, sides


def test_each_price_is_what_its_unit_holds() -> None:
    """Expected: the prices that made the figures, whichever side is named first. Broken: a price with another in it."""
    assert found().prices == pytest.approx(TRUE)
    mono, micro = sides()
    assert explained(micro, mono, ()) == found()
    assert {kind.name for kind in KINDS if kind.what} == {kind.name for kind in KINDS} == set(TRUE)


def test_parts_and_rest_are_the_difference() -> None:
    """Expected: the rest is what no event explains, and nothing is lost. Broken: shares that add up to less."""
    of = found()
    for each in (*of.rows, *of.units):
        assert sum(part.cost for part in each.parts) + each.rest == pytest.approx(each.difference)
    read, alone = of.rows
    assert read.row == "syscall/read-zero"
    assert read.rest == pytest.approx(BEYOND)
    assert (alone.row, alone.parts, alone.rest) == ("ctx/yield", (), 0)
    assert of.median_rest == pytest.approx(BEYOND / read.difference)
    assert all(each.rest == pytest.approx(0) for each in of.units)


def test_without_a_unit_its_events_are_in_the_rest() -> None:
    """Expected: no price for it, and the others as they were where they do not need it. Broken: a price of 0."""
    of = found(without="trio/call@bytes=8")
    assert "copies" not in of.prices
    assert of.rows[0].rest == pytest.approx(BEYOND + TRUE["copies"])


def test_two_that_do_not_differ_in_servers_have_no_such_costs() -> None:
    """Expected: None, as without the units. Broken: micro explained by itself."""
    mono, micro = sides()
    assert explained(mono, mono, ()) is None
    assert explained(micro, micro, ()) is None
    assert explained(Side("mono", {}, {}), micro, ()) is None
