"""`console:SYSTEM:IMAGE`: a system with a disk of its own, booted under QEMU and driven at its console.

A boot is one call of the probe. The disk is the same each time, for nothing is written to it. The probe's source is
copied into the system and compiled there. A description defines how to drive the system (docs/console.md).
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import msgspec

from kernometer.cache import sha256
from kernometer.errors import MissingError, TargetError, UsageError
from kernometer.guests import plugins, store, variant
from kernometer.guests.emulator import kvm
from kernometer.guests.emulator.process import SAID, end_of, talking
from kernometer.guests.emulator.qemu import Accelerator, Machine, QemuVersion, detect
from kernometer.guests.plugins import events
from kernometer.processes import scratch
from kernometer.results.model import By
from kernometer.targets import build
from kernometer.targets.base import SILENCE_SECONDS, Deadline, Job, Place, Target
from kernometer.targets.booting import counts_of
from kernometer.targets.consoles import boot, description, images, media
from kernometer.targets.consoles.dialogue import Dialogue
from kernometer.targets.consoles.serial import Console
from kernometer.targets.local import host_id
from kernometer.targets.stream import LAST_OUTPUT, between_markers, shown

#: From the system's last output to the end of QEMU.
END_SECONDS = 30.0
#: A system boots in this time under KVM, and in ten times as long emulated. If KVM fails, this is lost in every boot.
KVM_SECONDS = 60.0
SOURCE = "probe.c"

INPUT = (
    "{used} in use, and what is typed comes in the host's time: where the timer's ticks fall, and what the system did "
    "before a row, differ from boot to boot. Rows that fork or switch processes move most: measure several sessions."
)
UNTRIED = "The description {name} is untried: nobody has run it yet."


@dataclass(frozen=True, slots=True)
class _Booted:
    """A system that is booting or has booted."""

    folder: Path
    process: subprocess.Popen[bytes]
    dialogue: Dialogue
    carried: dict[str, bytes]


@dataclass(frozen=True, slots=True)
class ConsoleTarget(Target):
    """A described system on a virtual machine."""

    spec: str
    system: description.Loaded
    boots: images.Image | variant.Variant
    qemu: QemuVersion
    plugin: Path | None = None
    without_plugin: MissingError | None = None  #: why there is none
    accelerator: Accelerator | None = None  #: None: detected
    by = ("time", "path")

    @classmethod
    def from_spec(cls, spec: str) -> ConsoleTarget:
        """From the part after `console:`. Raises UsageError, also for an invalid description, or MissingError."""
        system, what = _parts(spec)
        boots = variant.parse(what.removeprefix("qemu:")) if what.startswith("qemu:") else images.image(Path(what))
        version = detect()
        return cls(spec, system, boots, version, *plugins.find(version))

    @property
    def name(self) -> str:
        return f"console:{self.spec}"

    def machine(self, by: By) -> str:
        """By time it has no accelerator, which a trial boot finds."""
        return self._machine().text(self.qemu, self._accelerator(by)[0] if by == "path" else self.accelerator)

    def place(self, by: By) -> Place:
        """A system boots for every call, so two sessions never share a boot."""
        accelerator, remark = self._accelerator(by)
        loaded = self._boots()
        notes = [UNTRIED.format(name=self.system.name)] if not self.system.description.tried else []
        notes += [remark] if remark else []
        if by == "path":
            used = "A console is" if isinstance(loaded, boot.Kernel) else "A disk and a console are"
            notes += [INPUT.format(used=used)]
        machine = self._machine()
        return Place(
            machine=machine.text(self.qemu, accelerator),
            board=machine.board(self.qemu, accelerator),
            image=self._image(),
            command_line=loaded.command_line if isinstance(loaded, boot.Kernel) else "",
            notes=tuple(notes),
            host_id=host_id() if by == "time" else "",
            here=by == "time",
        )

    def describe(self, job: Job) -> tuple[str, ...]:
        """QEMU's argument vector; its relative names are files in a temporary directory, where it is started."""
        if job.by == "path" and self.without_plugin is not None:
            raise self.without_plugin
        used = boot.Plugin(self.plugin, Path(boot.EVENTS)) if self.plugin and job.by == "path" else None
        return boot.argv(self.system.description, self._machine(), self._accelerator(job.by)[0], self._boots(), used)

    def run(self, job: Job, until: Deadline) -> Iterator[bytes]:
        """The probe's lines as they come; by path, when all have come, with an `events` record for each row. See
        Target.run."""
        with self._booted(self.describe(job), until) as booted:
            rows = events.Rows()
            held: list[bytes] = []
            for line in self._talk(booted, job):
                if job.by == "time":
                    yield line
                    continue
                rows.see(line)
                held.append(line)
            self._leave(booted)
            if job.by == "path":
                regions = counts_of(booted.folder)
                yield from events.recounted(held, rows, regions, clock=True)
                yield from map(msgspec.json.encode, rows.records(regions))

    @contextmanager
    def _booted(self, words: tuple[str, ...], until: Deadline) -> Iterator[_Booted]:
        """QEMU in a directory with its files; removes both at the end. Errors contain QEMU's message."""
        with scratch("kernometer-console-") as folder:
            carried = self._lay_out(folder)
            with talking(words, folder, 2) as (process, (line, monitor)):
                console = Console(line, monitor, self.name, self.system.description.boot.panic)
                try:
                    yield _Booted(folder, process, Dialogue(console, self.system.description, until), carried)
                except TargetError as error:
                    raise _with_words_of_qemu(error, folder) from error

    def _talk(self, booted: _Booted, job: Job) -> Iterator[bytes]:
        """From the boot to the probe's last record and the prompt after it."""
        dialogue = booted.dialogue
        dialogue.enter()
        dialogue.carry(booted.carried)
        dialogue.compile()
        lines = dialogue.output(job.arguments, live=job.by == "time", silence=SILENCE_SECONDS, max_bytes=job.max_bytes)
        yield from between_markers(_unbroken(lines, self.name), self.name)
        for _ in lines:
            pass

    def _leave(self, booted: _Booted) -> None:
        """Powers off and checks QEMU's status. By path QEMU's plugin writes its counts then."""
        if not booted.dialogue.leave():
            booted.process.terminate()
        try:
            status = booted.process.wait(END_SECONDS)
        except subprocess.TimeoutExpired:
            raise TargetError(f"{self.name}: power-off: QEMU still runs after the guest's console closed.") from None
        if status != 0:
            raise TargetError(f"{self.name}: power-off: QEMU ended with an error.")

    def _accelerator(self, by: By) -> tuple[Accelerator, str]:
        """The accelerator and a note. By time it is KVM if that runs this system, which a trial boot may test."""
        if self.accelerator is not None:
            return self.accelerator, ""
        if by == "path":
            return "icount-sleep", ""
        key = (self.qemu.text, self._image(), self._machine().text(self.qemu, "kvm"))
        return kvm.find(self.name, key, self._try_kvm).accelerator

    def _try_kvm(self) -> None:
        """Boots the system under KVM, logs in and powers off. Raises TargetError if that fails."""
        words = replace(self, accelerator="kvm").describe(Job(()))
        with self._booted(words, Deadline.after(KVM_SECONDS)) as booted:
            booted.dialogue.enter()
            self._leave(booted)

    def _lay_out(self, folder: Path) -> dict[str, bytes]:
        """Makes the files in QEMU's directory; returns the files to copy into the guest."""
        if isinstance(self.boots, variant.Variant):
            store.find(self.boots.guest).link(folder)
        described = self.system.description
        if not described.compile.command:
            return {}
        carried = {SOURCE: _source(described.compile.command)}
        if described.files.way == "cdrom":
            (folder / boot.JOB).write_bytes(media.iso(carried))
        elif described.files.way == "network":
            (folder / boot.FILES).mkdir()
            for name, data in carried.items():
                (folder / boot.FILES / name).write_bytes(data)
        return carried

    def _machine(self) -> Machine:
        """The description's machine; for a guest that boots by its kernel, the guest's, with the described devices."""
        described = self.system.description.machine
        if isinstance(self.boots, images.Image):
            return described
        own = self.boots.machine(store.find(self.boots.guest).manifest.machine)
        return msgspec.structs.replace(own, devices=tuple(dict.fromkeys((*own.devices, *described.devices))))

    def _boots(self) -> images.Image | boot.Kernel:
        if isinstance(self.boots, images.Image):
            return self.boots
        guest = store.find(self.boots.guest)
        if any(module.made for module in guest.manifest.modules):
            raise UsageError(f"{guest.name} takes its probe from memory.", f"Measure it as qemu:{guest.name}.")
        line = self.boots.command_line(guest.manifest.command_line)
        return boot.Kernel(guest.kernel_word, line, guest.initrd(""))

    def _image(self) -> str:
        """Identifies what boots and how it is driven, by one digest."""
        if isinstance(self.boots, images.Image):
            what, digest = self.boots.path.name, self.boots.digest
        else:
            guest = store.find(self.boots.guest)
            guest.check()
            what, digest = guest.name, guest.image
        return f"{self.system.name} {what} sha256:{sha256(f'{digest} {self.system.digest}'.encode())}"


