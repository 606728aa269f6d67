"""What a kernel's file is, and how QEMU starts it: as a Linux image, by multiboot, at a PVH entry, or by our loader.

QEMU tries these in that order. Formats: Linux, Documentation/arch/x86/boot.rst, arch/arm64/booting.rst and
arch/riscv/boot-image-header.rst; Multiboot Specification 0.6.96 and 2.0; Xen, xen/include/public/elfnote.h.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, replace
from typing import Literal

from kernometer.errors import TargetError, UsageError
from kernometer.guests.architecture import AARCH64, I386, RISCV64, X86_64, Architecture
from kernometer.guests.kernels import bsd, bzimage, elf

#: multiboot: by a header of multiboot 1, with modules; pvh: at a PVH entry; image: as its architecture's Linux; openbsd
#: and freebsd: by our loader.
Way = Literal["multiboot", "pvh", "image", "openbsd", "freebsd"]

#: Multiboot's magic numbers, and where they are searched for.
MAGIC, SEARCHED = 0x1BADB002, 8192
MAGIC_2, SEARCHED_2 = struct.pack("<I", 0xE85250D6), 32768
#: The flag of a header with addresses, which make the file's own format irrelevant.
HAS_ADDRESSES = 1 << 16

_EM_386, _EM_X86_64 = 3, 62
#: By the machine of an ELF file. A kernel for x86-64 may be in a file of 32 bits.
_MACHINES = {_EM_386: X86_64, _EM_X86_64: X86_64, 183: AARCH64, 243: RISCV64}
#: At this offset of an uncompressed Linux image of another architecture.
_MARK = 0x38
_IMAGES = {b"ARM\x64": AARCH64, b"RSC\x05": RISCV64}
_GZIP, _BZIMAGE = b"\x1f\x8b", b"HdrS"
#: An image that EFI firmware unpacks: its mark, and the offset and size of what is packed.
_ZBOOT = struct.Struct("<2s2x4sII")


@dataclass(frozen=True, slots=True)
class KernelFile:
    boots: bytes  #: what QEMU loads
    way: Way
    architecture: Architecture
    what: str  #: the file in words
    packed: bytes = b""  #: the bzImage that `boots` was in
    release: str = ""  #: Linux's `uname -r`; "" for another kernel


def read(given: bytes, name: str, wanted: Architecture | None = None) -> KernelFile:
    """The kernel in a file that may be packed. `wanted`: the architecture of the kernel's programs, where the user says
    so. Raises TargetError if QEMU cannot start it, UsageError if it is of another architecture."""
    content = unpacked(given, name)
    if content[0x202:0x206] == _BZIMAGE:
        made = _bzimage(content, name)
    elif content[_MARK : _MARK + 4] in _IMAGES:
        architecture = _IMAGES[content[_MARK : _MARK + 4]]
        release = bzimage.kernel_release(content)
        made = KernelFile(content, "image", architecture, f"an Image for {architecture.name}", release=release)
    else:
        made = _elf(content, name)
    if wanted is None or wanted is made.architecture:
        return made
    if (wanted, made.architecture) != (I386, X86_64):
        raise UsageError(f"{name} is {made.what}, and not for {wanted.name}.", "Leave --arch out.")
    return replace(made, architecture=wanted)


def taking_modules(given: bytes, name: str) -> bytes:
    """What QEMU loads of a kernel that its loader must give modules. Raises TargetError for another one."""
    made = read(given, name)
    if made.way != "multiboot":
        raise TargetError(f"{name} has no multiboot header: it takes no modules.", "Take a package that has one.")
    return made.boots


def unpacked(content: bytes, name: str) -> bytes:
    """The kernel, unpacked if it is packed with gzip or for EFI. Raises TargetError if it is damaged or too large."""
    if len(content) >= _ZBOOT.size:
        mark, kind, at, size = _ZBOOT.unpack_from(content)
        if (mark, kind) == (b"MZ", b"zimg"):
            return bzimage.decompressed(content[at : at + size])
    if content.startswith(_GZIP):
        return bzimage.unpack_stream(bzimage.gzip(), content, bzimage.MAX_UNPACKED, name)
    return content


def _bzimage(content: bytes, name: str) -> KernelFile:
    """Its ELF image boots, if it can, since the packed one unpacks itself under emulation."""
    kernel, release = bzimage.unpack(content), bzimage.kernel_release(content)
    what = "a bzImage"
    if bzimage.pvh_entry(kernel) is not None:
        return KernelFile(kernel, "pvh", X86_64, f"{what} with an ELF file that has a PVH entry", content, release)
    if _machine(kernel, name) is not X86_64:
        raise TargetError(f"{name} is not a kernel for x86.", "Give the file that its build made to boot.")
    architecture = X86_64 if kernel[4:5] == elf.WIDE[4:5] else I386
    what += ", which unpacks itself: it has no PVH entry (CONFIG_PVH)"
    return KernelFile(content, "image", architecture, what, release=release)


def _elf(content: bytes, name: str) -> KernelFile:
    """An ELF file, or any with a multiboot header that says where it goes."""
    flags, is_elf = header_flags(content), content[:4] == elf.MAGIC and len(content) >= 64
    wide = is_elf and content[4:5] == elf.WIDE[4:5]
    what = f"an ELF file of {64 if wide else 32} bits"
    if flags is not None and flags & HAS_ADDRESSES:
        return KernelFile(content, "multiboot", X86_64, f"{what if is_elf else 'a raw file'} with a multiboot header")
    if not is_elf:
        why = ", and its multiboot header gives no addresses" if flags is not None else ""
        raise TargetError(
            f"{name} is no ELF file and no Linux image{why}.",
            "Give what its build made to boot: an ELF file, a bzImage, an Image, or a file with a multiboot header.",
        )
    architecture, release = _machine(content, name), bzimage.kernel_release(content)
    if architecture is not X86_64:
        return KernelFile(content, "image", architecture, f"{what} for {architecture.name}", release=release)
    if flags is not None:
        if wide:  # QEMU loads it as it is, and refuses one that says that it is for x86-64
            content = content[:18] + struct.pack("<H", _EM_386) + content[20:]
        return KernelFile(content, "multiboot", X86_64, f"{what} with a multiboot header", release=release)
    if system := bsd.system_of(content):  # FreeBSD's PVH entry is for Xen alone before version 14
        its = bsd.version_of(content) or bsd.NAMES[system]
        return KernelFile(content, system, X86_64, f"{what} of {its}, which our loader starts")
    if bzimage.pvh_entry(content) is not None:
        return KernelFile(content, "pvh", X86_64, f"{what} with a PVH entry", release=release)
    missing = f"{name} has no multiboot header in its first {SEARCHED:,} bytes, and no PVH entry"
    if content.find(MAGIC_2, 0, SEARCHED_2) >= 0:
        raise TargetError(f"{missing}: multiboot 2 is not what QEMU loads.", "Add a header of multiboot 1.")
    raise TargetError(f"{missing}: QEMU cannot start it.", "Give Linux's bzImage, or build with CONFIG_PVH.")


def _machine(kernel: bytes, name: str) -> Architecture:
    machine = int.from_bytes(kernel[18:20], "little")
    if machine not in _MACHINES or kernel[4:6] not in (elf.WIDE[4:6], b"\x01\x01"):
        raise TargetError(f"{name} is no kernel for x86, aarch64 or riscv64.", "Only these machines are emulated here.")
    return _MACHINES[machine]


def header_flags(kernel: bytes) -> int | None:
    """The flags of the multiboot 1 header, at a multiple of four; None without one."""
    for at in range(0, min(len(kernel), SEARCHED) - 11, 4):
        magic, flags, checksum = struct.unpack_from("<III", kernel, at)
        if magic == MAGIC and (magic + flags + checksum) & 0xFFFFFFFF == 0:
            return int(flags)
    return None
