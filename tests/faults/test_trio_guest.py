"""Faults in guests: one of each kind in one place of two structures, and what becomes of the system."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from kernometer.faults import campaign, kinds
from kernometer.faults.draw import Fault
from kernometer.faults.kinds import KINDS, Kind
from kernometer.faults.outcomes import Found, found, outcome
from kernometer.faults.trio_guest import TrioGuest
from kernometer.guests import trio
from kernometer.targets.qemu import QemuTarget
from tests.guests.conftest import guest_cache  # noqa: F401  # a fixture: pytest finds it by name here

STRUCTURES = ("mono", "micro")
SERVICE = "fs"
#: An address that nobody has, and the first word of a message.
VALUE = 0x12345 << 40
#: Where the bytes of files are copied, and not names.
CONTENT = "fs_write"
#: What must come of it in mono and in micro; of the other kinds it depends on the place.
EXPECTED: dict[Kind, tuple[str, str]] = {
    "null-write": ("dead", "error"),
    "wild-jump": ("dead", "error"),
    "infinite-loop": ("hung", "error"),
    "stack-overflow": ("dead", "error"),
    "wrong-data": ("lost", "lost"),
}

pytestmark = pytest.mark.slow(minutes=3)


@pytest.fixture(scope="module")
def guests(guest_cache: Path) -> Iterator[tuple[TrioGuest, ...]]:  # noqa: F811  # the fixture imported above
    assert guest_cache.is_dir()
    for structure in {*STRUCTURES} - trio.current():
        trio.add(structure)
    codes = {SERVICE: campaign.disassembled(SERVICE, trio.objects()[SERVICE])}
    with ExitStack() as stack:
        made = tuple(
            stack.enter_context(TrioGuest(QemuTarget.from_spec(f"trio-{structure}"), codes, 1, 100))
            for structure in STRUCTURES
        )
        for guest in made:
            assert guest.count().ended == "finished"
        yield made


@pytest.fixture(scope="module")
def usual(guests: tuple[TrioGuest, ...]) -> tuple[Found, ...]:
    return tuple(found(guest.run(None)) for guest in guests)


def test_without_a_fault_all_goes_as_usual(usual: tuple[Found, ...]) -> None:
    """Expected: promises are made, and all hold. Broken: what the worker does is itself an outcome."""
    assert [outcome(one, one) for one in usual] == ["masked", "masked"]
    assert all(one.promises > 5 for one in usual)


@pytest.mark.parametrize("kind", KINDS)
def test_a_fault_strikes_at_the_same_place_of_both(
    guests: tuple[TrioGuest, ...], usual: tuple[Found, ...], kind: Kind
) -> None:
    """Expected: it strikes in both, and where the service is a process it alone ends. Broken: a fault that is put
    elsewhere, or into another address space."""
    code = guests[0].codes[SERVICE]
    passed = [guest.passed(SERVICE) for guest in guests]
    where = CONTENT if kind == "wrong-data" else ""
    places = (at for at in kinds.places(kind, code) if code.function(at).startswith(where))
    able = [at for at in places if all(at in each for each in passed)]
    offset = max(able, key=lambda at: min(each[at] for each in passed))
    fault = Fault(SERVICE, offset, code.function(offset), kind, 20, VALUE)
    for guest, without, number in zip(guests, usual, range(2), strict=True):
        seen = guest.run(fault)
        assert seen.struck, (guest.target.name, fault)
        shown = found(seen)
        assert {*shown.services} <= {SERVICE}
        if kind in EXPECTED:
            assert outcome(shown, without) == EXPECTED[kind][number], (guest.target.name, shown)
