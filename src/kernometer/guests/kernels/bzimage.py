"""Unpacks the ELF image in a bzImage, which boots seconds faster (Linux, Documentation/arch/x86/boot.rst).

QEMU starts an ELF file with a PVH note directly; the packed image would unpack itself under emulation first.
Pure except for lz4 and zstd: Python 3.11 has no module for them, so the programs of those names are run.
"""

from __future__ import annotations

import bz2
import lzma
import re
import struct
import subprocess
import tempfile
import threading
import zlib
from collections.abc import Callable
from typing import TYPE_CHECKING

from kernometer.errors import TargetError
from kernometer.guests.inside import programs
from kernometer.guests.kernels import elf

if TYPE_CHECKING:
    Stream = zlib._Decompress | bz2.BZ2Decompressor | lzma.LZMADecompressor

#: More than any kernel unpacks to; a damaged or hostile image must not fill the memory.
MAX_UNPACKED = 1 << 30
#: The most seconds for lz4 or zstd.
UNPACK_SECONDS = 120

#: Xen's note with the entry point for 32-bit protected mode without paging (xen/include/public/elfnote.h).
XEN_ELFNOTE_PHYS32_ENTRY = 18

AGAIN = "It is damaged: build it, download it, or add the guest again."
NOT_A_KERNEL = "Give the vmlinuz or bzImage of an x86-64 Linux kernel."


def unpack(image: bytes) -> bytes:
    """The ELF vmlinux in `image`, a bzImage; an image that is already ELF is returned unchanged. Raises TargetError if
    it is neither or is damaged, MissingError if lz4 or zstd is needed and not installed."""
    if image[:4] == elf.MAGIC:
        return image
    kernel = decompressed(_payload(image))
    if kernel[:4] != elf.MAGIC:
        raise TargetError("The kernel image does not unpack to an ELF file.", NOT_A_KERNEL)
    return kernel


def decompressed(payload: bytes) -> bytes:
    """What is packed in a kernel's image. Raises what `unpack` raises."""
    for magic, decompress in _FORMATS:
        if payload.startswith(magic):
            return decompress(payload)
    raise TargetError(
        f"The kernel image is packed in a format that begins with {payload[:4].hex(' ')}, which is unknown.",
        "Use a kernel packed with gzip, bzip2, lzma, xz, lz4 or zstd.",
    )


def pvh_entry(kernel: bytes) -> int | None:
    """The physical address at which QEMU would start this ELF kernel, or None without a PVH note."""
    if kernel[:4] != elf.MAGIC:
        return None
    try:
        entries = (_note(content) for _, content in elf.segments(kernel, elf.NOTES))
    except LookupError as error:
        raise TargetError(f"The kernel cannot be read: {error}.", NOT_A_KERNEL) from error
    return next((entry for entry in entries if entry is not None), None)


def kernel_release(image: bytes) -> str:
    """Linux's `uname -r`, from a bzImage's header or an unpacked image's banner; "" if not known."""
    if image[0x202:0x206] != b"HdrS":
        match = re.search(rb"Linux version ([\w.+~-]{1,64}) \(", image)
    else:
        start = int.from_bytes(image[0x20E:0x210], "little") + 0x200
        match = re.match(rb"([\w.+~-]{1,64}) ", image[start : start + 65])
    return match[1].decode() if match else ""


def _note(notes: bytes) -> int | None:
    """The entry point in a PT_NOTE segment, whose names and descriptions are padded to four bytes each."""
    at = 0
    while at + 12 <= len(notes):
        name_size, size, kind = struct.unpack_from("<III", notes, at)
        name = notes[at + 12 : at + 12 + name_size]
        start = at + 12 + (name_size + 3 & ~3)
        if kind == XEN_ELFNOTE_PHYS32_ENTRY and name.rstrip(b"\0") == b"Xen" and size in (4, 8):
            return int.from_bytes(notes[start : start + size], "little")
        at = start + (size + 3 & ~3)
    return None


