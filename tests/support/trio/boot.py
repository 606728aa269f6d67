"""Boots Trio, or Linux with the very same initramfs; runs one command in it, and says what it printed and how it ended.

What differs between the two outputs is the kernels' doing: init, programs, machine and command are the same files and
words. Trio's tests use `boot`; from a shell the same is `scripts/trio`.
"""

from __future__ import annotations

import math
import re
import shutil
import stat
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path

from kernometer.errors import MissingError, TargetError
from kernometer.guests import store
from kernometer.guests.architecture import MachineType
from kernometer.guests.emulator import qemu
from kernometer.guests.emulator.process import SAID, end_of, started
from kernometer.guests.images import disks, displays
from kernometer.guests.images.initramfs import Entry, archive, entries
from kernometer.guests.inside import programs
from kernometer.guests.kernels import trio
from kernometer.targets import build, tsc
from kernometer.targets.base import Deadline

POLL_SECONDS = 0.01
INITRD, CONSOLE, BULK = "initrd", "console", "bulk"
#: QEMU ends with 2 * status + 1 where a kernel writes its init's status to this device.
DEBUG_EXIT = ("-device", "isa-debug-exit,iobase=0xf4,iosize=4")

#: Not always at a line's beginning: a command need not end its last line.
_EXIT = re.compile(rb"#init exit (-?\d+) signal (\d+)\n")
_INIT_LINE = re.compile(rb"#init (?:exit|failed) .*\n?")


@dataclass(frozen=True)
class Kernel:
    """What is booted: an ELF file with a PVH note, and what the front end knows of it."""

    file: Path
    guest: store.Guest

    @classmethod
    def linux(cls, guest: str = "linux-6.1") -> Kernel:
        """Of the cache. Raises MissingError, with the command that adds it, where it is not there."""
        found = store.find(guest)
        return cls(found.kernel, found)

    @classmethod
    def trio(cls, file: Path) -> Kernel:
        """One that was built, wherever it is."""
        manifest = store.Manifest(
            name="trio",
            package="trio",
            version="-",
            release="",
            package_sha256="",
            kernel_sha256="",
            kernel_bytes=0,
            built_in=trio.BUILT_IN,
        )
        return cls(file, store.Guest(file.parent, manifest))


@dataclass(frozen=True)
class Machine:
    """Where, and by what kind of time: `path` counts instructions (one is a nanosecond of the guest's)."""

    path: bool = False
    type: MachineType = "microvm"
    memory_mib: int = 2048
    display: qemu.Display = ""
    more: tuple[str, ...] = ()  #: further words for QEMU

    @property
    def qemu(self) -> qemu.Machine:
        return qemu.Machine(type=self.type, memory_mib=self.memory_mib, display=self.display)


@dataclass(frozen=True)
class Inside:
    """What a guest is given: its first file system, with its init's command."""

    archive: bytes

    def lay_out(self, folder: Path) -> None:
        (folder / INITRD).write_bytes(self.archive)


@dataclass(frozen=True)
class Outcome:
    """How a boot ended."""

    status: int | None  #: the command's exit status, 128 + its signal; None: it never ended
    bulk: bytes  #: what it printed on its standard output, by way of the debug port
    console: bytes  #: what came on the serial line: the kernel's words, and the command's standard error
    qemu_status: int | None  #: None: it was ended, its time was up
    said: str  #: QEMU's own words
    lines_of_init: tuple[str, ...] = field(default=())

    @property
    def debug_exit(self) -> int | None:
        """What was written to isa-debug-exit; None where nothing was."""
        ended = self.qemu_status
        return ended // 2 if ended is not None and ended % 2 else None

    def __str__(self) -> str:
        ended = "its time was up" if self.qemu_status is None else f"QEMU ended with {self.qemu_status}"
        parts = (self.bulk, self.console[-4000:], self.said.encode())
        words = b"\n".join(part.rstrip() for part in parts if part).decode(errors="replace")
        return f"status {self.status}, {ended}\n{words}"


def command_of(words: Iterable[str]) -> tuple[str, ...]:
    """A program without a `/` in its name is one of /bin."""
    first, *rest = words
    return (first if "/" in first else f"/bin/{first}", *rest)


def applets() -> tuple[str, ...]:
    """All names under which busybox is called."""
    program = shutil.which("busybox")
    if program is None:
        return ()
    listed = subprocess.run((program, "--list"), capture_output=True, text=True, timeout=20, check=True)
    return tuple(listed.stdout.split())


