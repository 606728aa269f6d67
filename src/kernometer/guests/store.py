"""The store of guests: one directory each under the XDG cache home, with a manifest of its contents.

It is a cache, as a guest can be downloaded again. The manifest's digests are checked before each boot.
"""

from __future__ import annotations

import errno
import fcntl
import os
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import msgspec

from kernometer.cache import cache_folder, is_held, sha256
from kernometer.errors import MissingError, ResultError, TargetError, UsageError
from kernometer.guests.architecture import X86_64, Architecture
from kernometer.guests.emulator.qemu import COMMAND_LINE, Machine
from kernometer.processes import scratch

KERNEL = "vmlinux"
PACKED = "bzImage"
CONFIG = "config"
BUSYBOX = "busybox"  #: of a guest of another architecture than the host's
DESCRIPTION = "console.toml"  #: how to drive a system on a disk at its console, see targets/consoles
SYSTEM_MAP = "System.map"  #: the addresses of a kernel's symbols: a list of its build's, or the ELF file with them
INIT, OWN_PROBE = "own-init", "own-probe"  #: the user's first process and measuring program, in place of ours
ROOT = "root"  #: the image of the user's disk, with init and probe put into it
LOADED = "kernel"  #: a module: the kernel of a BSD, which our loader (KERNEL) starts
DRIVERS = "drivers"  #: the directory of loadable kernel modules, see drivers.py
INITRAMFS = "@initramfs"  #: in place of a multiboot module's file: the job's archive
PROBE = "@probe"  #: likewise: the static probe, with the job's arguments after its own
MACH = "@probe-mach"  #: likewise: the program of probe/mach, which measures unit costs as GNU Mach's boot task
LINK = "guest"  #: in QEMU's working directory: a link to the guest's directory
MANIFEST = "manifest.json"
#: The manifest's digests of files.
_DIGESTS = {
    KERNEL: "kernel_sha256",
    PACKED: "packed_sha256",
    CONFIG: "config_sha256",
    SYSTEM_MAP: "system_map_sha256",
    BUSYBOX: "busybox_sha256",
    DESCRIPTION: "description_sha256",
    INIT: "init_sha256",
    OWN_PROBE: "probe_sha256",
}
FILES = tuple(_DIGESTS)
#: The most bytes of a manifest, which has a few hundred.
MAX_MANIFEST = 1 << 16
#: The standard processor of guests that were added while each iteration of a string instruction counted.
STANDARD_BEFORE = "max,-erms"
#: Names of Trio with changes of its structure: each is a kernel of its own.
_CHANGED = re.compile(r"trio-[a-z-]+(?:\+(?:(?:together|apart)=[a-z0-9_,]+|with=[a-z,-]+))+")


class Module(msgspec.Struct, frozen=True, kw_only=True):
    """A multiboot module: a file that the loader puts into memory next to the kernel, with arguments."""

    file: str  #: its name in the guest's directory, or INITRAMFS, PROBE or MACH
    arguments: str = ""
    sha256: str = ""  #: "" if it is made for the job

    @property
    def made(self) -> bool:
        """Whether it is made for each job, and so is no stored file."""
        return self.file in (INITRAMFS, PROBE, MACH)


class Manifest(msgspec.Struct, frozen=True, kw_only=True):
    """A guest's files, their origin, and how it boots."""

    name: str  #: "linux-6.1"
    package: str  #: the package's name, or the path of the file that it was made from
    version: str  #: and its version
    suite: str = ""  #: the suite of the package: "trixie-backports"
    parts: tuple[str, ...] = ()  #: further packages of the kernel, each as "NAME SHA-256"
    remarks: tuple[str, ...] = ()  #: for readers, about its origin: "the Release file had expired"
    release: str  #: the kernel's `uname -r`; "" if not known before it boots
    package_sha256: str
    kernel_sha256: str = ""  #: of the file that boots: for Linux the unpacked ELF file
    kernel_bytes: int = 0
    packed_sha256: str = ""  #: of its bzImage, which boots if a firmware is needed; "" without
    system_map_sha256: str = ""  #: of SYSTEM_MAP; "" without
    config_sha256: str = ""  #: of the kernel's build configuration; "" without
    drivers_sha256: str = ""  #: of the stored kernel modules, see drivers.digest
    busybox_sha256: str = ""  #: of BUSYBOX; "" without
    init_sha256: str = ""  #: of INIT; "": ours
    probe_sha256: str = ""  #: of OWN_PROBE; "": ours
    description_sha256: str = ""  #: of DESCRIPTION, for a system on a disk; "" without
    disk: str = ""  #: the path of a disk's image, which is the user's and is not written to, or ROOT
    disk_sha256: str = ""
    layout: str = ""  #: where the kernel's data lie: elf.layout; "" if not known
    built_in: tuple[str, ...] = ()  #: the modules of drivers.KEPT in a kernel without loadable modules
    machine: Machine = Machine()
    command_line: str = COMMAND_LINE
    modules: tuple[Module, ...] = ()  #: in the order of loading; none: only the initramfs, as for Linux
    root: Literal["initramfs", "ext2", "disk", "none"] = "initramfs"  #: the job's archive, or as an image; see has_own
    root_mib: int = 0  #: of an ext2 image
    root_block: int = 0  #: bytes
    output: Literal["debug-port", "serial"] = "debug-port"  #: where the probe's lines are printed
    variants: tuple[str, ...] = ()  #: names of its listed variants: see variant.py


