"""QEMU as an instrument: its version, the virtual machine, and the argument vector. Pure except for `detect`.

docs/path.md and docs/machine.md give the reason for every option; figures depend on the argument vector, so a test
compares it.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import msgspec

from kernometer.errors import MissingError, TargetError
from kernometer.guests.architecture import ALL, X86_64, Architecture, MachineType, of_machine

PROGRAM = X86_64.emulator
VERSION_SECONDS = 60

#: Of Linux, after the words of its architecture.
WORDS = "quiet nokaslr norandmaps rdinit=/init panic=-1"
COMMAND_LINE = f"{X86_64.words} {WORDS}"
#: The debug port that init_port.c writes to.
BULK_PORT = 0xE9
#: The files of a saved guest in QEMU's directory: its memory, and the rest of its state.
MEMORY, STATE = "memory", "state"
#: QEMU's sockets for its monitor, and the debugger or the console. As inherited descriptors they need no name and no
#: waiting.
MONITOR, DEBUGGER = 0, 1
CONSOLE = DEBUGGER

#: How instructions are executed: counted one by one (by path), emulated without counting, or by the processor itself.
#: icount-sleep also counts, but an idle guest waits in the host's time, so that an interactive guest sees no time-out.
#: A timer of QEMU's main loop then advances its clock. Sometimes, mostly with other work on the host, QEMU 7.2 and 10.0
#: sleep without setting the timer: the clock stops, and so does the serial port's interrupt for the last input.
#: Anything that wakes the loop sets the timer.
Accelerator = Literal["icount", "icount-sleep", "tcg", "kvm"]
#: The phase of a guest by path: booted to be saved, or restored; "": booted and measured.
Phase = Literal["", "saved", "restored"]
#: The driver of /dev/fb0: see displays.py. "": the guest has no display.
Display = Literal["", "bochs-drm", "vesafb"]
#: QEMU's devices that a kernel may need to start, and that do not depend on the host.
Device = Literal["VGA", "cirrus-vga", "isa-vga", "bochs-display", "virtio-rng-pci"]

_TYPES: dict[MachineType, str] = {
    "microvm": "microvm,pcie=on",
    "pc": "pc",
    "q35": "q35",
    "i386-pc": "pc",
    "arm-virt": "virt",
    "riscv-virt": "virt",
}
#: microvm's own firmware file is qboot in Debian 12 and SeaBIOS in Debian 13. SeaBIOS has ACPI's tables where QEMU
#: loads the initramfs, and leaves interrupts on that Linux gets as exceptions.
_FIRMWARE: dict[MachineType, tuple[str, ...]] = {"microvm": ("-bios", "qboot.rom")}
#: While counting, QEMU 10 aborts ("Bad icount read") on a write to an x2APIC, which Xen uses if it can.
_NO_X2 = ",-x2apic"
_DISPLAYS: dict[Display, tuple[str, ...]] = {
    "": (),
    "bochs-drm": ("-device", "bochs-display,xres=1024,yres=768"),
    "vesafb": ("-device", "VGA"),
}
_ACCELERATION: dict[Accelerator, tuple[str, ...]] = {
    "icount": ("-accel", "tcg", "-icount", "shift=0,sleep=off", "-rtc", "clock=vm,base=2025-01-01T00:00:00"),
    "icount-sleep": ("-accel", "tcg", "-icount", "shift=0,sleep=on", "-rtc", "clock=vm,base=2025-01-01T00:00:00"),
    "tcg": ("-accel", "tcg"),
    "kvm": ("-accel", "kvm"),
}
_HOW = {"icount": " tcg icount", "icount-sleep": " tcg icount sleep", "tcg": " tcg", "kvm": " kvm", None: ""}
_SHARING: dict[Phase, Literal["", "shared", "private"]] = {"": "", "saved": "shared", "restored": "private"}


@dataclass(frozen=True, slots=True, order=True)
class QemuVersion:
    """7.2.22 as numbers; `text` is the program's own first line, with the package."""

    major: int
    minor: int
    micro: int
    text: str = ""

    def __str__(self) -> str:
        return f"{self.major}.{self.minor}.{self.micro}"


