"""A campaign of faults in Linux guests; its records are those of a campaign in Trio."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import msgspec

from kernometer.errors import TargetError, UsageError
from kernometer.faults import worker
from kernometer.faults.campaign import Wanted, header, in_parallel
from kernometer.faults.kinds import Fault
from kernometer.faults.linux import DRIVERS, SUBJECTS, Place, Subject, faults, findings, oopsed, usual
from kernometer.faults.linux_guest import Linux, sources
from kernometer.faults.outcomes import Findings, outcome
from kernometer.faults.records import Header, Record
from kernometer.guests.packages.suites import Say

#: Behind the target's name in the second header: faults that oopsed, run again with a kernel that panics on an oops.
PANICS = " panic_on_oops=1"


def run(wanted: Wanted, say: Say) -> Iterator[Header | Record]:
    """The header and the records of each guest; then those of the faults that oopsed, run again with panic_on_oops,
    which changes nothing before an oops. Raises MissingError, BuildError, TargetError."""
    subjects = [subject for subject in SUBJECTS if subject in wanted.services]
    for target in wanted.targets:
        program = worker.program().read_bytes()
        with Linux(target=target, worker=program, seed=wanted.seed, operations=wanted.operations, say=say) as linux:
            places: list[Place] = []
            normal: dict[str, Findings] = {}
            for subject in subjects:
                say(f"{target.name}: counting what the worker enters of {subject} …")
                entered = linux.places(subject)
                places += (place for place in entered if wanted.may_be_in(place.symbol.rpartition(":")[2]))
                normal[subject] = usual(findings(linux.run(None, subject)))
                if outcome(normal[subject], normal[subject]) != "masked":
                    raise TargetError(
                        f"{target.name}: without a fault the worker does not end well: {normal[subject]}."
                    )
            chosen = faults(places, wanted.kinds, wanted.count, wanted.seed)
            if not chosen:
                raise UsageError(
                    "The worker enters no place of such a fault.", "Name other services, functions or kinds."
                )
            struck = dict.fromkeys(place.subject for place in places)
            first = header(
                wanted,
                target,
                linux.worker,
                target=target.name,
                sources=sources(),
                drivers=tuple(subject for subject in struck if subject in DRIVERS),
                services=tuple(subject for subject in struck if subject not in DRIVERS),
                together=(target.name,),
                places=len(places),
                usual=max(normal.values(), key=lambda shown: shown.slowest_ns),
            )
            yield first
            once = partial(_record, linux, normal, panic_on_oops=False)
            again: list[tuple[int, Fault]] = []
            for record in in_parallel(once, list(enumerate(chosen)), wanted.jobs, target.name, linux.stopping, say):
                yield record
                if oopsed(record.findings):
                    again.append((record.number, record.fault))
            yield msgspec.structs.replace(first, target=target.name + PANICS, count=len(again))
            with_panic = partial(_record, linux, normal, panic_on_oops=True)
            yield from in_parallel(with_panic, again, wanted.jobs, target.name, linux.stopping, say)


def _record(linux: Linux, normal: dict[str, Findings], number: int, fault: Fault, *, panic_on_oops: bool) -> Record:
    subject = msgspec.convert(fault.service, Subject)
    seen = linux.run(fault, subject, panic_on_oops=panic_on_oops)
    shown = findings(seen)
    struck = int(seen.struck is not None)
    return Record(number=number, fault=fault, struck=struck, outcome=outcome(shown, normal[subject]), findings=shown)
