"""Faults in guests: one of each kind in one place of two structures, wrong answers of a disk's driver, and what becomes
of the system."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from kernometer.errors import TargetError
from kernometer.faults import campaign, kinds, trio_guest
from kernometer.faults.kinds import KINDS, Fault, Kind
from kernometer.faults.outcomes import Findings, findings, outcome, told, wrong
from kernometer.faults.trio_guest import CHECKED, PLAIN, TrioGuest
from kernometer.guests.kernels import trio
from kernometer.targets.qemu import QemuTarget

STRUCTURES = ("mono", "micro")
SERVICE, DISK = "fs", "virtio_blk"
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

pytestmark = pytest.mark.slow(minutes=0.08)


def made(stack: ExitStack, service: str, *which: tuple[str, str]) -> tuple[TrioGuest, ...]:
    """Guests to be made faulty in that service, by structure and device, counted."""
    for structure in {structure for structure, _ in which} - trio.current():
        trio.add(structure)
    codes = {service: campaign.disassembled(service, trio.objects()[service])}
    guests = tuple(
        stack.enter_context(
            TrioGuest(target=QemuTarget.from_spec(f"trio-{structure}"), codes=codes, operations=100, device=device)
        )
        for structure, device in which
    )
    for guest in guests:
        guest.count()
    return guests


@pytest.fixture(scope="module")
def guests(guest_cache: Path) -> Iterator[tuple[TrioGuest, ...]]:
    assert guest_cache.is_dir()
    with ExitStack() as stack:
        yield made(stack, SERVICE, *((structure, PLAIN) for structure in STRUCTURES))


@pytest.fixture(scope="module")
def usual(guests: tuple[TrioGuest, ...]) -> tuple[Findings, ...]:
    return tuple(findings(guest.run(None)) for guest in guests)


def test_without_a_fault_all_goes_as_usual(usual: tuple[Findings, ...]) -> None:
    """Expected: promises are made, and all hold. Broken: what the worker does is itself an outcome."""
    assert [outcome(one, one) for one in usual] == ["masked", "masked"]
    assert all(one.promises > 5 for one in usual)


def test_a_count_that_does_not_end_is_an_error(guests: tuple[TrioGuest, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    """Broken: the worker seems to pass no place, as on a slow host whose count was cut off."""
    monkeypatch.setattr(trio_guest, "LOOK_SECONDS", 0.0)
    monkeypatch.setattr(trio_guest, "COUNTING_SECONDS", 0.0)
    with pytest.raises(TargetError, match="counts instructions is hung"):
        guests[0].count()


def test_a_run_that_is_to_end_does_so(guests: tuple[TrioGuest, ...]) -> None:
    """Broken: Ctrl-C waits for a guest that hangs."""
    guests[0].stopping.set()
    try:
        with pytest.raises(TargetError, match="not done"):
            guests[0].run(None)
    finally:
        guests[0].stopping.clear()


@pytest.mark.parametrize("kind", KINDS)
def test_a_fault_strikes_at_the_same_place_of_both(
    guests: tuple[TrioGuest, ...], usual: tuple[Findings, ...], kind: Kind
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
        shown = findings(seen)
        assert {*shown.services} <= {SERVICE}
        if kind in EXPECTED:
            assert outcome(shown, without) == EXPECTED[kind][number], (guest.target.name, shown)


@pytest.fixture(scope="module")
def disks(guest_cache: Path) -> Iterator[tuple[TrioGuest, ...]]:
    """The virtio disk as it is, and behind its checksums."""
    assert guest_cache.is_dir()
    with ExitStack() as stack:
        guests = made(stack, DISK, ("micro", PLAIN), ("micro", CHECKED))
        assert [findings(guest.run(None)).refused for guest in guests] == [0, 0]
        yield guests


@pytest.mark.parametrize(
    ("kind", "handler", "callee"), [("not-done", "block_write", "ask"), ("wrong-data", "ask", "copy_out")]
)
def test_a_disk_drivers_wrong_answers_are_found_behind_checksums(
    disks: tuple[TrioGuest, ...], kind: Kind, handler: str, callee: str
) -> None:
    """Expected: writes that are not done and reads with a wrong bit are refused there; on the disk as it is data are
    lost, or read wrong, and no answer is refused. Broken: a wrong answer that a program takes for right."""
    code = disks[0].codes[DISK]
    [offset] = [at for at, name in code.calls.items() if name == callee and code.function(at).startswith(handler)]
    fault = Fault(DISK, offset, code.function(offset), kind, 20, 64)
    plain, checked = (guest.run(fault) for guest in disks)
    assert plain.struck
    assert checked.struck
    usual = Findings(ended="finished", fsck=0)
    assert findings(plain).refused == 0
    assert wrong(findings(plain), usual) or findings(plain).steps_failed
    assert findings(checked).refused > 0
    assert told(findings(checked))
