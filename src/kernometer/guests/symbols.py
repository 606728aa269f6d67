"""The names of functions: of a kernel, by address; of programs, by the bytes of their code. `nm` reads ELF files."""

from __future__ import annotations

import re
import struct
import subprocess
from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from kernometer.errors import TargetError
from kernometer.guests import programs

NM_SECONDS = 60
#: The most symbols: a distribution's kernel has some 200,000.
MAX_SYMBOLS = 2_000_000
#: An address, a kind, a name, and for Linux's loadable modules its name in brackets: the form of nm, System.map and
#: /proc/kallsyms. Kinds of code only.
_LINE = re.compile(r"([0-9a-f]{8,16}) ([tTwWiV]) ([\x21-\x7e]{1,256})(?:\s+\[([\w-]{1,64})\])?")
#: Of several names at one address the first of these kinds is taken.
_KINDS = "TtWwVi"
#: Linux's names of the padding before a function.
_PADDING = "__pfx_"
_ELF64 = b"\x7fELF\x02\x01"
_PT_LOAD = 1


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
    """The functions of a listing in nm's form; None if it has none. Other lines are ignored. Raises TargetError if
    there are too many."""
    best: dict[int, tuple[int, str]] = {}
    for line in lines:
        match = _LINE.match(line)
        if match is None or match[3].startswith(_PADDING):
            continue
        name = f"{match[3]} [{match[4]}]" if match[4] else match[3]
        found = (_KINDS.index(match[2]), name)
        address = int(match[1], 16)
        if address and found < best.get(address, (len(_KINDS), "")):
            best[address] = found
        if len(best) > MAX_SYMBOLS:
            raise TargetError(f"A list of symbols has more than {MAX_SYMBOLS:,} functions.")
    ordered = sorted(best)
    return Table(tuple(ordered), tuple(best[at][1] for at in ordered)) if ordered else None


def of_elf(file: Path) -> Table | None:
    """The functions of an ELF file; None if it is stripped. Raises MissingError without nm."""
    programs.need("The names of functions are read from an ELF file", "nm")
    try:
        done = subprocess.run(
            ("nm", "--defined-only", str(file)),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=NM_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise TargetError(f"nm does not end on {file}.", "Is it an ELF file?") from error
    return listed(done.stdout.decode(errors="replace").splitlines())


def program_of(name: str, file: Path) -> Program | None:
    """A static program of 64 bits; None for another file."""
    content = file.read_bytes()
    segments = _segments(content)
    return Program(name, segments, of_elf(file) or Table((), ())) if segments else None


def embedded(kernel: Path, prefix: str, into: Path) -> tuple[Program, ...]:
    """The programs that a kernel's file contains whole, each at a symbol `prefix`NAME. `into`: an empty directory."""
    found = []
    content = kernel.read_bytes()
    segments = _segments(content)
    done = subprocess.run(("nm", str(kernel)), capture_output=True, text=True, timeout=NM_SECONDS, check=False)
    for address, name in re.findall(
        rf"^([0-9a-f]{{16}}) \w {re.escape(prefix)}([a-z0-9_]+)$", done.stdout, re.MULTILINE
    ):
        for start, data in segments:
            inside = int(address, 16) - start
            if 0 <= inside < len(data) and data[inside : inside + len(_ELF64)] == _ELF64:
                file = into / name
                file.write_bytes(data[inside:])  # nm ignores what follows
                one = program_of(name, file)
                found += [one] if one else []
    return tuple(found)


def _segments(elf: bytes) -> tuple[tuple[int, bytes], ...]:
    """The loaded segments of an ELF file of 64 bits; none for another file."""
    if not elf.startswith(_ELF64):
        return ()
    found = []
    try:
        at, size, number = struct.unpack_from("<Q", elf, 32) + struct.unpack_from("<HH", elf, 54)
        for index in range(number):
            kind, _, offset, address, _, bytes_ = struct.unpack_from("<IIQQQQ", elf, at + index * size)
            if kind == _PT_LOAD:
                found.append((address, elf[offset : offset + bytes_]))
    except (struct.error, OverflowError):
        return ()
    return tuple(found)
