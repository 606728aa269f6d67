"""Static programs for a guest besides the probe, and their compiler, which is also the probe's.

They are linked with musl if it is installed: it is small, and the host's C library then does not affect the counts.
"""

from __future__ import annotations

import os
import platform
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from kernometer.cache import compiled
from kernometer.errors import MissingError, UsageError
from kernometer.guests.architecture import ALL, X86_64, Architecture
from kernometer.processes import called

#: musl's wrapper hides the kernel's headers; these flags add them after its own.
MUSL_FLAGS = ("-idirafter", "/usr/include", "-idirafter", f"/usr/include/{os.uname().machine}-linux-gnu")
#: A file with an interpreter in its first page is not static.
INTERPRETER = b"/lib64/ld-linux"
PAGE = 4096
#: Other programs that guests need, and their packages in Debian and Ubuntu.
PACKAGES = {
    "gcc": "gcc",
    "ld": "binutils",
    "lz4": "lz4",
    "make": "make",
    "objcopy": "binutils",
    "zstd": "zstd",
    **{each.emulator: each.package for each in ALL},
}


@dataclass(frozen=True, slots=True)
class Provided:
    """A guest's files, and the probe's arguments for what its rows need: where it is, or why it is missing."""

    files: Mapping[str, bytes] = field(default_factory=dict)
    arguments: tuple[str, ...] = ()


def need(what: str, *names: str) -> None:
    """Raises MissingError, with the command that installs them, if programs of PACKAGES are missing. `what` is the
    beginning of its sentence: who needs them."""
    missing = [name for name in names if shutil.which(name) is None]
    if missing:
        packages = " ".join(dict.fromkeys(PACKAGES[name] for name in missing))
        raise MissingError(
            f"{what}, and there is no {' and no '.join(missing)} here.",
            f"Debian, Ubuntu: apt-get install {packages}. docs/install.md lists all that guests need.",
        )


def static_compiler(architecture: Architecture = X86_64) -> tuple[str, ...]:
    """A compiler with flags whose programs need only a kernel: musl-gcc, else gcc with a static libc; for another
    architecture its cross compiler. Raises MissingError without it."""
    if architecture.compiler:
        if shutil.which(architecture.compiler) is None:
            raise MissingError(
                f"Programs for {architecture.name} need a compiler, and there is no {architecture.compiler} here.",
                f"Debian, Ubuntu: apt-get install {architecture.compiler_package}.",
            )
        return (architecture.compiler, "-O2", "-static")
    if shutil.which("musl-gcc"):
        return ("musl-gcc", "-O2", "-static", *MUSL_FLAGS)
    if shutil.which("gcc"):
        return ("gcc", "-O2", "-static")
    raise MissingError(
        "A guest's programs need a compiler that links statically.", "Debian, Ubuntu: apt-get install musl-tools."
    )


def init(architecture: Architecture = X86_64, *, stranger: bool = False) -> Path:
    """The guest's first process; of a stranger's kernel, neither Linux nor Trio, it goes on without what that lacks.
    Raises MissingError or BuildError."""
    folder = Path(__file__).parent
    parts = [folder / name for name in ("init_port.c", "init_command.c", "init_devices.c", "init_console.c")]
    told = ("-DKM_STRANGER",) if stranger else ()
    command = (*static_compiler(architecture), "-std=gnu99", "-no-pie", *told, *map(str, parts))
    return compiled("init", command, (folder / "init.c", *parts, folder / "init.h"))


#: Where our loader is linked, as its own source has it: a BSD's kernel goes below, QEMU's modules come above.
LOADER_AT = 0x10000000


def loader() -> Path:
    """The multiboot kernel that starts a BSD's. Raises MissingError or BuildError."""
    folder = Path(__file__).parent
    need("A BSD's kernel needs our loader", "gcc", "ld")
    command = (
        *("gcc", "-m32", "-std=gnu99", "-Os", "-ffreestanding", "-nostdlib", "-static", "-fno-pic", "-no-pie", "-s"),
        *("-fno-stack-protector", "-fno-asynchronous-unwind-tables"),
        f"-Wl,-N,-Ttext={LOADER_AT:#x},--build-id=none",
    )
    return compiled("loader", command, (folder / "loader.c", folder / "loader_blocks.h"))


def busybox() -> bytes:
    """The static busybox if it is installed, for rows that run a shell; else b""."""
    path = shutil.which("busybox")
    if path is None:
        return b""
    program = Path(path).read_bytes()
    return b"" if INTERPRETER in program[:PAGE] else program


#: Files that init_command.c reads: init's command, and one that runs before it, without output.
COMMAND, BEFORE = "opt/km/command", "opt/km/before"
#: Padding makes all commands up to this size cost the same.
UNIT = 4096
#: The limits of init_command.c, and of a probe that waits (probe/wait.c).
MAX_BYTES, MAX_WORDS = 65536, 1024


def encoded(words: Sequence[str]) -> bytes:
    """A NUL after each word, then NULs up to a multiple of UNIT. Raises UsageError beyond init's limits."""
    line = b"".join(word.encode() + b"\0" for word in words)
    if len(line) > MAX_BYTES or len(words) > MAX_WORDS or not all(words) or any("\0" in word for word in words):
        raise UsageError(
            f"A command of {len(words)} words and {len(line)} bytes does not fit into a guest.", "Name fewer rows."
        )
    return line.ljust(UNIT, b"\0") + bytes(-len(line) % UNIT if len(line) > UNIT else 0)


def version(program: str) -> str:
    """The first line of a compiler's version message: a compiler is upgraded in place."""
    return called((program, "--version"), 60).stdout.partition("\n")[0]


def distribution() -> tuple[str, str]:
    """The host's distribution and its release, which has one version of each source package."""
    try:
        release = platform.freedesktop_os_release()
    except OSError:
        release = {}
    return release.get("ID", ""), release.get("VERSION_ID", "")