class Machine(msgspec.Struct, frozen=True, kw_only=True):
    """A virtual machine with one processor; by default the standard one. docs/machine.md."""

    type: MachineType = X86_64.machines[0]
    cpu: str = X86_64.cpu
    memory_mib: int = 2048
    display: Display = ""
    devices: tuple[Device, ...] = ()
    seed: int = 1  #: of the guest's random numbers (rdrand); by path only
    history: int = 0  #: the rows that the guest ran before it was ready, by path only: see guest_runs.FAMILIES; 0: none

    @property
    def architecture(self) -> Architecture:
        return of_machine(self.type)

    def text(self, version: QemuVersion, accelerator: Accelerator | None) -> str:
        """What must be equal for two sessions' figures to be comparable, as one line. None: not known yet."""
        seed = f"; seed {self.seed}" if accelerator and accelerator.startswith("icount") else ""
        history = f"; history {self.history}" if self.history else ""
        return f"{self.board(version, accelerator)}; {self.memory_mib} MiB{seed}{history}"

    def board(self, version: QemuVersion, accelerator: Accelerator | None) -> str:
        """The same without memory, seed and history, equal for all rotated machines of a layout floor."""
        added = "".join(f" with {each}" for each in (self.display, *self.devices) if each)
        foreign = "" if self.architecture is X86_64 else f"{self.architecture.name} "
        return f"QEMU {version}{_HOW[accelerator]}; {foreign}{_TYPES[self.type]}{added}; -cpu {self.cpu}; 1 CPU"

    def argv(self, accelerator: Accelerator, memory: Literal["", "shared", "private"] = "") -> tuple[str, ...]:
        """The options for it. `memory`: its memory is the file MEMORY, with or without the guest's writes."""
        sharing = "on" if memory == "shared" else "off"
        backend = f"memory-backend-file,id=ram,size={self.memory_mib}M,mem-path={MEMORY},share={sharing}"
        counted = accelerator.startswith("icount")
        cpu = self.cpu + _NO_X2 * (counted and self.architecture.is_x86)
        return (
            *(("-object", backend) if memory else ()),
            *("-machine", _TYPES[self.type] + (",memory-backend=ram" if memory else ""), *_FIRMWARE.get(self.type, ())),
            *_ACCELERATION[accelerator],
            *("-smp", "1", "-cpu", cpu, "-m", str(self.memory_mib)),
            *(("-seed", str(self.seed)) if counted else ()),
            *_DISPLAYS[self.display],
            *(word for device in self.devices for word in ("-device", device)),
        )


def emulated(machine: str) -> bool:
    """Whether times of this machine, a text of Machine.text, are the emulator's."""
    return machine.partition(";")[0].endswith(_HOW["tcg"])


def standard(architecture: Architecture) -> tuple[Machine, str]:
    """The machine and the command line of a Linux guest of it."""
    return Machine(type=architecture.machines[0], cpu=architecture.cpu), f"{architecture.words} {WORDS}"


@dataclass(frozen=True, slots=True)
class Boot:
    """Files and options of one boot."""

    machine: Machine
    accelerator: Accelerator
    kernel: Path | None  #: None: the firmware boots a disk
    initrd: str  #: for -initrd: a file, or multiboot modules with their arguments
    command_line: str
    console: Path | None  #: the file of the serial line's output, as a slow reader would disturb; None: the terminal
    bulk: Path  #: init's output through the debug port
    plugin: Path | None = None
    events: Path | None = None  #: the plugin's output, if it has one
    recorded: str = ""  #: further arguments of the plugin: what it records
    entries: bool = False  #: whether it counts entries into the kernel, which is Linux
    phase: Phase = ""
    debugger: Path | None = None  #: the debugger's socket; a TCP one would be open to every local user
    devices: tuple[str, ...] = ()  #: further arguments: drives and network cards
    typed: bool = False  #: the console is the socket CONSOLE, at which we type; a debugger's socket then has a name


