"""A store of made up sessions, and its commands in a runner."""

from __future__ import annotations

from typing import Any

from click.testing import CliRunner, Result

from kernometer.cli import kernometer
from kernometer.results.model import Run
from kernometer.results.store import Store
from tests.support.results import make


def fill(store: Store, *runs: Run, **given: Any) -> str:
    """One complete session; its id."""
    with store.create(make.session(**given)) as file:
        for record in make.records(0)[1:-1]:
            file.add(record)
        for run in runs or [make.run(number) for number in range(3)]:
            file.add(run)
    return file.path.stem


def call(store: Store, *words: str, width: int = 80) -> Result:
    done = CliRunner().invoke(kernometer, ["--store", str(store.folder), *words], env={"COLUMNS": str(width)})
    if done.exception and not isinstance(done.exception, SystemExit):
        raise done.exception
    return done
