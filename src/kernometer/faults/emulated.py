"""What guests with faults have in common: how they are saved, what their emulator computes, what fsck says."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from kernometer.errors import TargetError
from kernometer.guests import store
from kernometer.guests.emulator import qemu
from kernometer.guests.images import disks
from kernometer.guests.inside import programs
from kernometer.targets import booting
from kernometer.targets.base import Deadline
from kernometer.targets.booting import INITRD, TOLD
from kernometer.targets.saved import saving, states

BOOT_SECONDS = 300.0
FSCK_SECONDS = 60
_FSCK = {"ext4": ("e2fsck", "-f", "-n"), "minix": ("fsck.minix", "-f")}


@contextmanager
def laid_out(guest: store.Guest, files: Mapping[str, bytes]) -> Iterator[Path]:
    """The directory of an emulator, with these files: its disks."""
    with tempfile.TemporaryDirectory(prefix="kernometer-faults-", ignore_cleanup_errors=True) as made:
        folder = Path(made)
        booting.lay_out(guest, folder)
        for name, content in files.items():
            (folder / name).write_bytes(content)
        for name in (booting.BEFORE, TOLD):
            (folder / name).write_bytes(programs.encoded(()))
        yield folder


def tell(folder: Path, key: str, words: tuple[str, ...]) -> None:
    """Lays out for the saved guest of that key what it continues from, and the command that it then runs."""
    (folder / TOLD).write_bytes(programs.encoded(words))
    for name in (INITRD, qemu.MEMORY, qemu.STATE):
        (folder / name).symlink_to(states.folder() / key / name)


def save(
    name: str, argv: tuple[str, ...], initrd: bytes, made: AbstractContextManager[Path], into: Path
) -> Iterator[None]:
    """Boots the guest `name` in a directory of `laid_out`, until it is ready, and saves it `into`: see states.obtain.
    Raises TargetError."""
    with made as folder:
        for place in (folder, into):
            (place / INITRD).write_bytes(initrd)
        watch = booting.Watch(folder, name)
        try:
            for _ in saving.save(argv, folder, programs.READY, into, Deadline.after(BOOT_SECONDS)):
                watch.panic()
                yield None
        except TargetError as error:
            raise booting.explained(error, folder, name) from error


def computed(pid: int) -> float:
    """Seconds of processor time of the emulator, which a busy host does not stretch; 0 if it has ended."""
    try:
        words = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return sum(map(int, words[11:13])) / os.sysconf("SC_CLK_TCK")  # proc(5)


def fsck(disk: Path, kind: str) -> int:
    """The exit status of fsck, which changes nothing: 0 for a sound file system. Raises TargetError without it."""
    program, *words = _FSCK[kind]
    path = os.pathsep.join((os.environ.get("PATH", os.defpath), *disks.ADMIN_FOLDERS))
    try:
        return subprocess.run(
            (program, *words, disk.name),
            cwd=disk.parent,
            env={**os.environ, "PATH": path},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=FSCK_SECONDS,
            check=False,
        ).returncode
    except (OSError, subprocess.TimeoutExpired) as error:
        raise TargetError(f"{program} cannot be run: {error}.", "Install e2fsprogs and util-linux.") from error
