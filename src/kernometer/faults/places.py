"""Where a fault can strike in a service of Trio: the instructions and calls of its object. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from kernometer.errors import TargetError
from kernometer.guests.kernels import elf

#: The size of what a fault replaces an instruction with: a call, or a jump where a jump was.
CALL_BYTES = 5
CALL, JUMP = 0xE8, 0xE9
_FUNCTION = re.compile(r"([0-9a-f]{16}) <(.+)>:")
_INSTRUCTION = re.compile(r" *([0-9a-f]+):\t(\w+)(?: +([0-9a-f]+) <)?")
_RELOCATION = re.compile(r"\s+([0-9a-f]+): (R_X86_64_\w+)\s+(\S+?)(?:-0x[0-9a-f]+)?$")
_TEXT = re.compile(r"\.text\+0x([0-9a-f]+)")


@dataclass(frozen=True, slots=True)
class Code:
    """A service's code as it was compiled: offsets are those of the object's .text."""

    service: str
    text: bytes
    functions: Mapping[int, str]
    instructions: tuple[int, ...]
    targets: frozenset[int]  #: of jumps, and in tables
    calls: Mapping[int, str]  #: the function of each direct call, and of each jump to another function (a tail call)
    holes: tuple[tuple[int, int], ...]  #: offset and bytes of what the linker fills in

    def function(self, offset: int) -> str:
        """ "transfer+0x40"."""
        begin = max(at for at in self.functions if at <= offset)
        return f"{self.functions[begin]}{f'+{offset - begin:#x}' if offset > begin else ''}"

    def anywhere(self) -> Iterator[int]:
        """Instructions that a call can replace: it reaches into no other function, and no jump leads into it."""
        ends = sorted((*self.functions, len(self.text)))
        begins = iter(ends)
        end = next(begins)
        for at in self.instructions:
            while end <= at:
                end = next(begins)
            inside = range(at + 1, at + CALL_BYTES)
            if at + CALL_BYTES <= end and self.targets.isdisjoint(inside):
                yield at

    def within(self, text: bytes) -> int | None:
        """Where a linked text has this code; None unless it has it exactly once."""
        longest, piece = max(self._pieces(), key=lambda place: len(place[1]))
        starts = []
        at = text.find(piece)
        while at >= 0:
            start = at - longest
            if start >= 0 and all(text.startswith(part, start + offset) for offset, part in self._pieces()):
                starts.append(start)
            at = text.find(piece, at + 1)
        return starts[0] if len(starts) == 1 else None

    def _pieces(self) -> Iterator[tuple[int, bytes]]:
        begin = 0
        for hole, size in (*self.holes, (len(self.text), 0)):
            if hole > begin:
                yield begin, self.text[begin:hole]
            begin = hole + size


def code(service: str, content: bytes, listing: str) -> Code:
    """From the object's file and what `objdump -dr -j .text` and `objdump -r` print of it. Raises TargetError."""
    try:
        [section] = [section for section in elf.sections(content) if section.name == ".text"]
    except (LookupError, ValueError) as error:
        raise TargetError(f"The object of {service} has no code: {error}.") from error
    text = content[section.offset : section.offset + section.size]
    functions: dict[int, str] = {}
    instructions: list[int] = []
    jumps: dict[int, int] = {}
    calls: dict[int, str] = {}
    holes: dict[int, int] = {}
    disassembly, _, tables = listing.partition("RELOCATION RECORDS")
    for line in disassembly.splitlines():
        if match := _FUNCTION.match(line):
            functions[int(match[1], 16)] = match[2]
        elif match := _INSTRUCTION.match(line):
            instructions.append(int(match[1], 16))
            if text[instructions[-1]] == CALL:
                calls[instructions[-1]] = line.rpartition("<")[2].rstrip(">")
            elif match[3]:
                jumps[instructions[-1]] = int(match[3], 16)
        elif match := _RELOCATION.match(line):
            holes[int(match[1], 16)] = 8 if match[2] == "R_X86_64_64" else 4
            if text[instructions[-1]] in (CALL, JUMP) and not match[3].startswith("."):
                calls[instructions[-1]] = match[3]
    targets = {*jumps.values(), *(int(target, 16) for target in _TEXT.findall(tables))}
    for at, to in jumps.items():
        if text[at] == JUMP and to in functions and to != max(begin for begin in functions if begin <= at):
            calls[at] = functions[to]
    if not functions or not instructions:
        raise TargetError(f"The object of {service} has no code.")
    return Code(service, text, functions, tuple(instructions), frozenset(targets), calls, tuple(sorted(holes.items())))
