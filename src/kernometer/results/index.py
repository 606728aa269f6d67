"""The index of a store: sqlite3 tables of the files' summaries and figures. It is a copy: its loss costs no result.

Each use updates it from the directory: a file is read again if its size or time has changed, and removed if it is gone.
An index that is damaged, of another version, locked for too long or on a read-only disk is replaced by a new one, if
necessary in memory. Lists and names need only the summaries, and open no file.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import sqlite3
import stat
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path

from kernometer.errors import MissingError
from kernometer.results.model import Publication, Result
from kernometer.results.writer import SUFFIX, is_growing, is_result

NAME = "index.sqlite"
VERSION = 4
PATIENCE_S = 3.0  #: how long to wait for another process's transaction

#: Errors of the disk, or of concurrent use, which a new index in the same place would meet too.
_NOT_ITS_FAULT = frozenset(
    {
        sqlite3.SQLITE_BUSY,
        sqlite3.SQLITE_LOCKED,
        sqlite3.SQLITE_READONLY,
        sqlite3.SQLITE_CANTOPEN,
        sqlite3.SQLITE_FULL,
        sqlite3.SQLITE_IOERR,
        sqlite3.SQLITE_PERM,
        sqlite3.SQLITE_AUTH,
    }
)


@dataclass(frozen=True, slots=True)
class Summary:
    """A result file of the store. If it cannot be read, `problem` is set, and everything else but the path is empty."""

    path: Path
    id: str = ""
    label: str = ""
    target: str = ""
    by: str = ""
    profile: str = ""
    started: float = 0.0  #: seconds since the epoch, UTC
    seconds: float = 0.0  #: of the session; 0: not known
    kernel: str = ""  #: name and release from the probe's uname
    host: str = ""  #: see host_key
    probe: str = ""  #: see Result.build
    machine: str = ""  #: from the session, as is board
    board: str = ""
    image: str = ""
    experiment: str = ""
    side: str = ""
    rows: int = 0
    runs: int = 0
    failures: int = 0
    complete: bool = False
    damage: int = 0  #: sentences of damage
    problem: str = ""
    growing: bool = False  #: a process is measuring it now; never set in the index


_COLUMNS = tuple(field.name for field in fields(Summary) if field.name not in ("path", "growing"))
_SCHEMA = f"""
CREATE TABLE IF NOT EXISTS files (
    name TEXT PRIMARY KEY, size INTEGER NOT NULL, mtime_ns INTEGER NOT NULL, {", ".join(_COLUMNS)}
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS derived (
    name TEXT PRIMARY KEY, size INTEGER NOT NULL, mtime_ns INTEGER NOT NULL, what TEXT NOT NULL, content BLOB NOT NULL
);
PRAGMA user_version = {VERSION};
"""
# Names of columns are those of Summary; every value is bound.
_INSERT = f"INSERT OR REPLACE INTO files VALUES ({', '.join('?' * (len(_COLUMNS) + 3))})"  # noqa: S608  # no data
_DERIVED = "SELECT name, content FROM derived JOIN files USING (name, size, mtime_ns) WHERE what = ?"
_DERIVE = "INSERT OR REPLACE INTO derived SELECT name, size, mtime_ns, ?, ? FROM files WHERE name = ?"
_SELECT = f"SELECT name, {', '.join(_COLUMNS)} FROM files ORDER BY started DESC, id DESC, name"  # noqa: S608  # no data


#: Makes a summary of each file, in their order.
Read = Callable[[Sequence[Path]], Iterable[Summary | MissingError]]


def summaries(folder: Path, read: Read) -> list[Summary]:
    """All results of a directory, newest first; `read` gets the files that are new or have changed. One for which it
    gives a MissingError is listed as unreadable, and read again the next time."""
    path = folder / NAME
    try:
        return _through(folder, str(path), read)
    except sqlite3.DatabaseError as error:
        if getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF not in _NOT_ITS_FAULT:
            with contextlib.suppress(OSError, sqlite3.DatabaseError):
                path.unlink()
                return _through(folder, str(path), read)
    return _through(folder, ":memory:", read)


def derived(
    folder: Path, paths: Sequence[Path], what: str, make: Callable[[Sequence[Path]], Iterator[bytes]]
) -> Iterator[bytes]:
    """What `make` makes of each of these files, whose summaries are in the index. It is kept there; `what` names
    function and version, and `make` gets the files of which it is not."""
    known: dict[str, bytes] = {}
    fresh = []
    with contextlib.suppress(sqlite3.DatabaseError), contextlib.closing(_connected(str(folder / NAME))) as database:
        known = dict(database.execute(_DERIVED, (what,)))
    made = make([path for path in paths if path.name not in known])
    try:
        for path in paths:
            if path.name not in known:
                known[path.name] = next(made)
                fresh.append((what, known[path.name], path.name))
            yield known.pop(path.name)
    finally:  # also of an interrupted call
        with contextlib.suppress(sqlite3.DatabaseError), contextlib.closing(_connected(str(folder / NAME))) as database:
            database.execute("BEGIN IMMEDIATE")
            database.executemany(_DERIVE, fresh)
            database.execute("DELETE FROM derived WHERE name NOT IN (SELECT name FROM files)")
            database.execute("COMMIT")


def _connected(database_name: str) -> sqlite3.Connection:
    return sqlite3.connect(database_name, timeout=PATIENCE_S, isolation_level=None)


def _through(folder: Path, database_name: str, read: Read) -> list[Summary]:
    """Updates that database and returns its rows. Raises sqlite3.DatabaseError."""
    with contextlib.closing(_connected(database_name)) as database:
        version = database.execute("PRAGMA user_version").fetchone()[0]
        if version not in (0, VERSION):
            raise sqlite3.DatabaseError("an index of another version")
        if version == 0:
            database.executescript(_SCHEMA)
        there = {name: (size, mtime_ns) for name, size, mtime_ns in _files(folder)}
        known = {row[0]: row[1:] for row in database.execute("SELECT name, size, mtime_ns FROM files")}
        gone = [(name,) for name in known if name not in there]
        fresh: list[tuple[object, ...]] = []
        unread: list[Summary] = []
        new = [name for name in there if known.get(name) != there[name]]
        for name, made in zip(new, read([folder / name for name in new]), strict=True):  # slow: no transaction yet
            if isinstance(made, MissingError):  # not stored: the missing program may be installed
                unread.append(Summary(folder / name, problem=made.text))
            else:
                fresh.append((name, *there[name], *_values(made)))
        if fresh or gone:
            database.execute("BEGIN IMMEDIATE")
            database.executemany("DELETE FROM files WHERE name = ?", gone)
            database.executemany(_INSERT, fresh)
            database.execute("COMMIT")
        rows = database.execute(_SELECT).fetchall()
    return [_summary(folder, row) for row in rows if row[0] in there] + unread


def _files(folder: Path) -> Iterator[tuple[str, int, int]]:
    """Name, size and time of every regular file that may be a result."""
    with os.scandir(folder) as entries:
        for entry in entries:
            if not is_result(entry.name):
                continue
            stem, _, compression = entry.name.rpartition(SUFFIX)
            if compression and (folder / (stem + SUFFIX)).exists():  # this is a compressed copy
                continue
            with contextlib.suppress(OSError):  # it is gone
                status = entry.stat()
                if stat.S_ISREG(status.st_mode):
                    yield entry.name, status.st_size, status.st_mtime_ns


def _values(summary: Summary) -> tuple[object, ...]:
    return tuple(getattr(summary, column) for column in _COLUMNS)


def _summary(folder: Path, row: tuple[object, ...]) -> Summary:
    path = folder / str(row[0])
    values = dict(zip(_COLUMNS, row[1:], strict=True))
    values["complete"] = bool(values["complete"])
    summary = Summary(path=path, **values)  # type: ignore[arg-type]  # sqlite3 gives back what _values put in
    return summary if summary.complete or summary.problem else replace(summary, growing=is_growing(path))


#: What a summary takes from the session, under the same names.
_OF_SESSION = ["id", "label", "target", "by", "profile", "started", "machine", "board", "image", "experiment", "side"]


def summarize(path: Path, result: Result) -> Summary:
    session = result.session
    return Summary(
        path=path,
        **{name: getattr(session, name) for name in _OF_SESSION},
        seconds=result.end.seconds if result.end else 0.0,
        kernel=result.kernel,
        host=host_key(result),
        probe=result.build,
        rows=len(result.rows),
        runs=len(result.runs),
        failures=len({failure.row for failure in result.failures}),
        complete=result.complete,
        damage=len(result.damage),
    )


def summarize_imported(path: Path, publication: Publication) -> Summary:
    """The summary of figures without samples: its target is the suite, its kernel the machine's description."""
    paper = publication.paper
    return Summary(
        path=path,
        id=paper.name,
        label=paper.label,
        target=paper.suite or "published",
        by="time",
        started=paper.imported,
        kernel=paper.systems[0].name if paper.systems else "",
        rows=len(publication.figures),
        complete=True,
    )


def host_key(result: Result) -> str:
    """Equal for results of one machine: the guest's machine; the host's id, architecture, CPU and number of CPUs.

    Machines cloned from one image share an id, so the CPU is part of the key. A host without an id has its name. The
    kernel is not part of it: a host with a new kernel is the same host.
    """
    header = result.header
    parts = [result.session.machine]
    if header is not None:
        parts += [result.session.host_id or header.uname.get("nodename", ""), header.uname.get("machine", "")]
        parts += [str(header.cpu.get("model", "")), str(header.cpu.get("online", ""))]
    return hashlib.sha256("\0".join(parts).encode("utf-8", "replace")).hexdigest()[:16]
