"""QEMU's arguments for a system driven at its serial console: its disk, and how the probe's source gets in. Pure."""

from __future__ import annotations

from pathlib import Path

from kernometer.guests.emulator.qemu import Machine, Phase
from kernometer.targets.consoles.description import Description
from kernometer.targets.consoles.images import Image

#: Names in the directory where QEMU is started; DISK: the changes of a saved system to its image.
JOB, FILES, DISK = "job.iso", "files", "disk"
#: The host's address in QEMU's user network, where only TFTP answers.
SERVER = "10.0.2.2"


def devices(described: Description, machine: Machine, image: Image | None, phase: Phase = "") -> tuple[str, ...]:
    """The disk, unless QEMU loads the kernel itself, and the devices for the probe's source."""
    boot = described.boot
    words = ["-machine", "graphics=off"] if boot.firmware == "serial" else []
    if image is not None:
        words += _disk(image, boot.media, boot.bus, phase)
    if described.files.way == "cdrom":
        reader = "virtio-blk-pci,drive=job" if machine.type == "microvm" else "ide-cd,drive=job,bus=ide.1"
        words += ["-drive", f"if=none,id=job,file={JOB},format=raw,readonly=on", "-device", reader]
    elif described.files.way == "network":
        words += ["-netdev", f"user,id=net,restrict=on,tftp={FILES}"]
        words += ["-device", f"{described.files.card},netdev=net"]
    return tuple(words)


def _disk(image: Image, media: str, bus: str, phase: Phase) -> list[str]:
    """The image is never written to. QEMU writes changes to a temporary file, which it removes; those of a system that
    is saved are the file DISK, which restored ones do not change either."""
    if media == "cdrom":
        drive = f"if=none,id=image,file={value(image.path)},format={image.format},readonly=on"
        return ["-drive", drive, "-device", "ide-cd,drive=image,bus=ide.0,bootindex=0"]
    file, kind = (DISK, "qcow2") if phase else (value(image.path), image.format)
    drive = f"if=none,id=image,file={file},format={kind}{',snapshot=on' if phase != 'saved' else ''}"
    device = "virtio-blk-pci,drive=image" if bus == "virtio" else "ide-hd,drive=image,bus=ide.0"
    return ["-drive", drive, "-device", f"{device},bootindex=0"]


def value(path: Path) -> str:
    """Doubles commas, which QEMU takes for the ends of options."""
    return str(path).replace(",", ",,")
