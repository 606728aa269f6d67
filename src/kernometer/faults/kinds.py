"""The kinds of faults: their machine code and their possible places; and how a campaign draws faults, by a seed, from
the places that the worker passes in every structure. Pure.

A fault replaces an instruction by a call of code that this module makes, which lies where nothing else runs:
docs/reliability.md
describes the kinds.
"""

from __future__ import annotations

import random
import struct
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import msgspec

from kernometer.faults.places import CALL, CALL_BYTES, JUMP, Code

Kind = Literal[
    "null-write",
    "wild-jump",
    "infinite-loop",
    "stack-overflow",
    "leak",
    "use-after-free",
    "wrong-value",
    "wrong-data",
    "not-done",
    "bad-message",
]
KINDS: tuple[Kind, ...] = get_args(Kind)
#: Kinds that should stop what they strike; the others give wrong answers, or messages with a wrong word.
FAIL_STOP: tuple[Kind, ...] = KINDS[:6]
#: These never return, so that any instruction can be their place; the others replace a call.
_ANYWHERE = frozenset(KINDS[:4])
#: Functions that copy a client's data, and what the names of calls to other services and to the kernel begin with.
_COPIES = ("copy_out", "copy_in")
_MESSAGES = ("pm_", "vfs_", "vm_", "fs_", "block_", "console_", "clock_", "framebuffer_", "bus_", "kernel_")
#: Functions that some kinds call, by their names in a kernel or program.
NEEDED = ("pages_take", "pages_give")
#: The most bytes of a fault's code.
ROOM = 192
#: The region of the plugin `events` that counts how often a fault strikes: its end follows its begin.
REGION = 0x7FFE
_STRUCK = b"".join(b"\x0f\x1f\x80" + struct.pack("<HH", REGION, mark) for mark in (0x4B4D, 0x4B4E))

#: Pages that a leak takes at each strike, and 64-bit words that are written to a page that was given back.
LEAKED_PAGES, WORDS_OF_PAGE = 64, 512
_SAVE = b"\x50\x57\x56\x52\x51\x41\x50\x41\x51"  # push rax, rdi, rsi, rdx, rcx, r8, r9
_RESTORE = b"\x41\x59\x41\x58\x59\x5a\x5e\x5f\x58"
#: The callee finds copies of the caller's words on the stack where it looks for them: push 64(%rsp), eight times.
_STACK_WORDS, _STACK_BACK = b"\xff\x74\x24\x40" * 8, b"\x48\x83\xc4\x40"
#: xor $imm32 to rdi, rsi, rdx: the first words of a call.
_XOR_WORD = (b"\x48\x81\xf7", b"\x48\x81\xf6", b"\x48\x81\xf2")
#: Wrong data: a bit of one of the first bytes of a copy.
_FIRST_BYTES = 64
#: Instructions of an infinite loop that do nothing, so that the guest's time goes by quickly on the host.
_IDLE = 120
_RET = b"\xc3"


class Fault(msgspec.Struct, frozen=True):
    """A fault at an offset of a service's code, active from the beginning of the worker's n-th operation on."""

    service: str
    offset: int
    function: str  #: the place in words: "transfer+0x40"
    kind: Kind
    operation: int
    value: int  #: 64 drawn bits, of which the kind takes what it needs


@dataclass(frozen=True, slots=True)
class Where:
    """Addresses in one structure: of the service's code, of the fault's code, and of functions that it calls."""

    text: int
    room: int
    callee: int  #: of the call that the fault replaces; 0: none
    functions: Mapping[str, int]  #: of NEEDED


def places(kind: Kind, code: Code) -> tuple[int, ...]:
    """The offsets at which a fault of this kind can be."""
    if kind in _ANYWHERE:
        return tuple(code.anywhere())
    if kind == "wrong-data":
        return tuple(at for at, name in code.calls.items() if name in _COPIES)
    if kind == "bad-message":
        own = set(code.functions.values())
        return tuple(at for at, name in code.calls.items() if name.startswith(_MESSAGES) and name not in own)
    return tuple(at for at, name in code.calls.items() if name != "__stack_chk_fail")


def mutation(code: Code, offset: int, where: Where) -> bytes:
    """The instruction at the place: a call of the fault's code, or a jump to it in place of a jump."""
    opcode = JUMP if code.text[offset] == JUMP else CALL
    return _relative(opcode, where.text + offset, where.room)


