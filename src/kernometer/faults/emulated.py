"""What all guests with faults share: saving, limits of output, the emulator's processor time, and fsck."""

from __future__ import annotations

import os
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from kernometer.cache import sha256
from kernometer.errors import MissingError, TargetError
from kernometer.guests.emulator import qemu
from kernometer.guests.images import disks
from kernometer.guests.inside import programs
from kernometer.guests.packages.suites import Say
from kernometer.processes import called, scratch
from kernometer.targets import booting
from kernometer.targets.base import Deadline
from kernometer.targets.booting import INITRD
from kernometer.targets.qemu import QemuTarget
from kernometer.targets.saved import saving, states
from kernometer.targets.side_by_side import POLL_SECONDS

#: For booting a guest that is saved; for waiting until it is saved, perhaps by another process.
BOOT_SECONDS, SAVING_SECONDS = 300.0, 1200.0
FSCK_SECONDS = 60
#: The most bytes of each output, and of the console's end that is kept.
MAX_OUTPUT, CONSOLE_BYTES = 8 << 20, 64 << 10
_FSCK = {"ext4": ("e2fsck", "-f", "-n"), "minix": ("fsck.minix", "-f")}


@dataclass(slots=True, kw_only=True)
class FaultyGuest(ABC):
    """A guest to be made faulty. As a context manager it keeps the saved guest in the cache."""

    target: QemuTarget
    seed: int = 1
    operations: int = 200
    say: Say = print
    stopping: threading.Event = field(default_factory=threading.Event)  #: ends the runs under way
    _held: ExitStack = field(default_factory=ExitStack)
    _fresh: dict[str, bytes] = field(default_factory=dict, repr=False)  #: what each run begins with: disks, outputs
    _initrd: bytes = field(default=b"", repr=False)
    _key: str = ""

    def __exit__(self, *_: object) -> None:
        self._held.close()

    @abstractmethod
    def _argv(self, phase: qemu.Phase) -> tuple[str, ...]:
        """QEMU's arguments, whose relative names are files of `_folder`."""

    @abstractmethod
    def _files(self) -> dict[str, bytes]:
        """The guest's files besides its init, shell and probe."""

    def _keep(self, fresh: Mapping[str, bytes]) -> None:
        """Saves the guest unless it is in the cache (states.obtain); each run begins with the files `fresh`. Raises
        MissingError."""
        if not programs.busybox():
            raise MissingError("Faults need a shell in the guest.", "Debian, Ubuntu: apt-get install busybox-static.")
        self._initrd, self._fresh = booting.initrd("probe", self._files()), dict(fresh)
        boot = (*self._argv("saved"), *map(sha256, fresh.values()))
        parts = (self.target.qemu.text, self.target.guest.image, *boot, sha256(self._initrd))
        self._key = sha256("\0".join(parts).encode())[:32]
        for _ in states.obtain(self._key, self._save, self._held, Deadline.after(SAVING_SECONDS)):
            time.sleep(POLL_SECONDS)

    @contextmanager
    def _folder(self) -> Iterator[Path]:
        """The directory of an emulator, with fresh files."""
        with scratch("kernometer-faults-") as folder:
            booting.lay_out(self.target.guest, folder)
            for name, content in self._fresh.items():
                (folder / name).write_bytes(content)
            yield folder

    def _lay_out(self, folder: Path) -> None:
        """Lays out the saved guest."""
        for name in (INITRD, qemu.MEMORY, qemu.STATE):
            (folder / name).symlink_to(states.folder() / self._key / name)

    def _save(self, into: Path) -> Iterator[None]:
        """Boots the guest until it is ready, and saves it in `into`. Raises TargetError."""
        name = self.target.name
        self.say(f"Booting {name} to be saved …")
        with self._folder() as folder:
            for place in (folder, into):
                (place / INITRD).write_bytes(self._initrd)
            watch = booting.Watch(folder, name)
            try:
                ready = Deadline.after(BOOT_SECONDS)
                for _ in saving.save(self._argv("saved"), folder, into, ready):
                    watch.panic()
                    yield None
            except TargetError as error:
                raise booting.explained(error, folder, name) from error


def computed(pid: int) -> float:
    """Processor seconds of the emulator, which a busy host does not stretch; 0 if it has ended."""
    try:
        words = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return sum(map(int, words[11:13])) / os.sysconf("SC_CLK_TCK")  # proc(5)


def fsck(disk: Path, kind: str) -> int:
    """The exit status of fsck in its read-only mode: 0 for a sound file system. Raises TargetError if it cannot run."""
    program, *words = _FSCK[kind]
    path = os.pathsep.join((os.environ.get("PATH", os.defpath), *disks.ADMIN_FOLDERS))
    command, next_step = (program, *words, disk.name), "Install e2fsprogs and util-linux."
    return called(command, FSCK_SECONDS, next_step, folder=disk.parent, more={"PATH": path}).returncode
