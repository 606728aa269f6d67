"""Stores findings about this host until it boots again, as they take seconds: one file each in the cache, which a user
may remove."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

import msgspec

from kernometer.cache import cache_folder, sha256
from kernometer.processes import scratch

BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
#: The most bytes of a finding, which is a few words.
MAX_BYTES = 1 << 16

_T = TypeVar("_T")


def boot_id() -> str:
    """Identifies this host's boot; "" if the system does not report it."""
    try:
        return BOOT_ID.read_text().strip()
    except OSError:
        return ""


def folder() -> Path:
    return cache_folder() / "found"


def until_reboot(name: str, key: Sequence[str], kind: type[_T], find: Callable[[], _T]) -> _T:
    """The result of `find`, from the cache if it was found with the same `key` since this host booted.

    A finding that cannot be stored, or read again as `kind`, is found again. Errors of `find` are raised, not stored.
    """
    boot = boot_id()
    if not boot:
        return find()
    remembered = known(name, key, kind)
    if remembered is not None:
        return remembered
    answer = find()
    with suppress(OSError):
        _keep(_path(boot, name, key), msgspec.json.encode(answer), boot)
    return answer


def known(name: str, key: Sequence[str], kind: type[_T]) -> _T | None:
    """What `until_reboot` has found and not forgotten."""
    path = _path(boot_id(), name, key)
    with suppress(OSError, msgspec.DecodeError):
        if path.stat().st_size <= MAX_BYTES:
            return msgspec.json.decode(path.read_bytes(), type=kind)
    return None


def _path(boot: str, name: str, key: Sequence[str]) -> Path:
    return folder() / f"{boot}-{name}-{sha256(repr(tuple(key)).encode())[:16]}.json"


def _keep(path: Path, data: bytes, boot: str) -> None:
    """Stores it completely or not at all; removes those of earlier boots."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with scratch(".new-", path.parent) as folder:
        made = folder / "finding"
        made.write_bytes(data)
        made.rename(path)
    for old in path.parent.glob("*.json"):
        if not old.name.startswith(boot):
            old.unlink(missing_ok=True)
