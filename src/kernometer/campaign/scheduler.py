"""Measures a campaign's cells by the workers of a scheduler of dask.distributed.

By path any machine measures a cell; by time a machine measures one at a time, however many workers it has. If a worker
is lost, another one measures its cell again. Workers are trusted, for dask's messages are programs.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from kernometer.campaign.cells import Cell, Listen, Outcome
from kernometer.campaign.worker import Measured, Who, measure_cell, who
from kernometer.errors import KernometerError, LibraryError, TargetError
from kernometer.results.model import AnyRecord, By
from kernometer.results.store import Store, read_file
from kernometer.results.writer import new_session_id

if TYPE_CHECKING:
    from distributed import Client, Future

#: Seconds: to reach the scheduler; after which a machine without workers is given up; between two looks.
CONNECT_SECONDS, ALONE_SECONDS, POLL_SECONDS = 20.0, 60.0, 0.2
#: A cell with which so many workers were lost is an error: it may be what ends them.
TRIES = 3
#: The most bytes of a session, of which the full profile by path has 10 MB.
MAX_BYTES = 256 << 20


@dataclass(slots=True)
class _Running:
    """A cell at a worker."""

    cell: Cell
    worker: str
    future: Future
    until: float


class Workers:
    """The workers of a scheduler, as `Places`. Made by `workers_of`."""

    def __init__(self, client: Client, address: str, by: By, store: Store, label: str, listen: Listen) -> None:
        self.client, self.address = client, address
        self.store, self.label, self.listen = store, label, listen
        self.alone = by == "time"  #: a machine has room for only one cell
        self.stop = f"kernometer-{new_session_id()}"  #: the event that tells workers to stop
        self.workers: dict[str, Who] = {}  #: by address
        self._asked: dict[str, Future] = {}  #: workers that have not answered, or cannot

    def _refresh(self) -> None:
        """Forgets workers that the scheduler has lost, and asks new ones what they are, without waiting. Raises
        ConnectionError if the scheduler has gone, and with it all cells."""
        answer = self.client.scheduler_info(n_workers=-1)
        if "workers" not in answer:
            raise ConnectionError("it does not answer")
        known = {str(address) for address in answer["workers"]}
        for address in known - self.workers.keys() - self._asked.keys():
            self._asked[address] = self.client.submit(who, workers=[address], allow_other_workers=False, pure=False)
        for address, future in self._asked.items():
            if future.status == "finished":
                self.workers[address] = future.result(timeout=CONNECT_SECONDS)
        self._asked = {key: future for key, future in self._asked.items() if key in known and key not in self.workers}
        self.workers = {address: who for address, who in self.workers.items() if address in known}

    def wait(self) -> None:
        """Waits until every present worker has answered, at most CONNECT_SECONDS."""
        until = time.monotonic() + CONNECT_SECONDS
        self._refresh()
        while self._asked and time.monotonic() < until:
            time.sleep(POLL_SECONDS)
            self._refresh()

    @property
    def machines(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(worker.machine for worker in self.workers.values()))

    def host(self, target: str, machine: str) -> str:  # noqa: ARG002  # a worker measures on its own machine
        return next(worker.host_id for worker in self.workers.values() if worker.machine == machine)

    def measured(self, waiting: deque[Cell]) -> Generator[tuple[Cell, Outcome], None, None]:
        """As `Places.measured`: each cell once, with what its first worker to finish sent, or why there is none. Raises
        TargetError if the scheduler is lost."""
        running: list[_Running] = []
        try:
            yield from self._measured(waiting, running)
        except (OSError, RuntimeError) as error:  # dask's, of a connection that broke
            running.clear()
            raise TargetError(
                f"The scheduler {self.address} was lost: {error}. What came until then is kept.",
                f"kernometer list --label '{self.label}'",
            ) from error
        finally:
            if running:
                self._tell_to_stop()

    def _measured(self, waiting: deque[Cell], running: list[_Running]) -> Generator[tuple[Cell, Outcome], None, None]:
        seen = {machine: time.monotonic() for machine in ("", *self.machines)}
        while waiting or running:
            self._refresh()
            now = time.monotonic()
            seen |= dict.fromkeys((*self.machines, *([""] if self.workers else ())), now)
            for cell in [*waiting]:
                worker = self._place(cell.machine, [active.worker for active in running])
                if worker:
                    future = self.client.submit(
                        *(measure_cell, cell.plan, cell.target, self.label, self.stop),
                        workers=[worker], allow_other_workers=False, retries=0, pure=False,
                    )  # fmt: skip  # a line for what, and a line for how
                    running.append(_Running(cell, worker, future, now + cell.plan.patience + ALONE_SECONDS))
                    waiting.remove(cell)
                elif now - seen[cell.machine] > ALONE_SECONDS:
                    waiting.remove(cell)
                    on = f" on {cell.machine}" if cell.machine else ""
                    yield cell, Outcome(cell.target, cell.machine, error=TargetError(f"no worker is left{on}"))
            for run in [*running]:
                if run.future.status == "finished":
                    running.remove(run)
                    yield run.cell, self._kept(run.cell, run.future.result(timeout=CONNECT_SECONDS))
                elif run.future.status != "pending" or run.worker not in self.workers or now > run.until:
                    running.remove(run)
                    why = self._lost(run, late=now > run.until)
                    if why:
                        yield run.cell, Outcome(run.cell.target, run.cell.machine, error=TargetError(why))
                    else:
                        waiting.appendleft(run.cell)
            time.sleep(POLL_SECONDS)

    def _lost(self, lost: _Running, *, late: bool) -> str:
        """Why the cell of a lost worker is not measured again; "" if it is."""
        if lost.future.status == "error":
            failure = lost.future.exception(timeout=CONNECT_SECONDS)
            if type(failure).__name__ not in ("KilledWorker", "CommClosedError"):
                return f"its worker failed: {failure!r}"[:1000]
        with suppress(OSError, RuntimeError):  # of a scheduler that has forgotten it
            lost.future.cancel()
        lost.cell.tries += 1
        if lost.cell.tries < TRIES and not late:
            return ""
        why = "its time was up" if late else f"its worker {lost.worker} was lost"
        return f"{why}, {lost.cell.tries} times in all"

    def _kept(self, cell: Cell, done: Measured) -> Outcome:
        """The outcome of a cell; its sessions are stored as a whole."""
        error: KernometerError | None = (
            TargetError(done.error, done.next_step, done.last_output) if done.error else None
        )
        paths: tuple[Path, ...] = ()
        try:
            for name, content in done.files:
                if len(content) > MAX_BYTES:
                    raise TargetError(f"{cell.name}: a worker sent more than {MAX_BYTES:,} bytes.")
                path = self.store.take(name, content)
                paths = (*paths, path)
                result = read_file(path)
                records: tuple[AnyRecord, ...] = (*result.runs, *result.failures, *result.unsupported)
                for record in records:
                    self.listen(record)
        except KernometerError as caught:
            error = caught
        return Outcome(cell.target, cell.machine, paths, error)

    def _place(self, machine: str, busy: Sequence[str]) -> str:
        """The least busy worker with room for a cell on this machine ("": any); "" without one. `busy`: the workers of
        all running cells."""
        free = [
            (busy.count(address), address)
            for address, who in self.workers.items()
            if machine in ("", who.machine) and busy.count(address) < who.threads and self._room(who, busy)
        ]
        return min(free)[1] if free else ""

    def _tell_to_stop(self) -> None:
        from distributed import Event

        with suppress(OSError, RuntimeError):  # without the scheduler its workers stop at their deadlines
            Event(self.stop, client=self.client).set()

    def _room(self, worker: Who, busy: Sequence[str]) -> bool:
        there = sum(address in self.workers and self.workers[address].machine == worker.machine for address in busy)
        return there < (1 if self.alone else worker.processors)


@contextmanager
def workers_of(address: str, by: By, store: Store, label: str, listen: Listen) -> Iterator[Workers]:
    """Raises MissingError without dask, TargetError if the scheduler cannot be reached or has no workers."""
    try:
        from distributed import Client
    except ImportError as error:
        raise LibraryError("--scheduler", "distributed", "scheduler") from error
    try:
        client = Client(address, timeout=CONNECT_SECONDS, set_as_default=False)
    except (OSError, ValueError, TypeError) as error:
        raise TargetError(f"The scheduler {address} cannot be reached: {error}.", "dask scheduler") from error
    try:
        made = Workers(client, address, by, store, label, listen)
        made.wait()
        if not made.workers:
            raise TargetError(f"The scheduler {address} has no worker.", f"dask worker {address}")
        yield made
    finally:
        with suppress(OSError, RuntimeError):
            client.close(timeout=CONNECT_SECONDS)
