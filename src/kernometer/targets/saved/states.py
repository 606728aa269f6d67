"""Saved guests in the cache, a directory each: the guest's memory (a sparse file), the rest of its state, and its first
file system. Several processes use them at once; unused ones are removed to make room."""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from pathlib import Path

from kernometer.cache import cache_folder
from kernometer.errors import ResultError, TargetError
from kernometer.processes import scratch
from kernometer.targets.base import Deadline

#: The most that is kept. A guest's memory takes 60 to 300 MB on the disk; a campaign of floors has some fifteen.
MAX_STATES, MAX_DISK_BYTES = 64, 6 << 30
#: In a state's directory: digests of the other files, written last.
DIGESTS = "digests"
#: A killed process leaves an incomplete state, which is removed after so many seconds.
STALE_SECONDS = 3600.0
PAGE = 4096


def folder() -> Path:
    return cache_folder() / "states"


def obtain(key: str, save: Callable[[Path], Iterator[None]], held: ExitStack, until: Deadline) -> Iterator[None]:
    """Ensures that `folder() / key` is there and complete until the end of `held`; yields None while waiting.

    `save` writes the files into the directory that it gets. A damaged state is made again. If two processes want the
    same state, one makes it. Raises what `save` raises, and ResultError if the cache cannot be written.
    """
    final = folder() / key
    try:
        folder().mkdir(parents=True, exist_ok=True)
        while True:
            lock = _locked(final, fcntl.LOCK_SH)
            if lock is not None and _whole(final):
                break
            _unlock(lock)
            lock = _locked(final, fcntl.LOCK_EX)
            if lock is not None:
                try:
                    yield from _make(final, save)
                    fcntl.flock(lock, fcntl.LOCK_SH)
                    break
                except BaseException:
                    _unlock(lock)
                    raise
            if until.passed:
                raise TargetError("Another process was saving this guest when the time was up.", "Try again.")
            yield None
        held.callback(_unlock, lock)
        os.utime(final)
        _make_room()
    except OSError as error:
        raise ResultError(f"{error.filename}: {error.strerror}.", "Free some space, or set XDG_CACHE_HOME.") from error


def _make(final: Path, save: Callable[[Path], Iterator[None]]) -> Iterator[None]:
    if _whole(final):  # another process was faster
        return
    shutil.rmtree(final, ignore_errors=True)
    with scratch(".new-", final.parent) as folder:
        made = folder / final.name
        made.mkdir()
        yield from save(made)
        (made / DIGESTS).write_text(_digests(made))
        made.rename(final)


def _whole(state: Path) -> bool:
    try:
        return (state / DIGESTS).read_text() == _digests(state)
    except (FileNotFoundError, UnicodeDecodeError):
        return False


def _digests(state: Path) -> str:
    files = sorted(path for path in state.iterdir() if path.name != DIGESTS)
    return "".join(f"{path.name} {path.stat().st_size} {_digest(path)}\n" for path in files)


def _digest(path: Path) -> str:
    """The digest of the pages that are not zero, with their places; the file's holes are not read."""
    digest = hashlib.sha256()
    with path.open("rb", buffering=0) as file:
        size, at = os.fstat(file.fileno()).st_size, 0
        while at < size:
            try:
                at = os.lseek(file.fileno(), at, os.SEEK_DATA) // PAGE * PAGE
            except OSError:  # no more data
                break
            file.seek(at)
            piece = file.read(1 << 20)
            for begin in range(0, len(piece), PAGE):
                page = piece[begin : begin + PAGE]
                if page.strip(b"\0"):
                    digest.update(b"%d " % (at + begin))
                    digest.update(page)
            at += len(piece)
    return digest.hexdigest()


def _locked(state: Path, how: int) -> int | None:
    """A descriptor that holds the lock of `state`; None if another process has it."""
    path = state.with_suffix(".lock")
    lock = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    with suppress(OSError):
        fcntl.flock(lock, how | fcntl.LOCK_NB)
        if os.fstat(lock).st_ino == path.stat().st_ino:  # it was not removed meanwhile
            return lock
    os.close(lock)
    return None


def _unlock(lock: int | None) -> None:
    if lock is not None:
        os.close(lock)


def _make_room() -> None:
    """Removes the least recently used states that are not in use."""
    for old in folder().glob(".new-*"):
        with suppress(FileNotFoundError):
            if old.stat().st_mtime < time.time() - STALE_SECONDS:
                shutil.rmtree(old, ignore_errors=True)
    known = []
    for each in folder().glob("*/" + DIGESTS):
        with suppress(FileNotFoundError):
            size = sum(path.stat().st_blocks * 512 for path in each.parent.iterdir())
            known.append((each.parent.stat().st_mtime, size, each.parent))
    number, size = len(known), sum(size for _, size, _ in known)
    for _, its, state in sorted(known):
        if number <= MAX_STATES and size <= MAX_DISK_BYTES:
            return
        lock = _locked(state, fcntl.LOCK_EX)
        if lock is None:
            continue
        shutil.rmtree(state, ignore_errors=True)
        state.with_suffix(".lock").unlink(missing_ok=True)
        _unlock(lock)
        number, size = number - 1, size - its
