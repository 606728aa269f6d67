"""Builds with configure and make: without the user's settings for other builds, and with a time limit."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import time
from collections.abc import Iterable, Sequence
from pathlib import Path

from kernometer.cache import cache_folder
from kernometer.errors import BuildError
from kernometer.text import printable

#: A line that names an error of a compiler, a linker or another program; and lines of make's own.
_WRONG = re.compile(r"error:|undefined reference|No space left", re.IGNORECASE)
_OF_MAKE = re.compile(r"  [A-Z]{2} |make(\[\d+\])?: |Makefile:|[^ ]+/ld: .* in function |.*: In function ")


def run(what: str, commands: Iterable[Sequence[str]], folder: Path, seconds: float, next_step: str = "") -> None:
    """Runs the commands in `folder` one after another, `seconds` for all of them; Python writes no bytecode there.

    Raises BuildError, with `what` and the error, for a command that fails or takes too long; a file keeps the whole
    output. A command's children end with it.
    """
    until = time.monotonic() + seconds
    for command in commands:
        try:
            status, said = _run(command, folder, max(0.0, until - time.monotonic()))
        except subprocess.TimeoutExpired as error:
            raise BuildError(f"{what} was not built after {seconds:.0f} s.", "Try again.") from error
        if status != 0:
            text = f"{what} does not build: {command[0]} ended with status {status}{_kept(what, said)}."
            raise BuildError(text, next_step, _named(printable(said.decode(errors="replace"), keep="\n").splitlines()))


def _kept(what: str, said: bytes) -> str:
    """Where the whole output is, as the end of a sentence. Each `what` has one file."""
    log = cache_folder() / "logs" / f"{what.replace(' ', '-')}.log"
    try:
        log.parent.mkdir(parents=True, exist_ok=True)
        log.write_bytes(said)
    except OSError:
        return ""
    return f"; its whole output is in {log}"


def _named(lines: Sequence[str]) -> str:
    """The first line that names an error, else the last two lines that are not make's."""
    wrong = [line for line in lines if _WRONG.search(line)][:1]
    return "\n".join(wrong or [line for line in lines if line.strip() and not _OF_MAKE.match(line)][-2:])


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