@dataclass(frozen=True, slots=True)
class Guest:
    """A kernel that can be booted."""

    folder: Path
    manifest: Manifest

    @property
    def name(self) -> str:
        return self.manifest.name

    @property
    def architecture(self) -> Architecture:
        return self.manifest.machine.architecture

    @property
    def kernel(self) -> Path:
        return self.folder / KERNEL

    @property
    def code(self) -> Path:
        """The file with the kernel's own code and symbols."""
        return self.folder / (LOADED if self.has(LOADED) else KERNEL)

    @property
    def packed(self) -> Path:
        return self.folder / PACKED

    @property
    def image(self) -> str:
        """Identifies what boots: on the same machine, with the same probe, its counts are equal."""
        made = self.manifest
        parts = [made.kernel_sha256, *(f"{module.sha256} {module.arguments}" for module in made.modules)]
        parts += [made.disk_sha256, made.description_sha256] if made.disk or self.at_console else []
        parts += [f"ext2 {made.root_mib} {made.root_block}"] if made.root == "ext2" else []
        parts += [f"{digest} {what}" for what, digest in self._own if digest]
        digest = sha256("\0".join(parts).encode()) if parts[1:] else made.kernel_sha256
        drivers = f" drivers sha256:{made.drivers_sha256}" if made.drivers_sha256 else ""
        return f"{made.package} {made.version} sha256:{digest}{drivers}"

    @property
    def _own(self) -> tuple[tuple[str, str], ...]:
        return (INIT, self.manifest.init_sha256), (OWN_PROBE, self.manifest.probe_sha256)

    def own(self, name: str) -> bytes | None:
        """The user's INIT or OWN_PROBE; None: ours is used."""
        return (self.folder / name).read_bytes() if dict(self._own)[name] else None

    @property
    def layout(self) -> str:
        """Equal for two builds whose counts differ only because their code does; "" if not known."""
        made = self.manifest
        parts = (made.layout, *(f"{module.file} {module.sha256} {module.arguments}" for module in made.modules))
        return sha256("\0".join(parts).encode()) if made.layout else ""

    @property
    def kernel_word(self) -> Path:
        """The file for QEMU's -kernel. QEMU passes this name to a multiboot kernel, so it lies below LINK: the kernel's
        work then does not depend on the cache's path."""
        return Path(LINK) / KERNEL if self.is_linked else self.kernel

    @property
    def is_linked(self) -> bool:
        """Whether QEMU gets names below LINK."""
        return bool(self.manifest.modules) or self.has_own

    def initrd(self, initramfs: str, probe: str = "probe", arguments: tuple[str, ...] = ()) -> str:
        """The value for QEMU's -initrd. `initramfs` is the job's archive, `probe` the measuring program, `arguments`
        are the job's. Multiboot modules have names below LINK.

        QEMU separates modules by commas, so a comma within arguments is doubled.
        """
        if not self.manifest.modules:
            return "" if self.has_own else initramfs
        words = []
        for module in self.manifest.modules:
            file = {INITRAMFS: initramfs, PROBE: probe, MACH: probe}.get(module.file, f"{LINK}/{module.file}")
            more = arguments if module.file in (PROBE, MACH) else ()
            words.append(" ".join(part for part in (file, module.arguments, *more) if part).replace(",", ",,"))
        return ",".join(words)

    def has(self, module: str) -> bool:
        """Whether INITRAMFS, PROBE or MACH is one of its multiboot modules."""
        return any(each.file == module for each in self.manifest.modules)

    @property
    def has_init(self) -> bool:
        """Whether it gets the archive, whose first process executes its command when everything else is ready."""
        return self.has(INITRAMFS) or not (self.manifest.modules or self.at_console or self.has_own)

    @property
    def waits(self) -> bool:
        """Whether a probe can be brought to wait in it, so that it can be saved."""
        return self.has_init or self.at_console or self.has_own

    @property
    def has_own(self) -> bool:
        """Whether its kernel has a root of its own, or on the user's disk, which starts a probe that waits."""
        return self.manifest.root in ("disk", "none")

    @property
    def at_console(self) -> bool:
        """Whether it is a system on a disk, which is brought to a waiting probe at its console."""
        return self.manifest.description_sha256 != ""

    def busybox(self) -> bytes:
        """Its own busybox, or b"" if it has none."""
        return (self.folder / BUSYBOX).read_bytes() if self.manifest.busybox_sha256 else b""

    def link(self, folder: Path) -> None:
        """Makes LINK in `folder`, QEMU's working directory. Raises TargetError if that fails."""
        try:
            (folder / LINK).symlink_to(self.folder.resolve(), target_is_directory=True)
        except OSError as error:
            raise TargetError(f"{folder / LINK}: {error.strerror}.") from error

    @contextmanager
    def in_use(self) -> Iterator[None]:
        """Checks the guest, and keeps it for the block: no other process may replace or remove it, as rows of one
        session would be measured on two kernels. Raises what `check` raises."""
        with _opened(self.folder) as folder:
            if folder is not None:
                is_held(folder, fcntl.LOCK_SH)
            self.check()
            yield

    def check(self) -> None:
        """Raises TargetError if a file is not the one that was added: the counts would be those of another guest."""
        made = self.manifest
        others = [(name, str(getattr(made, field))) for name, field in _DIGESTS.items() if name != CONFIG]
        for name, wanted in (*others, *((file.file, file.sha256) for file in made.modules if not file.made)):
            if wanted:
                self._check(name, wanted)

    def _check(self, name: str, wanted: str) -> None:
        path = self.folder / name
        try:
            digest = sha256(path.read_bytes())
        except OSError as error:
            raise TargetError(f"{path}: {error.strerror}.", _again(self.name)) from error
        if digest != wanted:
            raise TargetError(f"{path} is not what was added: its SHA-256 differs.", _again(self.name))


