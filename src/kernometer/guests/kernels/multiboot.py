"""Guests that boot as multiboot kernels with modules: GNU Mach, MINIX, a user's own kernel.

QEMU loads them by the Multiboot Specification 0.6.96: a header in the kernel's first 8,192 bytes, an ELF file of 32
bits, further files ("modules") with a string of arguments each. Such a kernel gets the job in two ways: as the same
archive as Linux (a module @initramfs), or as the static probe with its arguments (a module @probe).
"""

from __future__ import annotations

import re
import struct
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Literal

from kernometer.cache import sha256
from kernometer.errors import TargetError, UsageError
from kernometer.guests import store
from kernometer.guests.emulator.qemu import Machine
from kernometer.guests.inside import programs
from kernometer.guests.kernels import elf, kernelpackage, linux
from kernometer.guests.kernels.bzimage import MAX_UNPACKED, gzip, whole
from kernometer.processes import called, scratch

#: Such kernels need a PC, for its timer, its interrupt controller and its way to power off.
MACHINE = Machine(type="pc")

#: The specification's magic number and search range.
MAGIC, SEARCHED = 0x1BADB002, 8192
#: The flag of a header with addresses, which make the file's own format irrelevant.
HAS_ADDRESSES = 1 << 16
MAGIC_2 = struct.pack("<I", 0xE85250D6)
SEARCHED_2 = 32768

_ELF64, _EM_386, _EM_X86_64 = 2, 3, 62
_GZIP = b"\x1f\x8b"
OBJCOPY_SECONDS = 60

#: A module's name in the guest's directory, which the kernel sees.
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.+-]{0,99}")
_RESERVED = (store.KERNEL, store.CONFIG, store.MANIFEST, store.DRIVERS, store.SYSTEM_MAP)


def add(
    name: str,
    kernel: Path,
    modules: Sequence[str],
    *,
    command_line: str = "",
    machine: Machine = MACHINE,
    output: Literal["debug-port", "serial"] = "debug-port",
) -> store.Guest:
    """Stores copies of a multiboot kernel and its modules, each `FILE WORDS…`, as the guest `name`.

    FILE is a path without spaces, @initramfs, @probe or @probe-mach. A kernel packed with gzip is unpacked; modules are
    not changed. Raises UsageError for an invalid module, TargetError for a kernel that QEMU cannot load,
    MissingError if an ELF file of 64 bits needs objcopy and there is none.
    """
    linux.check_name(name)
    _check_words(command_line)
    given = linux.read_given(kernel, "the kernel")
    image, remarks = loadable(unpacked(given, str(kernel)), str(kernel))
    loaded, files = _loaded(modules)
    if not any(module.made for module in loaded):
        taken = f"{store.INITRAMFS}, {store.PROBE} or {store.MACH}"
        remarks += (f"None of its modules is {taken}: no program learns which rows are wanted.",)
    manifest = store.Manifest(
        name=name,
        package=str(kernel.resolve()),
        version="-",
        remarks=remarks,
        release="",
        package_sha256=sha256(given),
        layout=elf.layout(image),
        machine=machine,
        command_line=command_line,
        modules=loaded,
        output=output,
    )
    return store.add(manifest, files | {store.KERNEL: image} | listing(unpacked(given, str(kernel))))


def image_of(package: Path, name: re.Pattern[str], what: str) -> bytes:
    """The packed image in boot/ of a package. Raises TargetError unless one file has such a name."""
    with closing(kernelpackage.files_of(package)) as files:
        images = [content() for path, content in files if path.parts[:-1] == ("boot",) and name.fullmatch(path.name)]
    if len(images) != 1:
        raise TargetError(f"{package.name} contains {len(images)} {what}s.", "Report this package.")
    return images[0]


def loadable(kernel: bytes, name: str) -> tuple[bytes, tuple[str, ...]]:
    """`kernel` as QEMU loads it, and remarks on changes. Raises TargetError if it is not a multiboot kernel."""
    flags = _header_flags(kernel)
    if flags is None:
        if kernel.find(MAGIC_2, 0, SEARCHED_2) >= 0:
            raise TargetError(f"{name} has only a header of multiboot 2.", "QEMU loads multiboot 1: add that header.")
        raise TargetError(
            f"{name} has no multiboot header in its first {SEARCHED:,} bytes.",
            "A Linux kernel, or one with a PVH note, takes no modules: kernometer guest add linux --kernel FILE",
        )
    if flags & HAS_ADDRESSES:
        return kernel, ()
    if kernel[:4] != elf.MAGIC or len(kernel) < 64:
        raise TargetError(f"{name} is no ELF file, and its multiboot header gives no addresses.", "Give the ELF file.")
    machine = int.from_bytes(kernel[18:20], "little")
    if kernel[4] == _ELF64 and machine == _EM_X86_64:
        converted = _as_elf32(kernel, name)
        if _header_flags(converted) is None:
            raise TargetError(f"{name} loses its multiboot header as an ELF file of 32 bits.", "Link it as elf32-i386.")
        return converted, ("Converted to an ELF file of 32 bits, as multiboot loaders want it.",)
    if machine != _EM_386:
        raise TargetError(f"{name} is not a kernel for x86.", "Give an ELF file for x86.")
    return kernel, ()


