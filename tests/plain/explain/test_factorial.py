"""The factorial of switches: are effects, interactions and the rest those that the figures were made with?"""

from __future__ import annotations

from itertools import combinations

import pytest

from kernometer.explain.factorial import Cell, between, cells, effects
from kernometer.explain.partitions import structure_of, switched, switches_of

SWITCHES = ("a", "b", "c")
BASE = 1000.0
ALONE = {"a": 50.0, "b": -8.0, "c": 0.0}
TOGETHER = {("a", "b"): 12.0, ("a", "c"): 0.0, ("b", "c"): 0.0}
THREE = 16.0


def figures(three: float = 0.0) -> dict[Cell, float]:
    return {
        cell: BASE
        + sum(ALONE[name] for name in cell)
        + sum(more for pair, more in TOGETHER.items() if cell >= {*pair})
        + (three if len(cell) == len(SWITCHES) else 0.0)
        for cell in cells(SWITCHES)
    }


def test_all_settings_are_there_once_the_one_without_switches_first() -> None:
    found = cells(SWITCHES)
    assert found[0] == frozenset()
    assert len(found) == len(set(found)) == 2 ** len(SWITCHES)


def test_effects_are_those_that_made_the_figures() -> None:
    """Expected: a switch that interacts has the mean of its settings, with the range; pairs are what two add; no rest.
    Broken: an interaction that is half of it."""
    of = effects("row", figures(), SWITCHES)
    assert of is not None
    assert (of.off, of.on) == (BASE, BASE + sum(ALONE.values()) + sum(TOGETHER.values()))
    a = of.switches["a"]
    assert (a.mean, a.least, a.most) == pytest.approx((56, 50, 62))
    assert of.switches["c"].mean == pytest.approx(0)
    assert dict(of.pairs) == pytest.approx(TOGETHER)
    assert of.rest == pytest.approx(0)


def test_what_three_do_together_is_the_rest() -> None:
    """Expected: the most that a figure is from the model of two, which leaves an eighth of it at each setting. Broken:
    a rest that is always 0."""
    of = effects("row", figures(THREE), SWITCHES)
    assert of is not None
    assert of.rest == pytest.approx(THREE / 8)


def test_without_one_setting_there_is_no_effect() -> None:
    """Expected: None, whichever is missing. Broken: a mean over what happens to be there."""
    for cell in cells(SWITCHES):
        known = figures()
        del known[cell]
        assert effects("row", known, SWITCHES) is None


def test_names_of_structures_have_their_switches() -> None:
    """Expected: what `switched` puts in, `switches_of` takes out, whatever else is in the name."""
    for structure in ("micro", "mono+apart=fs"):
        for n in range(len(SWITCHES) + 1):
            for on in combinations(SWITCHES, n):
                name = switched(structure, on)
                assert switches_of(name) == (structure, frozenset(on))
                assert structure_of(f"qemu:trio-{name}+memory=64") == (name, "+memory=64")


@pytest.mark.parametrize(("share", "effect"), [(0.0, 10.0), (0.25, 15.0), (1.0, 30.0), (1.5, 40.0)])
def test_a_partition_has_of_an_effect_what_it_has_of_the_messages(share: float, effect: float) -> None:
    """Expected: mono's without messages, micro's with all of them, and more with more. Broken: the other way round."""
    assert between(10.0, 30.0, share) == effect
