"""Runs of a Linux guest with one fault each. Every run restores the same saved guest, with its own disks.

The guest's programs print JSON lines on the debug port, the module on a second one, so that a fault of the serial
driver does not hide them. docs/faults-linux.md.
"""

from __future__ import annotations

import re
import subprocess
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import msgspec

from kernometer.cache import sha256
from kernometer.errors import MissingError, TargetError
from kernometer.faults import emulated
from kernometer.faults.emulated import FaultyGuest
from kernometer.faults.kinds import Fault
from kernometer.faults.linux import WORK, Ended, Observation, Place, Subject, files_in, module_words
from kernometer.faults.worker import SOURCES
from kernometer.guests.emulator import qemu
from kernometer.guests.emulator.process import end_of, talking
from kernometer.guests.images import disks, displays
from kernometer.guests.inside.programs import Provided
from kernometer.guests.kernels import drivers, headers
from kernometer.targets.base import Deadline
from kernometer.targets.booting import BULK, CONSOLE
from kernometer.targets.saved import saving
from kernometer.targets.side_by_side import POLL_SECONDS
from kernometer.targets.stream import shown

#: A guest hangs that prints nothing for so many seconds of the emulator's processor time, some 6 × 10⁸ instructions.
#: A guest that waits reaches the limits of run.sh at once, because its clock jumps.
QUIET_SECONDS = 4.0
#: The same while run.sh sorts the entries that it counted.
SORTING_SECONDS = 60.0
RUN_SECONDS = 600.0

STRUCK, _PORT = "struck", 0xEA
#: The file systems of /dev/vda and /dev/vdb; and which of them a subject uses.
_DRIVES = ("ext4", "minix")
_DRIVE: Mapping[Subject, str] = {"virtio_blk": "ext4", "ext4": "ext4", "8250": "ext4", "minix": "minix"}
_VIRTIO = ("virtio_blk", "virtio_pci")
_SCRIPT, _WORKER = "etc/kernometer/run.sh", "bin/worker"
#: Milliseconds of the guest's time between two of the worker's operations.
PACE = "2"
_NO_FAULT = "kind=none"
_PANIC = re.compile(rb"Kernel panic - not syncing")


def sources() -> str:
    """A digest of the module and the script."""
    folder = SOURCES / "linux"
    return sha256(b"\0".join((folder / name).read_bytes() for name in ("km_fault.c", "run.sh")))