#: Returns remarks on a guest that is about to be stored.
Check = Callable[[Guest], tuple[str, ...]]


def guests_folder() -> Path:
    return cache_folder() / "guests"


def listed() -> tuple[Guest, ...]:
    """All guests, by name; a directory without a manifest is not one."""
    folder = guests_folder()
    if not folder.is_dir():
        return ()
    guests = []
    for each in sorted(folder.iterdir(), key=_by_number):
        if not each.name.startswith(".") and (each / MANIFEST).is_file():
            guests.append(_load(each))
    return tuple(guests)


def _by_number(folder: Path) -> list[tuple[int, str]]:
    """linux-6.2 before linux-6.12."""
    return [(int(part), "") if part.isdecimal() else (0, part) for part in re.split(r"(\d+)", folder.name)]


def _folder(name: str) -> Path:
    """The directory of the guest of that name. QEMU takes no path with a comma."""
    return guests_folder() / checked(name).replace(",", "-")


def find(name: str) -> Guest:
    """The guest of that name. Raises MissingError, with the command that adds it, if there is none."""
    folder = _folder(name)
    if not (folder / MANIFEST).is_file():
        here = ", ".join(guest.name for guest in listed()) or "none"
        raise MissingError(f"There is no guest {name} here (guests here: {here}).", _again(name))
    return _load(folder)


def remove(name: str) -> None:
    """Removes the guest's directory. Raises MissingError if there is no such guest."""
    folder = _folder(name)
    if not folder.is_dir():
        raise MissingError(f"There is no guest {name} here.", "'kernometer guest list' shows those that are.")
    _discard(folder)


@contextmanager
def new_folder() -> Iterator[Path]:
    """A directory to make a guest in, on the file system of the guests; removed at the end unless `keep` moved it."""
    made = ExitStack()
    try:
        guests_folder().mkdir(parents=True, exist_ok=True)
        folder = made.enter_context(scratch(".new-", guests_folder()))
    except OSError as error:
        raise ResultError(
            f"{error.filename}: {error.strerror}.", "Set XDG_CACHE_HOME to a writable directory."
        ) from error
    with made:
        yield folder