def listing(kernel: bytes) -> dict[str, bytes]:
    """The guest's SYSTEM_MAP, with the names of an ELF file of 64 bits, whose addresses do not fit into the file of 32
    bits that boots; nothing for another file, or a stripped one."""
    if kernel[:4] != elf.MAGIC or kernel[4] != _ELF64:
        return {}
    try:
        names = sorted((address, name) for name, section, address, _ in elf.symbols(kernel) if section.code)
    except LookupError:
        return {}
    lines = "".join(f"{address:016x} t {name}\n" for address, name in names)
    return {store.SYSTEM_MAP: lines.encode()} if lines else {}


def _header_flags(kernel: bytes) -> int | None:
    """The flags of the multiboot 1 header, at a multiple of four; None without one."""
    for at in range(0, min(len(kernel), SEARCHED) - 11, 4):
        magic, flags, checksum = struct.unpack_from("<III", kernel, at)
        if magic == MAGIC and (magic + flags + checksum) & 0xFFFFFFFF == 0:
            return int(flags)
    return None


def _as_elf32(kernel: bytes, name: str) -> bytes:
    """The same segments, with unchanged code, in an ELF file of 32 bits without symbols: see `listing`."""
    programs.need(f"{name} is an ELF file of 64 bits, which objcopy converts for multiboot loaders", "objcopy")
    with scratch("kernometer-objcopy-") as folder:
        wide, narrow = folder / "wide", folder / "narrow"
        wide.write_bytes(kernel)
        words = ("objcopy", "-S", "-I", "elf64-x86-64", "-O", "elf32-i386", str(wide), str(narrow))
        done = called(words, OBJCOPY_SECONDS, "Convert it yourself.")
        if done.returncode == 0:
            return narrow.read_bytes()
    what = f"objcopy cannot make an ELF file of 32 bits of {name}."
    raise TargetError(what, "Link it as elf32-i386.", done.stderr[-2000:])


def _loaded(modules: Sequence[str]) -> tuple[tuple[store.Module, ...], dict[str, bytes]]:
    """The user's modules, and their files by name: each has its own name, or a new one if another file has that."""
    known: list[store.Module] = []
    files: dict[str, bytes] = {}
    names: dict[str, Path] = {}
    for module in modules:
        file, _, arguments = module.strip().partition(" ")
        arguments = arguments.strip()
        _check_words(arguments)
        if file in (store.INITRAMFS, store.PROBE, store.MACH):
            known.append(store.Module(file=file, arguments=arguments))
            continue
        if not file or file.startswith("@"):
            raise UsageError(
                f"{module!r}: no such module.", f"'FILE WORDS…', and FILE may be {store.INITRAMFS} or {store.PROBE}."
            )
        path = Path(file)
        file = _name(path.resolve(), names)
        files[file] = linux.read_given(path, "a module")
        known.append(store.Module(file=file, arguments=arguments, sha256=sha256(files[file])))
    return tuple(known), files


def _name(path: Path, names: dict[str, Path]) -> str:
    """The file's own name, or "module" if that is invalid; with a number if another file has it."""
    base = path.name if _NAME.fullmatch(path.name) else "module"
    name, number = base, 1
    while name in _RESERVED or names.get(name, path) != path:
        number += 1
        name = f"{base}-{number}"
    names[name] = path
    return name


def unpacked(content: bytes, name: str) -> bytes:
    """The kernel, unpacked if it is packed with gzip. Raises TargetError if it is damaged or too large."""
    return whole(gzip(), content, MAX_UNPACKED, name) if content.startswith(_GZIP) else content


def _check_words(words: str) -> None:
    """A kernel's arguments are copied to QEMU's command line, logs and results: they must be one line of ASCII."""
    if not (words.isascii() and words.isprintable()):
        raise UsageError(f"{words!r}: only printable ASCII can be given to a kernel.", "Leave the rest out.")
