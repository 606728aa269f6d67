"""A campaign over many machines, by a scheduler of dask.distributed: its cells, and which worker measures which.

By path a cell is a target, and any machine measures it; by time it is a round of a target on one machine, and a machine
measures one cell at a time, however many workers it has. Workers are trusted: dask's messages are programs.
"""

from __future__ import annotations

import random
import time
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from kernometer.campaign.many import Listen, Outcome, stopped
from kernometer.campaign.plan import Plan
from kernometer.campaign.worker import Measured, Who, measure_cell, who
from kernometer.errors import KernometerError, MissingError, TargetError
from kernometer.results.model import AnyRecord
from kernometer.results.store import Store, read_file
from kernometer.results.writer import new_session_id

if TYPE_CHECKING:
    from distributed import Client, Future

#: Seconds: to reach the scheduler; until a machine whose last worker is lost is given up; between two looks.
CONNECT_SECONDS, ALONE_SECONDS, POLL_SECONDS = 20.0, 60.0, 0.2
#: A cell that so many workers were lost with is an error: it may be what ends them.
TRIES = 3
#: A session by path of the full profile has 10 MB.
MAX_BYTES = 256 << 20


@dataclass(slots=True)
class Cell:
    """One session to be measured."""

    target: str
    plan: Plan
    machine: str = ""  #: on which; "": on any
    tries: int = 0

    @property
    def name(self) -> str:
        return f"{self.target} on {self.machine}" if self.machine else self.target


@dataclass(slots=True)
class _Running:
    """A cell at a worker."""

    cell: Cell
    worker: str
    future: Future
    until: float


@dataclass(slots=True)
class Pool:
    """The workers of a scheduler by machine. `alone`: a machine has room for one cell."""

    client: Client
    alone: bool
    workers: dict[str, Who] = field(default_factory=dict)  #: by address
    _asked: dict[str, Future] = field(default_factory=dict)  #: those that have not answered yet, or cannot

    def refresh(self) -> None:
        """Forgets workers that the scheduler has lost, and asks new ones what they are, without waiting.

        Raises ConnectionError if the scheduler has gone, and with it all cells.
        """
        answer = self.client.scheduler_info(n_workers=-1)
        if "workers" not in answer:
            raise ConnectionError("it does not answer")
        known = {str(address) for address in answer["workers"]}
        for address in known - self.workers.keys() - self._asked.keys():
            self._asked[address] = self.client.submit(who, workers=[address], allow_other_workers=False, pure=False)
        for address, future in self._asked.items():
            if future.status == "finished":
                self.workers[address] = future.result(timeout=CONNECT_SECONDS)
        self._asked = {one: future for one, future in self._asked.items() if one in known and one not in self.workers}
        self.workers = {address: one for address, one in self.workers.items() if address in known}

    def wait(self) -> None:
        """Until every worker that the scheduler has now has answered, or CONNECT_SECONDS."""
        until = time.monotonic() + CONNECT_SECONDS
        self.refresh()
        while self._asked and time.monotonic() < until:
            time.sleep(POLL_SECONDS)
            self.refresh()

    @property
    def machines(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(one.machine for one in self.workers.values()))

    def place(self, machine: str, busy: Sequence[str]) -> str:
        """A worker with room for a cell, on this machine ("": on any), the least busy one; "" if there is none.
        `busy`: the workers of all running cells."""
        free = [
            (busy.count(address), address)
            for address, one in self.workers.items()
            if machine in ("", one.machine) and busy.count(address) < one.threads and self._room(one, busy)
        ]
        return min(free)[1] if free else ""

    def _room(self, of: Who, busy: Sequence[str]) -> bool:
        there = sum(address in self.workers and self.workers[address].machine == of.machine for address in busy)
        return there < (1 if self.alone else of.processors)


def measure_by_scheduler(
    address: str, plan: Plan, targets: Sequence[str], store: Store, label: str, rounds: int, listen: Listen
) -> list[Outcome]:
    """Measures every cell and stores its session; one outcome a target, by time one a target and machine.

    A cell whose worker is lost is measured again by another one; of two results of a cell the first counts. Ctrl-C as
    in `many`. Raises MissingError without dask, TargetError if the scheduler or its workers cannot be reached.
    """
    with _client(address) as client:
        pool = Pool(client, plan.by == "time")
        pool.wait()
        if not pool.workers:
            raise TargetError(f"The scheduler {address} has no worker.", f"dask worker {address}")
        cells = deque(_cells(plan, targets, pool.machines, rounds))
        outcomes = {cell.name: Outcome(cell.name) for cell in cells}
        stop = f"kernometer-{new_session_id()}"
        try:
            for cell, done in _done(pool, cells, label, stop):
                outcomes[cell.name] = _kept(outcomes[cell.name], done, store, listen)
        except KeyboardInterrupt as interrupt:
            _tell_to_stop(client, stop)
            raise stopped(label) from interrupt
        except (OSError, RuntimeError) as error:  # dask's, of a connection that broke
            raise TargetError(
                f"The scheduler {address} was lost: {error}. What came until then is kept.",
                f"kernometer list --label '{label}'",
            ) from error
    return [*outcomes.values()]


