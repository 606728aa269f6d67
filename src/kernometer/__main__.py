"""The command `kernometer`: runs the command line and turns every way it can end into one of errors.Status."""

from __future__ import annotations

import errno
import io
import os
import signal
import sys
from collections.abc import Sequence
from types import FrameType

import click

from kernometer.cli import config, kernometer
from kernometer.errors import KernometerError, ResultError, Status, TargetError
from kernometer.text import printable

#: How many characters of a dead target's output are shown: the last ones, which tell most.
LAST_OUTPUT = 2000
NAME = "kernometer"
#: The errors of a full or failing device.
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs `kernometer ARGUMENTS…` and returns its exit status.

    Without `arguments` it takes the process's own, and handles SIGTERM and SIGHUP as it handles Ctrl-C.
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a terminal without "±" gets an escape, not a traceback
            stream.reconfigure(errors="backslashreplace")
    if arguments is None:
        arguments = sys.argv[1:]
        _listen()
    try:
        return _run(arguments)
    except click.ClickException as error:
        error.show()
        return Status.USAGE
    except KernometerError as error:
        _tell(error)
        return error.status
    except (click.Abort, KeyboardInterrupt):
        click.echo(f"{NAME}: interrupted", err=True)
        return Status.INTERRUPTED
    except BrokenPipeError:
        return _quiet()
    except OSError as error:
        if error.errno not in _FULL:
            raise
        what = error.filename or "The output (or a temporary file)"
        _tell(ResultError(f"{what} cannot be written: {error.strerror}.", "Free some space there, or write elsewhere."))
        _quiet()
        return Status.RESULT


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
    sys.stdout.flush()  # raises BrokenPipeError here, where main handles it
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


def _quiet() -> int:
    """The reader of our output has closed it (`| head`): print nothing more; this is no error."""
    try:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())  # the interpreter flushes once more at its end
        os.close(nowhere)
    except (OSError, ValueError):  # the stream has no descriptor
        return Status.DONE
    return Status.DONE


if __name__ == "__main__":
    sys.exit(main())
