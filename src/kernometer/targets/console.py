"""`console:SYSTEM:IMAGE`: a system with a disk of its own, booted under QEMU and driven at its console, by time.

A boot is one call of the probe. The disk is the same each time, for nothing is written to it. The probe's source is
copied into the system and compiled there. A description defines how to drive the system (docs/console.md). By path such
a system is a guest, which is saved at its console (consoles/saving.py).
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
from kernometer.errors import TargetError, UsageError
from kernometer.guests import store, variant
from kernometer.guests.emulator import kvm
from kernometer.guests.emulator.process import SAID, end_of, talking
from kernometer.guests.emulator.qemu import Accelerator, Boot, Machine, QemuVersion, argv, detect
from kernometer.processes import scratch
from kernometer.results.model import By
from kernometer.targets.base import SILENCE_SECONDS, Deadline, Job, Place, Target
from kernometer.targets.booting import BULK
from kernometer.targets.consoles import attached, description, images
from kernometer.targets.consoles.dialogue import Dialogue
from kernometer.targets.consoles.serial import Console
from kernometer.targets.local import host_id
from kernometer.targets.stream import LAST_OUTPUT, between_markers, shown, unbroken

#: From the system's last output to the end of QEMU.
END_SECONDS = 30.0
#: A system boots in this time under KVM, and in ten times as long emulated. If KVM fails, this is lost in every boot.
KVM_SECONDS = 60.0


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
    accelerator: Accelerator | None = None  #: None: detected
    by = ("time",)

    @classmethod
    def from_spec(cls, spec: str) -> ConsoleTarget:
        """From the part after `console:`. Raises UsageError, also for an invalid description, or MissingError."""
        system, what = _parts(spec)
        boots = variant.parse(what.removeprefix("qemu:")) if what.startswith("qemu:") else images.image(Path(what))
        return cls(spec, system, boots, detect())

    @property
    def name(self) -> str:
        return f"console:{self.spec}"

    def machine(self, by: By) -> str:  # noqa: ARG002  # it is measured by time alone
        """Without its accelerator, which a trial boot finds."""
        return self._machine().text(self.qemu, self.accelerator)

    def place(self, by: By) -> Place:  # noqa: ARG002  # as above
        """A system boots for every call, so two sessions never share a boot."""
        accelerator, remark = self._accelerator()
        machine = self._machine()
        return Place(
            machine=machine.text(self.qemu, accelerator),
            board=machine.board(self.qemu, accelerator),
            image=self._image(),
            command_line=self.boot().command_line,
            notes=tuple(note for note in (self.system.untried, remark) if note),
            host_id=host_id(),
        )

    def describe(self, job: Job) -> tuple[str, ...]:  # noqa: ARG002  # its arguments are typed
        """QEMU's argument vector; its relative names are files in a temporary directory, where it is started. Nothing
        boots: what no trial has found yet is taken to work."""
        return argv(replace(self, accelerator=self._accelerator(trial=False)[0]).boot())

    def boot(self) -> Boot:
        """The boot that `describe` prints."""
        machine, image = self._machine(), self.boots if isinstance(self.boots, images.Image) else None
        made = Boot(
            machine=machine,
            accelerator=self._accelerator()[0],
            kernel=None,
            initrd="",
            command_line="",
            console=None,
            bulk=Path(BULK),
            devices=attached.devices(self.system.description, machine, image),
            typed=True,
        )
        if isinstance(self.boots, images.Image):
            return made
        guest = store.find(self.boots.guest)
        if any(module.made for module in guest.manifest.modules):
            raise UsageError(f"{guest.name} takes its probe from memory.", f"Measure it as qemu:{guest.name}.")
        line = self.boots.command_line(guest.manifest.command_line)
        return replace(made, kernel=guest.kernel_word, command_line=line, initrd=guest.initrd(""))

    def run(self, job: Job, until: Deadline) -> Iterator[bytes]:
        """The probe's lines as they come. See Target.run."""
        with self._booted(argv(self.boot()), until) as booted:
            yield from self._talk(booted, job)
            self._leave(booted)

    @contextmanager
    def _booted(self, words: tuple[str, ...], until: Deadline) -> Iterator[_Booted]:
        """QEMU in a directory with its files; removes both at the end. Errors contain QEMU's message."""
        with scratch("kernometer-console-") as folder:
            carried = self._lay_out(folder)
            with talking(words, folder, 2) as (process, (_, line)):
                console = Console(line, self.name, self.system.description.boot.panic)
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
        lines = dialogue.output(job.arguments, silence=SILENCE_SECONDS, max_bytes=job.max_bytes)
        yield from between_markers(unbroken(lines, self.name), self.name)
        for _ in lines:
            pass

    def _leave(self, booted: _Booted) -> None:
        """Powers off and checks QEMU's status."""
        if not booted.dialogue.leave():
            booted.process.terminate()
        try:
            status = booted.process.wait(END_SECONDS)
        except subprocess.TimeoutExpired:
            raise TargetError(f"{self.name}: power-off: QEMU still runs after the guest's console closed.") from None
        if status != 0:
            raise TargetError(f"{self.name}: power-off: QEMU ended with an error.")

    def _accelerator(self, *, trial: bool = True) -> tuple[Accelerator, str]:
        """The accelerator and a note. It is KVM if that runs this system, which a trial boot may test."""
        if self.accelerator is not None:
            return self.accelerator, ""
        key = (self.qemu.text, self._image(), self._machine().text(self.qemu, "kvm"))
        return kvm.find(self.name, key, self._try_kvm if trial else None).accelerator

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
        carried = attached.carried(self.system.description)
        attached.lay_out(self.system.description, carried, folder)
        return carried

    def _machine(self) -> Machine:
        """The description's machine; for a guest that boots by its kernel, the guest's, with the described devices."""
        described = self.system.description.machine
        if isinstance(self.boots, images.Image):
            return described
        own = self.boots.machine(store.find(self.boots.guest).manifest.machine)
        return msgspec.structs.replace(own, devices=tuple(dict.fromkeys((*own.devices, *described.devices))))

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


def _with_words_of_qemu(error: TargetError, folder: Path) -> TargetError:
    """The error with QEMU's message, if it printed one."""
    said = shown(end_of(folder / SAID, LAST_OUTPUT // 4)).strip()
    if not said:
        return error
    text = f"{error.text} QEMU said: {said.splitlines()[-1][:300]}"
    next_step = f"{error.next_step} --dry-run prints the command."
    return TargetError(text, next_step, f"{error.last_output.rstrip()}\n{said}")
