"""The programs that rows run in a guest, given to it for those rows alone: what they are called, and where they are
from.

busybox is in every guest already; a compiler is megabytes of initramfs, and would move the counts of rows without it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from kernometer.errors import MissingError, TargetError
from kernometer.guests import programs, tcc

BUSYBOX_STEP = "Debian, Ubuntu: apt-get install busybox-static."


@dataclass(frozen=True, slots=True)
class Tools:
    """Files of the guest's initramfs, and words for the probe: why a program is not there."""

    files: Mapping[str, bytes] = field(default_factory=dict)
    arguments: tuple[str, ...] = ()


def provide(needs: Iterable[str]) -> Tools:
    """For those of `needs` that are programs. For one that cannot be had there is the reason, in words for the probe:
    its rows are then unsupported, and the others are measured."""
    wanted = set(needs)
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
