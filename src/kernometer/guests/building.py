"""Builds with configure and make: without the user's settings for other builds, and with a time limit."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Iterable, Sequence
from pathlib import Path

from kernometer.errors import BuildError
from kernometer.text import printable


def run(what: str, commands: Iterable[Sequence[str]], folder: Path, seconds: float, next_step: str = "") -> None:
    """Runs the commands in `folder` one after another, `seconds` for all of them. Python writes no bytecode there.

    Raises BuildError, with `what` and the last output, for a command that fails or is not done by then. Its children
    end with it.
    """
    until = time.monotonic() + seconds
    for command in commands:
        try:
            status, said = _run(command, folder, max(0.0, until - time.monotonic()))
        except subprocess.TimeoutExpired as error:
            raise BuildError(f"{what} was not built after {seconds:.0f} s.", "Try again.") from error
        if status != 0:
            last = printable(said.decode(errors="replace")[-4000:], keep="\n")
            raise BuildError(f"{what} does not build: {command[0]} ended with status {status}.", next_step, last)


def _run(command: Sequence[str], folder: Path, seconds: float) -> tuple[int, bytes]:
    """Exit status and output. The command has its own session, so that make's children end with it."""
    environment = {"PATH": os.environ.get("PATH", os.defpath), "LC_ALL": "C", "PYTHONDONTWRITEBYTECODE": "1"}
    with subprocess.Popen(
        command,
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    ) as process:
        try:
            said, _ = process.communicate(timeout=seconds)
        finally:
            if process.returncode is None:
                os.killpg(process.pid, signal.SIGKILL)
    return process.returncode, said
