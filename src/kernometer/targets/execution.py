"""A user's command in a guest by path: one execution is one region, and the guest has the host's files for it.

Two guests run it: one counts; the other records the command's system calls with strace.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated

import msgspec

from kernometer.cache import compiled
from kernometer.errors import MissingError, TargetError, UsageError
from kernometer.guests.emulator.process import talking
from kernometer.guests.emulator.qemu import argv
from kernometer.guests.images import initramfs
from kernometer.guests.inside import programs
from kernometer.guests.plugins.entries import named
from kernometer.processes import called, scratch
from kernometer.targets import booting
from kernometer.targets.base import Deadline, Job
from kernometer.targets.booting import BULK, counts_of, explained
from kernometer.targets.qemu import QemuTarget
from kernometer.targets.side_by_side import side_by_side, slots

#: The number of the region, the runner's file, and the command's directories in the guest: twice.c.
REGION, RUNNER, WORK, WARM = "1", "bin/twice", "work", "warm"
TRACE = "/tmp/trace"  # noqa: S108  # in the guest, which belongs to us
#: System calls in the region besides the command's: clone, dup2 twice, wait4.
RUNNERS_CALLS = 4
#: Limits of what is brought into a guest, whose memory is 2 GiB.
MAX_FILES, MAX_BYTES = 20_000, 256 << 20
_LIBRARY = re.compile(r"(/[^\s()]+) \(0x[0-9a-f]+\)")


class Execution(msgspec.Struct, frozen=True):
    """One execution: what the guest's kernel tells, then what the plugin counted."""

    status: int  #: negative: the signal that ended it
    faults: Annotated[int, msgspec.Meta(ge=0)]
    switches: Annotated[int, msgspec.Meta(ge=0)]
    resident: Annotated[int, msgspec.Meta(ge=0)]  #: pages of its largest process, at the most
    user: int = 0  #: instructions
    kernel: int = 0
    syscalls: int = 0  #: the command's own
    entries: dict[str, tuple[int, int]] = {}  #: into Linux, by name: how many, and the kernel's instructions
    trace: tuple[str, ...] = ()  #: the recorder's lines


def program_files(*names: str) -> dict[str, bytes]:
    """Host programs and files with all that they need: an ELF file's shared libraries, everything below a directory.

    Keys are names in the guest, the same as on the host; a program outside the directories for programs gets
    usr/local/bin. Raises MissingError for a name that is not here.
    """
    files: dict[str, bytes] = {}
    for name in names:
        path = Path(shutil.which(name) or name)
        if not path.exists():
            raise MissingError(f"There is no {name} here.", "Install it, or give its path.")
        if path.is_dir():
            files |= folder_files(path, str(path.absolute())[1:])
            continue
        executable = os.access(path, os.X_OK) and not initramfs.EXECUTABLE & {*path.absolute().parts[:-1]}
        files[f"usr/local/bin/{path.name}" if executable else str(path.absolute())[1:]] = path.read_bytes()
        for library in _libraries(path):
            files[library[1:]] = Path(library).read_bytes()
    return files


def _libraries(path: Path) -> list[str]:
    with path.open("rb") as file:
        if file.read(4) != b"\x7fELF":
            return []
    return _LIBRARY.findall(called(("ldd", str(path)), 60).stdout)  # none for a static program, with a status of 1


def folder_files(folder: Path, name: str = WORK) -> dict[str, bytes]:
    """Every file below `folder`, links followed, under the directory `name` of the guest. Raises UsageError."""
    contents: dict[str, bytes] = {}
    size = 0
    for path in (Path(top) / each for top, _, files in os.walk(folder) for each in files):
        if not path.is_file():
            continue
        size += path.stat().st_size
        if len(contents) >= MAX_FILES or size > MAX_BYTES:
            raise UsageError(f"{folder} has more than {MAX_FILES:,} files or {MAX_BYTES >> 20} MiB.", "Name a part.")
        contents[f"{name}/{path.relative_to(folder)}"] = path.read_bytes()
    return contents


def count(
    target: QemuTarget, words: Sequence[str], files: Mapping[str, bytes], until: Deadline, trace: str = "-"
) -> Execution:
    """Runs the command and counts; `trace`: a file that it writes. Raises TargetError if the guest fails, UsageError if
    it cannot run commands."""
    guest = target.guest
    if not guest.has_init:
        why = "its first process is not our init"
        raise UsageError(f"{target.name} cannot count a command: {why}.", "Give a Linux guest.")
    if target.without_plugin is not None:
        raise target.without_plugin
    boot, job = target.boot("path"), Job((), "path", max_bytes=MAX_BYTES)
    with guest.in_use(), scratch("kernometer-qemu-") as folder:
        command = (f"/{RUNNER}", trace, *words)
        booting.lay_out(guest, folder, booting.initrd("probe", {**_fitting(files), RUNNER: _runner()}, command=command))
        with talking(argv(boot), folder, 0) as (process, _):
            try:
                come = booting.records(process, BULK, job, until, booting.Watch(folder, target.name))
                lines = list(side_by_side((come,), slots(), until, target.name))
            except TargetError as error:
                raise explained(error, folder, target.name) from error
        region = counts_of(folder).get(REGION)
    if region is None or region.complete != 1:
        raise TargetError(f"{target.name}: the plugin did not see one execution of the command.", "Run it again.")
    try:
        ended = msgspec.json.decode(lines[0], type=Execution)
    except msgspec.DecodeError as error:
        raise TargetError(f"{target.name}: the runner's answer cannot be read: {error}.") from error
    user, kernel, calls = (region.counts[event] for event in ("user", "kernel", "syscalls"))
    written = tuple(line[1:].decode("utf-8", "replace") for line in lines[1:])
    return msgspec.structs.replace(
        ended,
        user=user,
        kernel=kernel,
        syscalls=calls - RUNNERS_CALLS,
        entries=named(region.entries),
        trace=written,
    )


def _fitting(files: Mapping[str, bytes]) -> dict[str, bytes]:
    """Files whose names the guest does not have itself (busybox and its links); those of WORK also in WARM."""
    own = {f"bin/{name}" for name in ("busybox", *initramfs.APPLETS)}
    cold = {f"{WORK}/.kernometer": b""} | {name: data for name, data in files.items() if name not in own}
    return cold | {WARM + name.removeprefix(WORK): data for name, data in cold.items() if name.startswith(f"{WORK}/")}


def _runner() -> bytes:
    source = Path(programs.__file__).parent / "twice.c"
    return compiled("twice", (*programs.static_compiler(), "-std=gnu99"), (source,)).read_bytes()
