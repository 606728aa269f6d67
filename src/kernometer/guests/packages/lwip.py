"""lwIP's sources, of which Trio makes its network: the distribution's source package, fetched once and kept.

Nothing of lwIP is part of Kernometer. Without a mirror that has it Trio is built all the same, and has no network.
"""

from __future__ import annotations

import platform
import shutil
from pathlib import Path

from kernometer.cache import cache_folder, kept
from kernometer.errors import MissingError, TargetError
from kernometer.guests.packages import suites

#: Of the package, what is kept: its C, and the licence that goes with it.
PARTS = ("src", "COPYING")


def sources(say: suites.Say) -> Path | None:
    """The folder of the sources; None where they are not to be had, and `say` tells why."""
    try:
        release = platform.freedesktop_os_release()
    except OSError:
        release = {}
    name = "-".join(release.get(key, "") for key in ("ID", "VERSION_ID"))
    try:
        return kept(cache_folder() / "lwip" / name, _fetched)
    except (MissingError, TargetError) as error:
        say(f"trio: without network, since lwIP's sources are not to be had: {error}")
        return None


def make_words(network: Path | None) -> tuple[str, ...]:
    """For Trio's make: its network of these sources; None: it has none."""
    return () if network is None else (f"LWIP={network}",)


def _fetched(scratch: Path) -> Path:
    """A folder in `scratch` with the parts. Raises MissingError, TargetError."""
    whole, ready = suites.source("lwip", scratch), scratch / "ready"
    if not (whole / "src" / "core" / "tcp.c").is_file():
        raise TargetError("The source package lwip has no src/core/tcp.c.", "Report this package.")
    ready.mkdir()
    for part in PARTS:
        shutil.move(whole / part, ready / part)
    return ready
