"""Reads Linux's files about itself. It never raises or waits, and reads at most a page or two of text."""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from kernometer.text import printable

#: Linux's directory of CPUs.
CPU = "sys/devices/system/cpu"
#: Bytes read of one file: /proc/stat of a large machine is the longest one needed.
MOST_BYTES = 1 << 20
#: Characters of a value that are shown and recorded.
MOST_TEXT = 200
#: Entries of one directory, and CPUs of one list, that are read: invalid data must not take minutes.
MOST_ENTRIES = 65536


@dataclass(frozen=True, slots=True)
class Tree:
    """The file system below `root`."""

    root: Path

    def raw(self, path: str) -> str | None:
        """The text of a regular file; None if it does not exist or cannot be read."""
        try:
            handle = os.open(self.root / path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)  # do not wait on a FIFO
        except (OSError, ValueError):
            return None
        try:
            if not stat.S_ISREG(os.fstat(handle).st_mode):
                return None
            return _read(handle).decode("utf-8", "replace")
        except OSError:
            return None
        finally:
            os.close(handle)

    def text(self, path: str) -> str:
        """The file as one line that is safe to show; "" if it does not exist."""
        return clean(self.raw(path) or "")

    def number(self, path: str) -> int | None:
        """The file as a decimal number; None for another text."""
        return integer(self.text(path))

    def names(self, folder: str) -> tuple[str, ...]:
        """Names of a directory's entries, sorted; () without a directory."""
        try:
            with os.scandir(self.root / folder) as entries:
                return tuple(sorted(entry.name for _, entry in zip(range(MOST_ENTRIES), entries, strict=False)))
        except (OSError, ValueError):
            return ()

    def cpu_folders(self) -> tuple[str, ...]:
        """The directory of each CPU that is present."""
        return tuple(f"{CPU}/{name}" for name in self.names(CPU) if name.startswith("cpu") and name[3:].isdecimal())

    def fields(self, path: str) -> dict[str, str]:
        """A file of `name: value` lines, the first of each name (/proc/meminfo, /proc/self/status, /proc/cpuinfo)."""
        fields: dict[str, str] = {}
        for line in (self.raw(path) or "").splitlines():
            name, colon, value = line.partition(":")
            if colon:
                fields.setdefault(clean(name), clean(value))
        return fields


@dataclass(frozen=True, slots=True)
class Told(Tree):
    """The files that another host sent: path below its root → content, which may be anything."""

    root: Path = Path()
    files: Mapping[str, str] = field(default_factory=dict)

    def raw(self, path: str) -> str | None:
        return self.files.get(path)

    def names(self, folder: str) -> tuple[str, ...]:
        below = (path.removeprefix(f"{folder}/") for path in self.files if path.startswith(f"{folder}/"))
        return tuple(sorted({name.partition("/")[0] for name in below}))


def _read(handle: int) -> bytes:
    parts = b""
    while len(parts) < MOST_BYTES:
        part = os.read(handle, MOST_BYTES - len(parts))
        if not part:
            break
        parts += part
    return parts


def clean(text: str) -> str:
    """One line, spaces collapsed, safe for a terminal, at most MOST_TEXT characters."""
    return printable(" ".join(text[: 4 * MOST_TEXT].replace("\0", " ").split()), limit=MOST_TEXT)


def integer(text: str) -> int | None:
    """A decimal number of at most 19 digits; None for anything else."""
    digits = text.removeprefix("-")
    return int(text) if digits.isascii() and digits.isdecimal() and len(digits) < 20 else None


def cpu_list(text: str) -> frozenset[int]:
    """The CPUs of a list such as `0-3,8`; invalid parts are left out."""
    cpus: set[int] = set()
    for part in text.split(","):
        low, dash, high = part.strip().partition("-")
        first, last = integer(low), integer(high if dash else low)
        if first is not None and last is not None and 0 <= first <= last < MOST_ENTRIES:
            cpus.update(range(first, last + 1))
    return frozenset(cpus)


def chosen(text: str) -> str:
    """The choice in brackets of `always [madvise] never`; "" without one."""
    _, opening, rest = text.partition("[")
    inner, closing, _ = rest.partition("]")
    return inner if opening and closing else ""
