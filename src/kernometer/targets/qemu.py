"""`qemu:GUEST`: the probe in a guest kernel under QEMU, by path or by time.

By time a boot is one call of the probe. By path each row has its own guest, which continues from the same saved state,
whatever the other rows are. If a guest of our init cannot be saved, each row boots its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from threading import BoundedSemaphore

import msgspec

from kernometer.cache import sha256
from kernometer.errors import BuildError, MissingError, TargetError, UsageError
from kernometer.guests import plugins, store, variant
from kernometer.guests.architecture import X86_64
from kernometer.guests.emulator import kvm
from kernometer.guests.emulator.qemu import Accelerator, Boot, Machine, Phase, QemuVersion, argv, detect
from kernometer.guests.emulator.remembered import known, until_reboot
from kernometer.guests.images import disks, displays
from kernometer.guests.inside import programs, tools
from kernometer.guests.inside.programs import Provided
from kernometer.guests.kernels import trio
from kernometer.guests.variant import Variant
from kernometer.results.model import By
from kernometer.targets import booting, profiling, tsc
from kernometer.targets.base import Deadline, Job, Place, Program, Target
from kernometer.targets.booting import BULK, CONSOLE, EVENTS, INITRD, MAX_CONSOLE, PROBE, MuteError
from kernometer.targets.consoles import attached, description, images
from kernometer.targets.consoles import saving as at_console
from kernometer.targets.guest_runs import Guests
from kernometer.targets.local import host_id
from kernometer.targets.side_by_side import side_by_side, slots

#: Seconds for a trial of saving and restoring, whose boot takes ten.
SAVING_SECONDS = 1800.0
_NO_INIT = "its first process is not our init"


class _Saving(msgspec.Struct, frozen=True):
    """`why` saving does not work; "" if it does."""

    why: str = ""


@dataclass(frozen=True, slots=True)
class QemuTarget(Target):
    """A guest on a virtual machine."""

    guest: store.Guest
    variant: Variant
    qemu: QemuVersion
    plugin: Path | None = None
    without_plugin: MissingError | None = None  #: why there is none
    accelerator: Accelerator | None = None  #: None: the one for times or counts that works here
    saved: bool | None = None  #: whether rows by path continue from a saved guest; None: if that works
    system: description.Loaded | None = None  #: how a system on a disk is driven at its console

    @classmethod
    def from_spec(cls, spec: str) -> QemuTarget:
        """From the part after `qemu:`. Raises UsageError, or MissingError with the command that adds the guest. Without
        a plugin (for example without a compiler) it measures by time alone."""
        if not spec:
            raise UsageError("qemu: needs the name of a guest.", "For example qemu:linux-6.1.")
        wanted = variant.parse(spec)
        return cls.of_guest(store.find(wanted.guest), wanted)

    @classmethod
    def of_guest(cls, guest: store.Guest, wanted: Variant) -> QemuTarget:
        """Raises what `from_spec` raises."""
        wanted.machine(guest.manifest.machine)
        version = detect(guest.architecture.emulator)
        system = description.load(guest.folder / store.DESCRIPTION, guest.name) if guest.at_console else None
        return cls(guest, wanted, version, *plugins.find(version), system=system)

    def rotated(self, count: int) -> tuple[QemuTarget, ...]:
        """The guest on `count` machines, its own first, for layout floors (docs/path.md): see Variant.rotated. At most
        guests.variant.ROTATIONS differ."""
        usual, history = self.guest.manifest.machine, self._has_history
        variants = (self.variant.rotated(number, usual, history=history) for number in range(count))
        return tuple(replace(self, variant=variant) for variant in variants)

    @property
    def name(self) -> str:
        return f"qemu:{self.variant.name}"

    @property
    def by(self) -> tuple[By, ...]:
        """GNU Mach's boot task only counts, KVM runs no kernel of another architecture, a system on a disk is measured
        by time at its console, and a kernel without our archive has only what waits in it."""
        counted = self.guest.has(store.MACH) or self.guest.architecture is not X86_64 or self.guest.at_console
        counted = counted or self.guest.has_own
        return ("path",) if counted else ("time", "path")

    @property
    def programs(self) -> tuple[Program, ...]:
        if self.guest.has(store.MACH):
            return ("probe-trio",)
        return ("probe", "probe-trio") if trio.is_trio(self.guest) else ("probe",)

    @property
    def profiles(self) -> bool:
        """The plugin that records instructions knows only x86-64's calls and returns."""
        return self.guest.architecture.is_x86

    @property
    def counts_memory(self) -> bool:
        """Of x86 alone, where the plugin can read registers and page tables."""
        return self.guest.architecture.is_x86 and self.plugin is not None and plugins.reads_pages()

    @property
    def counts_entries(self) -> bool:
        """Into Linux, where the plugin can read registers; most other kernels begin with modules."""
        linux = self.guest.has_init and not self.guest.manifest.modules and not trio.is_trio(self.guest)
        return self.counts_memory and linux

    @property
    def _machine(self) -> Machine:
        return self.variant.machine(self.guest.manifest.machine)

    def machine(self, by: By) -> str:
        """By time it has no accelerator, which a trial boot finds."""
        return self._machine.text(self.qemu, self._accelerator(by)[0] if by == "path" else self.accelerator)

    def place(self, by: By) -> Place:
        """A guest boots for every call, so two sessions never share a boot."""
        accelerator, note = self._accelerator(by)
        notes: tuple[str, ...] = (note,)
        why = self._why_not_saved() if by == "path" else ""
        if by == "path":
            booted = f"{self.name} cannot be saved ({why}): each row boots a guest, which takes longer."
            notes = (booted if why else "", self.system.untried if self.system is not None else "")
        return Place(
            machine=self._machine.text(self.qemu, accelerator),
            board=self._machine.board(self.qemu, accelerator),
            image=self.guest.image,
            layout=self.guest.layout,
            command_line=self._command_line(accelerator),
            state="" if by == "time" else "booted" if why else "typed" if self.guest.at_console else "saved",
            notes=tuple(note for note in notes if note),
            host_id=host_id() if by == "time" else "",
            here=by == "time",
        )

    def describe(self, job: Job) -> tuple[str, ...]:
        """QEMU's argument vector; its relative names are files in a temporary directory, where it is started. By path
        it is that of the first row, whose guest continues from a saved one. Nothing boots: what no trial has found yet
        is taken to work. Raises MissingError without the plugin."""
        if job.by == "path" and self.without_plugin is not None:
            raise self.without_plugin
        phase: Phase = "restored" if job.by == "path" and not self._why_not_saved(trial=False) else ""
        arguments = job.calls[0].arguments if job.calls else job.arguments
        return argv(self.untried(job.by).boot(job.by, arguments, phase, job.geometry))

    def untried(self, by: By) -> QemuTarget:
        """The same, with the accelerator that is known or taken to work, so that no trial boots."""
        return replace(self, accelerator=self._accelerator(by, trial=False)[0])

    def boot(self, by: By, arguments: tuple[str, ...] = (), phase: Phase = "", geometry: str = "") -> Boot:
        """The boot that `describe` prints; `geometry`: see Job."""
        counted = by == "path" and self.plugin is not None and phase != "saved"
        accelerator, _ = self._accelerator(by)
        machine = self._machine
        if machine.history and not self._has_history:
            raise UsageError(f"{self.name}: history= is for guests whose first process is our init.", "Leave it out.")
        stops = plugins.build(self.qemu, "stop") if phase == "saved" else None
        described = self.system.description if self.system is not None else None
        typed = described is not None and phase == "saved"
        return Boot(
            machine=machine,
            accelerator="icount-sleep" if typed else accelerator,
            kernel=displays.kernel(self.guest, machine) if self.guest.manifest.kernel_sha256 else None,
            initrd=self.guest.initrd(INITRD, PROBE, arguments) if self.guest.manifest.kernel_sha256 else "",
            command_line=self._command_line(accelerator),
            devices=self._devices(phase),
            typed=typed,
            debugger=Path(at_console.DEBUGGER) if typed else None,
            console=Path(CONSOLE),
            bulk=Path(BULK),
            plugin=self.plugin if counted else stops,
            events=Path(EVENTS) if counted else None,
            recorded=f"memory={geometry}" if counted and geometry and self.counts_memory else "",
            entries=counted and self.counts_entries,
            phase=phase,
        )

    def _devices(self, phase: Phase) -> tuple[str, ...]:
        """Its disk, and what its system needs besides. A kernel that QEMU loads has its root there on the bus that the
        machine has."""
        if self.system is not None:
            return attached.devices(self.system.description, self._machine, self._disk, phase)
        bus = "ide" if self._machine.type in ("pc", "q35", "i386-pc") else "virtio"
        disk = self._disk
        return tuple(attached.disk(disk, "disk", bus, phase, boots=False)) if disk is not None else ()

    @property
    def _disk(self) -> images.Image | None:
        """Raises UsageError if it is not the disk that was added."""
        made = self.guest.manifest
        image = images.image(self.guest.folder / made.disk) if made.disk else None
        if image is not None and image.digest != made.disk_sha256:
            raise UsageError(f"{image.path} has changed since {self.name} was added.", "Add the guest again.")
        return image

    @property
    def _has_history(self) -> bool:
        """Whether it can run other rows before it is ready."""
        return self.guest.has_init or self.guest.at_console

    def run(self, job: Job, until: Deadline) -> Iterator[bytes]:
        """The probe's lines as they come, by path a row's `events` record after its run. See Target.run. By path a
        guest that fails is its row's error; an error that affects all rows is raised."""
        by_path = job.by == "path"
        with self.guest.in_use(), ExitStack() as held:
            guests = self._guests(job, until, held if by_path and not self._why_not_saved() else None)
            allowed = slots() if by_path else BoundedSemaphore(1)
            yield from side_by_side(guests.all(), allowed, until, self.name, job.hear)

    def save(self) -> None:
        """Saves the guest, unless it is saved. Raises TargetError."""
        until = Deadline.after(2 * SAVING_SECONDS)
        with ExitStack() as held:
            for _ in side_by_side((self._guests(Job((), "path"), until, held).saved(),), slots(), until, self.name):
                pass

    def _guests(self, job: Job, until: Deadline, held: ExitStack | None) -> Guests:
        return Guests(
            name=self.name,
            guest=self.guest,
            identity=f"{self.qemu.text}\0{self.guest.image}",
            boot=lambda arguments, phase: self.boot(job.by, arguments, phase, job.geometry),
            given=self._given,
            job=job,
            until=until,
            held=held,
            profiler=partial(plugins.build, self.qemu, "profile"),
            disk=self._disk,
            system=self.system,
        )

    def unchecked_map(self) -> str:
        """Checks the guest's System.map against what its kernel lists; returns why it could not, else "". Raises
        UsageError if the map is another kernel's."""
        if not programs.busybox():
            return "that takes a static busybox (Debian, Ubuntu: apt-get install busybox-static)"
        try:
            return profiling.unlike(self.guest, self.kernel_listing())
        except TargetError as error:
            return error.text.rstrip(".")

    def kernel_listing(self) -> list[str]:
        """Linux's list of its functions, as in /proc/kallsyms. Raises TargetError if the guest does not boot."""
        until = Deadline.after(SAVING_SECONDS)
        listing = self._guests(Job((), "path"), until, None).listing()
        return [line.decode(errors="replace") for line in side_by_side((listing,), slots(), until, self.name)]

    def _accelerator(self, by: By, *, trial: bool = True) -> tuple[Accelerator, str]:
        """The accelerator and a note. By time it is KVM if that runs this guest, which a trial boot may test."""
        if self.accelerator is not None:
            return self.accelerator, ""
        if by == "path":
            return "icount", ""
        if self.guest.architecture is not X86_64:
            return "tcg", f"{self.name} is emulated: no KVM runs another architecture's kernel."
        self.guest.check()  # first: a damaged file is not KVM's fault
        key = (self.qemu.text, self.guest.image, self.variant.name, self._machine.text(self.qemu, "kvm"))
        return kvm.find(self.name, key, self._try_kvm if trial else None).accelerator

    def _try_kvm(self) -> None:
        """Boots the guest under KVM and lets the probe list its rows. Raises TargetError if that fails."""
        job = Job(("--list", "--json"), max_bytes=MAX_CONSOLE)
        for _ in replace(self, accelerator="kvm").run(job, Deadline.after(kvm.TRIAL_SECONDS)):
            pass

    def _command_line(self, accelerator: Accelerator) -> str:
        """The kernel's command line. It tells an emulated Linux on microvm the rate of its clock: tsc.py."""
        made = self.guest.manifest
        told = accelerator == "tcg" and self._machine.type == "microvm" and not made.modules
        words = (*(tsc.kernel_words() if told else ()), *displays.kernel_words(self._machine))
        return self.variant.command_line(" ".join((made.command_line, *words)))

    def _given(self, needs: frozenset[str]) -> Provided:
        """Files and arguments for the machine's display, and for the disks and programs that rows need."""
        made = self.guest.manifest
        if self.guest.at_console or self.guest.has_own:
            return Provided()
        display = displays.provide(self.guest, self._machine)
        for_disks = disks.provide(self.guest, needs, self.variant.command_line(made.command_line))
        return displays.together(display, for_disks, tools.provide(needs, self.guest))

    @property
    def unsavable(self) -> str:
        """Why it cannot be saved, as far as that is known without a trial; "" if it may be."""
        if not self.guest.waits:
            return _NO_INIT
        foreign = self.guest.architecture.room is None
        return f"QEMU continues no saved machine of {self.guest.architecture.name}" if foreign else ""

    def _why_not_saved(self, *, trial: bool = True) -> str:
        """Why each row by path boots; "" if a trial showed that rows can continue from a saved guest."""
        if self.guest.at_console or self.unsavable:
            return self.unsavable
        if self.saved is not None:
            return "" if self.saved else "saving is switched off"
        inside = (sha256(part) for part in booting.inside(self.guest))
        board = self._machine.board(self.qemu, "icount")
        key = (self.qemu.text, self.guest.image, board, self._command_line("icount"), *inside)
        if not trial:
            return (known("saving", key, _Saving) or _Saving()).why
        return until_reboot("saving", key, _Saving, self._try_saving).why

    def try_saved(self) -> None:
        """Lets a guest that continues from the saved one list a row. Raises TargetError."""
        job = Job(("--list", "--json", "--by", "path", "clock/cycles"), "path", max_bytes=MAX_CONSOLE)
        for _ in self.run(job, Deadline.after(SAVING_SECONDS)):
            pass

    def _try_saving(self) -> _Saving:
        try:
            replace(self, saved=True).try_saved()
        except (BuildError, MuteError):
            raise
        except TargetError as error:
            if self.guest.has_own:  # only the probe that waits in it can be given a row
                raise
            return _Saving(error.text.rstrip("."))
        return _Saving()
