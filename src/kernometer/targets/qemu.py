"""`qemu:GUEST`: the probe in a kernel of its own under QEMU, by path or by time.

A boot is one call of the probe: an initramfs is written for the job, QEMU is started in a temporary folder, the probe's
lines are read from a file as they appear there, and by path the plugin's counts are added when QEMU has ended.
"""

from __future__ import annotations

import re
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import msgspec

from kernometer.errors import TargetError, UsageError
from kernometer.guests import disks, displays, events, initramfs, kvm, plugin, programs, store, tools, trio, variant
from kernometer.guests.emulator import SAID, end_of, started
from kernometer.guests.qemu import Accelerator, Boot, QemuVersion, argv, detect
from kernometer.results.model import By
from kernometer.targets import build, tsc
from kernometer.targets.base import Deadline, Job, Place, Program
from kernometer.targets.identity import host_id
from kernometer.targets.stream import LAST_OUTPUT, Splitter, between_markers, shown

#: Between two looks at the output. The guest does not notice: it writes to a file.
POLL_SECONDS = 0.02
#: A guest that prints nothing for so long hangs: a boot takes seconds, no row by path more than a few.
SILENCE_SECONDS = 300.0
#: From the end marker to the end of QEMU.
SHUTDOWN_SECONDS = 60.0
#: From a panic's words on the console to the end of QEMU. Xen spins for five seconds of its clock before it restarts,
#: which take minutes where each instruction is counted.
PANIC_SECONDS = 20.0
#: Of the console, where a panic's words are looked for: a trace follows them.
PANIC_BYTES = 16 << 10
MAX_CONSOLE = 8 << 20
PIECE = 1 << 20

INITRD, PROBE, CONSOLE, BULK, EVENTS = "initrd", "probe", "console", "bulk", "events.json"

_PANIC_BEGINS = re.compile(rb"Kernel panic - not syncing: |\(XEN\) Panic on CPU \d")
_PANIC = re.compile(r"Kernel panic - not syncing: (.*)|\(XEN\) Panic on CPU \d+:\n\(XEN\) (.*)")
_INIT_FAILED = re.compile(r"#init failed (.*)")


