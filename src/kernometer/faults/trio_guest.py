"""Runs of a structure of Trio with one fault each. Every run restores the same saved guest, with a new disk.

QEMU's debugger stub writes the fault into the guest's memory before a chosen operation of the worker, so that nothing
in the guest knows of it. docs/reliability.md.
"""

from __future__ import annotations

import math
import mmap
import subprocess
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

import msgspec

from kernometer.cache import compiled
from kernometer.errors import MissingError, TargetError
from kernometer.faults import emulated, kinds, linked, worker
from kernometer.faults.emulated import FaultyGuest
from kernometer.faults.kinds import Fault
from kernometer.faults.linked import Linked
from kernometer.faults.outcomes import DISK_FOLDER, MEMORY_FOLDERS, Ended, Seen
from kernometer.faults.places import Code
from kernometer.guests import plugins
from kernometer.guests.emulator import qemu
from kernometer.guests.emulator.process import end_of, talking
from kernometer.guests.images import disks
from kernometer.guests.inside import programs
from kernometer.guests.kernels import elf, trio
from kernometer.targets import booting
from kernometer.targets.base import Deadline
from kernometer.targets.booting import BULK, CONSOLE, TRACE
from kernometer.targets.saved import saving, states
from kernometer.targets.saved.wire import Debugger, LostError, Monitor
from kernometer.targets.side_by_side import POLL_SECONDS
from kernometer.targets.stream import shown

#: The guest hangs if its programs print nothing for so many seconds of its time, or of the emulator's processor time,
#: or for so many seconds in which the emulator computes next to nothing.
GUEST_SECONDS, BUSY_SECONDS, IDLE_SECONDS, IDLE_SHARE = 5.0, 20.0, 4.0, 0.02
#: In place of BUSY_SECONDS while the emulator counts instructions, which is far slower.
COUNTING_SECONDS = 400.0
LOOK_SECONDS = 0.25
#: It also hangs if the emulator computes for so long, many times what a run without a fault takes.
WHOLE_SECONDS = 60.0
#: Of one run; for the emulator to end.
RUN_SECONDS, END_SECONDS = 1200.0, 20.0
MEMORY_MIB = 128
DISK = "disk"
#: The guest's two devices for the virtio disk: the disk itself, and the same behind the checksums of checksum.c.
PLAIN, CHECKED = "/dev/vda", "/dev/checked"
#: The region around the worker's run: observed.c.
WORK = 0x7FFD
_SCRIPT, _WORKER, _OBSERVED = "etc/kernometer/run.sh", "bin/worker", "bin/observed"
#: The worker has addresses that nothing else has, and one of them marks the beginning of the operation `--mark`.
FLAGS = ("-no-pie", "-Wl,-Ttext-segment=0x20000000")
_MARK = "mark"
_FINISHED = b'{"event":"finished"}'