def _parts(spec: str) -> tuple[description.Loaded, str]:
    """The description and the image, from `SYSTEM:IMAGE`, or `IMAGE` with a description next to it."""
    beside = Path(f"{spec}.toml")
    if spec and Path(spec).is_file() and beside.is_file():
        return description.load(beside, str(beside)), spec
    match = re.fullmatch(r"(.*?\.toml|[^:]*):(.+)", spec)
    if match is None:
        raise UsageError(
            f"console:{spec} has no system and image." if spec else "console: needs a system and its image.",
            f"console:SYSTEM:IMAGE, with SYSTEM one of {', '.join(description.shipped())} or a .toml file; or "
            "console:IMAGE with IMAGE.toml next to it.",
        )
    return description.find(match[1]), match[2]


def _source(command: str) -> bytes:
    """The probe as one file that contains its compiler flags."""
    flags = re.sub(r"-o \{probe\}|\{source\}", "", command)
    shown_flags = re.sub(r'[\\"]', "", " ".join(flags.split()))
    return f'#define KM_FLAGS "{shown_flags}"\n{build.amalgam()}'.encode()


def _unbroken(lines: Iterator[bytes], name: str) -> Iterator[bytes]:
    """Raises TargetError if other output, for example a kernel's message, broke a record."""
    for line in lines:
        if line.startswith(b"{"):
            try:
                msgspec.json.decode(line)
            except msgspec.DecodeError:
                raise _broken(line, name) from None
        elif b'{"type":' in line:
            raise _broken(line, name)
        yield line


def _broken(line: bytes, name: str) -> TargetError:
    return TargetError(
        f"{name}: run: a record was broken by other words on the console.",
        "Run it again, or keep such output away: 'setup' of [shell] in the description.",
        shown(line[-LAST_OUTPUT:]),
    )


def _with_words_of_qemu(error: TargetError, folder: Path) -> TargetError:
    """The error with QEMU's message, if it printed one."""
    said = shown(end_of(folder / SAID, LAST_OUTPUT // 4)).strip()
    if not said:
        return error
    text = f"{error.text} QEMU said: {said.splitlines()[-1][:300]}"
    next_step = f"{error.next_step} --dry-run prints the command."
    return TargetError(text, next_step, f"{error.last_output.rstrip()}\n{said}")
