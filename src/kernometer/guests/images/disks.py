"""Memory disks for a guest, with ext4 and with MINIX FS version 3: their images and drivers.

An emulated drive answers in the host's time and makes counts inexact; a memory disk (Linux's brd) is filled from the
initramfs. The host's mkfs makes the images, without root rights; equal tools make equal bytes. Images are stored
without their holes: the size, then pieces of (offset, length, bytes), all numbers 64 bits, little-endian.
"""

from __future__ import annotations

import os
import re
import shutil
import struct
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path

from kernometer.cache import cache_folder, kept, sha256
from kernometer.errors import MissingError, ResultError, TargetError
from kernometer.guests import store
from kernometer.guests.images import initramfs
from kernometer.guests.inside.programs import Provided
from kernometer.guests.kernels import drivers
from kernometer.processes import called

#: Bytes of a disk: three times as much as the largest row by path and ext4's journal need.
SIZE = 16 << 20
#: The time of the files on a new disk, 2025-01-01, when the guest's clock begins.
MADE = 1735689600
INODES = 2048
BLOCK = 4096
#: Seconds; mkfs takes a tenth of one.
MKFS_SECONDS = 60

#: Paths in the guest, also in init_devices.c.
IMAGES, MOUNTED = "etc/kernometer/disk", "/disk"
#: brd makes two disks, /dev/ram0 and /dev/ram1; its size is in KiB. A kernel with a built-in disk has only /dev/ram0,
#: and one file system.
_BRD = f"rd_nr=2 rd_size={SIZE >> 10}"

#: Features that mkfs.ext4 sets by default today, and that all kernels from before 6.1 on can mount.
_EXT4_FEATURES = (
    *("none", "has_journal", "ext_attr", "resize_inode", "dir_index", "filetype", "extent", "64bit", "flex_bg"),
    *("sparse_super", "large_file", "huge_file", "dir_nlink", "extra_isize", "metadata_csum"),
)
#: Instead of the host's mke2fs.conf.
_EXT4_CONFIG = "[fs_types]\n\text4 = {\n\t}\n\tsmall = {\n\t}\n"
_EXT4_UUID, _EXT4_HASH_SEED = "6b65726e-6f6d-4574-8572-657874340001", "6b65726e-6f6d-4574-8572-657874340002"
#: Tables and journal are complete, so that the kernel does not initialise them later.
_EXT4 = (
    *("mkfs.ext4", "-q", "-F", "-b", str(BLOCK), "-I", "256", "-N", str(INODES), "-m", "0", "-J", "size=4"),
    *("-O", ",".join(_EXT4_FEATURES), "-U", _EXT4_UUID),
    *("-E", f"hash_seed={_EXT4_HASH_SEED},lazy_itable_init=0,lazy_journal_init=0,nodiscard,root_owner=0:0"),
)
_MINIX = ("mkfs.minix", "-3", "-i", str(INODES))
_COMMANDS = {"ext4": _EXT4, "minix": _MINIX}
_PACKAGES = {"ext4": "e2fsprogs", "minix": "util-linux, or util-linux-extra where that has mkfs.minix"}
KINDS = tuple(_COMMANDS)

#: Directories of mkfs that an ordinary user's PATH lacks.
ADMIN_FOLDERS = ("/usr/sbin", "/sbin")

_SUPERBLOCK, _MINIX3 = 1024, 0x4D5A


def provide(guest: store.Guest, needs: Iterable[str], command_line: str) -> Provided:
    """Disks for those of `needs` that are kinds of disks, in a kernel booted with `command_line`.

    The probe's arguments say why a disk cannot be made. Raises TargetError if mkfs fails, or if the guest's drivers are
    damaged.
    """
    images: dict[str, bytes] = {}
    words: list[str] = []
    for kind in (kind for kind in KINDS if kind in set(needs)):
        try:
            _loaded(guest, [kind], command_line)
            images[kind] = image(kind)
            words += ("--disk", f"{kind}={MOUNTED}/{kind}")
        except MissingError as error:
            words += ("--no-disk", f"{kind}={error.text} {error.next_step}".rstrip())
    if not images:
        return Provided({}, tuple(words))
    loaded = _loaded(guest, images, command_line)
    disks = {f"{IMAGES}/{kind}": data for kind, data in images.items()}
    return Provided((loading(loaded) if loaded else {}) | disks, tuple(words))


def loading(loaded: Collection[tuple[str, bytes]]) -> dict[str, bytes]:
    """The files of these drivers, by name, and the list by which init loads them in this order."""
    files = {name: f"{drivers.FILES}/{name}.ko" for name, _ in loaded}
    listed = "".join(f"/{file}{' ' + _BRD if name == 'brd' else ''}\n" for name, file in files.items())
    return {initramfs.DRIVERS: listed.encode(), **{files[name]: content for name, content in loaded}}


