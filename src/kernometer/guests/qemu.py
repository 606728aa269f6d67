"""QEMU as an exact instrument: its version and its argument vector. Pure but for asking the program its version.

Every option has a reason, given in docs/path.md; the argument vector is part of what a count means, so a test holds it.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from kernometer.errors import MissingError, TargetError

PROGRAM = "qemu-system-x86_64"
VERSION_SECONDS = 20

#: The standard machine: what guests of one comparison have in common.
MACHINE = "microvm,pcie=on"
CPU = "max,-erms"
MEMORY_MIB = 2048
COMMAND_LINE = "console=ttyS0 quiet nokaslr rdinit=/init panic=-1"
SEED = 1
#: The debug port that init.c writes to.
BULK_PORT = 0xE9


@dataclass(frozen=True, slots=True, order=True)
class QemuVersion:
    """7.2.22 as numbers; `text` is the program's own first line, package and all."""

    major: int
    minor: int
    micro: int
    text: str = ""

    def __str__(self) -> str:
        return f"{self.major}.{self.minor}.{self.micro}"


@dataclass(frozen=True, slots=True)
class Boot:
    """Files and options of one boot. Folders of ours hold no comma, which QEMU would take for a separator."""

    kernel: Path
    initrd: Path
    console: Path  #: what the guest's serial line prints; a file, since a slow reader of a pipe would disturb the guest
    bulk: Path  #: what init sends through the debug port
    command_line: str = COMMAND_LINE
    seed: int = SEED
    memory_mib: int = MEMORY_MIB
    plugin: Path | None = None
    events: Path | None = None  #: where the plugin writes


def detect(program: str = PROGRAM) -> QemuVersion:
    """Asks the program. Raises MissingError where it is not installed, TargetError where its answer makes no sense."""
    if shutil.which(program) is None:
        raise MissingError(f"There is no {program} here.", "Debian, Ubuntu: apt-get install qemu-system-x86.")
    try:
        done = subprocess.run((program, "--version"), capture_output=True, timeout=VERSION_SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise TargetError(f"{program} --version does not answer.", "Reinstall qemu-system-x86.") from error
    return parse_version(done.stdout.decode(errors="replace"))


def parse_version(said: str) -> QemuVersion:
    """From `QEMU emulator version 7.2.22 (Debian 1:7.2+dfsg-7+deb12u18+b3)` and what follows."""
    line = said.split("\n", 1)[0].strip()
    match = re.search(r"version (\d{1,4})\.(\d{1,4})(?:\.(\d{1,4}))?", line)
    if match is None:
        raise TargetError(f"{line[:100]!r} is not QEMU's answer to --version.", "Reinstall qemu-system-x86.")
    major, minor, micro = (int(number or 0) for number in match.groups())
    return QemuVersion(major, minor, micro, line[:200])


def machine(version: QemuVersion) -> str:
    """What two sessions must share for their counts to be comparable, as one line."""
    return f"QEMU {version} tcg icount; {MACHINE}; -cpu {CPU}; 1 CPU; {MEMORY_MIB} MiB; seed {SEED}"


def path_argv(boot: Boot, program: str = PROGRAM) -> tuple[str, ...]:
    """The command that boots a guest by path: its clock is the number of instructions executed."""
    for path in (boot.kernel, boot.initrd, boot.console, boot.bulk, boot.plugin, boot.events):
        if path is not None and "," in str(path):
            raise TargetError(f"{path}: QEMU takes a comma in a path for a separator.", "Set XDG_CACHE_HOME.")
    words = [
        *(program, "-no-user-config", "-nodefaults", "-display", "none", "-no-reboot"),
        *("-machine", MACHINE, "-accel", "tcg", "-smp", "1", "-cpu", CPU, "-m", str(boot.memory_mib)),
        *("-icount", "shift=0,sleep=off", "-rtc", "clock=vm,base=2025-01-01T00:00:00", "-seed", str(boot.seed)),
        *("-kernel", str(boot.kernel), "-initrd", str(boot.initrd), "-append", boot.command_line),
        *("-serial", f"file:{boot.console}"),
        *("-chardev", f"file,id=bulk,path={boot.bulk}"),
        *("-device", f"isa-debugcon,iobase={BULK_PORT:#x},chardev=bulk"),
    ]
    if boot.plugin is not None and boot.events is not None:
        words += ["-plugin", f"{boot.plugin},out={boot.events}"]
    return tuple(words)