@dataclass(slots=True, kw_only=True)
class TrioGuest(FaultyGuest):
    """A structure to be made faulty."""

    codes: Mapping[str, Code]
    device: str = PLAIN
    executed: dict[str, Mapping[int, int]] = field(default_factory=dict)  #: by service: address to count
    _linked: dict[str, Linked] = field(default_factory=dict)
    _pages: dict[str, Mapping[int, int]] = field(default_factory=dict)
    _stop: int = 0

    @property
    def name(self) -> str:
        return self.target.name if self.device == PLAIN else f"{self.target.name} {self.device}"

    def __enter__(self) -> TrioGuest:
        """Saves the guest, unless it is in the cache. Raises MissingError, BuildError, TargetError."""
        self._held.enter_context(self.target.guest.in_use())
        if not trio.is_trio(self.target.guest):
            raise TargetError(f"{self.target.name} is no Trio.", "For example qemu:trio-micro.")
        kernel = self.target.guest.kernel.read_bytes()
        known = linked.images(kernel)
        self._linked = {name: linked.link(code, known) for name, code in self.codes.items()}
        self._keep({DISK: disks.unpacked(disks.image("minix"))})
        with (
            (states.folder() / self._key / qemu.MEMORY).open("rb") as file,
            mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ) as mapped,
            memoryview(mapped) as memory,
        ):
            roots = linked.roots_of(kernel)
            self._pages = {name: linked.physical(link.image, memory, roots) for name, link in self._linked.items()}
        return self

    def count(self) -> None:
        """Counts every instruction in a slow run without a fault, for `executed`. Raises TargetError if the run does
        not end."""
        with self._folder() as folder:
            shown = self._run(folder, None, counting=True)
            if shown.ended != "finished":
                raise TargetError(f"{self.name}: the run that counts instructions is {shown.ended}.", "", shown.console)
            trace = booting.trace_of(folder)
        by_image = {}
        for name, link in self._linked.items():
            if link.image.name not in by_image:
                by_image[link.image.name] = linked.counts(trace, link.image)
            self.executed[name] = by_image[link.image.name]

    def passed(self, service: str) -> Mapping[int, int]:
        """How often each instruction of a service's code was executed without a fault, by offset."""
        link = self._linked[service]
        end = link.text + len(link.code.text)
        return {at - link.text: n for at, n in self.executed[service].items() if link.text <= at < end}

    def run(self, fault: Fault | None) -> Seen:
        """A run. Raises TargetError if the guest cannot be restored."""
        with self._folder() as folder:
            return self._run(folder, fault)

    def _files(self) -> dict[str, bytes]:
        folder = worker.SOURCES / "trio"
        given = disks.provide(self.target.guest, ("minix",), self.target.guest.manifest.command_line)
        if not given.files:
            raise MissingError(" ".join(given.arguments))
        content = worker.program(FLAGS).read_bytes()
        self._stop = next(at for name, _, at, _ in elf.symbols(content) if name == _MARK)
        observed = compiled("observed", (*programs.static_compiler(), "-std=gnu99"), (folder / "observed.c",))
        return {
            **given.files,
            _SCRIPT: (folder / "run.sh").read_bytes(),
            _WORKER: content,
            _OBSERVED: observed.read_bytes(),
        }

    def _argv(self, phase: qemu.Phase, *, counting: bool = False) -> tuple[str, ...]:
        boot = self.target.boot("path", (), phase)
        boot = replace(boot, machine=msgspec.structs.replace(boot.machine, memory_mib=MEMORY_MIB, display="bochs-drm"))
        if counting:
            recorded = f"region={WORK},execution=all"
            built = plugins.build(self.target.qemu, "profile")
            boot = replace(boot, plugin=built, events=Path(TRACE), recorded=recorded)
        words = [*qemu.argv(boot), "-drive", f"if=none,id=disk,file={DISK},format=raw,cache=unsafe"]
        words += ["-device", "virtio-blk-pci,drive=disk"]
        return tuple(words)

    def _run(self, folder: Path, fault: Fault | None, *, counting: bool = False) -> Seen:
        numbers = {"seed": self.seed, "operations": self.operations, "mark": fault.operation if fault else 0}
        words = (word for name, number in numbers.items() for word in (f"--{name}", str(number)))
        work = (f"/{_WORKER}", "--acknowledge", *words, *MEMORY_FOLDERS, DISK_FOLDER)
        told = ("/bin/sh", f"/{_SCRIPT}", self.device, f"/{_OBSERVED}", *work)
        self._lay_out(folder)
        until = Deadline.after(RUN_SECONDS)
        with talking(self._argv("restored", counting=counting), folder, 2) as (process, (monitor, debugger)):
            ask, at = saving.restore(monitor, debugger, self.target.guest.architecture, told, until)
            if fault is not None:
                self._inject(at, fault, process)
            else:
                at.proceed()
            limits = (COUNTING_SECONDS, math.inf) if counting else (BUSY_SECONDS, WHOLE_SECONDS)
            ended = _watched(process, folder, ask, until, self.stopping, *limits)
            with suppress(LostError):
                ask.execute("quit")
            with suppress(subprocess.TimeoutExpired):
                process.wait(END_SECONDS)
        return Seen(
            output=end_of(folder / BULK, emulated.MAX_OUTPUT),
            console=shown(end_of(folder / CONSOLE, emulated.CONSOLE_BYTES)),
            ended=ended,
            struck=_struck(folder) if not counting else 0,
            fsck=emulated.fsck(folder / DISK, "minix"),
            disk=(folder / DISK).read_bytes(),
        )

    def _inject(self, at: Debugger, fault: Fault, process: subprocess.Popen[bytes]) -> None:
        """Lets the worker begin the operation `fault.operation`, then changes the service's code."""
        at.run_to(self._stop)
        while not at.stopped(1.0):
            if process.poll() is not None:
                raise LostError("QEMU ended before the fault.")
        at.leave(self._stop)
        link = self._linked[fault.service]
        where = link.where(fault.offset, self.executed[fault.service])
        place = link.text + fault.offset
        self._put(at, fault.service, place, kinds.mutation(link.code, fault.offset, where))
        made = kinds.machine_code(fault.kind, fault.value, link.code, fault.offset, where)
        self._put(at, fault.service, where.room, made)
        at.proceed()

    def _put(self, at: Debugger, service: str, address: int, data: bytes) -> None:
        """Writes page by page, for each page has its own physical address."""
        while data:
            page = address // 4096 * 4096
            piece = data[: page + 4096 - address]
            at.write(self._pages[service][page] + address - page, piece)
            address, data = address + len(piece), data[len(piece) :]