@dataclass(frozen=True, slots=True)
class QemuTarget:
    """A guest on a virtual machine. Implements Target."""

    guest: store.Guest
    variant: variant.Variant
    qemu: QemuVersion
    plugin: Path | None = None
    without_plugin: str = ""  #: why there is none
    accelerator: Accelerator | None = None  #: None: what suits the way of taking time, and works here

    @classmethod
    def from_spec(cls, spec: str) -> QemuTarget:
        """From the part after `qemu:`. Raises UsageError, or MissingError with the command that adds the guest.

        Without a plugin (no compiler, say) there are counts and no event vectors; a note says so.
        """
        if not spec:
            raise UsageError("qemu: needs the name of a guest.", "For example qemu:linux-6.1.")
        found = variant.parse(spec)
        guest, version = store.find(found.guest), detect()
        return cls(guest, found, version, *plugin.find(version))

    @property
    def name(self) -> str:
        return f"qemu:{self.variant.name}"

    @property
    def by(self) -> tuple[By, ...]:
        return ("time", "path")

    @property
    def programs(self) -> tuple[Program, ...]:
        return ("probe", "probe-trio") if trio.is_trio(self.guest) else ("probe",)

    @property
    def quick_start(self) -> bool:
        return False

    def place(self, by: By) -> Place:
        """A guest boots for every call, so it is no boot that two sessions could share."""
        accelerator, note = self._accelerator(by)
        notes = (self.without_plugin if by == "path" else note,)
        machine = self.variant.machine(self.guest.manifest.machine)
        return Place(
            machine=machine.text(self.qemu, accelerator),
            board=machine.board(self.qemu, accelerator),
            image=self.guest.image,
            command_line=self._command_line(accelerator),
            notes=tuple(note for note in notes if note),
            host_id=host_id() if by == "time" else "",
            here=by == "time",
        )

    def describe(self, job: Job) -> tuple[str, ...]:
        """QEMU's argument vector; the relative names in it are files in a temporary folder, where it is started."""
        return argv(self.boot(job))

    def boot(self, job: Job) -> Boot:
        """What `describe` puts into words."""
        counted = job.by == "path" and self.plugin is not None
        accelerator, _ = self._accelerator(job.by)
        return Boot(
            machine=self.variant.machine(self.guest.manifest.machine),
            accelerator=accelerator,
            kernel=displays.kernel(self.guest, self.variant.machine(self.guest.manifest.machine)),
            initrd=self.guest.initrd(INITRD, PROBE, job.arguments),
            command_line=self._command_line(accelerator),
            console=Path(CONSOLE),
            bulk=Path(BULK),
            plugin=self.plugin if counted else None,
            events=Path(EVENTS) if counted else None,
        )

    def run(self, job: Job, until: Deadline) -> Iterator[bytes]:
        """The probe's lines as they come, then by path an `events` record for each row. See Target.run."""
        words = self.describe(job)
        self.guest.check()
        with tempfile.TemporaryDirectory(prefix="kernometer-qemu-", ignore_cleanup_errors=True) as made:
            folder = Path(made)
            lay_out(self.guest, folder, lambda: _initrd(job, self._given(job)))
            rows = events.Rows()
            with started(words, folder) as process:
                try:
                    for line in self._records(process, folder, job, until):
                        rows.see(line)
                        yield line
                except TargetError as error:
                    raise _explained(error, folder, self.name) from error
            if job.by == "path" and self.plugin is not None:
                yield from map(msgspec.json.encode, rows.events(counts_of(folder)))

    def close(self) -> None:
        """Nothing outlives a call."""

    def _accelerator(self, by: By) -> tuple[Accelerator, str]:
        """With what there is to say about it. By time KVM where it runs this guest: a boot may have to show that."""
        if self.accelerator is not None:
            return self.accelerator, ""
        if by == "path":
            return "icount", ""
        self.guest.check()  # first: a damaged file is no fault of KVM's
        machine = self.variant.machine(self.guest.manifest.machine).text(self.qemu, "kvm")
        key = (self.qemu.text, self.guest.image, self.variant.name, machine)
        return kvm.find(self.name, key, self._try_kvm).accelerator

    def _try_kvm(self) -> None:
        """Boots the guest under KVM and lets the probe list its rows. Raises TargetError where that does not work."""
        job = Job(("--list", "--json"), max_bytes=MAX_CONSOLE)
        for _ in replace(self, accelerator="kvm").run(job, Deadline.after(kvm.TRIAL_SECONDS)):
            pass

    def _command_line(self, accelerator: Accelerator) -> str:
        """An emulated Linux on microvm cannot be left to find out how fast its clock is: see tsc.py."""
        made = self.guest.manifest
        machine = self.variant.machine(made.machine)
        told = accelerator == "tcg" and machine.type == "microvm" and not made.modules
        words = (*(tsc.kernel_words() if told else ()), *displays.kernel_words(machine))
        return self.variant.command_line(" ".join((made.command_line, *words)))

    def _given(self, job: Job) -> disks.Provided:
        """Files and words for the display of the machine, and for the disks that the rows need."""
        made = self.guest.manifest
        for_disks = disks.provide(self.guest, job.needs, self.variant.command_line(made.command_line))
        return displays.together(displays.provide(self.guest, self.variant.machine(made.machine)), for_disks)

    def _records(self, process: subprocess.Popen[bytes], folder: Path, job: Job, until: Deadline) -> Iterator[bytes]:
        """What stands between the markers; then waits for the end of QEMU, which must be a good one."""
        output = BULK if self.guest.manifest.output == "debug-port" else CONSOLE
        lines = _lines(process, folder, output, job.max_bytes, until, self.name)
        yield from between_markers(lines, self.name)
        shutdown = Deadline.after(min(SHUTDOWN_SECONDS, until.left()))
        for _ in _lines(process, folder, output, job.max_bytes, shutdown, self.name):
            pass
        if process.returncode != 0:
            raise TargetError(f"{self.name}: QEMU ended badly.")


