"""Child processes: a program of this host, called to its end; the end of one that was killed, and of all if we are
killed, when our own code cannot do it; directories that nobody needs any more then; and our own work on every CPU."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from types import MappingProxyType
from typing import TYPE_CHECKING, TypeVar

from kernometer.errors import KernometerError, MissingError, ResultError, TargetError

if TYPE_CHECKING:
    from multiprocessing.connection import Connection
    from multiprocessing.context import ForkProcess


def called(
    words: Sequence[str],
    seconds: float,
    next_step: str = "Try again.",
    *,
    folder: Path | None = None,
    more: Mapping[str, str] = MappingProxyType({}),
    given: str | None = None,
    failure: type[KernometerError] = TargetError,
) -> subprocess.CompletedProcess[str]:
    """Status and output of a program of this host, which reads `given`, or nothing. `more`: further variables of its
    environment. Raises MissingError if it is not there, and `failure` if it cannot be executed or is not done in so
    many seconds, both with `next_step`."""
    try:
        return subprocess.run(
            words,
            cwd=folder,
            env={**os.environ, **more},
            stdin=subprocess.DEVNULL if given is None else None,
            input=given,
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            timeout=seconds,
            check=False,
        )
    except FileNotFoundError as error:
        raise MissingError(f"There is no {words[0]} here.", next_step) from error
    except subprocess.TimeoutExpired as error:
        text = f"{words[0]} was not done after {seconds:.0f} s: {shlex.join(words)}."
        raise failure(text, next_step) from error
    except OSError as error:
        raise failure(f"{words[0]} cannot be executed: {error.strerror}.", next_step) from error


def reap(process: subprocess.Popen[bytes]) -> None:
    """Waits for a process that has been killed, without Popen's lock.

    An exception of a signal handler (Ctrl-C, SIGTERM) between the lines of Popen.wait or Popen.poll leaves that lock
    taken for good, and Popen.wait would then never return.
    """
    if process.returncode is None:
        with suppress(ChildProcessError):  # Popen reaped it before the exception came
            process.returncode = os.waitstatus_to_exitcode(os.waitpid(process.pid, 0)[1])


#: Seconds that a target has to clean up after SIGTERM before SIGKILL.
GRACE = 5


@contextmanager
def guard(scratch: Path | None) -> Iterator[Callable[[int], None]]:
    """A shell that waits for our end during the block. Then it ends the process group that it was given, first with
    SIGTERM, then with SIGKILL, and removes the directory `scratch`."""
    remove = f"rm -rf -- {shlex.quote(str(scratch))}" if scratch else ":"
    remove = f"{remove} || sleep 1; {remove}"  # what the kernel ends with us may still be writing
    script = f'read -r group; read -r _ && exit; kill -s TERM -- "-$group" && sleep {GRACE}; '
    script += f'kill -s KILL -- "-$group"; {remove}'
    nowhere = subprocess.DEVNULL
    words = ("/bin/sh", "-c", script)
    shell = subprocess.Popen(
        words, stdin=subprocess.PIPE, stdout=nowhere, stderr=nowhere, text=True, start_new_session=True
    )

    def watch(group: int) -> None:
        with suppress(OSError):  # the shell has ended
            print(group, file=shell.stdin, flush=True)

    try:
        yield watch
    finally:
        with suppress(subprocess.TimeoutExpired):
            shell.communicate("\n\n", GRACE)


@contextmanager
def scratch(prefix: str, parent: Path | None = None) -> Iterator[Path]:
    """A temporary directory in `parent` (None: in TMPDIR), which is gone after the block, and soon after our end."""
    made = TemporaryDirectory(prefix=prefix, dir=parent, ignore_cleanup_errors=True)
    with guard(Path(made.name)), made:
        yield Path(made.name)


#: From so many items on several processes are quicker than one.
MANY = 64
#: At most so many processes, each with what it works on in memory.
MOST = 8
_Item = TypeVar("_Item")
_Made = TypeVar("_Made")


def ahead(function: Callable[[_Item], _Made], items: Sequence[_Item]) -> Iterator[_Made]:
    """What the function makes of each item, in their order; of many items by a process on each CPU, as far ahead of the
    caller as its pipe holds."""
    jobs = min(len(os.sched_getaffinity(0)), MOST)
    if jobs == 1 or len(items) < MANY:
        yield from map(function, items)
        return
    import multiprocessing  # here: it takes as long as all of --help

    fork = multiprocessing.get_context("fork")
    workers: list[tuple[ForkProcess, Connection]] = []
    try:
        for first in range(jobs):
            ours, theirs = fork.Pipe(duplex=False)
            worker = fork.Process(target=_tell, args=(function, items[first::jobs], theirs), daemon=True)
            worker.start()
            theirs.close()  # so that its end ends the pipe, and no later process holds it
            workers.append((worker, ours))
        for number in range(len(items)):
            made, error = workers[number % jobs][1].recv()
            if error is not None:
                raise error
            yield made
    except EOFError:
        raise ResultError("A process that helped was killed.", "Is there enough memory?") from None
    finally:
        for worker, ours in workers:
            worker.kill()
            worker.join()
            ours.close()


def _tell(function: Callable[[_Item], object], items: Sequence[_Item], to: Connection) -> None:
    """A helping process: sends what it makes of each item, or its error, and ends with whoever should take it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the process that will end this one
    with suppress(BrokenPipeError):
        for item in items:
            try:
                to.send((function(item), None))
            except KernometerError as error:
                to.send((None, error))
