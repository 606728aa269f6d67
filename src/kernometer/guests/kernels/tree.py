"""A Linux tree that is built: what of it is a guest, and whether it is of one build. docs/guests.md."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from kernometer.cache import sha256
from kernometer.errors import UsageError
from kernometer.guests.kernels import bzimage, elf
from kernometer.guests.kernels.linux import read_given

#: What a build for each ARCH makes to boot.
IMAGES = {
    **dict.fromkeys(("x86", "x86_64", "i386"), "arch/x86/boot/bzImage"),
    "arm64": "arch/arm64/boot/Image",
    "riscv": "arch/riscv/boot/Image",
}
CONFIG, MADE_OF = ".config", "include/config/auto.conf"
RELEASE, MAP, ELF, BUILT_IN = "include/config/kernel.release", "System.map", "vmlinux", "modules.builtin"
#: The most bytes of a configuration, and of an ELF file, which may have debugging information.
MAX_CONFIG, MAX_ELF = 4 << 20, 1 << 30
_ARCH = re.compile(rb"^# Linux/(\w+) ", re.MULTILINE)
#: From these words, and the clock, a kernel that boots draws its first random numbers (random_init).
_BANNER = re.compile(rb"Linux version [^\0\n]{1,1024}\n")


@dataclass(frozen=True, slots=True)
class Tree:
    kernel: Path
    symbols: Path
    modules: Path | None  #: for kernelpackage.read_installed
    layout: str  #: equal for two builds that differ in code alone; "" if not known, as of a very large ELF file


def read(folder: Path) -> Tree:
    """Raises UsageError unless `folder`, a tree or its O=, has a kernel of this build for a guest's architecture."""
    build = f"make -C {folder}, then this command again."
    if not (folder / CONFIG).is_file():
        raise UsageError(f"{folder} is no built Linux tree: it has no {CONFIG}.", f"Configure it, {build}")
    arch = _ARCH.search(read_given(folder / CONFIG, "the configuration", MAX_CONFIG))
    image = IMAGES.get(arch[1].decode() if arch else "")
    if image is None:
        known = ", ".join(dict.fromkeys(path.split("/")[1] for path in IMAGES.values()))
        raise UsageError(
            f"{folder} is configured for {arch[1].decode() if arch else 'no known architecture'}.",
            f"Guests are of {known}: configure it with ARCH= one of these.",
        )
    for part in (MADE_OF, RELEASE, MAP, image):
        if not (folder / part).is_file():
            raise UsageError(f"{folder} is not built: it has no {part}.", build)
    # a build makes them in these orders; a program that copies a tree may not keep the times
    for older, newer in ((CONFIG, MADE_OF), (MAP, image)):
        if (folder / older).stat().st_mtime_ns > (folder / newer).stat().st_mtime_ns:
            raise UsageError(f"{folder} is out of date: its {older} is newer than {newer}.", build)
    wanted = read_given(folder / RELEASE, "the release").decode(errors="replace").strip()
    built = bzimage.kernel_release(read_given(folder / image, "the kernel"))
    if built != wanted:
        raise UsageError(f"{folder} is out of date: {image} is Linux {built or '?'}, and the tree {wanted}.", build)
    vmlinux = folder / ELF
    is_known = vmlinux.is_file() and vmlinux.stat().st_size <= MAX_ELF
    return Tree(
        kernel=folder / image,
        symbols=folder / MAP,
        modules=folder if (folder / BUILT_IN).is_file() else None,
        layout=layout(read_given(vmlinux, "the kernel's ELF file", MAX_ELF)) if is_known else "",
    )


def layout(vmlinux: bytes) -> str:
    """A digest of where a Linux' data lie, and of its version's text; "" without symbols."""
    banner, data = _BANNER.search(vmlinux), elf.layout(vmlinux, programs=False)
    return sha256(banner[0] + data.encode()) if banner and data else ""