def lay_out(guest: store.Guest, folder: Path, initrd: Callable[[], bytes]) -> None:
    """The files that QEMU finds in its folder: those of the guest's that are made for each boot, and empty ones."""
    for name in (CONSOLE, BULK):
        (folder / name).touch()
    if guest.manifest.modules:
        guest.link(folder)
    if guest.has(store.PROBE):
        (folder / PROBE).write_bytes(build.static_probe().read_bytes())
    if guest.has(store.INITRAMFS) or not guest.manifest.modules:
        (folder / INITRD).write_bytes(initrd())


def _initrd(job: Job, given: disks.Provided) -> bytes:
    program = (trio.probe() if job.program == "probe-trio" else build.static_probe()).read_bytes()
    given_tools = tools.provide(job.needs)
    command = (f"/{initramfs.PROBE}", *given.arguments, *given_tools.arguments, *job.arguments)
    files = {**given.files, **given_tools.files}
    try:
        found = initramfs.entries(programs.init().read_bytes(), program, command, programs.busybox(), files)
    except ValueError as error:
        raise UsageError(f"{error}.", "Name fewer rows.") from error
    return initramfs.archive(found)


def _lines(
    process: subprocess.Popen[bytes], folder: Path, output: str, max_bytes: int, until: Deadline, name: str
) -> Iterator[bytes]:
    """Follows the file that the guest's output goes to, from its beginning to QEMU's end; lines without LF or CRLF."""
    splitter = Splitter(name, max_bytes)
    quiet = Deadline.after(SILENCE_SECONDS)
    panicked: Deadline | None = None
    looked_at = 0  #: bytes of the console
    with (folder / output).open("rb") as file:
        while True:
            ended = process.poll() is not None  # before reading: what it wrote last is then in the file
            piece = file.read(PIECE)
            if not piece and ended:
                break
            if until.passed or quiet.passed:
                when = "when its time was up" if until.passed else f"after {SILENCE_SECONDS:.0f} s without a word"
                raise TargetError(f"{name} was not done {when}.", "", splitter.tail)
            console = (folder / CONSOLE).stat().st_size
            if output != CONSOLE and console > MAX_CONSOLE:
                raise TargetError(f"{name} printed more than {MAX_CONSOLE:,} bytes on its console.")
            if not piece:
                if panicked is not None and panicked.passed:
                    raise TargetError(f"{name} did not end after a panic.", "", splitter.tail)
                if panicked is None and console != looked_at:
                    looked_at = console
                    if _PANIC_BEGINS.search(end_of(folder / CONSOLE, PANIC_BYTES)):
                        panicked = Deadline.after(PANIC_SECONDS)
                time.sleep(POLL_SECONDS)
                continue
            quiet = Deadline.after(SILENCE_SECONDS)
            yield from splitter.feed(piece)
    yield from splitter.rest()


def _explained(error: TargetError, folder: Path, name: str) -> TargetError:
    """The same error with what is known of its cause: a kernel's panic, init's word, QEMU's; and the last output."""
    console, bulk, said = (shown(end_of(folder / part, LAST_OUTPUT // 3)) for part in (CONSOLE, BULK, SAID))
    text = error.text
    if panic := _PANIC.search(shown(end_of(folder / CONSOLE, PANIC_BYTES))):
        text = f"{name}: the guest's kernel panicked: {(panic[1] or panic[2]).strip()}."
    elif failed := _INIT_FAILED.search(bulk):
        text = f"{name}: the guest's init failed: {failed[1].strip()}."
    elif said:
        text = f"{text} QEMU said: {said.strip().splitlines()[-1][:300]}"
    last = "\n".join(part.rstrip("\n") for part in (console, bulk, said) if part)
    return TargetError(text, "The guest's last output is below; --dry-run prints the command.", last)


def counts_of(folder: Path) -> dict[str, events.Region]:
    """What the plugin wrote when QEMU ended."""
    path = folder / EVENTS
    if not path.is_file():
        raise TargetError("The plugin wrote no counts.", "Run it again.", shown(end_of(folder / SAID, LAST_OUTPUT)))
    if path.stat().st_size > events.MAX_FILE:
        raise TargetError(f"The plugin wrote more than {events.MAX_FILE:,} bytes.", "Run it again.")
    return events.parse(path.read_bytes())
