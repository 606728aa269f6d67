"""Measures many targets: counts on several at once, times one after the other in random order.

A target that fails becomes an outcome with the reason, and the others continue.
"""

from __future__ import annotations

import random
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from queue import SimpleQueue
from threading import Event, Thread

from kernometer.campaign.plan import Plan
from kernometer.campaign.session import new_session, records
from kernometer.errors import KernometerError, StoppedError, TargetError
from kernometer.results.model import AnyRecord, Session
from kernometer.results.store import Store
from kernometer.targets.base import Deadline, Target

#: Seconds within which a target is ended that must stop.
LOOK_SECONDS = 1.0
Listen = Callable[["AnyRecord"], None]


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of one target."""

    target: str
    paths: tuple[Path, ...] = ()  #: its sessions, the oldest first, also one that was cut off
    error: KernometerError | None = None  #: why it failed

    @property
    def why(self) -> str:
        """The error's text, without the target's name before it; "" without an error."""
        return self.error.text.removeprefix(f"{self.target}: ") if self.error is not None else ""


@dataclass(frozen=True, slots=True)
class _Until(Deadline):
    """A deadline that can end early: a thread's waits cannot be interrupted otherwise."""

    stop: Event

    def left(self) -> float:
        return 0.0 if self.stop.is_set() else max(0.0, self.at - time.monotonic())

    def wait(self, seconds: float) -> float:
        return min(seconds, self.left(), LOOK_SECONDS)

    @property
    def passed(self) -> bool:
        return self.stop.is_set() or time.monotonic() >= self.at


def measure_at_once(
    plan: Plan, targets: Sequence[Target], store: Store, label: str, jobs: int, listen: Listen
) -> list[Outcome]:
    """Measures a session of each target by path, `jobs` of them at any time, started in the order given.

    Ctrl-C ends all of them, keeps what was measured, and raises StoppedError. Only this thread calls `listen`.
    """
    crew = _Crew(plan, store, label)
    waiting = deque(enumerate(targets))
    outcomes: dict[int, Outcome] = {}
    try:
        while waiting or crew.busy:
            while waiting and crew.busy < jobs:
                number, target = waiting.popleft()
                try:
                    crew.send(number, target)
                except KernometerError as error:
                    outcomes[number] = Outcome(target.name, error=error)
            if crew.busy:
                number, one = crew.said.get()
                if isinstance(one, Outcome):
                    outcomes[number] = one
                    crew.busy -= 1
                elif isinstance(one, BaseException):
                    raise one
                else:
                    listen(one)
    except KeyboardInterrupt as interrupt:
        raise stopped(label) from interrupt
    finally:
        crew.dismiss()
    return [outcomes[number] for number in range(len(targets))]


class _Crew:
    """Threads that measure one target each, and send every record, then the outcome or the exception."""

    def __init__(self, plan: Plan, store: Store, label: str) -> None:
        self.plan, self.store, self.label = plan, store, label
        self.said: SimpleQueue[tuple[int, AnyRecord | Outcome | BaseException]] = SimpleQueue()
        self.busy = 0
        self._stop = Event()
        self._threads: list[Thread] = []

    def send(self, number: int, target: Target) -> None:
        """Starts a session. Its time is set here, so that sessions have the order of the calls."""
        session = new_session(self.plan, target, self.label)

        def work() -> None:
            def tell(record: AnyRecord) -> None:
                self.said.put((number, record))

            try:
                outcome = measured_here(self.plan, target, session, self.store, self._stop, tell)
                self.said.put((number, outcome))
            except BaseException as error:  # the waiting thread raises it again
                self.said.put((number, error))

        thread = Thread(target=work, name=target.name)
        thread.start()
        self._threads.append(thread)
        self.busy += 1

    def dismiss(self) -> None:
        """Ends what is still being measured, and waits for it."""
        self._stop.set()
        for thread in self._threads:
            thread.join()


def measure_in_rounds(
    plan: Plan, targets: Sequence[Target], store: Store, label: str, rounds: int, listen: Listen
) -> list[Outcome]:
    """Measures `rounds` sessions of each target by time, one at a time; each round has a new order of all targets.

    Each round has its own seed, from the plan's. A target that fails is left out of later rounds. Ctrl-C as above.
    """
    outcomes = [Outcome(target.name) for target in targets]
    try:
        with store.measuring(plan.by):
            for number in range(rounds):
                source = random.Random(repr((plan.seed, number)))  # noqa: S311  # an experiment's order, not a secret
                order = [place for place, outcome in enumerate(outcomes) if outcome.error is None]
                source.shuffle(order)
                of_round = replace(plan, seed=source.getrandbits(32))
                for place in order:
                    done = _in_turn(of_round, targets[place], store, label, listen)
                    before = outcomes[place]
                    outcomes[place] = replace(before, paths=(*before.paths, *done.paths), error=done.error)
    except KeyboardInterrupt as interrupt:
        raise stopped(label) from interrupt
    return outcomes


def _in_turn(plan: Plan, target: Target, store: Store, label: str, listen: Listen) -> Outcome:
    try:
        session = new_session(plan, target, label)
    except KernometerError as error:
        return Outcome(target.name, error=error)
    return measured_here(plan, target, session, store, Event(), listen)


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
                for record, line in records(target, plan.job(), until):
                    writer.add(record, line)
                    listen(record)
            except TargetError:
                if stop.is_set():
                    raise KeyboardInterrupt from None
                raise
    except KernometerError as caught:
        error = caught
    return Outcome(target.name, (path,) if path is not None and path.exists() else (), error)


def stopped(label: str) -> StoppedError:
    """The error after Ctrl-C."""
    return StoppedError("Interrupted. What was measured until then is kept.", f"kernometer list --label '{label}'")
