"""A guest with the user at its console: its files and its boot."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from kernometer.errors import MissingError, TargetError
from kernometer.guests import store
from kernometer.guests.architecture import X86_64
from kernometer.guests.emulator.qemu import argv
from kernometer.guests.images import displays
from kernometer.guests.inside import programs, tools
from kernometer.processes import scratch
from kernometer.results.model import By
from kernometer.targets.booting import initrd, lay_out
from kernometer.targets.consoles import attached
from kernometer.targets.qemu import QemuTarget

#: In the boot's directory, where QEMU is started.
DEBUGGER = Path("gdb")


@dataclass(frozen=True, slots=True)
class Console:
    """A boot of `target` on the terminal."""

    target: QemuTarget
    by: By = "time"
    debugger: bool = False  #: wait for a debugger before the first instruction

    @property
    def argv(self) -> tuple[str, ...]:
        """QEMU's arguments; their relative names are files in a temporary directory, where it is started."""
        boot = self._counting.boot(self.by)
        attended = replace(boot, console=None, plugin=None, events=None)
        return argv(replace(attended, debugger=DEBUGGER) if self.debugger else attended)

    @property
    def note(self) -> str:
        """A note about the accelerator, or ""."""
        return " ".join(self.target.place(self.by).notes) if self.by == "time" else ""

    @property
    def has_shell(self) -> bool:
        """Whether the first process is our init, which starts a shell."""
        return self.target.guest.has_init and not self.target.guest.manifest.init_sha256

    @property
    def _counting(self) -> QemuTarget:
        """By path an idle guest waits: if its clock jumped ahead, time-outs would come before a person has typed."""
        return replace(self.target, accelerator="icount-sleep") if self.by == "path" else self.target

    @contextmanager
    def folder(self, say: Callable[[str], None]) -> Iterator[Path]:
        """The files of the boot, in a directory that only this user may enter. `say` prints what is missing in it."""
        guest = self.target.guest
        machine = self.target.variant.machine(guest.manifest.machine)
        with guest.in_use(), scratch("kernometer-boot-") as made:
            folder = made.resolve()
            given = displays.provide(guest, machine).files
            lay_out(guest, folder, _archive(say, guest, given) if guest.has_init else b"")
            if self.target.system is not None:
                described = self.target.system.description
                attached.lay_out(described, attached.carried(described), folder)
            yield folder


def _archive(say: Callable[[str], None], guest: store.Guest, given: Mapping[str, bytes]) -> bytes:
    """The guest's archive: probe, busybox, the files `given`, and for the host's architecture a C compiler."""
    files = dict(given)
    if guest.architecture is not X86_64:
        if not guest.busybox():
            say("note: The guest has no busybox, and so no shell: no package source had it.")
        return initrd("probe", files, guest, command=())
    try:
        files.update(tools.toolchain())
    except (MissingError, TargetError) as error:
        say(f"note: There is no C compiler in the guest. {error.text} {error.next_step}".rstrip())
    if not programs.busybox():
        say("note: There is no static busybox here, so the guest has no shell. Debian: apt-get install busybox-static.")
    return initrd("probe", files, guest, command=())