def machine_code(kind: Kind, value: int, code: Code, offset: int, where: Where) -> bytes:
    """The fault's code. `value` is that of `Fault`."""
    made = _Made(where.room, bytearray(_STRUCK))
    bit = struct.pack("<I", 1 << value % 31)
    if kind == "null-write":
        made.add(b"\xc7\x04\x25" + bytes(8))  # movl $0,0
    elif kind == "wild-jump":  # to anywhere, or into the service's own code
        to = where.text + (value >> 1) % len(code.text) if value & 1 else value >> 17
        made.add(b"\x48\xb8" + struct.pack("<Q", to) + b"\xff\xe0")
    elif kind == "infinite-loop":
        made.add(b"\x90" * _IDLE + b"\xeb" + struct.pack("<b", -_IDLE - 2))
    elif kind == "stack-overflow":
        made.add(b"\xe8\xfb\xff\xff\xff")  # it calls itself
    elif kind == "leak":
        made.add(_SAVE + b"\xbf" + struct.pack("<I", LEAKED_PAGES))
        made.call(where.functions["pages_take"])
        made.add(_RESTORE)
        made.jump(where.callee)
    elif kind == "use-after-free":
        _use_after_free(made, value, where)
    elif kind == "wrong-value":
        made.add(_STACK_WORDS)
        made.call(where.callee)
        made.add(_STACK_BACK + b"\x48\x35" + bit + _RET)  # xor to rax
    elif kind == "wrong-data":
        _wrong_data(made, value, code.calls[offset], where.callee)
    elif kind == "not-done":
        made.add(b"\x31\xc0" + _RET)
    else:
        made.add(_XOR_WORD[(value >> 8) % len(_XOR_WORD)] + bit)
        made.jump(where.callee)
    return bytes(made.code)


@dataclass(slots=True)
class _Made:
    """Code that begins at an address."""

    begin: int
    code: bytearray

    def add(self, code: bytes) -> None:
        self.code += code

    def call(self, to: int) -> None:
        self.code += _relative(CALL, self.begin + len(self.code), to)

    def jump(self, to: int) -> None:
        self.code += _relative(JUMP, self.begin + len(self.code), to)


def _relative(opcode: int, at: int, to: int) -> bytes:
    return struct.pack("<Bi", opcode, to - at - CALL_BYTES)


def _use_after_free(made: _Made, value: int, where: Where) -> None:
    """Takes a page, gives it back, and writes to it; without a free page it does nothing."""
    made.add(_SAVE + b"\xbf\x01\0\0\0")
    made.call(where.functions["pages_take"])
    rest = _Made(made.begin + len(made.code) + CALL_BYTES, bytearray(b"\x50\x48\x89\xc7\xbe\x01\0\0\0"))
    rest.call(where.functions["pages_give"])
    rest.add(b"\x5f\x48\xb8" + struct.pack("<Q", value) + b"\xb9" + struct.pack("<I", WORDS_OF_PAGE) + b"\xf3\x48\xab")
    made.add(b"\x48\x85\xc0\x74" + bytes((len(rest.code),)) + rest.code)  # test rax; jz
    made.add(_RESTORE)
    made.jump(where.callee)


def _wrong_data(made: _Made, value: int, name: str, callee: int) -> None:
    """Makes the copy, then changes one bit of it, if the copy is long enough."""
    byte, bit = value % _FIRST_BYTES, 1 << (value >> 8) % 8
    if name == "copy_in":  # (rdi to, rsi and rdx the grant, rcx, r8 bytes)
        saved, restored = b"\x57\x41\x50", b"\x41\x58\x5f"
        damage = bytes((0x80, 0x77, byte, bit))
    else:  # (rdi and rsi the grant, rdx offset, rcx from, r8 bytes): the byte is copied once more
        saved, restored = b"\x57\x56\x52\x51\x41\x50", b"\x41\x58\x59\x5a\x5e\x5f"
        # mov (rcx), al; xor; push rax; mov rsp, rcx; add rdx; mov $1, r8d
        damage = bytes((0x8A, 0x41, byte, 0x34, bit, 0x50, 0x48, 0x89, 0xE1, 0x48, 0x83, 0xC2, byte))
        damage += b"\x41\xb8\x01\0\0\0"
    made.add(saved)
    made.call(callee)
    made.add(restored)
    rest = _Made(made.begin + len(made.code) + 2 * CALL_BYTES + 4, bytearray(damage))
    if name != "copy_in":
        rest.call(callee)
        rest.add(b"\x59\x31\xc0")  # pop rcx; the result is 0
    size = len(rest.code)
    made.add(b"\x48\x85\xc0\x75" + bytes((size + 9,)))  # test rax; jnz: it failed
    made.add(b"\x49\x81\xf8" + struct.pack("<I", byte) + b"\x76" + bytes((size,)))  # cmp r8; jbe: it is shorter
    made.add(bytes(rest.code) + _RET)


def drawn(
    places: Mapping[tuple[Kind, str], Sequence[tuple[int, str]]],
    drivers: Collection[str],
    count: int,
    seed: int,
    operations: int,
) -> tuple[Fault, ...]:
    """Draws faults from `places`: (offset, function) by kind and service. Kinds take turns, in a new order each turn;
    turns of drivers and of other services alternate. The service is drawn among those with a place of the kind, then
    the place, then the operation, from the first half of all operations.

    A shorter campaign has the first faults of a longer one.
    """
    dice = random.Random(seed)  # noqa: S311  # repeatable, not secret
    groups: tuple[dict[Kind, list[str]], ...] = ({}, {})
    for (kind, service), known in places.items():
        if known:
            groups[service not in drivers].setdefault(kind, []).append(service)
    faults: list[Fault] = []
    while any(groups) and len(faults) < count:
        for able in groups:
            turn = sorted(able)
            dice.shuffle(turn)
            for kind in turn:
                service = dice.choice(able[kind])
                offset, function = dice.choice(places[kind, service])
                operation = dice.randint(1, max(1, operations // 2))
                faults.append(Fault(service, offset, function, kind, operation, dice.getrandbits(64)))
    return tuple(faults[:count])
