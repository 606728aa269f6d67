"""Progress of a measurement on the error stream: a bar on a terminal, now and then a line elsewhere."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from kernometer.campaign.session import is_step
from kernometer.cli.env import Env
from kernometer.results.model import AnyRecord, Calibration, Counting, Failure, Run, Unsupported
from kernometer.text import printable

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

#: Seconds between two lines where there is no terminal.
LINE_SECONDS = 10.0
#: Share of the steps after which the time left is told: before that it is mostly the start of a guest.
TELLING_SHARE = 0.1


@contextmanager
def progress(env: Env, steps: int, budget: float = 0.0) -> Iterator[Callable[[AnyRecord], None]]:
    """Gives a listener for records. `steps` runs are expected; with a budget as many as fit into so many seconds.

    Failed rows are told at once, above the bar.
    """
    if env.err.isatty():
        with _bar(env, timed=budget > 0) as bar:
            yield _on_terminal(bar, bar.add_task("starting", total=budget or steps, runs=0), timed=budget > 0)
    else:
        yield _on_stream(env, steps, budget)


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


def _on_terminal(bar: Progress, task: TaskID, *, timed: bool) -> Callable[[AnyRecord], None]:
    told: set[str] = set()
    start = time.monotonic()
    runs = 0

    def listen(record: AnyRecord) -> None:
        nonlocal runs
        if isinstance(record, Calibration | Counting | Run):
            doing = {Calibration: "calibrating ", Counting: "counting "}.get(type(record), "")
            bar.update(task, description=printable(doing + record.row, 40))
        if is_step(record):
            runs += 1
            bar.update(task, completed=time.monotonic() - start if timed else runs, runs=runs)
        for line in _news(record, told):
            bar.console.print(line)

    return listen


def _on_stream(env: Env, steps: int, budget: float) -> Callable[[AnyRecord], None]:
    told: set[str] = set()
    start = last = time.monotonic()
    done = 0

    def listen(record: AnyRecord) -> None:
        nonlocal done, last
        done += is_step(record)
        now = time.monotonic()
        if now - last >= LINE_SECONDS and done:
            last = now
            if budget > 0:
                env.say(f"measured {done} runs, at most {max(0.0, start + budget - now):.0f} s left")
            else:
                left = (now - start) / done * max(0, steps - done)
                told_left = f", about {left:.0f} s left" if done >= TELLING_SHARE * steps else ""
                env.say(f"measured {done} of {steps} runs{told_left}")
        for line in _news(record, told):
            env.say(line)

    return listen


def _news(record: AnyRecord, told: set[str]) -> Iterator[str]:
    """What a person wants to hear of while measuring goes on: each failed row once, and each reason why rows are
    unsupported once, with the first of them; the table lists them all."""
    if isinstance(record, Failure) and record.row not in told:
        told.add(record.row)
        yield printable(f"{record.row}: failed: {record.text}", 300)
    if isinstance(record, Unsupported) and record.reason not in told:
        told.add(record.reason)
        yield printable(f"{record.row}: unsupported here: {record.reason}", 300)
