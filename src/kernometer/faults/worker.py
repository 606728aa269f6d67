"""The worker (`guest/worker.c`): how it is compiled, and the content of its files, version by version.

The head of its source defines its events. The rules of the content are repeated here on purpose: the judge of what the
worker wrote must not ask the worker.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

from kernometer.cache import compiled
from kernometer.guests.inside import programs

LARGEST = 65536
#: A file has at most so many changes without a "kept" event.
MOST_LOOSE = 16
#: The C that runs in a guest.
SOURCES = Path(__file__).parent / "guest"
_WORD = 2**64 - 1
#: A version is made from the one before it: in steps of so many, which bounds the recursion.
_STEP = 100


def program(flags: Sequence[str] = ()) -> Path:
    """The static program, for this host and its guests. Raises MissingError without a compiler, BuildError."""
    parts = [SOURCES / name for name in ("worker_events.c", "worker_files.c")]
    command = (*programs.static_compiler(), "-std=gnu99", *flags, *map(str, parts))
    return compiled("worker", command, (SOURCES / "worker.c", *parts, SOURCES / "worker.h"))


def content(seed: int, file: int, version: int) -> bytes:
    """What this version of the file holds."""
    for before in range(0, version, _STEP):
        _content(seed, file, before)
    return _content(seed, file, version)


@lru_cache(maxsize=1024)
def _content(seed: int, file: int, version: int) -> bytes:
    if version == 0:
        return b""
    data = bytearray(_content(seed, file, version - 1))
    s = _h(_h(_h(0, seed), file), version)
    kind, where, count = _h(s, 0) % 8, _h(s, 1), 1 + _h(s, 2) % 6000
    at = len(data) if kind <= 3 else where % (len(data) + 3000)
    if kind == 0 or at + count > LARGEST:
        length = where % (LARGEST + 1 if kind == 0 else len(data) + 1)
        return bytes(data[:length].ljust(length, b"\0"))
    data.extend(bytes(max(at + count - len(data), 0)))
    first, last = at // 8, (at + count - 1) // 8
    words = struct.pack(f"<{last - first + 1}Q", *(_h(s, 16 + word) for word in range(first, last + 1)))
    data[at : at + count] = words[at - first * 8 :][:count]
    return bytes(data)


def _h(a: int, b: int) -> int:
    x = a ^ (b + 1) * 0x9E3779B97F4A7C15 & _WORD
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9 & _WORD
    x = (x ^ x >> 27) * 0x94D049BB133111EB & _WORD
    return x ^ x >> 31
