"""The programs that some rows run in a guest, which only the guests of these rows contain.

busybox is in every guest already; a compiler is megabytes of initramfs, and would change the counts of other rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from kernometer.errors import MissingError, TargetError
from kernometer.guests import store
from kernometer.guests.architecture import X86_64
from kernometer.guests.inside import programs, tcc

BUSYBOX_STEP = "Debian, Ubuntu: apt-get install busybox-static."


@dataclass(frozen=True, slots=True)
class Tools:
    """Files of the guest's initramfs, and arguments for the probe: why a program is missing."""

    files: Mapping[str, bytes] = field(default_factory=dict)
    arguments: tuple[str, ...] = ()


def provide(needs: Iterable[str], guest: store.Guest | None = None) -> Tools:
    """The programs among `needs`, for `guest` or any guest of this host's architecture. For a missing program the
    probe's arguments contain the reason: its rows are then unsupported, and the others are measured."""
    wanted = set(needs)
    if guest is not None and guest.architecture is not X86_64:
        lacking = wanted & {"tcc"} | (wanted & {"busybox"} if not guest.manifest.busybox_sha256 else set())
        reasons = (f"{name}=Guests of {guest.architecture.name} have no {name}." for name in sorted(lacking))
        return Tools(arguments=tuple(word for reason in reasons for word in ("--no-program", reason)))
    files: Mapping[str, bytes] = {}
    words: tuple[str, ...] = ()
    if "busybox" in wanted and not programs.busybox():
        words += ("--no-program", f"busybox=There is no static busybox on this host. {BUSYBOX_STEP}")
    if "tcc" in wanted:
        try:
            files = tcc.toolchain()
        except (MissingError, TargetError) as error:
            words += ("--no-program", f"tcc={error.text} {error.next_step}".rstrip())
    return Tools(files, words)
