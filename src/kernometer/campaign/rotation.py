"""A guest on rotated machines, for layout floors. docs/path.md, "Layout floors"."""

from __future__ import annotations

from dataclasses import replace

from kernometer.targets.qemu import QemuTarget


def on_rotated_machines(guest: QemuTarget, count: int) -> tuple[QemuTarget, ...]:
    """The guest on `count` machines, its own first: see Variant.rotated. At most guests.variant.ROTATIONS differ."""
    usual = guest.guest.manifest.machine
    history = guest.guest.has_init  # it can run other rows first
    return tuple(
        replace(guest, variant=guest.variant.rotated(number, usual, history=history)) for number in range(count)
    )