def _cells(plan: Plan, targets: Sequence[str], machines: Sequence[str], rounds: int) -> Iterator[Cell]:
    if plan.by == "path":
        yield from (Cell(target, plan) for target in targets)
        return
    for number in range(rounds):
        for machine in machines:
            source = random.Random(repr((plan.seed, number, machine)))  # noqa: S311  # an order, not a secret
            for target in source.sample(targets, len(targets)):
                yield Cell(target, replace(plan, seed=source.getrandbits(32)), machine)


def _done(pool: Pool, waiting: deque[Cell], label: str, stop: str) -> Iterator[tuple[Cell, Measured]]:
    """Each cell once, with what its first worker to finish gave, or why none did."""
    running: list[_Running] = []
    seen = {machine: time.monotonic() for machine in ("", *pool.machines)}
    while waiting or running:
        pool.refresh()
        now = time.monotonic()
        seen |= dict.fromkeys((*pool.machines, *([""] if pool.workers else ())), now)
        for _ in range(len(waiting)):
            cell = waiting.popleft()
            worker = pool.place(cell.machine, [one.worker for one in running])
            if worker:
                future = pool.client.submit(
                    *(measure_cell, cell.plan, cell.target, label, stop),
                    workers=[worker], allow_other_workers=False, retries=0, pure=False,
                )  # fmt: skip  # a line for what, and a line for how
                running.append(_Running(cell, worker, future, now + cell.plan.patience + ALONE_SECONDS))
            elif now - seen[cell.machine] > ALONE_SECONDS:
                yield cell, Measured(error=f"no worker is left{f' on {cell.machine}' if cell.machine else ''}")
            else:
                waiting.append(cell)
        for one in [*running]:
            if one.future.status == "finished":
                running.remove(one)
                yield one.cell, one.future.result(timeout=CONNECT_SECONDS)
            elif one.future.status != "pending" or one.worker not in pool.workers or now > one.until:
                running.remove(one)
                yield from _again(one, waiting, late=now > one.until)
        time.sleep(POLL_SECONDS)


def _again(lost: _Running, waiting: deque[Cell], *, late: bool) -> Iterator[tuple[Cell, Measured]]:
    """Puts the cell of a lost worker at the front, unless too many were lost with it, or its function failed."""
    why = "its time was up" if late else f"its worker {lost.worker} was lost"
    if lost.future.status == "error":
        failure = lost.future.exception(timeout=CONNECT_SECONDS)
        if type(failure).__name__ not in ("KilledWorker", "CommClosedError"):
            yield lost.cell, Measured(error=f"its worker failed: {failure!r}"[:1000])
            return
    with suppress(OSError, RuntimeError):  # of a scheduler that has forgotten it
        lost.future.cancel()
    lost.cell.tries += 1
    if lost.cell.tries >= TRIES or late:
        yield lost.cell, Measured(error=f"{why}, {lost.cell.tries} times in all")
    else:
        waiting.appendleft(lost.cell)


def _kept(before: Outcome, done: Measured, store: Store, listen: Listen) -> Outcome:
    """The outcome with this session, stored as a whole."""
    error: KernometerError | None = TargetError(done.error, done.next_step, done.last_output) if done.error else None
    paths = before.paths
    try:
        for name, content in done.files:
            if len(content) > MAX_BYTES:
                raise TargetError(f"{before.target}: a worker sent more than {MAX_BYTES:,} bytes.")
            path = store.take(name, content)
            paths = (*paths, path)
            result = read_file(path)
            records: tuple[AnyRecord, ...] = (*result.runs, *result.failures, *result.unsupported)
            for record in records:
                listen(record)
    except KernometerError as caught:
        error = caught
    return replace(before, paths=paths, error=before.error or error)


@contextmanager
def _client(address: str) -> Iterator[Client]:
    try:
        from distributed import Client
    except ImportError as error:
        raise MissingError("--scheduler needs dask.distributed.", "pip install 'kernometer[scheduler]'") from error
    try:
        client = Client(address, timeout=CONNECT_SECONDS, set_as_default=False)
    except (OSError, ValueError, TypeError) as error:
        raise TargetError(f"The scheduler {address} cannot be reached: {error}.", "dask scheduler") from error
    try:
        yield client
    finally:
        with suppress(OSError, RuntimeError):
            client.close(timeout=CONNECT_SECONDS)


def _tell_to_stop(client: Client, stop: str) -> None:
    from distributed import Event

    with suppress(OSError, RuntimeError):  # the scheduler may be gone; then its workers stop at their own deadline
        Event(stop, client=client).set()
