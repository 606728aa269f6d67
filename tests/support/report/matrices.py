"""Matrices that were made up."""

from __future__ import annotations

from kernometer.stats.series import Column, Series, series
from tests.support.stats.simulate import path_result

SYSTEMS = ("qemu:linux-6.1", "qemu:linux-6.12", "qemu:linux-6.16", "qemu:linux-7.0")
#: By row the counts on each system: longer, little by little too little, shorter, by a factor.
COUNTS = {
    "syscall/getppid": (367, 367, 420, 421),
    "syscall/stat": (100_000, 100_995, 100_000, 100_100),
    "ctx/pipe-pair@same-cpu": (10_400, 9_000, 9_000, 8_990),
    "proc/fork-exit": (155_000, 320_000, 321_000, 322_000),
}


def made(count: int = 4, *, failed: int = -1, names: tuple[str, ...] = SYSTEMS) -> Series:
    """A series of so many systems; each row and system beyond the fourth as on the fourth."""
    columns = []
    for n in range(count):
        name = names[n] if n < len(names) else f"qemu:linux-8.{n}"
        counts = {row: of[min(n, 3)] for row, of in COUNTS.items()}
        result = path_result(f"2026112{n % 10}T0{n:02}", counts, image=f"image {n}", target=name)
        columns.append(Column(name, () if n == failed else (result,), "the guest panicked" if n == failed else ""))
    return series(columns)
