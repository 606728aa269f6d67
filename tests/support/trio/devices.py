"""Machines and disks that tests of Trio's drivers share."""

from __future__ import annotations

from kernometer.guests.architecture import MachineType

SECONDS = 120.0
SECTOR = 512
TYPES: tuple[MachineType, ...] = ("microvm", "pc", "q35")
DISK = ("-drive", "file=disk,if=none,id=d,format=raw", "-device", "virtio-blk-pci,drive=d,disable-legacy=on")


def numbered(sectors: int) -> bytearray:
    """A disk each of whose sectors holds its number."""
    return bytearray(b"".join(number.to_bytes(4, "little") * (SECTOR // 4) for number in range(sectors)))
