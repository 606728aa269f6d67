"""Progress of a measurement on standard error: a bar on a terminal, otherwise a line from time to time."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from threading import Event, Thread
from typing import TYPE_CHECKING

from kernometer.campaign.cells import Listen, Outcome
from kernometer.campaign.plan import Plan
from kernometer.campaign.session import Further, Measured, measure
from kernometer.cli.env import Env
from kernometer.cli.planning import tell_notes
from kernometer.errors import TargetError
from kernometer.results.model import AnyRecord, Calibration, Counting, Failure, Result, Run, Unsupported
from kernometer.results.rows import Row
from kernometer.stats.quantiles import tails
from kernometer.targets.base import Target
from kernometer.text import printable

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

#: How many lines of a dead target's output are shown, the last ones, which tell most; characters of one.
LAST_LINES, LINE = 5, 300
#: Seconds between two lines without a terminal.
LINE_SECONDS = 10.0
#: Seconds without a record after which a message is printed.
QUIET_SECONDS = 30.0
#: Share of the steps after which the time left is shown: before that most of the time is the start of a guest.
TELLING_SHARE = 0.1


def measured(env: Env, plan: Plan, target: Target, label: str) -> Measured:
    """Measures a session with progress, after the target's notes."""
    tell_notes(env, plan.by, target)
    with progress(env, plan) as listen:
        return measure(plan, target, env.store(), label, listen, _further(plan))


def _further(plan: Plan) -> Further:
    """Asks, within the budget, for runs of the rows whose quantile is not known yet: at most as many as a row has,
    since how many are missing is estimated from these."""
    began, quantile, budget = time.monotonic(), plan.effort.quantile, plan.effort.budget

    def further(result: Result) -> dict[str, int]:
        if not quantile or time.monotonic() - began > budget:
            return {}
        of_rows = tails(result, (quantile,))
        lacking = {row: tail for row, tail in of_rows.items() if tail.quantiles and tail.quantiles[0].missing}
        return {
            row: min(tail.runs, math.ceil(tail.quantiles[0].missing * tail.runs / tail.samples))
            for row, tail in lacking.items()
        }

    return further


def tell_errors(env: Env, outcomes: Sequence[Outcome]) -> None:
    """Prints each target that failed: why, what to do, its last output."""
    for outcome in outcomes:
        error = outcome.error
        if error is None:
            continue
        env.say(printable(f"{outcome.name}: {outcome.why}", 2 * LINE))
        if error.next_step:
            env.say(f"  next: {printable(error.next_step, LINE)}")
        if isinstance(error, TargetError):
            for line in error.last_output.splitlines()[-LAST_LINES:]:
                env.say(f"  | {printable(line, LINE)}")


@contextmanager
def progress(
    env: Env, plan: Plan, sessions: int = 1, *, paired: bool = False, silence: float | None = None
) -> Iterator[Listen]:
    """Returns a listener for the records of so many sessions of the plan, each with its runs, or with as many as fit
    into its budget. `paired`: what one session lacks is not measured in another either.

    Failed rows are printed at once, above the bar, and so is a row that takes long, which is given up after `silence`
    seconds without output, by default the plan's.
    """
    steps, budget = _Steps(plan, sessions, paired=paired), sessions * plan.effort.budget
    silence = plan.silence if silence is None else silence
    if env.err.isatty():
        with _bar(env, timed=budget > 0) as bar:
            task = bar.add_task("starting", total=budget or steps.all, runs=0)
            listener = _on_terminal(bar, task, steps, timed=budget > 0)
            with _telling_silence(listener, silence, bar.console.print) as listen:
                yield listen
    else:
        with _telling_silence(_on_stream(env, steps, budget), silence, env.say) as listen:
            yield listen


class _Steps:
    """Counts runs: those that were made, and of all those that are still expected. A failure takes a run's place."""

    def __init__(self, plan: Plan, sessions: int, *, paired: bool) -> None:
        self._rows = set(plan.rows)
        self._each = plan.each * (sessions if paired else 1)
        self._paired = paired
        self.done, self.all = 0, sessions * plan.units

    def see(self, record: AnyRecord) -> bool:
        """Whether the record is of a run. A row that a target lacks is not expected any more."""
        if isinstance(record, Unsupported) and record.row in self._rows:
            self.all -= self._each
            if self._paired:
                self._rows.remove(record.row)
        is_run = isinstance(record, Run | Failure)
        self.done += is_run
        return is_run


