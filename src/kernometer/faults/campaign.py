"""A campaign: the places that all structures pass, the faults drawn there, and a run for each fault and structure."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from kernometer import __version__
from kernometer.cache import sha256
from kernometer.errors import TargetError, UsageError
from kernometer.faults import kinds, worker
from kernometer.faults.kinds import Fault, Kind, drawn
from kernometer.faults.outcomes import Findings, findings, outcome
from kernometer.faults.places import Code, code
from kernometer.faults.records import Header, Record
from kernometer.faults.trio_guest import CHECKED, FLAGS, PLAIN, TrioGuest
from kernometer.guests.kernels import trio
from kernometer.guests.packages.suites import Say
from kernometer.processes import called
from kernometer.targets.qemu import QemuTarget

#: For objdump, which takes less than one.
LIST_SECONDS = 60
#: How often a run is tried that the emulator spoils.
TRIALS = 3


@dataclass(frozen=True, slots=True)
class Wanted:
    """The options of one call."""

    targets: Sequence[QemuTarget]
    count: int
    seed: int
    operations: int
    kinds: Sequence[Kind]
    services: Sequence[str]
    functions: Collection[str]  #: only these get faults; empty: all
    label: str
    jobs: int
    checked: bool  #: whether each fault is also put where the worker's virtio disk is behind /dev/checked

    def may_be_in(self, function: str) -> bool:
        """`function` may have an offset: "transfer+0x40"."""
        return not self.functions or function.partition("+")[0] in self.functions


def run(wanted: Wanted, say: Say) -> Iterator[Header | Record]:
    """Headers and records as they come, structure by structure. Raises MissingError, BuildError, TargetError."""
    compiled = trio.objects()
    codes = {name: disassembled(name, compiled[name]) for name in wanted.services}
    with ExitStack() as held:
        guests = [
            held.enter_context(
                TrioGuest(
                    target=target, codes=codes, seed=wanted.seed, operations=wanted.operations, device=device, say=say
                )
            )
            for target in wanted.targets
            for device in ((PLAIN, CHECKED) if wanted.checked else (PLAIN,))
        ]
        usual = [_without_fault(guest, say) for guest in guests]
        common = {name: set.intersection(*(set(guest.passed(name)) for guest in guests)) for name in codes}
        places = {
            (kind, name): [
                (at, function)
                for at in kinds.places(kind, service_code)
                if at in common[name] and wanted.may_be_in(function := service_code.function(at))
            ]
            for kind in wanted.kinds
            for name, service_code in codes.items()
        }
        drivers = [name for name in wanted.services if trio.is_driver(name)]
        faults = drawn(places, drivers, wanted.count, wanted.seed, wanted.operations)
        if not faults:
            raise UsageError("The worker passes no place of such a fault.", "Name other services, functions or kinds.")
        for guest, without in zip(guests, usual, strict=True):
            yield header(
                wanted,
                guest.target,
                worker.program(FLAGS).read_bytes(),
                target=guest.name,
                sources=guest.target.guest.manifest.package_sha256,
                drivers=tuple(drivers),
                services=tuple(name for name in wanted.services if name not in drivers),
                together=tuple(each.name for each in guests),
                places=sum(map(len, common.values())),
                usual=without,
            )
            yield from _records(guest, faults, without, wanted.jobs, say)


def _without_fault(guest: TrioGuest, say: Say) -> Findings:
    """The run that the others are compared with. Raises TargetError if its outcome is not "masked"."""
    say(f"{guest.name}: counting what the worker passes …")
    guest.count()
    usual = findings(guest.run(None))
    if outcome(usual, usual) != "masked":
        raise TargetError(f"{guest.name}: without a fault the worker does not end well: {usual}.")
    return usual


def _records(guest: TrioGuest, faults: Sequence[Fault], usual: Findings, jobs: int, say: Say) -> Iterator[Record]:
    def run(number: int, fault: Fault) -> Record:
        seen = guest.run(fault)
        shown = findings(seen)
        return Record(number=number, fault=fault, struck=seen.struck, outcome=outcome(shown, usual), findings=shown)

    yield from in_parallel(run, list(enumerate(faults)), jobs, guest.name, guest.stopping, say)


def in_parallel(
    run: Callable[[int, Fault], Record],
    numbered_faults: Sequence[tuple[int, Fault]],
    jobs: int,
    name: str,
    stopping: threading.Event,
    say: Say,
) -> Iterator[Record]:
    """The records of runs of the guest `name`, in the faults' order, without runs that failed TRIALS times. A caller
    that stops early, by Ctrl-C for example, sets `stopping`, which ends the runs under way."""

    def tried(numbered: tuple[int, Fault]) -> Record | None:
        for trial in range(TRIALS):
            try:
                return run(*numbered)
            except TargetError as error:
                if stopping.is_set():
                    break
                if trial == TRIALS - 1:
                    say(f"{name}: fault {numbered[0]} could not be run: {error.text}")
        return None

    with ThreadPoolExecutor(jobs) as pool:
        try:
            yield from filter(None, pool.map(tried, numbered_faults))
        except BaseException:
            stopping.set()
            raise
        finally:
            pool.shutdown(wait=True, cancel_futures=True)


def header(wanted: Wanted, on: QemuTarget, worker: bytes, **of_guest: Any) -> Header:
    """The header of one guest's records: the call's options, and the guest's own fields. `worker`: the program."""
    return Header(
        kernometer=__version__,
        made=datetime.now(UTC).isoformat(timespec="seconds"),
        label=wanted.label,
        image=on.guest.image,
        worker=sha256(worker),
        qemu=str(on.qemu),
        seed=wanted.seed,
        count=wanted.count,
        operations=wanted.operations,
        kinds=tuple(wanted.kinds),
        functions=tuple(sorted(wanted.functions)),
        **of_guest,
    )


def disassembled(service: str, path: Path) -> Code:
    """The disassembled object of a service. Raises TargetError if objdump fails."""
    listing = ""
    for options in (("-dr", "-j", ".text", "--no-show-raw-insn"), ("-r",)):
        done = called(("objdump", *options, str(path)), LIST_SECONDS, "Debian: apt-get install binutils.")
        if done.returncode != 0:
            raise TargetError(f"objdump does not show {path.name}.", "Its output is below.", done.stderr[-2000:])
        listing += done.stdout
    return code(service, path.read_bytes(), listing)
