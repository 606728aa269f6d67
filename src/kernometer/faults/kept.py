"""What a disk must contain after a crash, by the events of faults/worker.c, and what it has lost of that. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

_ONES = (1 << 64) - 1
#: The rules at the head of worker.c.
LARGEST, MOST_COUNT, BEYOND = 65536, 6000, 3000


def hashed(a: int, b: int) -> int:
    """h(a, b) of worker.c."""
    x = a ^ (b + 1) * 0x9E3779B97F4A7C15 & _ONES
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9 & _ONES
    x = (x ^ x >> 27) * 0x94D049BB133111EB & _ONES
    return x ^ x >> 31


def content(seed: int, file: int, version: int) -> bytes:
    """A version of a file."""
    made = bytearray()
    for number in range(1, version + 1):
        s = hashed(hashed(hashed(0, seed), file), number)
        kind, where, count = hashed(s, 0) % 8, hashed(s, 1), 1 + hashed(s, 2) % MOST_COUNT
        offset = len(made) if kind <= 3 else where % (len(made) + BEYOND)
        if kind == 0 or offset + count > LARGEST:
            length = where % (LARGEST + 1 if kind == 0 else len(made) + 1)
            made = made[:length].ljust(length, b"\0")
            continue
        words = range(offset // 8, (offset + count + 7) // 8)
        drawn = b"".join(hashed(s, 16 + word).to_bytes(8, "little") for word in words)
        made = made.ljust(offset, b"\0")
        made[offset : offset + count] = drawn[offset % 8 : offset % 8 + count]
    return bytes(made)


def lost(events: Iterable[Mapping[str, Any]], files: Mapping[str, bytes]) -> tuple[str, ...]:
    """The paths whose last state that was kept is not what `files`, the disk's, has there."""
    seed = 0
    kept: dict[str, tuple[int, int]] = {}
    gone: set[str] = set()
    for one in events:
        match one:
            case {"event": "start", "seed": int(given)}:
                seed = given
            case {"event": "kept", "path": str(path), "file": int(file), "version": int(version)}:
                kept[path] = file, version
                gone.discard(path)
            case {"event": "gone", "path": str(path)}:
                gone.add(path)
                kept.pop(path, None)
            case {"event": "changes", "path": str(path), "file": int(file)}:
                touched = {path, one.get("to")}
                kept = {at: of for at, of in kept.items() if at not in touched and of[0] != file}
                gone -= touched
            case _:
                pass
    wrong = {path for path, (file, version) in kept.items() if files.get(path) != content(seed, file, version)}
    return tuple(sorted(wrong | (gone & set(files))))
