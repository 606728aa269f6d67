"""Reads what the plugin `profile` recorded: the instructions of one execution of a region, in order. Pure.

The form is that of plugins/profile.c. QEMU writes the file, but a guest decides what it contains: every size and
index is checked.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from enum import IntEnum

from kernometer.arrays import NDArray, np
from kernometer.errors import TargetError
from kernometer.results.model import ProfilePage

#: The most bytes of a file: a table of some million instructions, and MAX_STEPS of plugins/profile.c.
MAX_FILE = 512 << 20
#: Who touches what of a page: `touched_names` of plugins/footprint.h.
_TOUCHED = ("user_code", "user_data", "kernel_code", "kernel_data")
_HEAD = struct.Struct("<8s7Q")
_MAGIC = b"KMTRACE\0"
_READING, _GOES_ON = 1 << 31, 1 << 30
_AGAIN = "Run it again."


class Flow(IntEnum):
    """What an instruction does to the flow of control: `enum flow` of plugins/profile.c."""

    PLAIN = 0
    CALL = 1
    RETURN = 2
    JUMP = 3
    ENTER = 4  #: syscall, sysenter, int
    LEAVE = 5  #: sysret, sysexit
    IRET = 6
    REPEAT = 7  #: a string instruction with a prefix: of its iterations only the first is a step
    CLOCK = 8  #: rdtsc
    STACK = 9  #: loads the stack pointer
    SPACE = 10  #: loads the page-table base


@dataclass(frozen=True, slots=True)
class Trace:
    """`instructions`: structured (address, page, count, size, flow, kernel, bytes). `steps`: indices into it, in the
    order of execution, empty if only counts were kept. `readings`: (the number of steps before it, stack pointer,
    page-table base). `goes_on`: of each step, whether a string instruction, which began before, goes on in it after an
    interrupt: it counts nothing. `charges`: (instruction, kind, count), of the executions that were charged.
    `footprints`: (page-table base, whose and of what, lines, pages), of the execution whose order is kept. `pages`:
    `function` is the instruction; without an address if that execution did not touch it."""

    instructions: NDArray[np.void]
    steps: NDArray[np.uint32]
    goes_on: NDArray[np.bool_]
    readings: tuple[tuple[int, int, int], ...]
    complete: int  #: complete executions of the region
    repeated: int  #: what the guest's clock counted beyond its steps in string instructions
    charges: tuple[tuple[int, str, int], ...] = ()
    footprints: tuple[tuple[int, str, int, int], ...] = ()
    pages: tuple[ProfilePage, ...] = ()

    @property
    def ordered(self) -> bool:
        """Whether the order is known; if not, there are only counts."""
        return len(self.steps) > 0


def parse(written: bytes) -> Trace:
    """The plugin's file. Raises TargetError for anything else."""
    of_instruction = np.dtype(
        [
            ("address", "<u8"),
            ("page", "<u8"),
            ("count", "<u8"),
            ("size", "u1"),
            ("flow", "u1"),
            ("kernel", "u1"),
            ("first", "u1"),
            ("bytes", "u1", 12),
        ]
    )
    if len(written) < _HEAD.size or not written.startswith(_MAGIC):
        raise TargetError("The plugin recorded nothing.", _AGAIN)
    _, known, kept, read, complete, executed, is_full, repeated = _HEAD.unpack_from(written)
    sizes = (known * of_instruction.itemsize, kept * 4, read * 16)
    end = _HEAD.size + sum(sizes)
    if len(written) < end:
        raise TargetError("The plugin's record is cut off.", _AGAIN)
    instructions = np.frombuffer(written, of_instruction, known, _HEAD.size)
    steps = np.frombuffer(written, "<u4", kept, _HEAD.size + sizes[0])
    values = np.frombuffer(written, "<u8", 2 * read, _HEAD.size + sizes[0] + sizes[1]).reshape(-1, 2)
    is_reading = steps >= _READING
    places = np.flatnonzero(is_reading)
    order = steps[~is_reading] & np.uint32(_GOES_ON - 1)
    goes_on = steps[~is_reading] >= _GOES_ON
    damaged = len(places) != read or (len(order) and int(order.max()) >= known) or (is_full and len(order) != executed)
    if damaged or (known and int(instructions["flow"].max()) >= len(Flow)):
        raise TargetError("The plugin's record is damaged.", _AGAIN)
    before = places - np.arange(len(places))
    readings = tuple((int(at), int(value[0]), int(value[1])) for at, value in zip(before, values, strict=True))
    kept = len(order) if is_full else 0
    charges, footprints, asked = [], [], []
    try:
        for line in written[end:].decode("ascii").splitlines():
            what, at, name, first, *second = line.split()
            if what == "charge" and int(at) < known and not second:
                charges.append((int(at), name, int(first)))
            elif what == "page":
                asked.append(_page(at, name, first, second, known))
            else:
                [pages] = second
                footprints.append((int(at), name, int(first), int(pages)))
    except ValueError as error:
        raise TargetError("The plugin's record is damaged.", _AGAIN) from error
    last = (tuple(charges), tuple(footprints), tuple(asked))
    return Trace(instructions, order[:kept], goes_on[:kept], readings, complete, repeated, *last)


def _page(space: str, page: str, frame: str, words: list[str], known: int) -> ProfilePage:
    """`words`: whether it is a stack, the first of the `known` instructions, masks of lines, and counts, each after its
    name. Raises ValueError for anything else."""
    stack, first, *rest = words
    masks, pairs = rest[: len(_TOUCHED)], iter(rest[len(_TOUCHED) :])
    if not 0 <= int(first) < known:
        raise ValueError(first)
    return ProfilePage(
        space=int(space),
        address=f"{int(page, 16) << 12:#x}" if int(frame, 16) else "",
        frame=frame,
        stack=stack == "1",
        function=int(first),
        lines={what: mask for what, mask in zip(_TOUCHED, masks, strict=True) if int(mask, 16)},
        counts={name: int(count) for name, count in zip(pairs, pairs, strict=True)},
    )
