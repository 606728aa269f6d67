"""Kernels' files that were made up."""

from __future__ import annotations

import lzma
import struct

from kernometer.guests.kernels import kernelfile


def elf(notes: bytes = b"", kind: int = 4) -> bytes:
    """An ELF64 header with one program header (PT_NOTE unless said) and the notes, and something to compress."""
    head = b"\x7fELF\x02\x01\x01" + bytes(9) + struct.pack("<HHIQQQIHHHHHH", 2, 62, 1, 0, 64, 0, 0, 64, 56, 1, 0, 0, 0)
    segment = struct.pack("<IIQQQQQQ", kind, 4, 120, 0, 0, len(notes), len(notes), 4)
    return head + segment + notes + b"kernel " * 5000


def note(name: bytes, kind: int, description: bytes) -> bytes:
    padded = [part + bytes(-len(part) % 4) for part in (name, description)]
    return struct.pack("<III", len(name), len(description), kind) + b"".join(padded)


KERNEL = elf(note(b"GNU\0", 3, b"build-id") + note(b"Xen\0", 18, struct.pack("<Q", 0x1000850)))


def image(payload: bytes, setup_sectors: int = 4, offset: int = 0x2C4, version: int = 0x020F) -> bytes:
    """A bzImage of the boot protocol: boot sector, setup code, then protected-mode code with the payload inside."""
    setup = bytearray(((setup_sectors or 4) + 1) * 512)
    setup[0x1F1] = setup_sectors
    setup[0x202:0x206] = b"HdrS"
    struct.pack_into("<H", setup, 0x206, version)
    struct.pack_into("<II", setup, 0x248, offset, len(payload))
    return bytes(setup) + bytes(offset) + payload + b"what follows the payload, such as a signature"


def bzimage(kernel: bytes = KERNEL) -> bytes:
    packed = lzma.compress(kernel, check=lzma.CHECK_CRC32)
    return image(packed + struct.pack("<I", len(kernel)))


def with_release(packed: bytes, release: str = "6.9.1-mine+") -> bytes:
    """A bzImage whose setup header points to a version string behind it."""
    text, at = f"{release} (me@here) #1 SMP\0".encode(), 0x300
    return packed[:0x20E] + struct.pack("<H", at - 0x200) + packed[0x210:at] + text + packed[at + len(text) :]


#: An ELF file of 32 bits with a multiboot header.
HYPERVISOR = (
    b"\x7fELF\x01\x01\x01"
    + bytes(9)
    + struct.pack("<HH", 2, 3)
    + bytes(44)
    + struct.pack("<III", kernelfile.MAGIC, 3, -(kernelfile.MAGIC + 3) & 0xFFFFFFFF)
)
