"""The command `kernometer`: runs the command line and turns every way it can end into one of errors.Status."""

from __future__ import annotations

import errno
import os
import signal
import sys
from collections.abc import Sequence
from types import FrameType

import click

from kernometer.cli import config, kernometer, streams
from kernometer.errors import KernometerError, MissingError, ResultError, Status, TargetError, refused
from kernometer.text import printable

#: How many characters of a dead target's output are shown: the last ones, which tell most.
LAST_OUTPUT = 2000
NAME = "kernometer"
LOAD_AGAIN = "Raise the limit of memory (ulimit -v), or install Kernometer again ('make setup' in a checkout)."


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs `kernometer ARGUMENTS…` and returns its exit status.

    Without `arguments` it takes the process's own, handles SIGTERM and SIGHUP as it handles Ctrl-C, and begins with
    streams and signals of its own.
    """
    out = None
    if arguments is None:
        arguments, out = sys.argv[1:], streams.own()
        _listen()
    status = _ended(arguments)
    if out is not None:
        sys.stdout.flush()
        if out.lost is not None and out.lost.errno != errno.EPIPE:  # a reader that leaves (`| head`) is no error
            _tell(refused(out.lost) or ResultError(f"The output cannot be written: {out.lost.strerror}."))
            return status or Status.RESULT
    return status


def _ended(arguments: Sequence[str]) -> int:
    """The exit status of every way in which a call can end, after its errors were told."""
    try:
        return _run(arguments)
    except click.ClickException as error:
        error.show()
        return Status.USAGE
    except KernometerError as error:
        told = error
    except (click.Abort, KeyboardInterrupt):
        click.echo(f"{NAME}: interrupted", err=True)
        return Status.INTERRUPTED
    except (MemoryError, ImportError) as error:
        told = MissingError(f"A part of Python cannot be loaded: {str(error) or 'out of memory'}.", LOAD_AGAIN)
    except OSError as error:
        known = refused(error)
        if known is None:
            raise
        told = known
    _tell(told)
    return told.status


def _run(arguments: Sequence[str]) -> int:
    """Like click's own `main`, but the exit status is always one of errors.Status."""
    wanted = os.environ.get("_KERNOMETER_COMPLETE", "")
    if wanted:
        from click.shell_completion import shell_complete

        from kernometer.cli import completion  # noqa: F401  # it registers our own script for bash

        return shell_complete(kernometer, {}, NAME, "_KERNOMETER_COMPLETE", wanted)
    given = config.options(kernometer, config.read())
    try:
        with kernometer.make_context(NAME, list(arguments), default_map=given) as context:
            status = kernometer.invoke(context)
    except click.exceptions.Exit as leaving:
        status = leaving.exit_code
    return int(status or Status.DONE)


def _listen() -> None:
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN:  # nohup ignores SIGHUP on purpose
            signal.signal(number, _interrupt)


def _interrupt(_number: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt


def _tell(error: KernometerError) -> None:
    """Prints on standard error what is wrong, the target's last output, and what to do next."""
    lines = [f"{NAME}: {printable(error.text, keep=chr(10))}"]
    if isinstance(error, TargetError) and error.last_output:
        shown = printable(error.last_output[-LAST_OUTPUT:], keep="\n").rstrip("\n")
        lines += ["its last output was:", *(f"  | {line}" for line in shown.split("\n"))]
    if error.next_step:
        lines.append(f"next: {printable(error.next_step, keep=chr(10))}")
    click.echo("\n".join(lines), err=True)


if __name__ == "__main__":
    sys.exit(main())
