"""The modules of kernels that boot by multiboot (GNU Mach, MINIX, Xen, a user's own), and their machine.

A module is a file with a string of arguments. Such a kernel gets the job in two ways: as the same archive as Linux (a
module @initramfs), or as the static probe with its arguments (a module @probe).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from kernometer.cache import sha256
from kernometer.errors import TargetError, UsageError
from kernometer.guests import store
from kernometer.guests.emulator.qemu import Machine
from kernometer.guests.kernels import kernelpackage, linux

#: Such kernels need a PC, for its timer, its interrupt controller and its way to power off.
MACHINE = Machine(type="pc")

#: A module's name in the guest's directory, which the kernel sees.
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.+-]{0,99}")
_RESERVED = (store.MANIFEST, store.DRIVERS, store.ROOT, store.LOADED, *store.FILES)


def image_of(package: Path, name: re.Pattern[str], what: str) -> bytes:
    """The packed image in boot/ of a package. Raises TargetError unless one file has such a name."""
    with closing(kernelpackage.files_of(package)) as files:
        images = [content() for path, content in files if path.parts[:-1] == ("boot",) and name.fullmatch(path.name)]
    if len(images) != 1:
        raise TargetError(f"{package.name} contains {len(images)} {what}s.", "Report this package.")
    return images[0]


def loaded(modules: Sequence[str]) -> tuple[tuple[store.Module, ...], dict[str, bytes]]:
    """The user's modules, and their files by name: each has its own name, or a new one if another file has that."""
    known: list[store.Module] = []
    files: dict[str, bytes] = {}
    names: dict[str, Path] = {}
    for module in modules:
        file, _, arguments = module.strip().partition(" ")
        arguments = arguments.strip()
        check_words(arguments)
        if file in (store.INITRAMFS, store.PROBE, store.MACH):
            known.append(store.Module(file=file, arguments=arguments))
            continue
        if not file or file.startswith("@"):
            raise UsageError(
                f"{module!r}: no such module.", f"'FILE WORDS…', and FILE may be {store.INITRAMFS} or {store.PROBE}."
            )
        path = Path(file)
        file = _name(path.resolve(), names)
        files[file] = linux.read_given(path, "a module")
        known.append(store.Module(file=file, arguments=arguments, sha256=sha256(files[file])))
    return tuple(known), files


def _name(path: Path, names: dict[str, Path]) -> str:
    """The file's own name, or "module" if that is invalid; with a number if another file has it."""
    base = path.name if _NAME.fullmatch(path.name) else "module"
    name, number = base, 1
    while name in _RESERVED or names.get(name, path) != path:
        number += 1
        name = f"{base}-{number}"
    names[name] = path
    return name


def check_words(words: str) -> None:
    """A kernel's arguments are copied to QEMU's command line, logs and results: they must be one line of ASCII."""
    if not (words.isascii() and words.isprintable()):
        raise UsageError(f"{words!r}: only printable ASCII can be given to a kernel.", "Leave the rest out.")
