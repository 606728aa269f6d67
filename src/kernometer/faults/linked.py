"""Where a structure of Trio has the services' code: in its kernel, or in programs within the kernel's file. Pure."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from kernometer.errors import TargetError
from kernometer.faults.kinds import NEEDED, ROOM, Where
from kernometer.faults.places import CALL_BYTES, Code
from kernometer.guests.kernels import elf, symbols

if TYPE_CHECKING:
    from kernometer.guests.plugins.trace import Trace

#: Where the kernel is linked (kernel/kernel.ld); its physical addresses are lower by this.
KERNEL_BASE = 0xFFFFFFFF80000000
#: The prefix of the symbols of servers' programs in the kernel.
_IMAGES = "image_"
_ROOTS = "space_roots"
_PAGE, _ENTRY, _PRESENT, _FRAME = 4096, 8, 1, 0xFFFFFFFFFF000
#: Bits of an address that choose an entry of each level of page tables.
_SHIFTS = (39, 30, 21, 12)


@dataclass(frozen=True, slots=True)
class Image:
    """The code of a kernel or of a server's program; its functions' addresses: several where domains are threads."""

    name: str  #: "" for the kernel
    begin: int
    text: bytes
    functions: Mapping[str, tuple[int, ...]]

    def has(self, address: int, code: bytes) -> bool:
        return address >= self.begin and self.text.startswith(code, address - self.begin)

    def room(self, executed: Collection[int]) -> int:
        """Where a fault's code can lie: behind the code on its last page, else in a function that was not executed."""
        end = -(-(self.begin + len(self.text)) // 16) * 16
        if -end % _PAGE >= ROOM:
            return end
        run = sorted(executed)
        begins = sorted({at for each in self.functions.values() for at in each})
        for begin, following in reversed(list(pairwise(begins))):
            if following - begin >= ROOM and bisect_left(run, begin) == bisect_left(run, following):
                return begin
        raise TargetError(f"{self.name or 'The kernel'} has no room for a fault's code.")


@dataclass(frozen=True, slots=True)
class Linked:
    """A service's code in a structure."""

    code: Code
    image: Image
    text: int  #: the address of its first byte

    def where(self, offset: int, executed: Collection[int]) -> Where:
        """The addresses for a fault at `offset`."""
        callee = 0
        if offset in self.code.calls:
            at = self.text + offset
            call = self.image.text[at - self.image.begin :][:CALL_BYTES]
            callee = at + CALL_BYTES + int.from_bytes(call[1:], "little", signed=True)
        own = {name: self._nearest(name) for name in NEEDED}
        return Where(self.text, self.image.room(executed), callee, own)

    def _nearest(self, name: str) -> int:
        """The function of the service's own domain, which lies behind its code; else the only one."""
        addresses = self.image.functions.get(name, ())
        if not addresses:
            raise TargetError(f"{self.image.name or 'The kernel'} has no function {name}.")
        return min((at for at in addresses if at >= self.text), default=addresses[0])


def images(kernel: bytes) -> tuple[Image, ...]:
    """The kernel and its servers' programs. Raises TargetError for a file without symbols."""
    try:
        inside = [(file.name, dict(file.segments), file.table) for file in symbols.embedded(kernel, _IMAGES)]
        table = symbols.of_elf(kernel)
        segments = dict(elf.segments(kernel, elf.LOADED))
        roots_of(kernel)
    except LookupError as error:
        raise TargetError(f"The kernel cannot be read: {error}.") from error
    if table is None:
        raise TargetError("The kernel has no symbols.", "Add the guest again: kernometer guest add trio-mono.")
    known = []
    for name, parts, names in [("", segments, table), *inside]:
        functions: dict[str, tuple[int, ...]] = {}
        for address, function in zip(names.addresses, names.names, strict=True):
            functions[function] = (*functions.get(function, ()), address)
        at = functions.get(NEEDED[0], (0,))[0]
        begin = max((start for start, data in parts.items() if start <= at < start + len(data)), default=None)
        if begin is None:
            raise TargetError(f"{name or 'The kernel'} has no {NEEDED[0]}.")
        known.append(Image(name, begin, parts[begin], functions))
    return tuple(known)


def link(code: Code, known: Iterable[Image]) -> Linked:
    """Where this code is. Raises TargetError if it is not there: the guest was compiled from other sources."""
    for image in known:
        at = code.within(image.text)
        if at is not None:
            return Linked(code, image, image.begin + at)
    raise TargetError(f"The guest's {code.service} was compiled from other sources.", "Add the guest again.")


def roots_of(kernel: bytes) -> tuple[int, int]:
    """The physical address of the table of page tables' roots, and its size in bytes. Raises LookupError."""
    for name, _, address, size in elf.symbols(kernel):
        if name == _ROOTS:
            return address - KERNEL_BASE, size
    raise LookupError(f"it has no {_ROOTS}")


def physical(image: Image, memory: memoryview, roots: tuple[int, int]) -> Mapping[int, int]:
    """The physical address of each page of an image's code in a guest's memory, by address."""
    first, end = image.begin // _PAGE * _PAGE, image.begin + len(image.text)
    pages = range(first, end, _PAGE)
    if not image.name:
        return {page: page - KERNEL_BASE for page in pages}
    for at in range(roots[0], roots[0] + roots[1], _ENTRY):
        root = _word(memory, at)
        frames = {page: _walk(memory, root, page) for page in pages} if root else {}
        begin = frames.get(first)
        if begin and bytes(memory[begin : begin + _PAGE]).startswith(image.text[:_PAGE]) and all(frames.values()):
            return {page: at for page, at in frames.items() if at is not None}
    raise TargetError(f"The guest has no {image.name} in its memory.")


def counts(trace: Trace, image: Image) -> Mapping[int, int]:
    """How often each instruction of an image was executed: by address."""
    ran = trace.instructions
    pages: dict[tuple[int, int], list[int]] = {}
    end = image.begin + len(image.text)
    for at in range(len(ran)):
        if ran["count"][at] and image.begin <= ran["address"][at] < end:
            pages.setdefault((int(ran["page"][at]), int(ran["address"][at]) // _PAGE), []).append(at)
    executed: dict[int, int] = {}
    for places in pages.values():
        codes = [(int(ran["address"][at]), ran["bytes"][at][: ran["size"][at]].tobytes()) for at in places]
        if all(image.has(*code) for code in codes):
            for (address, _), at in zip(codes, places, strict=True):
                executed[address] = executed.get(address, 0) + int(ran["count"][at])
    return executed


def _word(memory: memoryview, at: int) -> int:
    return int.from_bytes(memory[at : at + _ENTRY], "little")


def _walk(memory: memoryview, root: int, address: int) -> int | None:
    """The physical address of a page; None if it is not mapped."""
    table = root
    for shift in _SHIFTS:
        entry = _word(memory, (table & _FRAME) + (address >> shift & 511) * _ENTRY)
        if not entry & _PRESENT:
            return None
        table = entry
    return table & _FRAME
