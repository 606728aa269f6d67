"""Writes one result during the measurement: every record is written at once, as one whole line.

The file has its final name from the first line on, and its last record marks it as complete. Ctrl-C, a killed process
and a power cut leave a readable result of what was measured, which an unfinished file under another name would not be.
While it grows it is locked, so that a list can tell growing from cut off.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import re
import secrets
import time
from enum import Enum
from pathlib import Path
from types import TracebackType
from typing import Self, TypeVar, cast

import msgspec

from kernometer.cache import is_held
from kernometer.errors import ResultError
from kernometer.results.compressed import SUFFIXES
from kernometer.results.model import AnyRecord, End, Failure, Publication, Result, Run, Session, Unsupported
from kernometer.results.reader import DamagedError, Gathering, parse_record

SUFFIX = ".ndjson"
_RESULTS = tuple(SUFFIX + compressed for compressed in SUFFIXES)
#: The least free bytes to begin measuring: a quick session on one machine takes about one MB.
MIN_FREE = 4 << 20

_ID = re.compile(r"\d{8}T\d{6}Z-[0-9a-f]{6,32}")
_ENCODER = msgspec.json.Encoder()
_Kind = TypeVar("_Kind", bound=AnyRecord)
_CAUSES = {
    errno.ENOSPC: ("is full", "Free some space there, or give another folder with --store DIR."),
    errno.EDQUOT: ("is over its quota", "Free some space there, or give another folder with --store DIR."),
    errno.EFBIG: ("refuses a file this large", "Raise the limit (ulimit -f), or give another folder with --store DIR."),
    errno.EROFS: ("is read-only", "Give another folder with --store DIR."),
    errno.EACCES: ("may not be written by you", "Change its permissions, or give another folder with --store DIR."),
    errno.EPERM: ("may not be written by you", "Change its permissions, or give another folder with --store DIR."),
    errno.ENOTDIR: ("is not a directory", "Give another folder with --store DIR."),
    errno.EEXIST: ("is not a directory", "Give another folder with --store DIR."),
    errno.EIO: ("gave an input/output error", "Look at the disk (dmesg), or give another folder with --store DIR."),
}


def new_session_id() -> str:
    """UTC time to the second, then 24 random bits: ids sort by time, and are unique between hosts."""
    return f"{time.strftime('%Y%m%dT%H%M%SZ', time.gmtime())}-{secrets.token_hex(3)}"


def store_error(folder: Path, error: OSError, kept: str = "") -> ResultError:
    """The error for an OSError on the store; `kept` tells what is safe nevertheless."""
    state, step = _CAUSES.get(error.errno or 0, (f"gave an error ({error.strerror})", "Give another with --store DIR."))
    return ResultError(f"The store of results, {folder}, {state}." + (f" {kept}" if kept else ""), step)


class ResultWriter:
    """A growing file, from Store.create. Use it in a `with`, which ends the file however the block ends."""

    def __init__(self, folder: Path, session: Session) -> None:
        """Creates the file on the disk, with the session as its first line. Raises ResultError if that fails."""
        if not _ID.fullmatch(session.id):
            raise ValueError(f"a session's id comes from new_session_id(), not {session.id!r}")
        self.folder = folder
        self.path = folder / (session.id + SUFFIX)
        self.kept = 0  #: runs, failures and unsupported rows in the file
        self._ended = False
        self._gathering = Gathering()
        self._lines = self._size = 0
        self._started = time.monotonic()
        try:
            folder.mkdir(parents=True, exist_ok=True)
            _check_free(folder)
            self._file = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC, 0o644)
        except OSError as error:
            raise store_error(folder, error) from error
        try:
            with contextlib.suppress(OSError):  # without locks (some network file systems) "growing" is not shown
                fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            line, self._gathering.session = _encoded(session)
            self._append(line)
            os.fsync(self._file)
            _sync_folder(folder)
        except BaseException as error:
            self._discard()
            if isinstance(error, OSError):
                raise store_error(folder, error) from error
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        if self._ended:
            return
        if kind is None:
            self.end(complete=True)
            return
        reason = "interrupted" if issubclass(kind, KeyboardInterrupt) else str(error) or kind.__name__
        with contextlib.suppress(ResultError):  # report only the first error
            self.end(complete=False, reason=reason[:1000])

    def add(self, record: AnyRecord, line: bytes = b"") -> None:
        """Appends one record: as the `line` that the probe printed, with unknown fields; or encoded. Raises ResultError
        if it cannot be written; earlier records stay."""
        if self._ended:
            raise ValueError("the result has ended")
        if not line:
            line, record = _encoded(record)
        try:
            self._append(line)
        except OSError as error:
            raise store_error(self.folder, error, self._what_is_safe()) from error
        self._gathering.add(self._lines, record)
        self.kept += isinstance(record, Run | Failure | Unsupported)

    def end(self, *, complete: bool, reason: str = "") -> None:
        """Writes the last record and syncs the file; a session without any row leaves no file behind."""
        if self._ended:
            return
        self._ended = True
        if not self.kept and not complete:
            self._discard()
            return
        line, end = _encoded(End(complete=complete, reason=reason, seconds=time.monotonic() - self._started))
        self._gathering.add(self._lines + 1, end)
        try:
            self._append(line)
            os.fsync(self._file)
        except OSError as error:
            raise store_error(self.folder, error, self._what_is_safe()) from error
        finally:
            os.close(self._file)

    def result(self) -> Result:
        """What a reader makes of the ended file, without parsing it again."""
        return self._gathering.result()

    def _what_is_safe(self) -> str:
        return f"What was measured until then ({self.kept} runs) is kept in {self.path}."

    def _append(self, line: bytes) -> None:
        """Writes a whole line or nothing: a partial line is cut off again."""
        data = memoryview(line + b"\n")
        size = len(data)
        try:
            while data:
                data = data[os.write(self._file, data) :]
        except BaseException:
            with contextlib.suppress(OSError):
                os.ftruncate(self._file, self._size)
            raise
        self._size += size
        self._lines += 1

    def _discard(self) -> None:
        self._ended = True
        with contextlib.suppress(OSError):
            self.path.unlink()
        os.close(self._file)


def write_publication(folder: Path, publication: Publication) -> Path:
    """A new file for an imported result, whole or not at all. Raises ResultError if it cannot be written."""
    records: tuple[AnyRecord, ...] = (publication.paper, *publication.figures)
    lines = b"".join(_encoded(record)[0] + b"\n" for record in records)
    return _write_whole(folder / (publication.paper.name + SUFFIX), lines)


class Kept(Enum):
    """The outcome for a file from elsewhere."""

    NEW = "new"
    THERE = "there already"
    COMPLETED = "completed"  #: the file there was a beginning of it


def write_copy(folder: Path, name: str, content: bytes) -> tuple[Path, Kept]:
    """Copies a result's file from elsewhere, whole or not at all; of two, one the beginning of the other, the longer
    stays.

    Raises ResultError if the name is not a result's or belongs to another result, or if it cannot be written.
    """
    if not name.endswith(SUFFIX) or not _ID.fullmatch(name.removesuffix(SUFFIX)):
        raise ResultError(f"{name[:100]!r} is not the name of a result's file.")
    final = folder / name
    try:
        there = final.read_bytes() if final.exists() else None
    except OSError as error:
        raise store_error(folder, error) from error
    if there is None:
        return _write_whole(final, content), Kept.NEW
    if there.startswith(content):
        return final, Kept.THERE
    if content.startswith(there) and not is_growing(final):
        return _write_whole(final, content), Kept.COMPLETED
    raise ResultError(f"{final} exists and is another result.", "Rename one of the two.")


def _write_whole(final: Path, content: bytes) -> Path:
    """Writes the file and returns its path. Raises ResultError if it cannot be written, and then leaves no file."""
    scratch = final.with_suffix(f".{os.getpid()}.new")  # two processes may write the same file at once
    try:
        final.parent.mkdir(parents=True, exist_ok=True)
        scratch.write_bytes(content)
        scratch.rename(final)
    except OSError as error:
        raise store_error(final.parent, error) from error
    finally:
        with contextlib.suppress(OSError):
            scratch.unlink()
    return final


def _encoded(record: _Kind) -> tuple[bytes, _Kind]:
    """The record as a line, and as a reader has it. Raises ValueError for a record that it refuses (a NaN becomes
    null)."""
    line = _ENCODER.encode(record)
    try:
        return line, cast("_Kind", parse_record(line))
    except DamagedError as error:
        raise ValueError(f"not a valid record: {error}") from error


def _check_free(folder: Path) -> None:
    """Raises OSError(ENOSPC) before measuring if the disk is almost full."""
    space = os.statvfs(folder)
    if space.f_blocks and space.f_bavail * space.f_frsize < MIN_FREE:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def _sync_folder(folder: Path) -> None:
    """Syncs the directory, so that the file's name survives a power cut; some file systems cannot, which is ignored."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        with contextlib.suppress(OSError):
            os.fsync(handle)
    finally:
        os.close(handle)


def is_result(name: str) -> bool:
    """Whether a file of this name may be a result, compressed or not."""
    return name.endswith(_RESULTS) and name.isprintable()


def is_growing(path: Path) -> bool:
    """Whether a process is writing that file now."""
    try:
        with path.open("rb") as file:
            return is_held(file, fcntl.LOCK_SH)
    except OSError:
        return False