def initramfs(
    words: Iterable[str],
    files: Mapping[str, bytes] | None = None,
    executable: Iterable[str] = (),
    init: bytes | None = None,
) -> Inside:
    """What a Linux guest gets: init, /bin/probe, all of busybox's applets; and `words`, the command for init to run.

    `files` is name to content; those of `executable` and below bin/ can be executed. `init` replaces our init.
    """
    told = {programs.COMMAND: programs.encoded(command_of(words))} if init is None else {}
    ours = programs.init().read_bytes() if init is None else init
    probe = build.static_probe().read_bytes()
    runnable = set(executable)
    found = {each.name: each for each in entries(ours, probe, programs.busybox(), {**(files or {}), **told})}
    for name in runnable:
        found[name] = replace(found[name], mode=stat.S_IFREG | 0o755)
    for name in applets():
        found.setdefault(f"bin/{name}", Entry(f"bin/{name}", stat.S_IFLNK | 0o777, b"busybox"))
    return Inside(archive(tuple(found.values())))


def devices(kernel: Kernel, machine: Machine, kinds: Iterable[str] = ()) -> Mapping[str, bytes]:
    """Files by which init gives the guest its display, and a memory disk mounted at /disk/KIND for each of `kinds`.

    Raises MissingError for what this kernel lacks.
    """
    made = kernel.guest.manifest
    given = disks.provide(kernel.guest, kinds, made.command_line)
    if lacking := [word for word in given.arguments if "=" in word and not word.partition("=")[2].startswith("/")]:
        raise MissingError(lacking[0])
    return displays.together(displays.provide(kernel.guest, machine.qemu), given).files


def virtio_disk(image: Path, bad_sector: int | None = None) -> tuple[str, ...]:
    """Words for QEMU: the image as the guest's virtio disk, of which a sector cannot be read where one is given."""
    drive = f"raw,node-name=disk,file.driver=file,file.filename={image}"
    if bad_sector is not None:
        drive = f"raw,node-name=disk,file.driver=blkdebug,file.image.driver=file,file.image.filename={image}"
        drive += f",file.inject-error.0.event=read_aio,file.inject-error.0.sector={bad_sector}"
    return ("-blockdev", drive, "-device", "virtio-blk-pci,drive=disk")


def boot(
    kernel: Kernel,
    inside: Inside,
    machine: Machine = Machine(),  # frozen, so one serves all calls
    *,
    append: str = "",
    seconds: float = 60.0,
    silence: float = math.inf,
    keep: Path | None = None,
    hear: Callable[[bytes], None] | None = None,
) -> Outcome:
    """One boot, until QEMU ends, or `seconds` are over, or `silence` seconds without a word on the console or by the
    command. `hear` is told what comes on the console as it comes.

    `keep` is a folder for the files of the boot; without it they are gone afterwards. Raises TargetError where QEMU
    cannot be started, MissingError where it is not installed.
    """
    with ExitStack() as stack:
        folder = keep or Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="trio-boot-")))
        folder.mkdir(parents=True, exist_ok=True)
        inside.lay_out(folder)
        for name in (CONSOLE, BULK):
            (folder / name).write_bytes(b"")
        process = stack.enter_context(started(argv(kernel, machine, append), folder))
        until, quiet, heard, printed = Deadline.after(seconds), Deadline.after(silence), 0, 0
        while True:
            ended = process.poll()
            console, size = (folder / CONSOLE).read_bytes(), (folder / BULK).stat().st_size
            if hear is not None and len(console) > heard:
                hear(console[heard:])
            if (len(console), size) != (heard, printed):
                quiet, heard, printed = Deadline.after(silence), len(console), size
            if ended is not None or until.passed or quiet.passed:
                return _outcome((folder / BULK).read_bytes(), console, ended, end_of(folder / SAID, 4000))
            time.sleep(POLL_SECONDS)


def argv(kernel: Kernel, machine: Machine, append: str = "") -> tuple[str, ...]:
    """QEMU's argument vector; its relative names are files of the folder of the boot."""
    if shutil.which(qemu.PROGRAM) is None:
        raise TargetError(f"There is no {qemu.PROGRAM} here.", "Debian, Ubuntu: apt-get install qemu-system-x86.")
    told = tsc.kernel_words() if not machine.path and machine.type == "microvm" else ()
    usual = (kernel.guest.manifest.command_line, *displays.kernel_words(machine.qemu))
    words = qemu.Boot(
        machine=machine.qemu,
        accelerator="icount" if machine.path else "tcg",
        kernel=kernel.file.resolve(),
        initrd=INITRD,
        command_line=" ".join(word for word in (*usual, *told, append) if word),
        console=Path(CONSOLE),
        bulk=Path(BULK),
    )
    return (*qemu.argv(words), *machine.more)


def _outcome(bulk: bytes, console: bytes, ended: int | None, said: bytes) -> Outcome:
    """Where the kernel does not let init have the debug port, its words are on the console."""
    status = None
    for text in (bulk, console.replace(b"\r\n", b"\n")):
        if found := _EXIT.search(text):
            status = int(found[1]) if found[1] != b"-1" else 128 + int(found[2])
            break
    lines = tuple(line.decode(errors="replace").strip() for line in _INIT_LINE.findall(bulk))
    return Outcome(status, _INIT_LINE.sub(b"", bulk), console, ended, said.decode(errors="replace"), lines)
