"""The cache directory: files that can be made again, and programs compiled into it."""

from __future__ import annotations

import fcntl
import hashlib
import os
import shlex
import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from kernometer.errors import BuildError, KernometerError, MissingError
from kernometer.processes import called, scratch

#: Seconds. A program of `compiled` takes one or two, and many times that where other work has the processors.
COMPILE_SECONDS = 600
#: What `kept` waits for another process: a compiler of C takes ten minutes on a busy machine.
MAKE_SECONDS = 1800


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

    `make` makes it in the directory that it is given, and returns its path. `final` is never half done. If two
    processes want it at once, one makes it and the other waits, for MAKE_SECONDS at most; then, as on a file system
    without locks, both make it, and the first one's stays. Raises `failure` if the cache cannot be written.
    """
    if final.exists():
        return final
    try:
        final.parent.mkdir(parents=True, exist_ok=True)
        lock = final.with_name(f".{final.name}.lock")
        with locked(lock, MAKE_SECONDS):
            try:
                _make(final, make)
            finally:
                lock.unlink(missing_ok=True)
    except OSError as error:
        what = f"The cache {final.parent} cannot be written: {error.strerror}."
        raise failure(what, "Set XDG_CACHE_HOME.") from error
    return final


def _make(final: Path, make: Callable[[Path], Path]) -> None:
    if final.exists():  # another process was faster
        return
    with scratch(".new-", final.parent) as folder:
        made = make(folder)
        try:
            made.rename(final)
        except OSError:  # another process made the same directory, without the lock
            if not final.exists():
                raise


@contextmanager
def locked(path: Path, seconds: float) -> Iterator[bool]:
    """Takes the lock of the file `path`, which it makes, for the block: one process at a time. The value is whether it
    could be taken in so many seconds, which is always so on a file system without locks (some network ones)."""
    until = time.monotonic() + seconds
    with path.open("w") as file:
        while held := is_held(file):
            if time.monotonic() >= until:
                break
            time.sleep(0.2)
        yield not held


def is_held(file: IO[Any] | int, how: int = fcntl.LOCK_EX) -> bool:
    """Takes the lock of an open file or directory unless another process holds it, which is never so without locks."""
    try:
        fcntl.flock(file, how | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    return False


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
    done = called(argv, COMPILE_SECONDS, failure=BuildError)
    if done.returncode != 0:
        raise BuildError(f"{name} does not compile.", shlex.join(argv), done.stderr[-4000:])