def _loaded(guest: store.Guest, kinds: Iterable[str], command_line: str) -> tuple[tuple[str, bytes], ...]:
    """Drivers for disks of these kinds, in the order of loading. Raises MissingError for a missing driver."""
    loaded = drivers.load_order(guest, ("brd", *kinds))
    if guest.manifest.built_in:  # its memory disk has this size
        return loaded
    if "brd" not in (name for name, _ in loaded):
        sizes = re.findall(r"(?:^| )(?:brd\.rd_size|ramdisk_size)=(\d{1,9})(?= |$)", command_line)
        if not sizes or int(sizes[-1]) << 10 < SIZE:
            raise MissingError(
                f"The kernel of {guest.name} makes its memory disks itself, and they may be too small.",
                f"Use the variant {guest.name}+ramdisk_size={SIZE >> 10}.",
            )
    return loaded


def image(kind: str) -> bytes:
    """The image of a disk, without its holes, from the cache if possible. Raises MissingError without mkfs, TargetError
    if it fails, ResultError if the cache cannot be written."""
    command = _COMMANDS[kind]
    tool = program(command[0], kind)
    said = run((tool, "-V"), Path("/"), f"{command[0]} -V")
    key = sha256(repr((command, said, SIZE, _EXT4_CONFIG, MADE)).encode())

    def make(folder: Path) -> Path:
        made = folder / "sparse"
        made.write_bytes(sparse(_made(kind, tool, folder)))
        return made

    return kept(cache_folder() / "disks" / f"{key[:16]}-{kind}", make, ResultError).read_bytes()


def sparse(disk: bytes) -> bytes:
    """The form that init unpacks: without blocks of zeros; adjacent other blocks are one piece."""
    parts = [struct.pack("<Q", len(disk))]
    for offset, data in _pieces(disk):
        parts += (struct.pack("<QQ", offset, len(data)), data)
    return b"".join(parts)


def unpacked(image: bytes) -> bytes:
    """The disk of an image that `sparse` made."""
    (size,) = struct.unpack_from("<Q", image)
    disk, at = bytearray(size), 8
    while at < len(image):
        offset, length = struct.unpack_from("<QQ", image, at)
        disk[offset : offset + length] = image[at + 16 : at + 16 + length]
        at += 16 + length
    return bytes(disk)


def _pieces(disk: bytes) -> Iterator[tuple[int, bytes]]:
    begin = None
    for at in range(0, len(disk) + BLOCK, BLOCK):
        block = disk[at : at + BLOCK]
        if block.strip(b"\0"):
            begin = at if begin is None else begin
        elif begin is not None:
            yield begin, disk[begin:at]
            begin = None


def program(name: str, kind: str) -> str:
    """The path of a tool for disks of that kind. Raises MissingError."""
    path = shutil.which(name, path=os.pathsep.join((os.environ.get("PATH", os.defpath), *ADMIN_FOLDERS)))
    if path is None:
        raise MissingError(f"There is no {name} on this host.", f"Debian, Ubuntu: apt-get install {_PACKAGES[kind]}.")
    return path


def _made(kind: str, tool: str, folder: Path) -> bytes:
    """A whole image, with its holes."""
    file, config = folder / "disk", folder / "mke2fs.conf"
    config.write_text(_EXT4_CONFIG)
    with file.open("wb") as made:
        made.truncate(SIZE)
    run((tool, *_COMMANDS[kind][1:], file.name), folder, _COMMANDS[kind][0])
    return file.read_bytes() if kind == "ext4" else _without_time(file.read_bytes())


def _without_time(image: bytes) -> bytes:
    """Sets the time and the owner of MINIX FS's only inode to MADE and root."""
    inodes, _, inode_blocks, zone_blocks = struct.unpack_from("<IHHH", image, _SUPERBLOCK)
    magic, _, block = struct.unpack_from("<HHH", image, _SUPERBLOCK + 24)
    if magic != _MINIX3 or inodes < INODES:
        raise TargetError("mkfs.minix did not make version 3 of its file system.")
    root = (2 + inode_blocks + zone_blocks) * block
    mode, links, _, _, size = struct.unpack_from("<HHHHI", image, root)
    changed = struct.pack("<HHHHIIII", mode, links, 0, 0, size, MADE, MADE, MADE)
    return image[:root] + changed + image[root + len(changed) :]


def run(words: tuple[str, ...], folder: Path, what: str, *, errors: bool = False) -> str:
    """The program's output, or what it says of `errors` alone. Raises TargetError with it if the program fails."""
    settings = {"LC_ALL": "C", "MKE2FS_CONFIG": str(folder / "mke2fs.conf"), "E2FSPROGS_FAKE_TIME": str(MADE)}
    done = called(words, MKFS_SECONDS, f"Reinstall {what}.", folder=folder, more=settings)
    said = done.stdout + done.stderr
    if done.returncode != 0:
        raise TargetError(f"{what} ended with status {done.returncode}.", "Its output is below.", said[-2000:])
    return done.stderr if errors else said
