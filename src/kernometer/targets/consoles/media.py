"""The files of a job for a guest: as a CD-ROM's image, as lines for a terminal, and their checksum. Pure."""

from __future__ import annotations

import base64
import io
from collections.abc import Mapping

from kernometer.errors import LibraryError

#: Characters of a sent line: any terminal takes so many, and a few lines fit into the smallest input queue.
LINE = 72
#: POSIX's cksum: CRC-32 with this polynomial, highest bit first.
POLYNOMIAL = 0x04C11DB7


def iso(files: Mapping[str, bytes]) -> bytes:
    """An ISO 9660 image of flat files: 8.3 names in capitals for the oldest readers, Rock Ridge with the real names.
    Raises ValueError for a name that is not 8.3, LibraryError without pycdlib."""
    try:
        from pycdlib import PyCdlib
    except ImportError as error:
        raise LibraryError("A CD-ROM for a console", "pycdlib", "console") from error

    image = PyCdlib()
    image.new(interchange_level=1, rock_ridge="1.09", vol_ident="KERNOMETER")
    contents = []
    for name, data in sorted(files.items()):
        stem, _, suffix = name.upper().partition(".")
        if not (stem.isalnum() and len(stem) <= 8 and len(suffix) <= 3):
            raise ValueError(f"{name!r} is not a name for the oldest readers of CD-ROMs")
        contents.append(io.BytesIO(data))
        image.add_fp(contents[-1], len(data), f"/{stem}.{suffix};1", rr_name=name, file_mode=0o100444)
    written = io.BytesIO()
    image.write_fp(written)
    image.close()
    return written.getvalue()


def lines(data: bytes, name: str, encoding: str) -> list[str]:
    """`data` in base64; for the encoding "uuencode" in the frame of `uuencode -m`. No line contains a space, a
    backslash or a single dot."""
    coded = base64.b64encode(data).decode("ascii")
    body = [coded[at : at + LINE] for at in range(0, len(coded), LINE)]
    return [f"begin-base64 644 {name}", *body, "===="] if encoding == "uuencode" else body


def _table() -> tuple[int, ...]:
    table = []
    for byte in range(256):
        rest = byte << 24
        for _ in range(8):
            rest = (rest << 1) ^ (POLYNOMIAL if rest & 0x80000000 else 0)
        table.append(rest & 0xFFFFFFFF)
    return tuple(table)


_TABLE = _table()


def cksum(data: bytes) -> int:
    """The first number of POSIX's `cksum`: the CRC over the bytes, then over their number, lowest byte first."""
    length = len(data)
    rest = 0
    for byte in data + length.to_bytes((length.bit_length() + 7) // 8, "little"):
        rest = ((rest << 8) & 0xFFFFFFFF) ^ _TABLE[(rest >> 24) ^ byte]
    return rest ^ 0xFFFFFFFF
