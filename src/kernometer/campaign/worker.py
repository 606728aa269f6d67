"""A worker of a campaign's scheduler: tells what it is, and measures a cell into a store of its own."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from threading import Event, Thread

from kernometer.campaign.here import measured_here
from kernometer.campaign.plan import Plan
from kernometer.campaign.session import new_session
from kernometer.errors import KernometerError, TargetError
from kernometer.processes import scratch
from kernometer.results.store import Store
from kernometer.targets.local import host_id
from kernometer.targets.parse import target_of

#: The worker asks the scheduler after so many seconds whether to stop.
ASK_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class Who:
    """A worker."""

    machine: str  #: equal for workers of one machine
    host_id: str  #: of its sessions by time
    processors: int
    threads: int  #: cells that it takes at once


@dataclass(frozen=True, slots=True)
class Measured:
    """A measured cell: its session's file, whole or cut off, and why it failed."""

    files: tuple[tuple[str, bytes], ...] = ()
    error: str = ""
    next_step: str = ""
    last_output: str = ""


def who() -> Who:
    from distributed import get_worker

    node, host = os.uname().nodename, host_id()
    return Who(f"{node}-{host[:8] or node}", host, len(os.sched_getaffinity(0)), get_worker().state.nthreads)


def measure_cell(plan: Plan, target: str, label: str, stop: str) -> Measured:
    """Measures a session of the target on this machine, until the scheduler's event `stop` is set."""
    from distributed import Event as Shared
    from distributed import get_client

    asked = Shared(stop, client=get_client())
    with scratch("kernometer-cell-") as folder:
        return _measured(plan, target, label, Store(folder), asked.is_set)


def _measured(plan: Plan, spec: str, label: str, store: Store, asked: Callable[[], bool]) -> Measured:
    stop, done = Event(), Event()

    def watch() -> None:
        while not done.wait(ASK_SECONDS):
            if asked():
                stop.set()
                return

    Thread(target=watch, daemon=True).start()
    error: KernometerError | None = None
    began = time.monotonic()
    try:
        with closing(target_of(spec)) as target:
            session = new_session(plan, target, label)
            error = measured_here(plan, target, session, store, stop).error
    except KernometerError as caught:
        error = caught
    except KeyboardInterrupt:
        error = TargetError(f"{spec} was stopped after {time.monotonic() - began:.0f} s.")
    finally:
        done.set()
    files = tuple((summary.path.name, summary.path.read_bytes()) for summary in store.summaries())
    if error is None:
        return Measured(files)
    return Measured(files, error.text, error.next_step, getattr(error, "last_output", ""))
