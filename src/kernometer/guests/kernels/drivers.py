"""Kernel modules of a Linux guest: those that rows need, uncompressed in the guest's directory, and their order.

Kernel packages contain no modules.dep, which installing a package makes. So dependencies are read from the modules:
section .modinfo has `depends=` (symbols of others), `softdep=` and `alias=`, modinfo(8).
"""

from __future__ import annotations

import lzma
from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath

from kernometer.cache import sha256
from kernometer.errors import MissingError, TargetError
from kernometer.guests import store
from kernometer.guests.kernels import elf
from kernometer.guests.kernels.bzimage import gzip, unpack_stream, unpack_zstd

#: Stored with their dependencies: memory disks, the file systems of `fs/` rows, the emulated display and disk.
KEPT = ("bochs", "brd", "ext4", "minix", "virtio_blk", "virtio_pci")
#: Their directory in the guest.
FILES = "lib/drivers"
#: In DRIVERS: the names of built-in modules, one per line.
BUILT_IN = "built-in"
#: A module is some megabytes at most.
MAX_DRIVER = 64 << 20

_MODULES = frozenset((".ko", ".ko.gz", ".ko.xz", ".ko.zst"))


@dataclass(frozen=True, slots=True)
class Modinfo:
    """A module's own data; names have `_` for `-`, as in the kernel."""

    depends: tuple[str, ...] = ()
    softdeps: tuple[str, ...] = ()  #: the `pre:` ones: names of modules, or aliases of several modules
    aliases: tuple[str, ...] = ()
    vermagic: str = ""  #: the kernel that the module was built for, with its options


def load_order(guest: store.Guest, names: Iterable[str]) -> tuple[tuple[str, bytes], ...]:
    """(name, content) of `names` and their dependencies, each behind its own dependencies; without built-in ones.

    The same names give the same order. Raises MissingError if modules are missing, or if the guest was added before
    modules were stored.
    """
    if guest.manifest.built_in:
        lacking = sorted(set(names) - set(guest.manifest.built_in))
        if lacking:
            raise MissingError(f"{guest.name} has no {', '.join(lacking)}, and loads no kernel modules.")
        return ()
    stored, built_in = _kept(guest)
    order, missing = resolved(names, stored, built_in)
    if missing:
        raise MissingError(
            f"The kernel of {guest.name} has no {', '.join(missing)}.",
            " ".join(guest.manifest.remarks) or "Use a full flavour: cloud kernels lack many modules.",
        )
    return tuple((name, stored[name]) for name in order)


def resolved(
    names: Iterable[str], known: Mapping[str, bytes], built_in: Container[str]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The order in which `names` are loaded, and the names that are neither `known` nor `built_in`. A soft dependency
    without a module is left out: the module works without it."""
    infos = {name: modinfo(content, name) for name, content in known.items()}
    by_alias: dict[str, list[str]] = {}
    for name in sorted(infos):
        for alias in infos[name].aliases:
            by_alias.setdefault(alias, []).append(name)
    order: list[str] = []
    missing: list[str] = []
    seen: set[str] = set()

    def visit(name: str) -> None:
        if name in seen or name in built_in:
            return
        seen.add(name)
        info = infos.get(name)
        if info is None:
            missing.append(name)
            return
        for soft in info.softdeps:
            for each in (soft,) if soft in infos else by_alias.get(soft, ()):
                visit(each)
        for each in info.depends:
            visit(each)
        order.append(name)

    for name in sorted(set(names)):
        visit(name)
    return tuple(order), tuple(missing)


def digest(modules: Mapping[str, bytes]) -> str:
    """The digest of names and contents, for the manifest."""
    return sha256("\n".join(f"{name} {sha256(modules[name])}" for name in sorted(modules)).encode())


def files(modules: Mapping[str, bytes], built_in: Iterable[str]) -> dict[str, bytes]:
    """The drivers of a new guest, as files of its directory."""
    names = "".join(f"{name}\n" for name in sorted(built_in))
    stored = {f"{store.DRIVERS}/{name}.ko": content for name, content in modules.items()}
    return stored | {f"{store.DRIVERS}/{BUILT_IN}": names.encode()}


def name_of(file: str) -> str:
    """The module's name from its file's (`kernel/crypto/crc32c-intel.ko.xz`: crc32c_intel); "" for other files."""
    base = PurePosixPath(file).name
    stem, dot, kind = base.partition(".ko")
    return stem.replace("-", "_") if dot and dot + kind in _MODULES and stem else ""


def uncompressed(file: str, content: bytes) -> bytes:
    """The ELF object from a module's file, by the file's suffix. Raises TargetError if it is damaged."""
    if file.endswith(".xz"):
        return unpack_stream(lzma.LZMADecompressor(memlimit=4 * MAX_DRIVER), content, MAX_DRIVER, file)
    if file.endswith(".gz"):
        return unpack_stream(gzip(), content, MAX_DRIVER, file)
    return unpack_zstd(content, MAX_DRIVER) if file.endswith(".zst") else content


def modinfo(content: bytes, name: str = "") -> Modinfo:
    """From a module's ELF object. Raises TargetError for another file, or one without that section."""
    try:
        lines = [line.decode(errors="replace") for line in _section(content, ".modinfo").split(b"\0")]
    except LookupError as error:
        raise TargetError(f"{name or 'This'} is not a kernel module: {error}.", "Add the guest again.") from error
    values: dict[str, list[str]] = {"depends": [], "softdep": [], "alias": [], "vermagic": []}
    for line in lines:
        key, _, value = line.partition("=")
        if key in values:
            values[key].append(value)
    depends = [each for value in values["depends"] for each in value.split(",") if each]
    soft = [each for value in values["softdep"] for each in _pre(value)]
    named = [tuple(each.replace("-", "_") for each in group) for group in (depends, soft, values["alias"])]
    return Modinfo(named[0], named[1], named[2], "".join(values["vermagic"][:1]).strip())


def _pre(softdep: str) -> list[str]:
    """The names a and b of `pre: a b post: c`."""
    names = []
    before = False
    for word in softdep.split():
        if word.endswith(":"):
            before = word == "pre:"
        elif before:
            names.append(word)
    return names


def _section(content: bytes, wanted: str) -> bytes:
    for section in elf.sections(content):
        if section.name == wanted:
            return content[section.offset : section.offset + section.size]
    raise LookupError(f"no section {wanted}")


def _kept(guest: store.Guest) -> tuple[dict[str, bytes], frozenset[str]]:
    place = guest.folder / store.DRIVERS
    system, _, version = guest.name.partition("-")
    again = f"'kernometer guest add {system} {version}' adds it again."
    if guest.manifest.package.startswith("/") and not guest.manifest.drivers_sha256:
        if not guest.manifest.release:
            raise MissingError(
                f"{guest.name} is not known as a Linux, whose drivers make such disks and displays.",
                "Rows of files without a file system's name use the guest's own.",
            )
        raise MissingError(f"{guest.name} was added without kernel modules.", "Add it again with --modules DIR.")
    if not (place / BUILT_IN).is_file():
        raise MissingError(f"{guest.name} has no kernel modules: it was added before these were stored.", again)
    try:
        modules = {path.stem: path.read_bytes() for path in sorted(place.glob("*.ko"))}
        built_in = frozenset((place / BUILT_IN).read_text().split())
    except OSError as error:
        raise TargetError(f"{error.filename}: {error.strerror}.", again) from error
    if digest(modules) != guest.manifest.drivers_sha256:
        raise TargetError(f"{place} is not what was added: its SHA-256 differs.", again)
    return modules, built_in
