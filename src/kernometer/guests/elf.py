"""Sections and symbols of an ELF file for little-endian x86, and the layout of a kernel: where all its data lie.

Files come from users and packages: every offset may lead anywhere. docs/gate.md, "The same layout".
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator
from dataclasses import dataclass

from kernometer.cache import sha256

MAGIC = b"\x7fELF"
_SYMTAB, _ALLOC, _CODE = 2, 2, 4
_SECTION, _FILE = 3, 4  #: kinds of symbols that are no object of the program's
PAGE = 4096
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
    if elf[:4] != MAGIC or elf[4:6] not in (b"\x01\x01", b"\x02\x01"):
        raise LookupError("not an ELF file of little-endian x86")
    wide = elf[4] == 2
    try:
        (table,) = struct.unpack_from("<Q" if wide else "<I", elf, 0x28 if wide else 0x20)
        size, count, names = struct.unpack_from("<HHH", elf, 0x3A if wide else 0x2E)
        form = "<IIQQQQI" if wide else "<IIIIIII"
        headers = [struct.unpack_from(form, elf, table + number * size) for number in range(count)]
        strings = headers[names][4] if headers else 0
    except (struct.error, IndexError, OverflowError) as error:
        raise LookupError(f"its section headers are damaged: {error}") from error
    return tuple(Section(_text(elf, strings + header[0]), *header[1:]) for header in headers)


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


def layout(kernel: bytes) -> str:
    """A digest of where a kernel's data lie; "" without symbols. Programs within it (Trio's servers) are included.

    All data have their addresses and sizes in it, code only the pages that it covers: counts do not depend on where in
    them an instruction lies.
    """
    lines: list[str] = []
    start = 0
    try:
        while start >= 0 and len(lines) < MOST:
            found = _layout(kernel[start:])
            if not found:
                return ""
            lines += found
            start = kernel.find(MAGIC + kernel[4:7], start + 4)
    except LookupError:
        return ""
    return sha256("\n".join(lines).encode())


def _layout(elf: bytes) -> list[str]:
    lines = []
    for one in sections(elf):
        if one.flags & _ALLOC:
            end = one.address + one.size
            extent = (one.address // PAGE, -(-end // PAGE)) if one.code else (one.address, end)
            lines.append(f"{one.name} {extent[0]:x} {extent[1]:x}")
    data = [
        f"{_NUMBERED.sub('', name)} {address:x} {size:x}"
        for name, section, address, size in symbols(elf)
        if section.flags & _ALLOC and not section.code
    ]
    return [*lines, *sorted(data)] if data else []


def _text(elf: bytes, at: int) -> str:
    end = elf.find(b"\0", at, at + 1024)
    return elf[at:end].decode(errors="replace") if end >= 0 else ""
