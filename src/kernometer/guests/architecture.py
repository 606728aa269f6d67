"""The architectures of guests: each one's emulator, machine, processor, console and compiler. Pure.

A guest's machine type names its architecture. docs/guests.md, "Other architectures".
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

#: QEMU's names are without the architecture.
MachineType = Literal["microvm", "pc", "q35", "i386-pc", "arm-virt", "riscv-virt"]


@dataclass(frozen=True, slots=True)
class Architecture:
    """A guest of another architecture than the host's has no KVM and none of the host's programs."""

    name: str  #: as `uname -m`
    debian: str  #: the distribution's name of it, at the end of a kernel package's name
    emulator: str  #: QEMU's program
    package: str  #: of the emulator
    machines: tuple[MachineType, ...]  #: the standard one first
    cpu: str  #: the standard one
    words: str = ""  #: for Linux's command line: its console, and permission for init to use the device of init_port.c
    compiler: str = ""  #: one that links statically for it; "": the host's
    compiler_package: str = ""
    counts: bool = True  #: a clock that user mode reads counts instructions by path; else the plugin does
    #: The place among the debugger's registers of the one that a waiting probe's marker uses (marker.c). None: a saved
    #: guest does not continue, so each row boots one.
    room: int | None = 0

    @property
    def is_x86(self) -> bool:
        """Whether it is x86-64's emulator and machine, with its ports and its plugins."""
        return self.emulator == X86_64.emulator


X86_64 = Architecture(
    "x86_64", "amd64", "qemu-system-x86_64", "qemu-system-x86", ("microvm", "pc", "q35"), "max", "console=ttyS0"
)
#: Programs of 32 bits, on the same machine.
I386 = Architecture(
    "i386",
    "i386",
    X86_64.emulator,
    X86_64.package,
    ("i386-pc",),
    X86_64.cpu,
    X86_64.words,
    "i686-linux-gnu-gcc",
    "gcc-i686-linux-gnu libc6-dev-i386-cross",
)
#: A timer of 1 GHz counts nanoseconds of the guest's clock, which are instructions by path.
AARCH64 = Architecture(
    "aarch64",
    "arm64",
    "qemu-system-aarch64",
    "qemu-system-arm",
    ("arm-virt",),
    "max,cntfrq=1000000000",
    "console=ttyAMA0 iomem=relaxed",
    "aarch64-linux-gnu-gcc",
    "gcc-aarch64-linux-gnu libc6-dev-arm64-cross",
)
#: Its timer is fixed at 10 MHz.
RISCV64 = Architecture(
    "riscv64",
    "riscv64",
    "qemu-system-riscv64",
    "qemu-system-misc",
    ("riscv-virt",),
    "rv64",
    "console=ttyS0 iomem=relaxed",
    "riscv64-linux-gnu-gcc",
    "gcc-riscv64-linux-gnu libc6-dev-riscv64-cross",
    counts=False,
    room=None,  # in QEMU 7.2 a restored one hung after its first line of output
)
ALL = (X86_64, I386, AARCH64, RISCV64)
#: Those of the packages that `guest add linux` takes.
_PACKAGED = (X86_64, AARCH64, RISCV64)


def of_machine(machine: MachineType) -> Architecture:
    return next(each for each in ALL if machine in each.machines)


def of_name(name: str) -> Architecture:
    """One of ALL."""
    return next(each for each in ALL if each.name == name)


def of_version(version: str) -> tuple[str, Architecture]:
    """A version of Linux without its architecture, and that: ("6.1-cloud", AARCH64) of "6.1-cloud-arm64"."""
    for architecture in _PACKAGED[1:]:
        if version.endswith(f"-{architecture.debian}"):
            return version.removesuffix(f"-{architecture.debian}"), architecture
    return version, X86_64
