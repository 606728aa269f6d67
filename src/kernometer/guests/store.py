"""Where guests are kept: a folder each under the XDG cache home, with a manifest that says what is in it.

A guest is a download that can be had again, so it is a cache; what its manifest says is checked before each boot.
"""

from __future__ import annotations

import errno
import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import msgspec

from kernometer.cache import cache_folder, sha256
from kernometer.errors import MissingError, ResultError, TargetError, UsageError
from kernometer.guests.qemu import COMMAND_LINE, Machine

KERNEL = "vmlinux"
PACKED = "bzImage"
CONFIG = "config"
DRIVERS = "drivers"  #: folder of loadable kernel modules, see drivers.py
INITRAMFS = "@initramfs"  #: in the place of a multiboot module's file: the archive that is made for the job
PROBE = "@probe"  #: the same: the static probe, the job's arguments after its own
LINK = "guest"  #: in the folder that QEMU is started in: leads to the guest's folder
MANIFEST = "manifest.json"
#: A manifest is a few hundred bytes.
MAX_MANIFEST = 1 << 16


class Module(msgspec.Struct, frozen=True, kw_only=True):
    """A multiboot module: a file that the loader puts into memory beside the kernel, with words for it."""

    file: str  #: its name in the guest's folder, or INITRAMFS or PROBE
    arguments: str = ""
    sha256: str = ""  #: "" for what is made for the job

    @property
    def made(self) -> bool:
        """Whether it is made for each job."""
        return self.file in (INITRAMFS, PROBE)


class Manifest(msgspec.Struct, frozen=True, kw_only=True):
    """What a guest is made of, where that came from, and how it boots."""

    name: str  #: "linux-6.1"
    package: str  #: the package's name; a file's path where it was made from a file
    version: str  #: and its version
    suite: str = ""  #: of the package sources that the package came from: "trixie-backports"
    parts: tuple[str, ...] = ()  #: further packages that the kernel came in, each as "NAME SHA-256"
    remarks: tuple[str, ...] = ()  #: what a reader must know of how it was had: "the Release file had expired"
    release: str  #: the kernel's own name for itself, as in `uname -r`; "" where nobody knows before it boots
    package_sha256: str
    kernel_sha256: str  #: of the file that boots: for Linux the unpacked ELF file
    kernel_bytes: int
    packed_sha256: str = ""  #: of the bzImage that it was in, which boots where a firmware has work to do; "" without
    config_sha256: str = ""  #: of the kernel's build configuration, "" where the package has none
    drivers_sha256: str = ""  #: of the kernel modules that were kept, see drivers.digest
    built_in: tuple[str, ...] = ()  #: of a kernel that loads no modules: those of drivers.KEPT that are part of it
    machine: Machine = Machine()
    command_line: str = COMMAND_LINE
    modules: tuple[Module, ...] = ()  #: in the order of loading; none: the initramfs alone, as Linux takes it
    output: Literal["debug-port", "serial"] = "debug-port"  #: where the probe's lines come out
    variants: tuple[str, ...] = ()  #: names under which the user asked for it, to be listed: see variant.py


