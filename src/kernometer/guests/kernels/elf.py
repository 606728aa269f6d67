"""Segments, sections and symbols of an ELF file for little-endian x86, and where all data of a kernel lie.

Files come from users and packages: every offset may lead anywhere. docs/gate.md, "The same layout".
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from kernometer.cache import sha256

MAGIC = b"\x7fELF"
WIDE = MAGIC + b"\x02\x01"  #: of 64 bits, little-endian
LOADED, NOTES = 1, 4  #: kinds of segments
_SYMTAB, _ALLOC, _CODE = 2, 2, 4
_SECTION, _FILE = 3, 4  #: kinds of symbols that are no object of the program
PAGE = 4096
#: Fields of a 32-bit program header up to its size in the file; 64 bits have one more before the offset.
NARROW = 5
#: The most sections and symbols; Linux has some 100,000 symbols.
MOST = 1 << 21
#: A compiler numbers a function's static objects: `buffer.12`.
_NUMBERED = re.compile(r"\.\d+$")


@dataclass(frozen=True, slots=True)
class Section:
    name: str
    kind: int
    flags: int
    address: int
    offset: int
    size: int
    link: int

    @property
    def code(self) -> bool:
        return bool(self.flags & _CODE)


def sections(elf: bytes) -> tuple[Section, ...]:
    """The section headers, in their order. Raises LookupError for another file, or a damaged one."""
    headers, names = _headers(elf, "section")
    if headers and names >= len(headers):
        raise LookupError("its section headers are damaged: they have no names")
    return tuple(Section(_text(elf, headers[names][4] + header[0]), *header[1:]) for header in headers)


def segments(elf: bytes, kind: int) -> tuple[tuple[int, bytes], ...]:
    """(address, content) of each LOADED or NOTES. Raises LookupError for another file, or a damaged one."""
    return tuple((to, elf[offset : offset + size]) for offset, to, size in extents(elf, kind))


def extents(elf: bytes, kind: int) -> tuple[tuple[int, int, int], ...]:
    """(offset, address, bytes in the file) of each segment of a kind. Raises LookupError as `segments` does."""
    headers, _ = _headers(elf, "program")
    fields = [(header[0], *(header[2:4] if len(header) > NARROW else header[1:3]), header[-1]) for header in headers]
    return tuple((offset, to, size) for its, offset, to, size in fields if its == kind)


def _headers(elf: bytes, table: Literal["section", "program"]) -> tuple[list[tuple[int, ...]], int]:
    """The fields of each header of a table, and the number of the section that has the names. Raises LookupError."""
    if elf[:4] != MAGIC or elf[4:6] not in (b"\x01\x01", b"\x02\x01"):
        raise LookupError("not an ELF file of little-endian x86")
    wide, program = elf[4] == 2, table == "program"
    try:
        head = struct.unpack_from("<24xQQQI6H" if wide else "<24xIIII6H", elf)
        form = ("<IIQQQQ" if wide else "<IIIII") if program else "<IIQQQQI" if wide else "<IIIIIII"
        begin, size, count = (head[1], *head[5:7]) if program else (head[2], *head[7:9])
        return [struct.unpack_from(form, elf, begin + number * size) for number in range(count)], head[9]
    except (struct.error, OverflowError) as error:
        raise LookupError(f"its {table} headers are cut off: {error}") from error


def symbols(elf: bytes) -> Iterator[tuple[str, Section, int, int]]:
    """(name, section, address, size) of the objects and functions in its symbol table. Raises LookupError."""
    known = sections(elf)
    wide = elf[4] == 2
    form = struct.Struct("<IBBHQQ" if wide else "<IIIBBH")
    for table in known:
        if table.kind != _SYMTAB:
            continue
        if table.link >= len(known) or table.size // form.size > MOST:
            raise LookupError("its symbol table is damaged")
        content = elf[table.offset : table.offset + table.size]
        for fields in form.iter_unpack(content[: len(content) // form.size * form.size]):
            name, info, _, index, value, size = fields if wide else (fields[0], *fields[3:], *fields[1:3])
            if 0 < index < len(known) and info & 0xF not in (_SECTION, _FILE):
                yield _text(elf, known[table.link].offset + name), known[index], value, size


def layout(kernel: bytes, *, programs: bool = True) -> str:
    """A digest of where a kernel's data lie; "" without symbols. `programs`: with those within it (Trio's servers).

    It covers the address and size of all data, but only the pages of code: counts do not depend on where in its pages
    an instruction lies.
    """
    lines: list[str] = []
    start = 0
    try:
        while start >= 0 and len(lines) < MOST:
            part = _layout(kernel[start:])
            if not part:
                return ""
            lines += part
            start = kernel.find(MAGIC + kernel[4:7], start + 4) if programs else -1
    except LookupError:
        return ""
    return sha256("\n".join(lines).encode())


def _layout(elf: bytes) -> list[str]:
    lines = []
    for section in sections(elf):
        if section.flags & _ALLOC:
            end = section.address + section.size
            extent = (section.address // PAGE, -(-end // PAGE)) if section.code else (section.address, end)
            lines.append(f"{section.name} {extent[0]:x} {extent[1]:x}")
    data = [
        f"{_NUMBERED.sub('', name)} {address:x} {size:x}"
        for name, section, address, size in symbols(elf)
        if section.flags & _ALLOC and not section.code
    ]
    return [*lines, *sorted(data)] if data else []


def _text(elf: bytes, at: int) -> str:
    end = elf.find(b"\0", at, at + 1024)
    return elf[at:end].decode(errors="replace") if end >= 0 else ""
