"""The names of functions: of a kernel, by address; of programs, by the bytes of their code."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass

from kernometer.errors import TargetError
from kernometer.guests.kernels import elf

#: The most symbols: a distribution's kernel has some 200,000.
MAX_SYMBOLS = 2_000_000
#: An address, a kind, a name, and for Linux's loadable modules its name in brackets: the form of System.map, nm and
#: /proc/kallsyms. Kinds of code only.
_LINE = re.compile(r"([0-9a-f]{8,16}) [tTwWi] ([\x21-\x7e]{1,256})(?:\s+\[([\w-]{1,64})\])?")
#: A build's list has nearly all names that its kernel lists: their filters differ by a few.
LEAST_KNOWN = 0.99
#: Linux's names of the padding before a function.
_PADDING = "__pfx_"


@dataclass(frozen=True, slots=True)
class Table:
    """Functions by address: each reaches up to the next one's beginning."""

    addresses: tuple[int, ...]
    names: tuple[str, ...]

    def name(self, address: int) -> str:
        """The function at this address; "" if it lies before all."""
        at = bisect_right(self.addresses, address) - 1
        return self.names[at] if at >= 0 else ""


@dataclass(frozen=True, slots=True)
class Program:
    """A program's file: segments (address, content) and its functions."""

    name: str
    segments: tuple[tuple[int, bytes], ...]
    table: Table

    def has(self, address: int, code: bytes) -> bool:
        """Whether this code stands at this address."""
        return any(
            start <= address and content[address - start : address - start + len(code)] == code
            for start, content in self.segments
        )


@dataclass(frozen=True, slots=True)
class Symbols:
    """All that is known of a guest's code."""

    kernel: Table | None
    source: str  #: where the kernel's names come from; "" without
    programs: tuple[Program, ...]


def listed(lines: Iterable[str]) -> Table | None:
    """The functions of a listing; None if it has none. Other lines are ignored. Raises TargetError if there are too
    many."""
    matches = (_LINE.match(line) for line in lines)
    return _table((int(one[1], 16), f"{one[2]} [{one[3]}]" if one[3] else one[2]) for one in matches if one is not None)


def mismatch(given: Iterable[str], kernel: Iterable[str]) -> str:
    """How a list of a build's symbols differs from what the kernel itself lists: the first function with another
    address, or how few there are; "" if it is this kernel's. Names of loadable modules do not count."""
    mine, its = _places(given), _places(kernel)
    for name, places in sorted(its.items(), key=lambda one: min(one[1])):
        if name in mine and not mine[name] & places:
            return f"{name} is at {min(mine[name]):x} in it, and at {min(places):x} in the kernel"
    known = sum(name in mine for name in its)
    return f"it has {known:,} of the kernel's {len(its):,} functions" if known < LEAST_KNOWN * len(its) else ""


def _places(lines: Iterable[str]) -> dict[str, set[int]]:
    """The addresses of each name: static functions may share one."""
    found: dict[str, set[int]] = {}
    for one in filter(None, map(_LINE.match, lines)):
        if int(one[1], 16) and not one[3]:
            found.setdefault(one[2], set()).add(int(one[1], 16))
    return found


def of_elf(content: bytes) -> Table | None:
    """The functions of an ELF file; None if it is stripped, or another file."""
    try:
        return _table((address, name) for name, section, address, _ in elf.symbols(content) if section.code)
    except LookupError:
        return None


def _table(found: Iterable[tuple[int, str]]) -> Table | None:
    """Of several names at one address the plainest: `read`, not `__libc_read`."""
    best: dict[int, tuple[bool, int, str]] = {}
    for address, name in found:
        plain = (name.startswith("_"), len(name), name)
        if name and address and not name.startswith(_PADDING) and plain < best.get(address, (True, MAX_SYMBOLS, "")):
            best[address] = plain
        if len(best) > MAX_SYMBOLS:
            raise TargetError(f"A list of symbols has more than {MAX_SYMBOLS:,} functions.")
    ordered = sorted(best)
    return Table(tuple(ordered), tuple(best[at][2] for at in ordered)) if ordered else None


def program_of(name: str, content: bytes) -> Program | None:
    """A static program; None for another file."""
    segments = _segments(content)
    return Program(name, segments, of_elf(content) or Table((), ())) if segments else None


def embedded(kernel: bytes, prefix: str) -> tuple[Program, ...]:
    """The programs that a kernel's file contains whole, each at a symbol `prefix`NAME."""
    segments = _segments(kernel)
    found = []
    for symbol, _, address, _ in elf.symbols(kernel):
        for start, data in segments if symbol.startswith(prefix) else ():
            inside = address - start
            if 0 <= inside < len(data) and (one := program_of(symbol.removeprefix(prefix), data[inside:])) is not None:
                found.append(one)
    return tuple(found)


def _segments(content: bytes) -> tuple[tuple[int, bytes], ...]:
    """The loaded segments of an ELF file; none for another file."""
    try:
        return elf.segments(content, elf.LOADED)
    except LookupError:
        return ()