@dataclass(frozen=True, slots=True)
class Guest:
    """A kernel that can be booted."""

    folder: Path
    manifest: Manifest

    @property
    def name(self) -> str:
        return self.manifest.name

    @property
    def kernel(self) -> Path:
        return self.folder / KERNEL

    @property
    def packed(self) -> Path:
        return self.folder / PACKED

    @property
    def image(self) -> str:
        """Names what boots: with the same machine and probe, its counts are equal."""
        made = self.manifest
        parts = [made.kernel_sha256, *(f"{one.sha256} {one.arguments}" for one in made.modules)]
        digest = sha256("\0".join(parts).encode()) if made.modules else made.kernel_sha256
        drivers = f" drivers sha256:{made.drivers_sha256}" if made.drivers_sha256 else ""
        return f"{made.package} {made.version} sha256:{digest}{drivers}"

    @property
    def kernel_word(self) -> Path:
        """What QEMU's -kernel is given. Of a multiboot guest a name below LINK: QEMU hands names on to the kernel, and
        what it does must not depend on where the cache is."""
        return Path(LINK) / KERNEL if self.manifest.modules else self.kernel

    def initrd(self, initramfs: str, probe: str = "probe", arguments: tuple[str, ...] = ()) -> str:
        """What QEMU's -initrd is given, where the job's archive is the file `initramfs`, the static probe is `probe`,
        and `arguments` are the job's. Multiboot modules are named below LINK.

        QEMU takes a comma between modules, so one within arguments is doubled.
        """
        if not self.manifest.modules:
            return initramfs
        words = []
        for one in self.manifest.modules:
            file = {INITRAMFS: initramfs, PROBE: probe}.get(one.file, f"{LINK}/{one.file}")
            more = arguments if one.file == PROBE else ()
            words.append(" ".join(part for part in (file, one.arguments, *more) if part).replace(",", ",,"))
        return ",".join(words)

    def has(self, module: str) -> bool:
        """Whether INITRAMFS or PROBE is one of its multiboot modules."""
        return any(one.file == module for one in self.manifest.modules)

    @property
    def has_init(self) -> bool:
        """Whether its first process is our init, which asks for its command when everything else is ready."""
        return self.has(INITRAMFS) or not self.manifest.modules

    def link(self, folder: Path) -> None:
        """Makes LINK in `folder`, where QEMU is to be started. Raises TargetError where that cannot be."""
        try:
            (folder / LINK).symlink_to(self.folder.resolve(), target_is_directory=True)
        except OSError as error:
            raise TargetError(f"{folder / LINK}: {error.strerror}.") from error

    def check(self) -> None:
        """Raises TargetError where a file is not the one that was added: counts of it would be of another."""
        self._check(KERNEL, self.manifest.kernel_sha256)
        if self.manifest.packed_sha256:
            self._check(PACKED, self.manifest.packed_sha256)
        for one in self.manifest.modules:
            if not one.made:
                self._check(one.file, one.sha256)

    def _check(self, name: str, wanted: str) -> None:
        path = self.folder / name
        try:
            found = sha256(path.read_bytes())
        except OSError as error:
            raise TargetError(f"{path}: {error.strerror}.", _again(self.name)) from error
        if found != wanted:
            raise TargetError(f"{path} is not what was added: its SHA-256 differs.", _again(self.name))


def guests_folder() -> Path:
    return cache_folder() / "guests"


def listed() -> tuple[Guest, ...]:
    """Every guest that is here, by name; a folder that holds no readable manifest is not one."""
    folder = guests_folder()
    if not folder.is_dir():
        return ()
    found = []
    for each in sorted(folder.iterdir(), key=_by_number):
        if not each.name.startswith(".") and (each / MANIFEST).is_file():
            found.append(_load(each))
    return tuple(found)


def _by_number(folder: Path) -> list[tuple[int, str]]:
    """linux-6.2 before linux-6.12."""
    return [(int(part), "") if part.isdecimal() else (0, part) for part in re.split(r"(\d+)", folder.name)]


def find(name: str) -> Guest:
    """The guest of that name. Raises MissingError, with the command that adds it, where there is none."""
    folder = guests_folder() / checked(name)
    if not (folder / MANIFEST).is_file():
        here = ", ".join(guest.name for guest in listed()) or "none"
        raise MissingError(f"There is no guest {name} here (guests here: {here}).", _again(name))
    return _load(folder)


def remove(name: str) -> None:
    """Removes the guest's folder. Raises MissingError where there is no such guest."""
    folder = guests_folder() / checked(name)
    if not folder.is_dir():
        raise MissingError(f"There is no guest {name} here.", "'kernometer guest list' shows those that are.")
    _discard(folder)