def _watched(
    process: subprocess.Popen[bytes],
    folder: Path,
    ask: Monitor,
    until: Deadline,
    stopping: threading.Event,
    busy: float,
    total: float,
) -> Ended:
    """Waits for the end of a run: at most `busy` seconds of processor time without output, and `total` in all. Raises
    TargetError if the time is up, or `stopping` is set."""
    printed = -1
    quiet = _Quiet(busy)
    while True:
        stopped = process.poll() is not None  # before reading, so that the last output is read
        size = (folder / BULK).stat().st_size
        if _FINISHED in end_of(folder / BULK, 4096):
            return "finished"
        if stopped:
            return "dead"
        if max(size, (folder / CONSOLE).stat().st_size) > emulated.MAX_OUTPUT or emulated.computed(process.pid) > total:
            return "hung"
        if size != printed:
            printed, quiet = size, _Quiet(busy)
        elif quiet.too_long(process.pid, ask):
            return "hung"
        if until.passed or stopping.is_set():
            raise TargetError("A guest with a fault was not done when its time was up.")
        time.sleep(POLL_SECONDS)


class _Quiet:
    """A time in which the guest's programs print nothing."""

    def __init__(self, busy: float) -> None:
        self._busy = busy
        self._look = Deadline.after(LOOK_SECONDS)
        self._began: tuple[float, float] | None = None
        self._idle: tuple[Deadline, float] | None = None

    def too_long(self, pid: int, ask: Monitor) -> bool:
        if not self._look.passed:
            return False
        self._look = Deadline.after(LOOK_SECONDS)
        computed, clock = emulated.computed(pid), _clock(ask)
        began = self._began = self._began or (computed, clock)
        if self._idle is None or computed - self._idle[1] > IDLE_SHARE * IDLE_SECONDS:
            self._idle = Deadline.after(IDLE_SECONDS), computed
        return clock - began[1] > GUEST_SECONDS or computed - began[0] > self._busy or self._idle[0].passed


def _clock(ask: Monitor) -> float:
    """The guest's clock, in whole seconds."""
    try:
        now = ask.execute("qom-get", path="/machine", property="rtc-time")
    except TargetError:  # it has just ended
        return 0.0
    return float(now["tm_sec"] + 60 * (now["tm_min"] + 60 * now["tm_hour"]))


def _struck(folder: Path) -> int | None:
    """How often the fault struck; None if the emulator did not tell."""
    try:
        counted = booting.counts_of(folder).get(str(kinds.REGION))
    except TargetError:
        return None
    return counted.complete if counted else 0
