"""Measures a campaign's cells on this host: one after the other, or several at once in threads."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Generator, Sequence
from dataclasses import dataclass
from queue import SimpleQueue
from threading import Event, Thread

from kernometer.campaign.cells import Cell, Listen, Outcome
from kernometer.campaign.plan import Plan
from kernometer.campaign.session import new_session, records
from kernometer.errors import KernometerError, TargetError
from kernometer.results.model import AnyRecord, Session
from kernometer.results.store import Store
from kernometer.targets.base import Deadline, Target

#: A target that must stop is ended within so many seconds.
LOOK_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class _Until(Deadline):
    """A deadline that can end early, for nothing else interrupts a thread's waits."""

    stop: Event

    def left(self) -> float:
        return 0.0 if self.stop.is_set() else max(0.0, self.at - time.monotonic())

    def wait(self, seconds: float) -> float:
        return min(seconds, self.left(), LOOK_SECONDS)

    @property
    def passed(self) -> bool:
        return self.stop.is_set() or time.monotonic() >= self.at


class Here:
    """This host, as `Places`. Only the thread that asks for what was measured calls `listen`."""

    machines = ("",)

    def __init__(self, targets: Sequence[Target], store: Store, label: str, listen: Listen, jobs: int) -> None:
        """`jobs`: how many cells are measured at once, by path."""
        self.targets = {target.name: target for target in targets}
        self.store, self.label, self.listen, self.jobs = store, label, listen, jobs

    def host(self, target: str, machine: str) -> str:  # noqa: ARG002  # there is one machine
        try:
            return self.targets[target].place("time").host_id
        except KernometerError:
            return ""  # the cell's outcome tells why

    def measured(self, waiting: deque[Cell]) -> Generator[tuple[Cell, Outcome], None, None]:
        """As `Places.measured`; cells begin in their order. By time this thread measures, one cell after the other."""
        if waiting and waiting[0].plan.by == "path":
            yield from self._at_once(waiting)
        elif waiting:
            with self.store.measuring("time"):
                while waiting:
                    cell = waiting.popleft()
                    session = self._session(cell)
                    if isinstance(session, Outcome):
                        yield cell, session
                        continue
                    target = self.targets[cell.target]
                    yield cell, measured_here(cell.plan, target, session, self.store, Event(), self.listen)

    def _at_once(self, waiting: deque[Cell]) -> Generator[tuple[Cell, Outcome], None, None]:
        """A thread for each cell, which sends every record, then the outcome or the exception."""
        said: SimpleQueue[tuple[Cell, AnyRecord | Outcome | BaseException]] = SimpleQueue()
        stop = Event()
        threads: list[Thread] = []
        busy = 0

        def work(cell: Cell, session: Session) -> None:
            def tell(record: AnyRecord) -> None:
                said.put((cell, record))

            try:
                outcome = measured_here(cell.plan, self.targets[cell.target], session, self.store, stop, tell)
                said.put((cell, outcome))
            except BaseException as error:  # the waiting thread raises it again
                said.put((cell, error))

        try:
            while waiting or busy:
                while waiting and busy < self.jobs:
                    cell = waiting.popleft()
                    session = self._session(cell)
                    if isinstance(session, Outcome):
                        yield cell, session
                        continue
                    threads.append(Thread(target=work, args=(cell, session), name=cell.target))
                    threads[-1].start()
                    busy += 1
                if busy:
                    cell, told = said.get()
                    if isinstance(told, Outcome):
                        busy -= 1
                        yield cell, told
                    elif isinstance(told, BaseException):
                        raise told
                    else:
                        self.listen(told)
        finally:
            stop.set()
            for thread in threads:
                thread.join()

    def _session(self, cell: Cell) -> Session | Outcome:
        """The cell's session; its time is set here, so that sessions have the order of the cells."""
        try:
            return new_session(cell.plan, self.targets[cell.target], self.label)
        except KernometerError as error:
            return Outcome(cell.target, error=error)


def measured_here(
    plan: Plan, target: Target, session: Session, store: Store, stop: Event, listen: Listen = lambda _: None
) -> Outcome:
    """Measures and stores one session. KernometerErrors become its outcome. KeyboardInterrupt if `stop` was set."""
    until = _Until(Deadline.after(plan.patience).at, stop)
    path = None
    error = None
    try:
        with store.create(session) as writer:
            path = writer.path
            try:
                for record, line in records(target, plan.job(), until, listen):
                    writer.add(record, line)
            except TargetError:
                if stop.is_set():
                    raise KeyboardInterrupt from None
                raise
    except KernometerError as caught:
        error = caught
    return Outcome(target.name, paths=(path,) if path is not None and path.exists() else (), error=error)
