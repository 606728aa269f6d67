"""The command line on guests that were made up."""

from __future__ import annotations

from click.testing import CliRunner, Result

from kernometer.cli import kernometer
from kernometer.errors import KernometerError
from kernometer.results.store import Store

ROW = "syscall/getppid"
#: That row and no other of its workload.
ONLY = f"{ROW}@"


def call(store: Store, *words: str) -> Result:
    """`kernometer WORDS…`; an error of ours is raised."""
    done = CliRunner().invoke(kernometer, ["--store", str(store.folder), *words])
    if isinstance(done.exception, KernometerError) or (done.exception and not isinstance(done.exception, SystemExit)):
        raise done.exception
    return done
