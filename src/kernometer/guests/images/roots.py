"""A guest's first file system as an ext2 image, for a kernel that unpacks no archive, and files put into a user's one.

debugfs (e2fsprogs) writes the files, without root rights; equal contents and tools give equal bytes.
"""

from __future__ import annotations

import stat
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePosixPath

from kernometer.errors import TargetError, UsageError
from kernometer.guests.images import disks
from kernometer.guests.images.initramfs import Entry
from kernometer.guests.kernels.bsd import is_ext2
from kernometer.processes import scratch

#: Of an image that we make: of revision 0 and without a feature, as every ext2 reads it.
INODES = 1024
#: Where a kernel that unpacks no archive looks for its first process, some nowhere else.
INIT = "sbin/init"
_UUID = "6b65726e-6f6d-4574-8572-657874320001"
_EXTENDED = f"hash_seed={_UUID},nodiscard,root_owner=0:0"


def ext2(content: Sequence[Entry], mib: int, block: int) -> bytes:
    """An image of so many MiB, in blocks of so many bytes, with these entries, and INIT. Raises MissingError without
    e2fsprogs, TargetError if mke2fs refuses the sizes, or if it is full."""
    content = (*content, Entry("sbin", stat.S_IFDIR | 0o755), Entry(INIT, stat.S_IFLNK | 0o777, b"../init"))
    settings = (
        *("-r", "0", "-b", str(block), "-N", str(INODES), "-m", "0", "-O", "none", "-U", _UUID),
        "-E",
        _EXTENDED,
    )
    with scratch("kernometer-root-") as folder:
        image = folder / "image"
        with image.open("wb") as made:
            made.truncate(mib << 20)
        words = (disks.program("mke2fs", "ext4"), "-q", "-F", "-t", "ext2", *settings, image.name)
        disks.run(words, folder, "mke2fs")
        _write(image, content, folder)
        return image.read_bytes()


def holding(given: bytes, content: Sequence[Entry], name: str) -> bytes:
    """The user's image with these files in place of those that it has under their names. Raises UsageError if it is of
    another file system, TargetError if it is full."""
    if not is_ext2(given):
        raise UsageError(
            f"{name} is no ext2, ext3 or ext4: no file can be put into it.",
            "Let something in it start 'probe --wait', and leave --init out.",
        )
    with scratch("kernometer-root-") as folder:
        image = folder / "image"
        image.write_bytes(given)
        files = [entry for entry in content if stat.S_ISREG(entry.mode)]
        above = dict.fromkeys(str(each) for file in files for each in reversed(PurePosixPath("/", file.name).parents))
        names = [f"/{file.name}" for file in files]
        lacking = {line.partition(":")[0] for line in _debugfs(image, [f"stat {n}" for n in (*above, *names)], folder)}
        # debugfs's mkdir of a directory that is there damages the file system
        made = [Entry(each[1:], stat.S_IFDIR | 0o755) for each in above if each in lacking]
        _debugfs(image, [f"rm {name}" for name in names if name not in lacking], folder)
        _write(image, [*made, *files], folder)
        return image.read_bytes()


def _write(image: Path, content: Sequence[Entry], folder: Path) -> None:
    for number, entry in enumerate(content):
        if stat.S_ISREG(entry.mode):
            (folder / str(number)).write_bytes(entry.data)
            (folder / str(number)).chmod(stat.S_IMODE(entry.mode))
    said = _debugfs(image, [line for number, entry in enumerate(content) for line in _lines(entry, number)], folder)
    if said:
        raise TargetError(
            f"The files do not fit into the guest's root: {said[-1]}", "Make it larger: --root ext2:size=64."
        )


def _lines(entry: Entry, number: int) -> Iterator[str]:
    """The commands that make the entry, whose directory is there. `write` makes files in the current one alone."""
    path = PurePosixPath("/", entry.name)
    yield f"cd {path.parent}"
    if stat.S_ISDIR(entry.mode):
        yield f"mkdir {path.name}"
    elif stat.S_ISLNK(entry.mode):
        yield f"symlink {path.name} {entry.data.decode()}"
    elif stat.S_ISCHR(entry.mode):
        yield f"mknod {path.name} c {entry.device[0]} {entry.device[1]}"
        yield f"set_inode_field {path} mode 0{entry.mode:o}"
    else:
        yield f"write {number} {path.name}"


def _debugfs(image: Path, commands: Sequence[str], folder: Path) -> list[str]:
    """What debugfs complains of; its status does not tell."""
    (folder / "commands").write_text("".join(f"{line}\n" for line in commands))
    words = (disks.program("debugfs", "ext4"), "-w", "-f", "commands", image.name)
    said = disks.run(words, folder, "debugfs", errors=True)
    return [line for line in said.splitlines() if line and not line.startswith("debugfs ")]
