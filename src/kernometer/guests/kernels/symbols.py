"""The names of functions: of a kernel, by address; of programs, by the bytes of their code."""

from __future__ import annotations

import re
import shutil
from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass

from kernometer.errors import TargetError
from kernometer.guests.kernels import elf
from kernometer.processes import called

#: The most symbols: a distribution's kernel has some 200,000.
MAX_SYMBOLS = 2_000_000
#: A function in System.map, or as nm or /proc/kallsyms prints it: an address, a kind, a name, and the name of a
#: loadable module in brackets.
_LINE = re.compile(r"([0-9a-f]{8,16}) [tTwWi] ([\x21-\x7e]{1,4096})(?:\s+\[([\w-]{1,64})\])?")
#: A build's list has nearly all names that its kernel lists: the two filter them differently, for a few names.
LEAST_KNOWN = 0.99
#: Linux's names of the padding before a function.
_PADDING = "__pfx_"
#: How names of C++ and Rust begin, the latter's hashes, and the most of a name, whose arguments may be long.
_MANGLED, _HASH, MAX_NAME = ("_Z", "_R"), re.compile(r"::h[0-9a-f]{16}$|\[[0-9a-f]+\](?=::)"), 200
DEMANGLE_SECONDS = 60
#: How many functions may lie within one that is not over.
_NESTED = 8
#: The most bytes of a function whose size is not known; Linux's largest has some 30,000.
LONGEST = 1 << 20


@dataclass(frozen=True, slots=True)
class Table:
    """Functions by address. One whose size is known ends there; another reaches up to the next one's beginning, at most
    LONGEST."""

    addresses: tuple[int, ...]
    names: tuple[str, ...]
    sizes: tuple[int, ...] = ()  #: 0: not known; (): none is

    def name(self, address: int) -> str:
        """The function at this address; "" where none is."""
        at = bisect_right(self.addresses, address) - 1
        for each in range(at, max(-1, at - _NESTED), -1):
            size = (self.sizes and self.sizes[each]) or (LONGEST if each == at else 0)
            if address < self.addresses[each] + size:
                return self.names[each]
        return ""


@dataclass(frozen=True, slots=True)
class Program:
    """A program's file: segments (address, content) and its functions."""

    name: str
    segments: tuple[tuple[int, bytes], ...]
    table: Table

    def has(self, address: int, code: bytes) -> bool:
        """Whether this code lies at this address."""
        return any(
            start <= address and content[address - start : address - start + len(code)] == code
            for start, content in self.segments
        )


@dataclass(frozen=True, slots=True)
class Symbols:
    """All that is known of the code in a guest."""

    kernel: Table | None
    source: str  #: where the kernel's names come from; "" without
    programs: tuple[Program, ...]


def listed(lines: Iterable[str]) -> Table | None:
    """The functions of a listing, whose other lines are ignored; None if it has none. Raises TargetError if there are
    too many."""
    matches = filter(None, map(_LINE.match, lines))
    return _table((int(line[1], 16), f"{line[2]} [{line[3]}]" if line[3] else line[2], 0) for line in matches)


def of_file(content: bytes) -> Table | None:
    """The functions of a listing or of an ELF file."""
    return of_elf(content) if content[:4] == elf.MAGIC else listed(content.decode(errors="replace").splitlines())


def mismatch(given: Iterable[str], kernel: Iterable[str]) -> str:
    """How a build's list of symbols differs from what the kernel itself lists: the first function with another address,
    or how few functions it has; "" if it is this kernel's. Loadable modules do not count."""
    mine, its = _places(given), _places(kernel)
    for name, places in sorted(its.items(), key=lambda item: min(item[1])):
        if name in mine and not mine[name] & places:
            return f"{name} is at {min(mine[name]):x} in it, and at {min(places):x} in the kernel"
    known = sum(name in mine for name in its)
    return f"it has {known:,} of the kernel's {len(its):,} functions" if known < LEAST_KNOWN * len(its) else ""


def _places(lines: Iterable[str]) -> dict[str, set[int]]:
    """The addresses of each name, which static functions may share."""
    addresses: dict[str, set[int]] = {}
    for line in filter(None, map(_LINE.match, lines)):
        if int(line[1], 16) and not line[3]:
            addresses.setdefault(line[2], set()).add(int(line[1], 16))
    return addresses


def of_elf(content: bytes) -> Table | None:
    """The functions of an ELF file; None if it is stripped, or another file. A name without a size, as a linker script
    gives to the beginning of a section, is a function only where no other begins."""
    try:
        code = [(address, name, size) for name, section, address, size in elf.symbols(content) if section.code]
    except LookupError:
        return None
    sized = {address for address, _, size in code if size}
    return _table((address, name, size) for address, name, size in code if size or address not in sized)


def _table(functions: Iterable[tuple[int, str, int]]) -> Table | None:
    """Of several names at one address the plainest counts: `read`, not `__libc_read`."""
    best: dict[int, tuple[bool, int, str, int]] = {}
    for address, name, size in functions:
        plain = (name.startswith("_"), len(name), name, size)
        if name and address and not name.startswith(_PADDING) and plain < best.get(address, (True, MAX_SYMBOLS, "", 0)):
            best[address] = plain
        if len(best) > MAX_SYMBOLS:
            raise TargetError(f"A list of symbols has more than {MAX_SYMBOLS:,} functions.")
    ordered = sorted(best)
    names, sizes = _demangled([best[at][2] for at in ordered]), tuple(best[at][3] for at in ordered)
    return Table(tuple(ordered), names, sizes if any(sizes) else ()) if ordered else None


def _demangled(names: list[str]) -> tuple[str, ...]:
    """Names as their sources write them, by binutils' c++filt, which knows C++ and both manglings of Rust and is there
    with the assembler (of Python's libraries none knows all three). Without it they stay as they are."""
    mangled, program = [name for name in names if name.startswith(_MANGLED)], shutil.which("c++filt")
    if program is None or not mangled:
        return tuple(names)
    done = called((program,), DEMANGLE_SECONDS, given="\n".join(mangled))
    plain = dict(zip(mangled, done.stdout.splitlines(), strict=False))
    return tuple(_HASH.sub("", plain.get(name, name))[:MAX_NAME] for name in names)


def program_of(name: str, content: bytes) -> Program | None:
    """A static program; None for another file."""
    segments = _segments(content)
    return Program(name, segments, of_elf(content) or Table((), ())) if segments else None


def embedded(kernel: bytes, prefix: str) -> tuple[Program, ...]:
    """The programs that a kernel's file contains, each at a symbol `prefix`NAME."""
    segments = _segments(kernel)
    programs = []
    for symbol, _, address, _ in elf.symbols(kernel):
        for start, data in segments if symbol.startswith(prefix) else ():
            inside = address - start
            if 0 <= inside < len(data) and (program := program_of(symbol.removeprefix(prefix), data[inside:])):
                programs.append(program)
    return tuple(programs)


def _segments(content: bytes) -> tuple[tuple[int, bytes], ...]:
    """The loaded segments of an ELF file; none for another file."""
    try:
        return elf.segments(content, elf.LOADED)
    except LookupError:
        return ()
