"""The kernels of OpenBSD and FreeBSD for amd64, as their projects publish them, started by our loader, inside/loader.c.

That is what QEMU boots; the kernel is its first module. A root in memory is a part of OpenBSD's ramdisk kernel (bsd.rd)
and a further module for FreeBSD's. Sources: OpenBSD 7.8, sys/dev/rd.c, sys/sys/disklabel.h, rdsetroot(8); FreeBSD 13,
sys/dev/md/md.c (MD_ROOT), sys/dev/uart/uart_subr.c (hw.uart.console).
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce
from hashlib import shake_256
from operator import xor
from typing import Literal

from kernometer.cache import sha256
from kernometer.errors import UsageError
from kernometer.guests import store
from kernometer.guests.inside import programs
from kernometer.guests.kernels import elf

System = Literal["openbsd", "freebsd"]
NAMES: dict[str, str] = {"openbsd": "OpenBSD", "freebsd": "FreeBSD"}

#: The kind of segment that OpenBSD's loader fills with random bytes, and FreeBSD's mark in an ELF file's head.
_RANDOMIZE, _OSABI, _FREEBSD = 0x65A3DBE6, 7, 9
_VERSION = re.compile(rb"@\(#\)((?:Open|Free)BSD \d{1,2}\.\d[\w.-]{0,20}(?: \([\w.-]{1,30}\))?)")
#: The symbols of the ramdisk in OpenBSD's kernel: its bytes, and their number.
_IMAGE, _SIZE = "rd_root_image", "rd_root_size"
#: A disklabel's place in the ramdisk and its magic number; the types of file systems in it.
_LABEL_AT, _MAGIC, _FFS, _EXT2 = 512, 0x82564557, 7, 17
#: OpenBSD's devices in a root: name, mode, (major, minor). Sources: sys/arch/amd64/amd64/conf.c and mem.c.
NODES = (
    ("dev/console", 0o600, (0, 0)),
    ("dev/tty", 0o666, (1, 0)),
    ("dev/null", 0o666, (2, 2)),
    ("dev/zero", 0o666, (2, 12)),
)
#: What FreeBSD's loader.conf would have: the console, and the root.
_WORDS = "hw.uart.console=io:0x3f8,br:115200"
_MEMORY_ROOT = "vfs.root.mountfrom=ufs:/dev/md0"
#: The name of FreeBSD's root among the modules, and the most bytes of it: with the kernel it is below the loader.
_ROOT, MAX_ROOT = "root.image", 192 << 20


@dataclass(frozen=True, slots=True)
class Loaded:
    """A kernel and its root, for our loader."""

    files: dict[str, bytes]
    modules: tuple[store.Module, ...]
    words: str  #: for the kernel, after the user's
    has_root: bool  #: in memory
    on_drive: bool  #: its root is to be a drive
    drive: bytes | None  #: whose image that is; None: the user's


def system_of(kernel: bytes) -> System | None:
    """Whose kernel this ELF file of 64 bits is; None: neither's."""
    try:
        randomized = elf.extents(kernel, _RANDOMIZE)
    except LookupError:
        return None
    if kernel[_OSABI] == _FREEBSD:
        return "freebsd"
    return "openbsd" if randomized else None


def version_of(kernel: bytes) -> str:
    """As what(1) finds it: OpenBSD 7.8 (GENERIC), FreeBSD 13.0-CURRENT; "" without one."""
    found = _VERSION.search(kernel)
    return found[1].decode() if found else ""


def loaded(kernel: bytes, image: Callable[[], bytes | None], *, drive: bool) -> Loaded:
    """The loader, the kernel, and what `image` makes as its root, which a kernel that takes none in memory has as a
    drive. `drive`: such a kernel's drive is the user's. Raises UsageError for a root that does not fit."""
    freebsd, ramdisk = system_of(kernel) == "freebsd", _ramdisk(kernel)
    kernel, takes_none = _randomized(kernel), not freebsd and ramdisk is None
    root = None if drive and takes_none else image()
    files, words = {store.LOADED: kernel}, _WORDS if freebsd else ""
    if root is not None and freebsd:
        files[_ROOT], words = root, f"{words} {_MEMORY_ROOT}"
    elif root is not None and ramdisk is not None:
        files[store.LOADED] = _replaced(kernel, ramdisk, root)
    modules = tuple(store.Module(file=name, sha256=sha256(content)) for name, content in files.items())
    files[store.KERNEL] = programs.loader().read_bytes()
    image_of_drive = labelled(root, len(root)) if takes_none and root is not None else None
    on_drive = takes_none and (drive or root is not None)
    return Loaded(files, modules, words, root is not None and not on_drive, on_drive, image_of_drive)


def _randomized(kernel: bytes) -> bytes:
    """With what boot(8) fills with random bytes, the same ones at each boot: by path boots are equal."""
    made = bytearray(kernel)
    for offset, _, size in elf.extents(kernel, _RANDOMIZE):
        made[offset : offset + size] = shake_256(b"").digest(len(made[offset : offset + size]))
    return bytes(made)


def labelled(root: bytes, size: int) -> bytes:
    """The file system on a disk of so many bytes, with a disklabel unless something is in its place."""
    if root[_LABEL_AT : _LABEL_AT + 512] == bytes(512):
        root = root[:_LABEL_AT] + _label(root, size) + root[_LABEL_AT + 512 :]
    return root.ljust(size, b"\0")


def _replaced(kernel: bytes, ramdisk: tuple[int, int], root: bytes) -> bytes:
    """The kernel with this root in its ramdisk, as rdsetroot(8) puts it."""
    at, size = ramdisk
    if len(root) > size:
        raise UsageError(
            f"The root has {len(root):,} bytes, and the kernel's ramdisk {size:,}.",
            "bsd.rd has one of 3.5 MiB (--root ext2:size=3), a kernel of your own what its MINIROOTSIZE says.",
        )
    return kernel[:at] + labelled(root, size) + kernel[at + size :]


def _label(root: bytes, size: int) -> bytes:
    """A disklabel(5) whose partition a is all of a disk of so many bytes, which has ext2 or else FFS."""
    sectors, label = size // 512, bytearray(512)
    for at, form, *values in (
        (0, "<IH", _MAGIC, 15),  # of type RDROOT
        (40, "<6I", 512, sectors, 1, 1, sectors, sectors),
        (84, "<I", sectors),
        (114, "<H", 1),
        (132, "<I2xH", _MAGIC, 16),
        (148, "<IIHHB", sectors, 0, 0, 0, _EXT2 if is_ext2(root) else _FFS),
    ):
        struct.pack_into(form, label, at, *values)
    struct.pack_into("<H", label, 136, reduce(xor, struct.unpack("<256H", label)))
    return bytes(label)


def is_ext2(image: bytes) -> bool:
    """Whether it is of ext2, ext3 or ext4, without partitions: by their magic number."""
    return image[1080:1082] == b"\x53\xef"


def _ramdisk(kernel: bytes) -> tuple[int, int] | None:
    """The offset and the bytes of the ramdisk in the kernel's file; None without one."""
    try:
        places = {
            name: section.offset + address - section.address
            for name, section, address, _ in elf.symbols(kernel)
            if name in (_IMAGE, _SIZE)
        }
    except LookupError:
        return None
    if len(places) < 2:
        return None
    size = int.from_bytes(kernel[places[_SIZE] : places[_SIZE] + 4], "little")
    return (places[_IMAGE], size) if 0 < size <= len(kernel) - places[_IMAGE] else None
