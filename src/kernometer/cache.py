"""The cache directory: files that can be made again, and programs compiled into it."""

from __future__ import annotations

import hashlib
import os
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from kernometer.errors import BuildError, KernometerError, MissingError

#: Seconds. A program of `compiled` takes one or two, and many times that where other work has the processors.
COMPILE_SECONDS = 600


def cache_folder() -> Path:
    """kernometer in the XDG cache home; a relative XDG_CACHE_HOME is ignored, as the standard says.

    Raises MissingError if there is no home either.
    """
    given = os.environ.get("XDG_CACHE_HOME", "")
    try:
        return (Path(given) if given.startswith("/") else Path.home() / ".cache") / "kernometer"
    except RuntimeError as error:
        raise MissingError("There is no home directory for the cache.", "Set HOME or XDG_CACHE_HOME.") from error


def sha256(data: bytes) -> str:
    """In hexadecimal."""
    return hashlib.sha256(data).hexdigest()


def kept(final: Path, make: Callable[[Path], Path], failure: type[KernometerError] = BuildError) -> Path:
    """Returns `final`, a file or a directory in the cache, after making it if it does not exist.

    `make` makes it in the directory that it is given, and returns its path. Processes that make it at the same time
    do not disturb each other, and `final` is never half done. Raises `failure` if the cache cannot be written.
    """
    if final.exists():
        return final
    try:
        final.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=final.parent, prefix=".new-", ignore_cleanup_errors=True) as scratch:
            made = make(Path(scratch))
            try:
                made.rename(final)
            except OSError:  # another process made the same directory first
                if not final.exists():
                    raise
    except OSError as error:
        what = f"The cache {final.parent} cannot be written: {error.strerror}."
        raise failure(what, "Set XDG_CACHE_HOME.") from error
    return final


def compiled(name: str, command: Sequence[str], sources: Sequence[Path]) -> Path:
    """Compiles the first of `sources`, which includes the others, with `command`; a cached program is not built again.

    `-o OUTPUT SOURCE` is added to the command. The file's name contains a digest of sources and command. Raises
    MissingError if there is no compiler, BuildError with the compiler's messages.
    """
    key = sha256(b"\0".join((repr(tuple(command)).encode(), *(source.read_bytes() for source in sources))))

    def make(folder: Path) -> Path:
        if shutil.which(command[0]) is None:
            raise MissingError(f"There is no {command[0]} here.", "Install it (Debian, Ubuntu: apt-get install gcc).")
        made = folder / name
        _compile(name, (*command, "-o", str(made), str(sources[0])))
        return made

    return kept(cache_folder() / "compiled" / f"{key[:16]}-{name}", make)


def _compile(name: str, argv: Sequence[str]) -> None:
    try:
        done = subprocess.run(argv, capture_output=True, stdin=subprocess.DEVNULL, timeout=COMPILE_SECONDS, check=False)
    except subprocess.TimeoutExpired as error:
        raise BuildError(f"{name} did not compile in {COMPILE_SECONDS} s.", "Try again.") from error
    if done.returncode != 0:
        raise BuildError(f"{name} does not compile.", shlex.join(argv), done.stderr.decode(errors="replace")[-4000:])