@dataclass(slots=True, kw_only=True)
class Linux(FaultyGuest):
    """A guest to be made faulty while `worker`, a program, works in the directory /volume."""

    worker: bytes = field(repr=False)

    def __enter__(self) -> Linux:
        """Builds the module and saves the guest, unless both are in the cache. Raises MissingError, BuildError."""
        self._held.enter_context(self.target.guest.in_use())
        self._keep({STRUCK: b"", **{kind: disks.unpacked(disks.image(kind)) for kind in _DRIVES}})
        return self

    def places(self, subject: Subject) -> tuple[Place, ...]:
        """The functions of the subject that a run without fault enters, by symbol. Raises TargetError if that run does
        not end well."""
        with self._folder() as folder:
            events, ended = self._run(folder, subject)
            status = {event.get("event"): event.get("status") for event in events}
            if ended != "finished" or any(status.get(step) != 0 for step in ("worker", "afterwards", "unmount")):
                console = shown(end_of(folder / CONSOLE, emulated.CONSOLE_BYTES))
                raise TargetError(f"Without a fault the worker does not end well: {events[-5:]}.", "", console)
        entries = (event for event in events if event.get("event") == "entries")
        places = (Place(subject, str(event["symbol"]), int(event["entries"])) for event in entries)
        return tuple(sorted(places, key=lambda place: place.symbol))

    def run(self, fault: Fault | None, subject: Subject, *, panic_on_oops: bool = False) -> Observation:
        """A run, with a fault or without. Raises TargetError if the guest cannot be restored, or refuses the fault."""
        words = module_words(fault) if fault else (_NO_FAULT,)
        with self._folder() as folder:
            events, ended = self._run(folder, subject, words, panic_on_oops=panic_on_oops)
            console = shown(end_of(folder / CONSOLE, emulated.CONSOLE_BYTES))
            if any(event.get("event") in ("refused", "failed") for event in events):
                raise TargetError(f"The guest takes no fault at {fault.function if fault else subject}.", "", console)
            struck = next((event for event in _lines(folder / STRUCK) if event.get("event") == "struck"), None)
            drive = _DRIVE.get(subject)
            if drive is None:
                return Observation(_without_files(events), struck, console, ended, files=files_in(events))
            fsck = emulated.fsck(folder / drive, drive)
            with self._folder() as again:
                (folder / drive).replace(again / drive)
                read, _ = self._run(again, subject, worker=())
            return Observation(events, struck, console, ended, fsck, files_in(read))

    def _files(self) -> dict[str, bytes]:
        """Modules, a memory disk's image, script and worker."""
        folder = SOURCES / "linux"
        guest = self.target.guest
        built = headers.modules(guest, folder / "km_fault.c", _VIRTIO, self.say)
        given = disks.provide(guest, ("minix",), self.target.variant.command_line(guest.manifest.command_line))
        if not given.files:
            raise MissingError(" ".join(given.arguments))
        more = dict(drivers.load_order(guest, ("ext4",)))
        order, _ = drivers.resolved(_VIRTIO, built, ())
        more |= {name: built[name] for name in order}
        return {
            **displays.together(given, Provided(disks.loading(more.items()))).files,
            **{f"{drivers.FILES}/{name}.ko": content for name, content in built.items()},
            _SCRIPT: (folder / "run.sh").read_bytes(),
            _WORKER: self.worker,
        }

    def _argv(self, phase: qemu.Phase) -> tuple[str, ...]:
        boot = self.target.boot("path", (), phase)
        if phase == "restored":
            boot = replace(boot, plugin=None, events=None)
        words = [*qemu.argv(boot), "-chardev", f"file,id={STRUCK},path={STRUCK}"]
        words += ["-device", f"isa-debugcon,iobase={_PORT:#x},chardev={STRUCK}"]
        for kind in _DRIVES:
            words += ["-drive", f"if=none,id={kind},file={kind},format=raw,cache=unsafe"]
            words += ["-device", f"virtio-blk-pci,drive={kind}"]
        return tuple(words)

    def _run(
        self,
        folder: Path,
        subject: Subject,
        words: tuple[str, ...] = (),
        *,
        panic_on_oops: bool = False,
        worker: tuple[str, ...] | None = None,
    ) -> tuple[tuple[dict[str, Any], ...], Ended]:
        """Continues the saved guest with run.sh, and with `worker` or the worker of the campaign. Returns the lines
        that the guest's programs printed, and how the run ended."""
        numbers = ("--seed", str(self.seed), "--operations", str(self.operations), "--pace", PACE)
        work = (f"/{_WORKER}", *numbers, WORK) if worker is None else worker
        told = ("/bin/sh", f"/{_SCRIPT}", str(int(panic_on_oops)), subject, *words, "--", *work)
        self._lay_out(folder)
        until = Deadline.after(RUN_SECONDS)
        with talking(self._argv("restored"), folder, 2) as (process, (monitor, debugger)):
            _, at = saving.restore(monitor, debugger, self.target.guest.architecture, told, until)
            at.proceed()
            quiet = QUIET_SECONDS if words or worker is not None else SORTING_SECONDS
            ended = _watched(process, folder, until, self.stopping, quiet)
        return tuple(_lines(folder / BULK)), ended


def _watched(
    process: subprocess.Popen[bytes], folder: Path, until: Deadline, stopping: threading.Event, quiet: float
) -> Ended:
    """Waits for the end of a run, which hangs after `quiet` seconds of the emulator's without output. Raises
    TargetError if the output is too long, the time is up, or `stopping` is set."""
    outputs = [folder / name for name in (BULK, CONSOLE, STRUCK)]
    printed, at_print = -1, 0.0
    while True:
        stopped = process.poll() is not None  # before reading, so that the last output is read
        sizes = [path.stat().st_size for path in outputs]
        if max(sizes) > emulated.MAX_OUTPUT:
            raise TargetError(f"A guest with a fault printed more than {emulated.MAX_OUTPUT:,} bytes.")
        computed = emulated.computed(process.pid)
        if sum(sizes) != printed:
            printed, at_print = sum(sizes), computed
            if b'{"event":"finished"' in end_of(folder / BULK, 4096):
                return "finished"
        if stopped or computed - at_print > quiet:
            panicked = _PANIC.search(end_of(folder / CONSOLE, emulated.CONSOLE_BYTES)) is not None
            return "panic" if panicked else "stopped" if stopped else "quiet"
        if until.passed or stopping.is_set():
            raise TargetError("A guest with a fault was not done when its time was up.")
        time.sleep(POLL_SECONDS)


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    """The JSON objects of an output, one per line, without lines that a fault cut."""
    for line in end_of(path, emulated.MAX_OUTPUT).splitlines():
        try:
            yield msgspec.json.decode(line, type=dict[str, Any])
        except (msgspec.DecodeError, UnicodeDecodeError):
            continue


def _without_files(events: Sequence[dict[str, Any]]) -> tuple[dict[str, Any], ...]:
    return tuple(event for event in events if event.get("event") != "file")
