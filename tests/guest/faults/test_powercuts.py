"""A share of the campaign of power cuts: recorded in a guest, cut, judged from the outside, used again."""

from __future__ import annotations

from random import Random

import pytest

from tests.campaigns.powercuts import FILES, TABLES, Found, boot_one, cut_all, options, read_one, recording, tables
from tests.support.trio.boot import Kernel
from tests.support.trio.partitions import MONO_AND_IN_TURN
from tests.support.turns import some

pytestmark = [pytest.mark.guest, pytest.mark.parametrize("kernel", MONO_AND_IN_TURN, indirect=True)]

OPERATIONS = 120


@pytest.mark.parametrize(("seed", "cuts"), some([(2, 20), (1, 60), (2, 60)], 0.15, every=3))
def test_power_cuts_lose_nothing_that_was_synced(kernel: Kernel, seed: int, cuts: int) -> None:
    """Expected: each disk is clean or mended, holds its promises, and is used again; the tables say so. Broken: a
    flush too few, an order that loses a name, a sector that spoils others."""
    found, random = Found(), Random(seed)
    recorded = recording(kernel, seed, OPERATIONS)
    cut_all(found, recorded, cuts, random)
    boot_one(found, kernel, recorded, random, mends=False)
    boot_one(found, kernel, recorded, random, mends=True)
    read_one(found, kernel, recorded, FILES, random)
    read_one(found, kernel, recorded, TABLES, random)
    assert found.wrong == []
    assert found.cuts.total() == cuts
    assert found.promises > cuts
    assert found.sectors.total() == 2
    assert "Nothing was found that must not be." in tables({"one": found}, options([]))
