"""One session: carries a plan out on a target, and stores each record at once."""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import msgspec

from kernometer import __version__
from kernometer.campaign.plan import Plan
from kernometer.errors import FailedError, ResultError, StoppedError, TargetError
from kernometer.host.check import check, examine
from kernometer.host.tree import Told
from kernometer.results.model import (
    FORMAT,
    PATH_DEFINITION,
    AnyRecord,
    ArmLetter,
    End,
    Failure,
    Header,
    Paper,
    Published,
    Result,
    Run,
    Session,
    Stated,
    Unsupported,
)
from kernometer.results.reader import DamagedError, parse_record
from kernometer.results.rows import Row
from kernometer.results.store import Store
from kernometer.results.writer import ResultWriter, new_session_id
from kernometer.targets.base import Deadline, Job, Target
from kernometer.text import printable

ALONE = "It must succeed by itself, with its input and output from and to /dev/null."
NOT_ASKED = "Its probe must run with the given arguments, which --dry-run prints."
#: The beginning of a run's record, up to its row.
_RUN = re.compile(rb'\{"type":"run","row":"([!-~]{1,200}?)"')
#: What a session takes from its target's place, under the same names.
_OF_PLACE = ("machine", "board", "image", "layout", "command_line", "state", "boot", "host_id")


def new_session(plan: Plan, target: Target, label: str, experiment: str = "", arm: ArmLetter = "") -> Session:
    """The first record of a result, with `check` of the host that affects the figures."""
    place = target.place(plan.by)
    checked = check() if place.here else examine(Told(files=place.told)) if place.told else None
    return Session(
        format=FORMAT,
        id=new_session_id(),
        label=label,
        target=target.name,
        by=plan.by,
        path_definition=PATH_DEFINITION if plan.by == "path" else 0,
        profile=plan.profile,
        started=time.time(),
        kernometer=__version__,
        command=tuple(sys.argv),
        launch=target.describe(plan.job()),
        processor=msgspec.to_builtins(plan.processor) if plan.processor and target.counts_memory else {},
        **{name: getattr(place, name) for name in _OF_PLACE},
        experiment=experiment,
        side=arm,
        seed=plan.seed,
        effort=msgspec.to_builtins(plan.effort) if plan.by == "time" else {},
        host=checked.as_record() if checked is not None else {},
    )


def records(
    target: Target, job: Job, until: Deadline, listen: Callable[[AnyRecord], None] = lambda _: None
) -> Iterator[tuple[AnyRecord, bytes]]:
    """The target's records, each with its line. `listen` gets each once, when it comes: rows by path are measured side
    by side and have their turns, so that a slow one holds back those that are done.

    Raises TargetError for a line that is not a record (a probe prints nothing else), unless it is a run's: then that
    row has failed, since the system's C library prints a number wrongly. Raises TargetError for records of another job:
    a system may run its own probe and ignore the arguments. Raises FailedError if a user's command failed.
    """
    come: set[str] = set()
    heard = False

    def hear(line: bytes) -> None:
        nonlocal heard
        heard = True
        with suppress(DamagedError, ResultError):  # they are told in their turn
            listen(parse_record(line))

    for line in target.run(replace(job, hear=hear), until):
        try:
            record = parse_record(line)
            line.decode()  # the parser does not decode unknown fields
            if isinstance(record, Session | End | Paper | Published | Stated):
                raise DamagedError("the probe prints no such record")
        except (DamagedError, UnicodeDecodeError) as error:
            if (run := _RUN.match(line)) and (row := run[1].decode()) in job.rows:
                record = Failure(row=row, text=printable(f"its record cannot be read: {error}", 300))
                come.add(row)
                listen(record)
                yield record, msgspec.json.encode(record)
                continue
            shown = line[:2000].decode("utf-8", "replace")
            raise TargetError(f"{target.name} printed a line that is not a record ({error}).", "", shown) from error
        if foreign := _foreign(record, job):
            raise TargetError(f"{target.name} {foreign}: these are another job's results.", NOT_ASKED)
        if isinstance(record, Failure) and (command := Row(record.row).command):
            raise FailedError(f"{printable(command, 80)} {printable(record.text, 300)}.", ALONE)
        if isinstance(record, Run | Failure | Unsupported):
            come.add(record.row)
        if not heard:
            listen(record)
        yield record, line
    if lacking := sorted(job.rows - come):
        some = ", ".join(lacking[:3]) + (f" and {len(lacking) - 3} more" if len(lacking) > 3 else "")
        raise TargetError(f"{target.name} ended without a record of {some}.", NOT_ASKED)


def _foreign(record: AnyRecord, job: Job) -> str:
    """Why the record does not belong to this job; "" if it does."""
    if isinstance(record, Header) and record.by != job.by:
        return f"measured by {record.by}, and was asked for a measurement by {job.by}"
    row = getattr(record, "row", "")
    if not row or row in job.allowed or (not job.allowed and Row(row).command):
        return ""
    return f"gave a record of {printable(row, 80)}, which was not asked for"


class Measured(NamedTuple):
    """A session's file, and the result in it."""

    path: Path
    result: Result


#: Which rows need further runs, and how many, by what was measured so far; empty: none.
Further = Callable[[Result], Mapping[str, int]]


def measure(
    plan: Plan,
    target: Target,
    store: Store,
    label: str,
    listen: Callable[[AnyRecord], None],
    further: Further = lambda _result: {},
) -> Measured:
    """Measures a session into a new file of the store. If Ctrl-C or an error ends it early, the file keeps what was
    measured. `further` is asked after the plan, and after each of its answers."""
    until = Deadline.after(plan.patience)
    writers: list[ResultWriter] = []
    with (
        store.measuring(plan.by),
        telling_what_is_kept(writers),
        store.create(new_session(plan, target, label)) as writer,
    ):
        writers.append(writer)
        for record, line in records(target, plan.job(), until, listen):
            writer.add(record, line)
        while runs := further(writer.result()):
            made = 1 + max(run.run for run in writer.result().runs)
            job = plan.part(runs).job("--continue", "--first-run", str(made), only="time")
            for record, line in records(target, job, until, listen):
                if isinstance(record, Run | Failure):
                    writer.add(record, line)
    return Measured(writer.path, writer.result())


@contextmanager
def telling_what_is_kept(writers: Sequence[ResultWriter]) -> Iterator[None]:
    """Adds the names of the kept files to the error of a target or a command, and to Ctrl-C's. Use it outside the
    writers' blocks."""
    try:
        yield
    except (KeyboardInterrupt, TargetError, FailedError) as stop:
        kept = sum(writer.kept for writer in writers)
        if not kept:
            raise
        what = f"What was measured until then ({kept} runs) is kept"
        first = writers[0].path.stem
        if isinstance(stop, TargetError):
            text = f"{stop.text} {what}: kernometer show {first}."
            raise type(stop)(text, stop.next_step, stop.last_output) from stop
        if isinstance(stop, FailedError):
            raise FailedError(f"{stop.text} {what}: kernometer show {first}.", stop.next_step) from stop
        raise StoppedError(f"Interrupted. {what}.", f"kernometer show {first}") from stop
