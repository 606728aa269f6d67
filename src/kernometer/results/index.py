"""The index of a store: a sqlite3 table of the files' summaries. It is a copy: losing it costs a second, no result.

Each use updates it from the directory: a file is read again when its size or time has changed, and removed when it is
gone. An index that is damaged, of another version, locked for too long or on a read-only disk is replaced by a new one,
if necessary in memory.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import stat
from collections.abc import Callable, Iterator
from dataclasses import fields, replace
from pathlib import Path

from kernometer.results.summary import Summary
from kernometer.results.writer import SUFFIX, is_growing

NAME = "index.sqlite"
VERSION = 3
PATIENCE_S = 3.0  #: how long to wait for another process's transaction

#: Errors of the disk, or of concurrent use: a new index in the same place would fail too.
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

_COLUMNS = tuple(field.name for field in fields(Summary) if field.name not in ("path", "growing"))
_SCHEMA = f"""
CREATE TABLE IF NOT EXISTS files (
    name TEXT PRIMARY KEY, size INTEGER NOT NULL, mtime_ns INTEGER NOT NULL, {", ".join(_COLUMNS)}
) WITHOUT ROWID;
PRAGMA user_version = {VERSION};
"""
# Names of columns are those of Summary; every value is bound.
_INSERT = f"INSERT OR REPLACE INTO files VALUES ({', '.join('?' * (len(_COLUMNS) + 3))})"  # noqa: S608  # no data
_SELECT = f"SELECT name, {', '.join(_COLUMNS)} FROM files ORDER BY started DESC, id DESC, name"  # noqa: S608  # no data


def summaries(folder: Path, read: Callable[[Path], Summary]) -> list[Summary]:
    """All results of a directory, newest first; `read` makes a summary of a file that is new or has changed."""
    path = folder / NAME
    try:
        return _through(folder, str(path), read)
    except sqlite3.DatabaseError as error:
        if getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF not in _NOT_ITS_FAULT:
            with contextlib.suppress(OSError, sqlite3.DatabaseError):
                path.unlink()
                return _through(folder, str(path), read)
    return _through(folder, ":memory:", read)


def _through(folder: Path, database_name: str, read: Callable[[Path], Summary]) -> list[Summary]:
    """Updates that database and returns its rows. Raises sqlite3.DatabaseError."""
    with contextlib.closing(sqlite3.connect(database_name, timeout=PATIENCE_S, isolation_level=None)) as database:
        version = database.execute("PRAGMA user_version").fetchone()[0]
        if version not in (0, VERSION):
            raise sqlite3.DatabaseError("an index of another version")
        if version == 0:
            database.executescript(_SCHEMA)
        found = {name: (size, mtime_ns) for name, size, mtime_ns in _files(folder)}
        known = {row[0]: row[1:] for row in database.execute("SELECT name, size, mtime_ns FROM files")}
        changed = [(name, *found[name]) for name in found if known.get(name) != found[name]]
        gone = [(name,) for name in known if name not in found]
        fresh = [(*key, *_values(read(folder / key[0]))) for key in changed]  # outside the transaction: reading is slow
        if fresh or gone:
            database.execute("BEGIN IMMEDIATE")
            database.executemany("DELETE FROM files WHERE name = ?", gone)
            database.executemany(_INSERT, fresh)
            database.execute("COMMIT")
        rows = database.execute(_SELECT).fetchall()
    return [_summary(folder, row) for row in rows if row[0] in found]


def _files(folder: Path) -> Iterator[tuple[str, int, int]]:
    """Name, size and time of every regular file that may be a result."""
    with os.scandir(folder) as entries:
        for entry in entries:
            if not entry.name.endswith(SUFFIX) or not entry.name.isprintable():
                continue
            with contextlib.suppress(OSError):  # gone since
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