def _payload(image: bytes) -> bytes:
    """The packed kernel: payload_offset counts from the first byte of the protected-mode code."""
    if len(image) < 0x250 or image[0x202:0x206] != b"HdrS":
        raise TargetError("This is not a Linux kernel image: it has no setup header.", NOT_A_KERNEL)
    version = int.from_bytes(image[0x206:0x208], "little")
    if version < 0x0208:
        raise TargetError(
            f"The kernel's boot protocol is {version:#06x}, older than 2.08.", "Use Linux 2.6.26 or newer."
        )
    setup_sectors = image[0x1F1] or 4
    offset, length = struct.unpack_from("<II", image, 0x248)
    start = (setup_sectors + 1) * 512 + offset
    if length < 8 or start + length > len(image):
        raise TargetError("The kernel image is cut off before the end of the packed kernel.", NOT_A_KERNEL)
    return image[start : start + length]


def unpack_stream(stream: Stream, packed: bytes, limit: int, what: str, next_step: str = AGAIN) -> bytes:
    """The content of one compressed stream, without the bytes after it. Raises TargetError, with `what` it is, if it is
    damaged, cut off, or larger than `limit` bytes."""
    try:
        content = stream.decompress(packed, limit)
    except (OSError, EOFError, ValueError, lzma.LZMAError, zlib.error) as error:
        raise TargetError(f"{what} is damaged: {error}.", next_step) from error
    if not stream.eof:
        raise TargetError(f"{what} is cut off, or larger than {limit >> 20} MiB.", next_step)
    return content


def gzip() -> Stream:
    """The decompressor of one gzip stream, for `unpack_stream`."""
    return zlib.decompressobj(wbits=16 + zlib.MAX_WBITS)


def _stream(make: Callable[[], Stream]) -> Callable[[bytes], bytes]:
    return lambda payload: unpack_stream(make(), payload, MAX_UNPACKED, "The packed kernel", NOT_A_KERNEL)


def _program(name: str, *arguments: str) -> Callable[[bytes], bytes]:
    """A decompressor that runs a program, without the last four bytes, where the build appends the unpacked size."""

    def decompress(payload: bytes) -> bytes:
        programs.need(f"This kernel is packed with {name}", name)
        size = int.from_bytes(payload[-4:], "little")
        if size > MAX_UNPACKED:
            raise TargetError("The packed kernel claims to be larger than 1 GiB.", NOT_A_KERNEL)
        kernel, told = _piped((name, *arguments), payload[:-4], size + 1)
        if len(kernel) != size:
            raise TargetError(f"The packed kernel is damaged: {name} printed {told!r}.", NOT_A_KERNEL)
        return kernel

    return decompress


def _piped(argv: tuple[str, ...], data: bytes, limit: int) -> tuple[bytes, str]:
    """A program's output for `data`, up to `limit` bytes, and its messages; the program is ended then."""
    with tempfile.TemporaryFile() as packed, tempfile.TemporaryFile() as said:
        packed.write(data)
        packed.seek(0)
        with subprocess.Popen(argv, stdin=packed, stdout=subprocess.PIPE, stderr=said) as process:
            patience = threading.Timer(UNPACK_SECONDS, process.kill)
            patience.start()
            try:
                kernel = process.stdout.read(limit) if process.stdout else b""
            finally:
                patience.cancel()
                process.kill()
        said.seek(0)
        return kernel, said.read(200).decode(errors="replace").strip()


def unpack_zstd(data: bytes, limit: int) -> bytes:
    """A whole zstd stream, at most `limit` bytes of it. Raises MissingError without zstd, TargetError."""
    programs.need("This is packed with zstd", "zstd")
    unpacked, told = _piped(("zstd", "-dcq"), data, limit + 1)
    if told or not unpacked or len(unpacked) > limit:
        raise TargetError(f"A zstd stream is damaged, or larger than {limit >> 20} MiB: zstd printed {told!r}.")
    return unpacked


_FORMATS: tuple[tuple[bytes, Callable[[bytes], bytes]], ...] = (
    (b"\x1f\x8b", _stream(gzip)),
    (b"BZh", _stream(bz2.BZ2Decompressor)),
    (b"\xfd7zXZ\x00", _stream(lzma.LZMADecompressor)),
    (b"\x5d\x00\x00", _stream(lzma.LZMADecompressor)),
    (b"\x02\x21\x4c\x18", _program("lz4", "-dc")),
    (b"\x28\xb5\x2f\xfd", _program("zstd", "-dcq")),
)