@contextmanager
def counted(env: Env, steps: int, what: str) -> Iterator[Callable[[], None]]:
    """Returns a function to call after each of so many steps, which are far shorter than a line's time."""
    if env.err.isatty():
        with _bar(env, timed=False) as bar:
            task = bar.add_task(what, total=steps, runs=0)
            yield lambda: bar.advance(task)
        return
    done, last = 0, time.monotonic()

    def tick() -> None:
        nonlocal done, last
        done += 1
        if time.monotonic() - last >= LINE_SECONDS:
            last = time.monotonic()
            env.say(f"{done:,} of {steps:,} {what}")

    yield tick


@contextmanager
def _telling_silence(listen: Listen, silence: float, say: Callable[[str], None]) -> Iterator[Listen]:
    """The same listener, with a thread that prints how long no record came: after 30 s, 60 s, 120 s, …"""
    heard = time.monotonic()
    done = Event()

    def watch() -> None:
        next_word = QUIET_SECONDS
        while not done.wait(max(0.0, heard + next_word - time.monotonic())):
            quiet = time.monotonic() - heard
            if quiet >= next_word:
                say(f"no row for {quiet:.0f} s; one without output for {silence:.0f} s is given up")
                next_word *= 2
            elif quiet < QUIET_SECONDS:
                next_word = QUIET_SECONDS

    def both(record: AnyRecord) -> None:
        nonlocal heard
        heard = time.monotonic()
        listen(record)

    thread = Thread(target=watch, name="silence", daemon=True)
    thread.start()
    try:
        yield both
    finally:
        done.set()
        thread.join()


def _bar(env: Env, *, timed: bool) -> Progress:
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    return Progress(
        TextColumn("{task.description:<40}", markup=False),
        BarColumn(bar_width=None),
        TextColumn("{task.fields[runs]} runs") if timed else MofNCompleteColumn(),
        TimeRemainingColumn(),
        console=env.console(err=True),
        transient=True,
    )


def _on_terminal(bar: Progress, task: TaskID, steps: _Steps, *, timed: bool) -> Listen:
    told: set[str] = set()
    start = time.monotonic()

    def listen(record: AnyRecord) -> None:
        if isinstance(record, Calibration | Counting | Run):
            doing = {Calibration: "calibrating ", Counting: "counting "}.get(type(record), "")
            bar.update(task, description=printable(doing + record.row, 40))
        if steps.see(record):
            bar.update(task, completed=time.monotonic() - start if timed else steps.done, runs=steps.done)
        if not timed:
            bar.update(task, total=steps.all)
        for line in _news(record, told):
            bar.console.print(line)

    return listen


def _on_stream(env: Env, steps: _Steps, budget: float) -> Listen:
    told: set[str] = set()
    start = last = time.monotonic()

    def listen(record: AnyRecord) -> None:
        nonlocal last
        steps.see(record)
        now, done = time.monotonic(), steps.done
        if now - last >= LINE_SECONDS and done:
            last = now
            if budget > 0:
                left = start + budget - now
                env.say(f"measured {done} runs" + (f", about {left:.0f} s left" if left > 0 else ""))
            else:
                left = (now - start) / done * max(0, steps.all - done)
                told_left = f", about {left:.0f} s left" if done >= TELLING_SHARE * steps.all else ""
                env.say(f"measured {done} of {steps.all} runs{told_left}")
        for line in _news(record, told):
            env.say(line)

    return listen


def _news(record: AnyRecord, told: set[str]) -> Iterator[str]:
    """Messages during measuring: each failed row once, and each reason why rows are unsupported once, with the first
    of them. The table lists them all."""
    if isinstance(record, Failure) and record.row not in told:
        told.add(record.row)
        yield printable(f"{record.row}: failed: {record.text}", 300)
    of_unit = isinstance(record, Unsupported) and Row(record.row).is_unit_cost  # no structure has all of them
    if isinstance(record, Unsupported) and not of_unit and record.reason not in told:
        told.add(record.reason)
        yield printable(f"{record.row}: unsupported here: {record.reason}", 300)