def detect(program: str = PROGRAM) -> QemuVersion:
    """The program's version. Raises MissingError if it is not installed, TargetError if its answer is invalid."""
    if shutil.which(program) is None:
        package = next((each.package for each in ALL if each.emulator == program), X86_64.package)
        raise MissingError(f"There is no {program} here.", f"Debian, Ubuntu: apt-get install {package}.")
    try:
        done = subprocess.run((program, "--version"), capture_output=True, timeout=VERSION_SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise TargetError(f"{program} --version does not answer.", "Reinstall it.") from error
    return parse_version(done.stdout.decode(errors="replace"))


def parse_version(said: str) -> QemuVersion:
    """From `QEMU emulator version 7.2.22 (Debian 1:7.2+dfsg-7+deb12u18+b3)` and further lines."""
    line = said.split("\n", 1)[0].strip()
    match = re.search(r"version (\d{1,4})\.(\d{1,4})(?:\.(\d{1,4}))?", line)
    if match is None:
        raise TargetError(f"{line[:100]!r} is not QEMU's answer to --version.", "Reinstall qemu-system-x86.")
    major, minor, micro = (int(number or 0) for number in match.groups())
    return QemuVersion(major, minor, micro, line[:200])


def argv(boot: Boot) -> tuple[str, ...]:
    """The command that boots a guest."""
    architecture = boot.machine.architecture
    for path in (boot.kernel, boot.console, boot.bulk, boot.plugin, boot.events, boot.debugger):
        if path is not None and "," in str(path):
            raise TargetError(f"{path}: QEMU treats a comma in a path as a separator.", "Set XDG_CACHE_HOME.")
    words = [
        *(architecture.emulator, "-no-user-config", "-nodefaults", "-display", "none", "-no-reboot"),
        *boot.machine.argv(boot.accelerator, _SHARING[boot.phase]),
        *(("-kernel", str(boot.kernel), "-append", boot.command_line) if boot.kernel is not None else ()),
        *(("-initrd", boot.initrd) if boot.initrd else ()),
        *boot.devices,
    ]
    if boot.typed:
        words += ["-chardev", f"socket,id=console,fd={CONSOLE}", "-serial", "chardev:console"]
    elif boot.console is None:  # Ctrl-A x leaves, Ctrl-A c is QEMU's monitor; Ctrl-C goes to the guest
        words += ["-chardev", "stdio,id=terminal,mux=on,signal=off", "-serial", "chardev:terminal"]
        words += ["-mon", "chardev=terminal"]
    else:
        words += ["-serial", f"file:{boot.console}"]
    if architecture.is_x86:
        words += ["-chardev", f"file,id=bulk,path={boot.bulk}"]
        words += ["-device", f"isa-debugcon,iobase={BULK_PORT:#x},chardev=bulk"]
    if boot.plugin is not None:
        arguments = (
            f"out={boot.events}" if boot.events is not None else "",
            boot.recorded,
            "entries=on" * boot.entries,
        )
        words += ["-plugin", ",".join((str(boot.plugin), *filter(None, arguments)))]
    if boot.phase or boot.typed:
        words += ["-chardev", f"socket,id=monitor,fd={MONITOR}", "-mon", "chardev=monitor,mode=control"]
    if boot.phase and not boot.typed:
        words += ["-chardev", f"socket,id=debugger,fd={DEBUGGER}", "-gdb", "chardev:debugger", "-S"]
    if boot.phase == "restored":
        words += ["-incoming", "defer"]
    if boot.debugger is not None:
        words += ["-gdb", f"unix:{boot.debugger},server=on,wait=off", "-S"]
    return tuple(words)
