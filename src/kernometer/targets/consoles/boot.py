"""QEMU's argument vector for a system that is driven at its serial console. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from kernometer.guests.emulator.qemu import PROGRAM, Accelerator, Machine
from kernometer.targets.consoles.description import Description
from kernometer.targets.consoles.images import Image

#: Names in the directory where QEMU is started.
JOB, FILES, EVENTS = "job.iso", "files", "events.json"
#: QEMU's descriptors: sockets whose other ends we hold.
CONSOLE, MONITOR = 0, 1
#: The host's address in QEMU's user network, where only TFTP answers.
SERVER = "10.0.2.2"


@dataclass(frozen=True, slots=True)
class Kernel:
    """A guest's kernel, which QEMU loads itself."""

    path: Path
    command_line: str
    initrd: str  #: as -initrd takes it; "" for none


@dataclass(frozen=True, slots=True)
class Plugin:
    """QEMU's plugin and its output file."""

    path: Path
    events: Path


def argv(
    described: Description,
    machine: Machine,
    accelerator: Accelerator,
    boots: Image | Kernel,
    plugin: Plugin | None = None,
    program: str = PROGRAM,
) -> tuple[str, ...]:
    """The command that boots the system with the devices for the probe's source."""
    boot = described.boot
    words = [
        *(program, "-no-user-config", "-nodefaults", "-display", "none", "-no-reboot"),
        *machine.argv(accelerator),
        *(("-machine", "graphics=off") if boot.firmware == "serial" else ()),
        *("-chardev", f"socket,id=console,fd={CONSOLE}", "-serial", "chardev:console"),
        *("-chardev", f"socket,id=monitor,fd={MONITOR}", "-mon", "chardev=monitor"),
    ]
    words += _kernel(boots) if isinstance(boots, Kernel) else _image(boots, boot.media, boot.bus)
    if described.files.way == "cdrom":
        reader = "virtio-blk-pci,drive=job" if machine.type == "microvm" else "ide-cd,drive=job,bus=ide.1"
        words += ["-drive", f"if=none,id=job,file={JOB},format=raw,readonly=on", "-device", reader]
    elif described.files.way == "network":
        words += ["-netdev", f"user,id=net,restrict=on,tftp={FILES}"]
        words += ["-device", f"{described.files.card},netdev=net"]
    if plugin is not None:
        words += ["-plugin", f"{_value(plugin.path)},out={_value(plugin.events)}"]
    return tuple(words)


def _image(image: Image, media: str, bus: str) -> list[str]:
    """The disk for each boot is the same: QEMU writes changes to a temporary file, which it removes."""
    drive = f"if=none,id=image,file={_value(image.path)},format={image.format}"
    if media == "cdrom":
        return ["-drive", f"{drive},readonly=on", "-device", "ide-cd,drive=image,bus=ide.0,bootindex=0"]
    device = "virtio-blk-pci,drive=image" if bus == "virtio" else "ide-hd,drive=image,bus=ide.0"
    return ["-drive", f"{drive},snapshot=on", "-device", f"{device},bootindex=0"]


def _kernel(kernel: Kernel) -> list[str]:
    initrd = ["-initrd", kernel.initrd] if kernel.initrd else []
    return ["-kernel", str(kernel.path), "-append", kernel.command_line, *initrd]


def _value(path: Path) -> str:
    """Doubles commas, which QEMU takes for the ends of options."""
    return str(path).replace(",", ",,")
