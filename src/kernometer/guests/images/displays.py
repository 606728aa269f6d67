"""Displays of a guest: the kernel's options and drivers that give /dev/fb0 the driver of the variant.

`display=bochs-drm` is QEMU's bochs-display with the kernel's driver for it: a DRM module in Linux, built in in Trio.
`display=vesafb` is QEMU's VGA, whose BIOS sets a mode before the kernel begins, with Linux's built-in driver, which
draws in that mode; so the packed image must boot, by its real-mode code. Both modes are 1024 by 768 pixels of 32 bits.
"""

from __future__ import annotations

from pathlib import Path

from kernometer.errors import MissingError
from kernometer.guests import store
from kernometer.guests.emulator.qemu import Machine
from kernometer.guests.images import disks, initramfs
from kernometer.guests.inside.programs import Provided
from kernometer.guests.kernels import drivers

#: VESA mode 0x144 of QEMU's VGA BIOS, as Linux counts modes (from 0x200): 1024 by 768, 32 bits.
VESA_MODE = 0x344
#: The kernel's frame-buffer console must not blink its cursor, whose timer would draw in timed regions.
_STILL = "vt.global_cursor_default=0"


def kernel_words(machine: Machine) -> tuple[str, ...]:
    """The display's options for the kernel's command line."""
    return {"": (), "bochs-drm": (_STILL,), "vesafb": (f"vga={VESA_MODE}", _STILL)}[machine.display]


def kernel(guest: store.Guest, machine: Machine) -> Path:
    """The file for QEMU's -kernel. Raises MissingError if the guest has no image that sets a VESA mode."""
    if machine.display != "vesafb":
        return guest.kernel_word
    if guest.manifest.built_in:
        raise MissingError(f"{guest.name} has no driver for display=vesafb.", "It drives display=bochs-drm.")
    if not guest.manifest.packed_sha256:
        system, _, version = guest.name.partition("-")
        raise MissingError(
            f"{guest.name} has no packed image, which display=vesafb boots: it was added before this was stored, or is "
            "not from a bzImage.",
            f"'kernometer guest add {system} {version}' adds it again; display=bochs-drm needs none.",
        )
    return guest.packed


def provide(guest: store.Guest, machine: Machine) -> Provided:
    """The display's driver, which init loads; nothing for a user's own kernel, which may have it built in. Raises
    MissingError if the guest's kernel has no such driver, TargetError if it is damaged."""
    if machine.display != "bochs-drm" or guest.manifest.package.startswith("/") or "bochs" in guest.manifest.built_in:
        return Provided()
    return Provided(disks.loading(drivers.load_order(guest, ("bochs",))))


def together(*parts: Provided) -> Provided:
    """All; the first one's drivers are loaded first. A driver may be listed twice: init ignores the second."""
    files = {name: content for part in parts for name, content in part.files.items()}
    if initramfs.DRIVERS in files:
        files[initramfs.DRIVERS] = b"".join(part.files.get(initramfs.DRIVERS, b"") for part in parts)
    return Provided(files, tuple(word for part in parts for word in part.arguments))
