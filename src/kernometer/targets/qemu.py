"""`qemu:GUEST`: the probe in a kernel of its own under QEMU, by path.

A boot is one call of the probe: an initramfs is written for the job, QEMU is started in a temporary folder, the probe's
lines are read from a file as they appear there, and the plugin's counts are added when QEMU has ended.
"""

from __future__ import annotations

import ctypes
import os
import re
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import msgspec

from kernometer.errors import KernometerError, TargetError, UsageError
from kernometer.guests import events, initramfs, plugin, programs, store
from kernometer.guests.qemu import PROGRAM, Boot, QemuVersion, detect, machine, path_argv
from kernometer.results.model import By
from kernometer.targets import build
from kernometer.targets.base import Deadline, Job
from kernometer.targets.stream import LAST_OUTPUT, LINE_BYTES, between_markers
from kernometer.text import printable

#: Between two looks at the output. The guest does not notice: it writes to a file.
POLL_SECONDS = 0.02
#: A guest that prints nothing for so long hangs: a boot takes seconds, no row by path more than a few.
SILENCE_SECONDS = 300.0
#: From the end marker to the end of QEMU.
SHUTDOWN_SECONDS = 60.0
MAX_CONSOLE = 8 << 20
PIECE = 1 << 20

INITRD, CONSOLE, BULK, EVENTS, SAID = "initrd", "console", "bulk", "events.json", "said"

_PANIC = re.compile(r"Kernel panic - not syncing: (.*)")
_INIT_FAILED = re.compile(r"#init failed (.*)")
_LIBC = ctypes.CDLL(None)
_PR_SET_PDEATHSIG = 1


@dataclass(frozen=True, slots=True)
class QemuTarget:
    """A guest on the standard machine. Implements Target."""

    guest: store.Guest
    qemu: QemuVersion
    plugin: Path | None = None
    notes: tuple[str, ...] = ()

    @classmethod
    def from_spec(cls, spec: str) -> QemuTarget:
        """From the part after `qemu:`. Raises UsageError, or MissingError with the command that adds the guest.

        Without a plugin (no compiler, say) there are counts and no event vectors; `notes` says so.
        """
        if not spec:
            raise UsageError("qemu: needs the name of a guest.", "For example qemu:linux-6.1.")
        guest, version = store.find(spec), detect()
        try:
            return cls(guest, version, plugin.build(version))
        except KernometerError as error:
            return cls(guest, version, None, (f"There are no event vectors. {error.text}",))

    @property
    def name(self) -> str:
        return f"qemu:{self.guest.name}"

    @property
    def by(self) -> tuple[By, ...]:
        return ("path",)

    @property
    def machine(self) -> str:
        return machine(self.qemu)

    @property
    def boot(self) -> str:
        """The kernel image: with the same machine and probe, its counts are equal."""
        made = self.guest.manifest
        return f"{made.package} {made.version} sha256:{made.kernel_sha256}"

    @property
    def quick_start(self) -> bool:
        return False

    def describe(self, job: Job) -> tuple[str, ...]:
        """QEMU's argument vector; the relative names in it are files in a temporary folder, where it is started."""
        if job.by != "path":
            raise UsageError(f"{self.name} measures by path only.", "Add --by path.")
        return path_argv(
            Boot(
                kernel=self.guest.kernel,
                initrd=Path(INITRD),
                console=Path(CONSOLE),
                bulk=Path(BULK),
                plugin=self.plugin,
                events=Path(EVENTS) if self.plugin else None,
            )
        )

    def run(self, job: Job, until: Deadline) -> Iterator[bytes]:
        """The probe's lines as they come, then an `events` record for each row. See Target.run."""
        argv = self.describe(job)
        self.guest.check()
        with tempfile.TemporaryDirectory(prefix="kernometer-qemu-", ignore_cleanup_errors=True) as made:
            folder = Path(made)
            (folder / INITRD).write_bytes(_initrd(job))
            rows = events.Rows()
            with _started(argv, folder) as process:
                try:
                    for line in _records(process, folder, job, until, self.name):
                        rows.see(line)
                        yield line
                except TargetError as error:
                    raise _explained(error, folder, self.name) from error
            if self.plugin is not None:
                yield from map(msgspec.json.encode, rows.events(_events(folder)))


def static_recipe() -> build.Recipe:
    """How the probe is compiled for a guest that has no libraries."""
    program, *flags = programs.static_compiler()
    return build.Recipe(program, tuple(flags))


def _initrd(job: Job) -> bytes:
    probe = build.probe(static_recipe()).read_bytes()
    command = (f"/{initramfs.PROBE}", *job.arguments)
    try:
        found = initramfs.entries(programs.init().read_bytes(), probe, command, programs.busybox())
    except ValueError as error:
        raise UsageError(f"{error}.", "Name fewer rows.") from error
    return initramfs.archive(found)


