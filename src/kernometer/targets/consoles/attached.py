"""What QEMU gets for a system driven at its serial console: devices for its disk and for the probe's source, and the
files that these read."""

from __future__ import annotations

import re
from pathlib import Path

from kernometer.guests.emulator.process import talking
from kernometer.guests.emulator.qemu import MONITOR, PROGRAM, Machine, Phase
from kernometer.targets import build
from kernometer.targets.base import Deadline
from kernometer.targets.consoles import media
from kernometer.targets.consoles.description import Description
from kernometer.targets.consoles.images import Image
from kernometer.targets.saved.wire import Monitor

SOURCE = "probe.c"

#: Names in the directory where QEMU is started; DISK: the changes of a saved system to its image.
JOB, FILES, DISK = "job.iso", "files", "disk"
#: The host's address in QEMU's user network, where only TFTP answers.
SERVER = "10.0.2.2"
#: For QEMU to make an empty file.
OVERLAY_SECONDS = 60.0


def devices(described: Description, machine: Machine, image: Image | None, phase: Phase = "") -> tuple[str, ...]:
    """The disk, unless QEMU loads the kernel itself, and the devices for the probe's source."""
    boot = described.boot
    words = ["-machine", "graphics=off"] if boot.firmware == "serial" else []
    if image is not None:
        words += disk(image, boot.media, boot.bus, phase, boots=True)
    if described.files.way == "cdrom":
        reader = "virtio-blk-pci,drive=job" if machine.type == "microvm" else "ide-cd,drive=job,bus=ide.1"
        words += ["-drive", f"if=none,id=job,file={JOB},format=raw,readonly=on", "-device", reader]
    elif described.files.way == "network":
        words += ["-netdev", f"user,id=net,restrict=on,tftp={FILES}"]
        words += ["-device", f"{described.files.card},netdev=net"]
    return tuple(words)


def disk(image: Image, media: str, bus: str, phase: Phase, *, boots: bool) -> list[str]:
    """The image is never written to. QEMU writes changes to a temporary file, which it removes; those of a system that
    is saved are the file DISK, which restored ones do not change either. `boots`: the firmware starts from it."""
    if media == "cdrom":
        drive = f"if=none,id=image,file={value(image.path)},format={image.format},readonly=on"
        return ["-drive", drive, "-device", "ide-cd,drive=image,bus=ide.0,bootindex=0"]
    file, kind = (DISK, "qcow2") if phase else (value(image.path), image.format)
    drive = f"if=none,id=image,file={file},format={kind}{',snapshot=on' if phase != 'saved' else ''}"
    device = "virtio-blk-pci,drive=image" if bus == "virtio" else "ide-hd,drive=image,bus=ide.0"
    return ["-drive", drive, "-device", device + ",bootindex=0" * boots]


def value(path: Path) -> str:
    """Doubles commas, which QEMU takes for the ends of options."""
    return str(path).replace(",", ",,")


def carried(described: Description) -> dict[str, bytes]:
    """The files to copy into the system: the probe as one file that contains its compiler flags, or none."""
    command = described.compile.command
    if not command:
        return {}
    flags = re.sub(r"-o \{probe\}|\{source\}", "", command)
    shown_flags = re.sub(r'[\\"]', "", " ".join(flags.split()))
    return {SOURCE: f'#define KM_FLAGS "{shown_flags}"\n{build.amalgam()}'.encode()}


def lay_out(described: Description, files: dict[str, bytes], folder: Path) -> None:
    """Puts `files` where QEMU's devices for them look."""
    if described.files.way == "cdrom":
        (folder / JOB).write_bytes(media.iso(files))
    elif described.files.way == "network":
        (folder / FILES).mkdir()
        for name, data in files.items():
            (folder / FILES / name).write_bytes(data)


def overlay(image: Image, folder: Path) -> None:
    """Makes the file DISK in `folder`, an empty set of changes to the image. Raises TargetError."""
    words = [PROGRAM, "-no-user-config", "-nodefaults", "-display", "none", "-machine", "none", "-S"]
    words += ["-chardev", f"socket,id=monitor,fd={MONITOR}", "-mon", "chardev=monitor,mode=control"]
    drive = f"if=none,id=image,file={value(image.path)},format={image.format},readonly=on"
    with talking((*words, "-drive", drive), folder, 1) as (_, sockets):
        ask = Monitor(sockets[0], Deadline.after(OVERLAY_SECONDS))
        ask.execute("blockdev-snapshot-sync", device="image", format="qcow2", **{"snapshot-file": DISK})
