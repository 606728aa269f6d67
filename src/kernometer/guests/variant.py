"""Variants: `linux-6.1+mitigations=off+memory=1024` is the guest linux-6.1 with the options after each `+`.

`machine=`, `cpu=`, `memory=` (MiB), `seed=`, `history=`, `display=` and `device=` (one or more) change the virtual
machine; every other word is added to the kernel's command line. The name defines the variant, so nothing need be added.
Trio's `together=`, `apart=` and `with=` change what is built, so they are part of the guest's name. Pure.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import get_args

import msgspec

from kernometer.errors import UsageError
from kernometer.guests.emulator.qemu import Device, Display, Machine

#: A word's characters suffice for kernel options, and none is special for QEMU, a shell or a file name.
_WORD = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.,:=/@-]{0,199}")
_MEMORY = range(32, 1 << 20)
_SEEDS = range(1 << 32)


@dataclass(frozen=True, slots=True)
class Variant:
    """`words` in the given order, which is that of the canonical name."""

    guest: str
    words: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        return "+".join((self.guest, *self.words))

    def machine(self, usual: Machine) -> Machine:
        """`usual` with the changes of the words."""
        changes: dict[str, str | int] = {}
        devices: tuple[str, ...] = usual.devices
        said: set[str] = set()
        for word in self.words:
            key, _, value = word.partition("=")
            if key in _OURS and key in said and key != "device":
                raise UsageError(f"{key} is given twice in {self.name}.", "Leave one of them out.")
            said.add(key)
            if key == "machine":
                if value not in usual.architecture.machines:
                    raise UsageError(
                        f"{word!r}: no such machine.", f"One of: {', '.join(usual.architecture.machines)}."
                    )
                changes["type"] = value
            elif key == "cpu":
                if not value:
                    raise UsageError(f"{word!r}: no processor model.", "For example cpu=Nehalem.")
                changes["cpu"] = value
            elif key == "display":
                if not value or value not in get_args(Display):
                    raise UsageError(f"{word!r}: no such display.", f"One of: {', '.join(get_args(Display)[1:])}.")
                changes["display"] = value
            elif key == "device":
                if value not in get_args(Device):
                    raise UsageError(f"{word!r}: no such device.", f"One of: {', '.join(get_args(Device))}.")
                devices = (*devices, value)
            elif key in _NUMBERS:
                field, values = _NUMBERS[key]
                if not value.isdecimal() or int(value) not in values:
                    raise UsageError(f"{word!r}: not from {values.start} to {values.stop - 1}.")
                changes[field] = int(value)
        machine = msgspec.structs.replace(usual, devices=devices, **changes)
        if machine.display == "vesafb" and machine.type == "microvm":
            raise UsageError("display=vesafb needs a firmware that sets a VESA mode.", "Add +machine=pc.")
        return machine

    def command_line(self, usual: str) -> str:
        """`usual` with the words that are the kernel's."""
        kernels = (word for word in self.words if word.partition("=")[0] not in _OURS)
        return " ".join(part for part in (usual, *kernels) if part)

    def rotated(self, number: int, usual: Machine, *, history: bool) -> Variant:
        """The same on machine `number` of the rotation for layout floors; 0 is the machine itself.

        Number k adds k to the seed. From k = 1 on the memory has 1/16 less, 1/16 more, 2/16 less, …. With `history` it
        has history k.
        """
        if not number:
            return self
        machine = self.machine(usual)
        sixteenths = (number + 1) // 2 * (-1 if number % 2 else 1)
        kept = [word for word in self.words if word.partition("=")[0] not in _NUMBERS]
        memory = machine.memory_mib * (16 + sixteenths) // 16
        changed = (f"seed={machine.seed + number}", f"memory={memory}", *((f"history={number}",) if history else ()))
        return Variant(self.guest, (*kept, *changed))


#: Machines of the rotation: from half of the memory to one and a half times as much.
ROTATIONS = 17
_NUMBERS = {"memory": ("memory_mib", _MEMORY), "seed": ("seed", _SEEDS), "history": ("history", range(ROTATIONS))}
_OURS = {"machine", "cpu", "display", "device", *_NUMBERS}
#: The beginnings of words that change Trio's structure.
_BUILT = ("together=", "apart=", "with=")


def parse(spec: str) -> Variant:
    """From `linux-6.1+mitigations=off`. Raises UsageError for an invalid word; does not look for the guest."""
    guest, *words = spec.split("+")
    for word in words:
        if not _WORD.fullmatch(word):
            raise UsageError(f"{word!r} in {spec!r} is invalid.", "A variant looks like linux-6.1+mitigations=off.")
    built = [word for word in words if guest.startswith("trio-") and word.startswith(_BUILT)]
    parsed = Variant("+".join((guest, *built)), tuple(word for word in words if word not in built))
    parsed.machine(Machine())
    return parsed
