"""The emulator's plugins, built for the installed QEMU and kept in the cache."""

from __future__ import annotations

import functools
import mmap
import os
import shlex
import shutil
from pathlib import Path
from typing import Literal

from kernometer.cache import compiled
from kernometer.errors import KernometerError, MissingError
from kernometer.guests.emulator.qemu import PROGRAM, QemuVersion

#: Counts events in all timed regions; records the instructions of one; stops the machine where a probe waits.
Kind = Literal["events", "profile", "stop"]
FLAGS = ("-std=c99", "-D_XOPEN_SOURCE=700", "-O2", "-fPIC", "-fvisibility=hidden", "-shared")

EXPORTED = (b"cpu_memory_rw_debug", b"cpu_physical_memory_rw", b"x86_cpu_gdb_read_register")
#: The first QEMU with each number of the plugin interface (QEMU, include/qemu/qemu-plugin.h, QEMU_PLUGIN_VERSION).
API_SINCE = (((9, 2), 4), ((9, 1), 3), ((9, 0), 2), ((4, 2), 1))


def api_of(version: QemuVersion) -> int:
    """The number of the plugin interface. Raises MissingError for a QEMU without one."""
    for since, number in API_SINCE:
        if (version.major, version.minor) >= since:
            return number
    raise MissingError(f"QEMU {version} has no plugin interface.", "Install QEMU 4.2 or newer.")


def reads_pages(program: str = PROGRAM) -> bool:
    """Whether this emulator lets a plugin read registers and page tables: programs that load modules, as Debian's and
    Ubuntu's do, export the functions that qemu_api.h names."""
    path = shutil.which(program)
    return path is not None and _exports(path)


@functools.cache
def _exports(path: str) -> bool:
    with Path(path).open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
        return all(content.find(b"\0%s\0" % name) >= 0 for name in EXPORTED)


def find(version: QemuVersion) -> tuple[Path | None, MissingError | None]:
    """The plugin that counts events for this QEMU; or None, and the error of whoever measures by path."""
    try:
        return build(version, "events"), None
    except KernometerError as error:
        return None, MissingError(f"By path the emulator's plugin is needed. {error.text}", error.next_step)


def build(version: QemuVersion, kind: Kind) -> Path:
    """The plugin of this kind for this QEMU, compiled by CC if that is set.

    Raises MissingError without a compiler, BuildError with the compiler's messages.
    """
    folder = Path(__file__).parent
    compiler = shlex.split(os.environ.get("CC", "")) or ["cc"]
    command = (*compiler, *FLAGS, f"-DKM_PLUGIN_API={api_of(version)}")
    sources = (folder / f"{kind}.c", *sorted(folder.glob("*.h")))
    return compiled(f"{kind}.so", command, sources)