@contextmanager
def new_folder() -> Iterator[Path]:
    """A folder to make a guest in, on the file system of the guests; gone afterwards unless it was kept."""
    try:
        guests_folder().mkdir(parents=True, exist_ok=True)
        folder = Path(tempfile.mkdtemp(prefix=".new-", dir=guests_folder()))
    except OSError as error:
        raise ResultError(
            f"{error.filename}: {error.strerror}.", "Set XDG_CACHE_HOME to a folder that can be written to."
        ) from error
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def keep(folder: Path, manifest: Manifest) -> Guest:
    """Writes the manifest, last of all, and moves `folder` to where guests are; one of that name is replaced."""
    final = guests_folder() / checked(manifest.name)
    try:
        (folder / MANIFEST).write_bytes(_encoded(manifest))
        folder.chmod(0o755)
        _replace(final, folder)
    except OSError as error:
        raise ResultError(f"{error.filename}: {error.strerror}.", "Free some space, or set XDG_CACHE_HOME.") from error
    return Guest(final, manifest)


def rewrite(guest: Guest, *, variants: tuple[str, ...]) -> Guest:
    """The guest with other variants listed; nobody reads half a manifest."""
    changed = msgspec.structs.replace(guest.manifest, variants=variants)
    new = guest.folder / f".{MANIFEST}.{os.getpid()}"
    try:
        new.write_bytes(_encoded(changed))
        new.rename(guest.folder / MANIFEST)
    except OSError as error:
        new.unlink(missing_ok=True)
        raise ResultError(f"{error.filename}: {error.strerror}.", "Free some space, or set XDG_CACHE_HOME.") from error
    return Guest(guest.folder, changed)


def _encoded(manifest: Manifest) -> bytes:
    return msgspec.json.format(msgspec.json.encode(manifest), indent=1) + b"\n"


def _replace(final: Path, folder: Path) -> None:
    """Where another process keeps a guest of that name at the same time, the later one stays."""
    for _ in range(100):
        _discard(final)
        try:
            folder.rename(final)
            return
        except OSError as error:
            if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
                raise
    raise ResultError(f"Other processes keep replacing {final}.", "Try again.")


def _discard(folder: Path) -> None:
    """Renamed first: nobody finds half a guest."""
    away = Path(tempfile.mkdtemp(prefix=".old-", dir=folder.parent))
    try:
        folder.rename(away / folder.name)
    except FileNotFoundError:  # there was none, or another process was faster
        pass
    finally:
        shutil.rmtree(away, ignore_errors=True)


def _load(folder: Path) -> Guest:
    path = folder / MANIFEST
    try:
        if path.stat().st_size > MAX_MANIFEST:
            raise TargetError(f"{path} is too large to be a manifest.", _again(folder.name))
        return Guest(folder, msgspec.json.decode(path.read_bytes(), type=Manifest))
    except (OSError, msgspec.DecodeError) as error:
        raise TargetError(f"{path} cannot be read: {error}.", _again(folder.name)) from error


def checked(name: str) -> str:
    """The name itself: a file name, and nothing that leads elsewhere. Raises UsageError for what is none."""
    if not name or name.startswith(".") or not all(c.isascii() and (c.isalnum() or c in "-._") for c in name):
        raise UsageError(f"{name!r} is not the name of a guest.", "A guest's name looks like linux-6.1.")
    return name


def _again(name: str) -> str:
    """How a guest of that name comes to be."""
    system, _, version = name.partition("-")
    if system == "linux":
        return f"'kernometer guest add {name.replace('-', ' ', 1)}' adds it."
    if system == "xen":
        return f"'kernometer guest add xen{f' --dom0 {version}' if version else ''}' adds it."
    if system == "trio":
        return "'kernometer guest add trio' adds every structure of Trio that there is."
    return f"'kernometer guest add {name} --kernel FILE' makes it of a kernel of your own."