def add(manifest: Manifest, files: Mapping[str, bytes], check: Check | None = None) -> Guest:
    """Stores these files, KERNEL among them unless it is on a disk, as the guest of the manifest, which gets their
    digests. It replaces a guest of that name, whose variants stay listed. `check` runs first; if it raises, nothing is
    stored."""
    digests = {field: sha256(files[name]) for name, field in _DIGESTS.items() if name in files}
    try:
        variants = find(manifest.name).manifest.variants
    except (MissingError, TargetError):
        variants = ()
    size = manifest.kernel_bytes or len(files.get(KERNEL, b""))
    with new_folder() as folder:
        for name, content in files.items():
            (folder / name).parent.mkdir(exist_ok=True)
            (folder / name).write_bytes(content)
        made = msgspec.structs.replace(manifest, kernel_bytes=size, variants=variants, **digests)
        remarks = check(Guest(folder, made)) if check is not None else ()
        return keep(folder, msgspec.structs.replace(made, remarks=(*made.remarks, *remarks)))


def keep(folder: Path, manifest: Manifest) -> Guest:
    """Writes the manifest last, then moves `folder` to the guests, in place of one of that name; one that is the same
    and undamaged stays. Raises ResultError if that cannot be written, or is in use and another."""
    final = _folder(manifest.name)
    with suppress(MissingError, TargetError):
        there = find(manifest.name)
        if there.manifest == manifest:
            there.check()
            return there
    try:
        (folder / MANIFEST).write_bytes(_encoded(manifest))
        folder.chmod(0o755)
        _replace(final, folder)
    except OSError as error:
        raise ResultError(f"{error.filename}: {error.strerror}.", "Free some space, or set XDG_CACHE_HOME.") from error
    return Guest(final, manifest)


def rewrite(guest: Guest, *, variants: tuple[str, ...]) -> Guest:
    """Lists other variants of the guest. It replaces the manifest at once, so that no process reads half of it."""
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
    """If another process stores a guest of that name at the same time, the later one stays."""
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
    """Renames the directory first, so that no process finds half a guest. Raises ResultError if it is in use."""
    # Another process may be faster, or there is no such guest.
    with scratch(".old-", folder.parent) as away, _opened(folder) as guest, suppress(FileNotFoundError):
        if guest is not None and is_held(guest):
            raise ResultError(
                f"The guest {folder.name} is in use by another process.",
                "Wait for its end, or add the guest under another name, or to another cache (XDG_CACHE_HOME).",
            )
        folder.rename(away / folder.name)


@contextmanager
def _opened(folder: Path) -> Iterator[int | None]:
    """A descriptor of the directory, for its lock; None if it is not there."""
    try:
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    except OSError:
        yield None
        return
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _load(folder: Path) -> Guest:
    path = folder / MANIFEST
    try:
        if path.stat().st_size > MAX_MANIFEST:
            raise TargetError(f"{path} is too large to be a manifest.", _again(folder.name))
        manifest = msgspec.json.decode(path.read_bytes(), type=Manifest)
    except (OSError, msgspec.DecodeError) as error:
        raise TargetError(f"{path} cannot be read: {error}.", _again(folder.name)) from error
    if manifest.machine.cpu == STANDARD_BEFORE:
        machine = msgspec.structs.replace(manifest.machine, cpu=X86_64.cpu)
        manifest = msgspec.structs.replace(manifest, machine=machine)
    return Guest(folder, manifest)


def checked(name: str) -> str:
    """The name. Raises UsageError if it could lead out of the guests' directory."""
    plain = not name.startswith(".") and all(c.isascii() and (c.isalnum() or c in "-._") for c in name)
    if not name or not (plain or _CHANGED.fullmatch(name)):
        raise UsageError(f"{name!r} is not the name of a guest.", "A guest's name looks like linux-6.1.")
    return name


def _again(name: str) -> str:
    """The command that adds a guest of that name."""
    system, _, version = name.partition("-")
    if system == "linux":
        return f"'kernometer guest add {name.replace('-', ' ', 1)}' adds it."
    if system == "xen":
        return f"'kernometer guest add xen{f' --dom0 {version}' if version else ''}' adds it."
    if system in ("gnumach", "trio"):
        return f"'kernometer guest add {system}{f' {version}' if version else ''}' adds it."
    return f"'kernometer guest add kernel FILE --name {name}' makes it from a kernel of your own."