def _die_with_parent() -> None:
    """In the child, before QEMU: the kernel ends it should we be killed, so that no QEMU is left behind."""
    _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


@contextmanager
def _started(argv: tuple[str, ...], folder: Path) -> Iterator[subprocess.Popen[bytes]]:
    """QEMU in a session of its own, so that Ctrl-C reaches us alone; killed and waited for in every case."""
    for name in (CONSOLE, BULK):
        (folder / name).touch()
    with (folder / SAID).open("wb") as said:
        try:
            process = subprocess.Popen(
                argv,
                cwd=folder,
                stdin=subprocess.DEVNULL,
                stdout=said,
                stderr=said,
                start_new_session=True,
                preexec_fn=_die_with_parent,
            )
        except OSError as error:
            raise TargetError(
                f"{PROGRAM} cannot be started: {error.strerror}.", "Reinstall qemu-system-x86."
            ) from error
    try:
        yield process
    finally:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _records(process: subprocess.Popen[bytes], folder: Path, job: Job, until: Deadline, name: str) -> Iterator[bytes]:
    """What stands between the markers; then waits for the end of QEMU, which must be a good one."""
    lines = _lines(process, folder, job.max_bytes, until, name)
    yield from between_markers(lines, name)
    shutdown = Deadline.after(min(SHUTDOWN_SECONDS, until.left()))
    for _ in _lines(process, folder, job.max_bytes, shutdown, name):
        pass
    if process.returncode != 0:
        raise TargetError(f"{name}: QEMU ended badly.")


def _lines(
    process: subprocess.Popen[bytes], folder: Path, max_bytes: int, until: Deadline, name: str
) -> Iterator[bytes]:
    """Follows the debug port's file, from its beginning to QEMU's end; lines without LF or CRLF."""
    pending = bytearray()
    total = 0
    quiet = Deadline.after(SILENCE_SECONDS)
    with (folder / BULK).open("rb") as bulk:
        while True:
            ended = process.poll() is not None  # before reading: what it wrote last is then in the file
            piece = bulk.read(PIECE)
            if not piece and ended:
                break
            if until.passed or quiet.passed:
                when = "when its time was up" if until.passed else f"after {SILENCE_SECONDS:.0f} s without a word"
                raise TargetError(f"{name} was not done {when}.", "", _shown(pending))
            total += len(piece)
            if total > max_bytes or len(pending) > LINE_BYTES:
                raise TargetError(f"{name} printed more than {max_bytes:,} bytes, or a line without end.")
            if (folder / CONSOLE).stat().st_size > MAX_CONSOLE:
                raise TargetError(f"{name} printed more than {MAX_CONSOLE:,} bytes on its console.")
            if not piece:
                time.sleep(POLL_SECONDS)
                continue
            quiet = Deadline.after(SILENCE_SECONDS)
            *whole, rest = (pending + piece).split(b"\n")
            pending = rest
            for line in whole:
                yield bytes(line).removesuffix(b"\r")
    if pending:
        yield bytes(pending)


def _explained(error: TargetError, folder: Path, name: str) -> TargetError:
    """The same error with what is known of its cause: a kernel's panic, init's word, QEMU's; and the last output."""
    console, bulk, said = (_shown(_end_of(folder / part)) for part in (CONSOLE, BULK, SAID))
    text = error.text
    if panic := _PANIC.search(console):
        text = f"{name}: the guest's kernel panicked: {panic[1].strip()}."
    elif failed := _INIT_FAILED.search(bulk):
        text = f"{name}: the guest's init failed: {failed[1].strip()}."
    elif said:
        text = f"{text} QEMU said: {said.strip().splitlines()[-1][:300]}"
    last = "\n".join(part.rstrip("\n") for part in (console, bulk, said) if part)
    return TargetError(text, "The guest's last output is below; --dry-run prints the command.", last)


def _shown(data: bytes | bytearray) -> str:
    return printable(bytes(data).decode("utf-8", "replace").replace("\r\n", "\n"), keep="\n")


def _end_of(path: Path) -> bytes:
    """A share of what an error holds."""
    with path.open("rb") as file:
        file.seek(max(0, path.stat().st_size - LAST_OUTPUT // 3))
        return file.read()


def _events(folder: Path) -> dict[str, events.Region]:
    """What the plugin wrote when QEMU ended."""
    path = folder / EVENTS
    if not path.is_file():
        raise TargetError("The plugin wrote no counts.", "Run it again.", _shown(_end_of(folder / SAID)))
    if path.stat().st_size > events.MAX_FILE:
        raise TargetError(f"The plugin wrote more than {events.MAX_FILE:,} bytes.", "Run it again.")
    return events.parse(path.read_bytes())
