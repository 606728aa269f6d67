"""A campaign of faults in a Linux guest, with the records of one in Trio."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime

import msgspec

from kernometer import __version__
from kernometer.cache import sha256
from kernometer.errors import TargetError, UsageError
from kernometer.faults.draw import Fault
from kernometer.faults.kinds import Kind
from kernometer.faults.linux import DRIVERS, FILE_SYSTEMS, Place, Subject, faults, found, oopsed
from kernometer.faults.linux_guest import Linux, sources
from kernometer.faults.outcomes import Found, outcome
from kernometer.faults.records import Header, Record

#: After the target's name: its faults that oopsed, once more, with the kernel set to panic then.
PANICS = " panic_on_oops=1"


def run(
    linux: Linux, subjects: Sequence[Subject], kinds: Sequence[Kind], count: int, seed: int, label: str = ""
) -> Iterator[Header | Record]:
    """Header and records as they come; then those of the faults that oopsed, with panic_on_oops, which changes nothing
    before an oops. Raises TargetError if the worker does not end well without a fault."""
    places: list[Place] = []
    usual: dict[str, Found] = {}
    for subject in subjects:
        there = linux.places(subject)
        places += there
        usual[subject] = found(linux.run(None, subject))
        if outcome(usual[subject], usual[subject]) != "masked":
            raise TargetError(f"Without a fault the worker does not end well: {usual[subject]}.")
        entries = sum(one.entries for one in there)
        linux.say(f"{linux.target.name}: {subject}: {len(there)} functions entered, {entries:,} times")
    chosen = faults(places, kinds, count, seed)
    if not chosen:
        raise UsageError("The worker enters no place of such a fault.", "Name other services or kinds.")
    slowest = max(usual.values(), key=lambda one: one.slowest_ns)
    header = Header(
        kernometer=__version__,
        made=datetime.now(UTC).isoformat(timespec="seconds"),
        label=label,
        target=linux.target.name,
        image=linux.target.guest.image,
        sources=sources(),
        worker=sha256(linux.worker),
        qemu=str(linux.target.qemu),
        seed=seed,
        count=len(chosen),
        operations=linux.operations,
        kinds=tuple(kinds),
        drivers=tuple(one for one in subjects if one in DRIVERS),
        services=tuple(one for one in subjects if one in FILE_SYSTEMS),
        together=(linux.target.name,),
        places=len(places),
        usual=slowest,
    )
    yield header
    again: list[tuple[int, Fault]] = []
    for number, fault in enumerate(chosen):
        one = _record(linux, number, fault, usual[fault.service], panic_on_oops=False)
        yield one
        if oopsed(one.found):
            again.append((number, fault))
    yield msgspec.structs.replace(header, target=linux.target.name + PANICS, count=len(again))
    for number, fault in again:
        yield _record(linux, number, fault, usual[fault.service], panic_on_oops=True)


def _record(linux: Linux, number: int, fault: Fault, usual: Found, *, panic_on_oops: bool) -> Record:
    seen = linux.run(fault, fault.service, panic_on_oops=panic_on_oops)  # type: ignore[arg-type]  # drawn of subjects
    shown = found(seen)
    struck = int(seen.struck is not None)
    return Record(number=number, fault=fault, struck=struck, outcome=outcome(shown, usual), found=shown)
