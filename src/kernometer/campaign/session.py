"""One session: a plan carried out on a target, kept as it goes."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import msgspec

from kernometer import __version__
from kernometer.campaign.plan import Plan
from kernometer.errors import StoppedError, TargetError
from kernometer.host.check import check
from kernometer.results.model import (
    FORMAT,
    AnyRecord,
    ArmLetter,
    End,
    Failure,
    Header,
    Paper,
    Published,
    Run,
    Session,
    Stated,
    Unsupported,
)
from kernometer.results.reader import DamagedError, parse_record
from kernometer.results.store import Store
from kernometer.results.writer import ResultWriter, new_session_id
from kernometer.targets.base import Deadline, Job, Target
from kernometer.text import printable

NOT_ASKED = "Its probe must run with the arguments that it is given: --dry-run prints them."


def new_session(plan: Plan, target: Target, label: str, experiment: str = "", arm: ArmLetter = "") -> Session:
    """The first record of a result; it looks at this host where that bears on the figures."""
    place = target.place(plan.by)
    return Session(
        format=FORMAT,
        id=new_session_id(),
        label=label,
        target=target.name,
        by=plan.by,
        profile=plan.profile,
        started=time.time(),
        kernometer=__version__,
        command=tuple(sys.argv),
        launch=target.describe(plan.job()),
        machine=place.machine,
        board=place.board,
        image=place.image,
        command_line=place.command_line,
        state=place.state,
        boot=place.boot,
        host_id=place.host_id,
        experiment=experiment,
        side=arm,
        seed=plan.seed,
        effort=msgspec.to_builtins(plan.effort) if plan.by == "time" else {},
        host=check().as_record() if place.here else {},
    )


def records(target: Target, job: Job, until: Deadline) -> Iterator[tuple[AnyRecord, bytes]]:
    """What the target says: each record with the line that says it.

    Raises TargetError for a line that is none (a probe's output has no noise), and where the records are not those of
    this job: a system may run a probe of its own, and pay no heed to what it is asked for.
    """
    come: set[str] = set()
    for line in target.run(job, until):
        try:
            record = parse_record(line)
            line.decode()  # of a field that is not known the parser looks at no text
            if isinstance(record, Session | End | Paper | Published | Stated):
                raise DamagedError("such a record is not the probe's")
        except (DamagedError, UnicodeDecodeError) as error:
            shown = line[:2000].decode("utf-8", "replace")
            raise TargetError(f"{target.name} printed a line that is no record ({error}).", "", shown) from error
        if foreign := _foreign(record, job):
            raise TargetError(f"{target.name} {foreign}: these are another job's results.", NOT_ASKED)
        if isinstance(record, Run | Failure | Unsupported):
            come.add(record.row)
        yield record, line
    if lacking := sorted(job.rows - come):
        some = ", ".join(lacking[:3]) + (f" and {len(lacking) - 3} more" if len(lacking) > 3 else "")
        raise TargetError(f"{target.name} came to its end and said nothing of {some}.", NOT_ASKED)


def _foreign(record: AnyRecord, job: Job) -> str:
    """What the record says that was not asked for; "" for one of this job's."""
    if isinstance(record, Header) and record.by != job.by:
        return f"measured by {record.by}, and was asked for a measurement by {job.by}"
    row = getattr(record, "row", "")
    if not row or row in job.allowed or (not job.allowed and row.startswith("cmd/")):
        return ""
    return f"gave a record of {printable(row, 80)}, which was not asked for"


def measure(plan: Plan, target: Target, store: Store, label: str, listen: Callable[[AnyRecord], None]) -> Path:
    """Measures a session into a new file of the store; its path.

    Ctrl-C, and whatever else ends it early, leaves what was measured in the file.
    """
    until = Deadline.after(plan.patience)
    writers: list[ResultWriter] = []
    with (
        store.measuring(plan.by),
        telling_what_is_kept(writers),
        store.create(new_session(plan, target, label)) as writer,
    ):
        writers.append(writer)
        for record, line in records(target, plan.job(), until):
            writer.add(record, line)
            listen(record)
    return writer.path


@contextmanager
def telling_what_is_kept(writers: Sequence[ResultWriter]) -> Iterator[None]:
    """Ctrl-C and a target's error as an error that says what is kept. It stands outside the blocks of the writers."""
    try:
        yield
    except (KeyboardInterrupt, TargetError) as stop:
        kept = sum(writer.kept for writer in writers)
        if not kept:
            raise
        what = f"What was measured until then ({kept} runs) is kept"
        first = writers[0].path.stem
        if isinstance(stop, TargetError):
            text = f"{stop.text} {what}: kernometer show {first}."
            raise type(stop)(text, stop.next_step, stop.last_output) from stop
        raise StoppedError(f"Interrupted. {what}.", f"kernometer show {first}") from stop


def is_step(record: AnyRecord) -> bool:
    """Whether progress counts this record: a run of a row that was done, or failed."""
    return isinstance(record, Run | Failure)
