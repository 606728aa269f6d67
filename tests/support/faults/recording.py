"""A guest with the worker on its disk, and a log of the disk's writes in which each event has its place."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from kernometer.faults.promises import Event, Promises, read
from kernometer.faults.worker import program
from kernometer.guests.images.initramfs import DRIVERS
from kernometer.guests.kernels import drivers
from tests.support.faults.cuts import Write, logged
from tests.support.trio.boot import Inside, Kernel, Machine, initramfs
from tests.support.trio.live import live

MOUNTED = "/mnt"
ACKNOWLEDGED = ("changes", "kept", "gone")
DISK = (
    "-drive",
    "driver=blklogwrites,file.driver=raw,file.file.driver=file,file.file.filename=image,"
    "log.driver=raw,log.file.driver=file,log.file.filename=log,if=none,id=disk",
    "-device",
    "virtio-blk-pci,drive=disk",
)
#: The worker waits for an answer to each event, so that none of its changes of the disk is before the event.
SCRIPT = (
    f"exec </dev/console >/dev/console; stty -echo; mkdir -p {MOUNTED}; mount -t minix /dev/vda {MOUNTED} && "
    f"/bin/worker --acknowledge {{words}} {MOUNTED}; echo status $?; umount {MOUNTED}; echo unmounted $?"
)


@dataclass(frozen=True)
class Recording:
    """The disk before; its writes; the worker's events, each with the length of the log when it was heard."""

    base: bytes
    writes: Sequence[Write]
    told: Sequence[tuple[int, Event]]

    def promised(self, count: int) -> Promises:
        """What holds after so many entries of the log."""
        end = self.writes[count - 1].end if count else 0
        return Promises.after(event for at, event in self.told if at <= end)


def drivers_of(kernel: Kernel) -> dict[str, bytes]:
    """The files by which a Linux guest gets its disk and file system: modules. Trio has both.

    Raises MissingError where the guest was stored without them.
    """
    if kernel.guest.manifest.built_in:
        return {}
    loaded = drivers.load_order(kernel.guest, ("virtio_pci", "virtio_blk", "minix"))
    files = {f"{drivers.FILES}/{name}.ko": content for name, content in loaded}
    return {DRIVERS: "".join(f"/{name}\n" for name in files).encode(), **files}


def inside(kernel: Kernel, script: str) -> Inside:
    """A guest that has the worker, and runs this."""
    files = {"bin/worker": program().read_bytes(), **drivers_of(kernel)}
    return initramfs(("sh", "-c", script), files, ["bin/worker"])


def record(kernel: Kernel, base: bytes, words: Sequence[str], folder: Path) -> Recording:
    """The worker's whole run with these words; it must end well. `folder` is empty, and the caller's to remove."""
    (folder / "image").write_bytes(base)
    (folder / "log").write_bytes(b"")
    told = []
    with live(kernel, inside(kernel, SCRIPT.format(words=" ".join(words))), Machine(more=DISK), folder) as machine:
        while not (line := machine.hear(b"\n")).startswith(b"unmounted"):
            if (event := read(line)) is not None:
                told.append(((folder / "log").stat().st_size, event))
                if event.event in ACKNOWLEDGED:
                    machine.say(b"\n")
            assert not line.startswith(b"status") or line.split()[1] == b"0", line
        assert line.split()[1] == b"0", "it cannot be unmounted"
        machine.ended()
    assert told, "the worker has said nothing"
    assert told[-1][1].event == "end"
    return Recording(base, logged((folder / "log").read_bytes()), told)
