"""A guest's first file system: a cpio archive in the kernel's "newc" form, written without root rights.

Device nodes are ordinary records, so the host needs no nodes. Equal contents give equal bytes: names are sorted, times
are 0, inode numbers are positions. By path a guest's counts depend on every byte of the archive.
Format: Linux, Documentation/driver-api/early-userspace/buffer-format.rst.
"""

from __future__ import annotations

import stat
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath

#: Drivers to load, one per line in this order: the file's path, a space, the driver's parameters.
DRIVERS = "etc/kernometer/drivers"
PROBE = "bin/probe"
#: Directories that init.c mounts on, or that programs expect.
FOLDERS = ("bin", "dev", "etc", "etc/kernometer", "proc", "sys", "tmp")
#: The nodes that are needed before devtmpfs is mounted: (name, mode, major, minor).
NODES = (("dev/console", 0o600, 5, 1), ("dev/null", 0o666, 1, 3), ("dev/zero", 0o666, 1, 5))
#: A file below one of these may be executed; a dynamic loader is in lib64.
EXECUTABLE = {"bin", "sbin", "lib64"}
#: Names of busybox for rows that run a shell; on a console busybox installs all its names.
APPLETS = ("sh", "cat", "true", "false", "ls", "mount", "dmesg", "poweroff")


@dataclass(frozen=True, slots=True)
class Entry:
    """One record: `mode` includes the type of file; a link's `data` is its target."""

    name: str
    mode: int
    data: bytes = b""
    device: tuple[int, int] = (0, 0)


def entries(
    init: bytes, probe: bytes, busybox: bytes = b"", extra: Mapping[str, bytes] | None = None
) -> tuple[Entry, ...]:
    """The contents of a guest: init, the probe, busybox if there is one, and `extra`.

    `extra` maps names to contents; files below EXECUTABLE are executable, and missing directories are added.
    Raises ValueError for a name that is in use or leads elsewhere.
    """
    known = [Entry(name, stat.S_IFDIR | 0o755) for name in FOLDERS]
    known += [Entry(name, stat.S_IFCHR | mode, device=(major, minor)) for name, mode, major, minor in NODES]
    known += [Entry("init", stat.S_IFREG | 0o755, init), Entry(PROBE, stat.S_IFREG | 0o755, probe)]
    if busybox:
        known.append(Entry("bin/busybox", stat.S_IFREG | 0o755, busybox))
        known += [Entry(f"bin/{name}", stat.S_IFLNK | 0o777, b"busybox") for name in APPLETS]
    return (*known, *_extra(extra or {}, {entry.name: stat.S_ISDIR(entry.mode) for entry in known}))


def _extra(files: Mapping[str, bytes], there: dict[str, bool]) -> Iterator[Entry]:
    """Plain files, and the folders above them that are not `there` (name to whether it is a folder)."""
    for name, data in sorted(files.items()):
        path = PurePosixPath(name)
        folders = [str(each) for each in reversed(path.parents)][1:]
        strange = path.is_absolute() or str(path) != name or {"..", "."} & {*path.parts, name}
        if strange or name in there or not all(there.get(folder, True) for folder in folders):
            raise ValueError(f"{name!r} cannot be the name of a further file in a guest")
        for folder in folders:
            if folder not in there:
                there[folder] = True
                yield Entry(folder, stat.S_IFDIR | 0o755)
        there[name] = False
        yield Entry(name, stat.S_IFREG | (0o755 if EXECUTABLE & {*path.parts[:-1]} else 0o644), data)


def archive(content: tuple[Entry, ...]) -> bytes:
    """The newc archive of the entries, sorted, padded to 512 bytes."""
    ordered = sorted(content, key=lambda entry: entry.name)
    records = [_record(entry, number) for number, entry in enumerate(ordered, start=1)]
    return _padded(b"".join(records) + _record(Entry("TRAILER!!!", 0), 0), 512)


def _record(entry: Entry, number: int) -> bytes:
    """Header of thirteen hexadecimal fields, the name, the data; name and data end on multiples of four bytes."""
    name = entry.name.encode() + b"\0"
    links = 2 if stat.S_ISDIR(entry.mode) else 1
    fields = (number, entry.mode, 0, 0, links, 0, len(entry.data), 0, 0, *entry.device, len(name), 0)
    head = b"070701" + b"".join(b"%08X" % field for field in fields)
    return _padded(head + name, 4) + _padded(entry.data, 4)


def _padded(data: bytes, to: int) -> bytes:
    return data + bytes(-len(data) % to)
