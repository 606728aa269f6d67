"""Files in QEMU's directory for a system on a disk: the probe's source, and the changes of a saved system's disk."""

from __future__ import annotations

import re
from pathlib import Path

from kernometer.guests.emulator.process import talking
from kernometer.guests.emulator.qemu import MONITOR, PROGRAM
from kernometer.targets import build
from kernometer.targets.base import Deadline
from kernometer.targets.consoles import boot, media
from kernometer.targets.consoles.description import Description
from kernometer.targets.consoles.images import Image
from kernometer.targets.saved.wire import Monitor

SOURCE = "probe.c"
#: For QEMU to make an empty file.
OVERLAY_SECONDS = 60.0


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
        (folder / boot.JOB).write_bytes(media.iso(files))
    elif described.files.way == "network":
        (folder / boot.FILES).mkdir()
        for name, data in files.items():
            (folder / boot.FILES / name).write_bytes(data)


def overlay(image: Image, folder: Path) -> None:
    """Makes the file DISK in `folder`, an empty set of changes to the image. Raises TargetError."""
    words = [PROGRAM, "-no-user-config", "-nodefaults", "-display", "none", "-machine", "none", "-S"]
    words += ["-chardev", f"socket,id=monitor,fd={MONITOR}", "-mon", "chardev=monitor,mode=control"]
    drive = f"if=none,id=image,file={boot.value(image.path)},format={image.format},readonly=on"
    with talking((*words, "-drive", drive), folder, 1) as (_, sockets):
        ask = Monitor(sockets[0], Deadline.after(OVERLAY_SECONDS))
        ask.execute("blockdev-snapshot-sync", device="image", format="qcow2", **{"snapshot-file": boot.DISK})
