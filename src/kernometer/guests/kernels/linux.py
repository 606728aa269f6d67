"""Linux guests: `linux-6.1` is the newest 6.1 in the distribution's packages."""

from __future__ import annotations

import re
from contextlib import closing
from pathlib import Path

from kernometer.errors import MissingError, TargetError, UsageError
from kernometer.guests import store, variant
from kernometer.guests.architecture import X86_64, Architecture, of_version
from kernometer.guests.emulator.qemu import standard
from kernometer.guests.inside import programs
from kernometer.guests.kernels import drivers, kernelpackage
from kernometer.guests.kernels.bzimage import MAX_UNPACKED, pvh_entry, unpack
from kernometer.guests.packages import suites
from kernometer.guests.packages.suites import Say

#: "6.1", "6.1-cloud"; the architecture of "6.1-arm64" is cut off first.
VERSION = re.compile(r"(?P<series>\d{1,3}\.\d{1,3})(?:-(?P<flavour>[a-z][a-z0-9-]{0,30}))?")
#: Names of guests from packages, and of Trio's.
TAKEN = re.compile(r"linux-\d+\.\d+.*|linux|xen|xen-.*|trio|trio-.*|gnumach|gnumach-dbg")

_BUSYBOX = re.compile("busybox-static")


def silently(_: str) -> None:
    """A `say` for callers that show nothing."""


def add(version: str | None = None, say: Say = silently) -> store.Guest:
    """Downloads, unpacks and stores the newest kernel of `version`: a series ("6.1") or one of its flavours
    ("6.1-cloud"), perhaps for another architecture ("6.1-arm64"). None: the series that this release installs, as the
    guest `linux`.

    It replaces a guest of that name, whose variants stay listed. `say` prints slow steps and anything unusual. No root
    rights are needed. Raises UsageError for an invalid version; MissingError, before any download, if a program is
    missing, or if no package source has the version; TargetError if apt or the image fails.
    """
    series, flavour, architecture = ("", "", X86_64) if version is None else check_version(version)
    programs.need("A guest is unpacked from a package and booted by QEMU", architecture.emulator, "zstd")
    series = series or suites.own_series(say)
    with store.new_folder() as folder:
        fetched = suites.fetch(series, flavour, folder, say, architecture)
        say(f"Unpacking {fetched.package.name} …")
        held = kernelpackage.read(fetched.files)
        busybox = _busybox(folder, architecture, say)
    files = _images(held.image, fetched.package.name, architecture)
    files |= busybox | drivers.files(held.drivers, held.built_in)
    machine, command_line = standard(architecture)
    manifest = store.Manifest(
        name=name_of(version),
        package=fetched.package.name,
        version=fetched.package.version,
        suite=fetched.suite,
        parts=tuple(f"{part.name} {part.sha256}" for part in fetched.parts),
        remarks=fetched.remarks,
        release=held.release,
        package_sha256=fetched.package.sha256,
        drivers_sha256=drivers.digest(held.drivers),
        machine=machine,
        command_line=command_line,
        output="debug-port" if architecture is X86_64 else "serial",
    )
    return store.add(manifest, files | ({store.CONFIG: held.config} if held.config else {}))


def _busybox(folder: Path, architecture: Architecture, say: Say) -> dict[str, bytes]:
    """The static busybox for another architecture, for rows that run a shell; nothing if no package source has it."""
    if architecture is X86_64:
        return {}
    package = suites.newest_of(_BUSYBOX, _BUSYBOX.pattern, folder, say, later=True, foreign=architecture.debian)
    if package is None:
        say(f"No package source has {_BUSYBOX.pattern} for {architecture.name}: rows that run a shell are unsupported.")
        return {}
    with closing(kernelpackage.files_of(package.file)) as files:
        program = next(content() for path, content in files if path.parts[-2:] == ("bin", "busybox"))
    return {store.BUSYBOX: program}


def _images(packed: bytes, package: str, architecture: Architecture) -> dict[str, bytes]:
    """The files of the kernel. Raises TargetError for an image that QEMU cannot start."""
    if architecture is not X86_64:
        return {store.KERNEL: packed}
    kernel = unpack(packed)
    if pvh_entry(kernel) is None:
        raise TargetError(
            f"{package} has no PVH entry, so QEMU cannot start its ELF image.", "Add Linux 4.11 or newer."
        )
    return {store.KERNEL: kernel, store.PACKED: packed}


def read_given(path: Path, what: str, limit: int = MAX_UNPACKED) -> bytes:
    """A file that the user names. Raises UsageError if it cannot be read, is empty, or longer than `limit` bytes."""
    try:
        if path.exists() and not path.is_file():
            raise UsageError(f"{path}, {what}, is not a regular file.", "Give the file that was built.")
        if path.stat().st_size > limit:
            raise UsageError(f"{path} is larger than {limit >> 20} MiB.", "Give a smaller file.")
        content = path.read_bytes()
    except OSError as error:
        raise UsageError(f"{path}, {what}: {error.strerror}.", "Give the path of the file that was built.") from error
    if not content:
        raise UsageError(f"{path}, {what}, is empty.", "Give the file that was built.")
    return content


def name_of(version: str | None) -> str:
    """The guest's name: "linux-6.1", or "linux" for the release's own."""
    return "linux" if version is None else f"linux-{version}"


def check_version(version: str) -> tuple[str, str, Architecture]:
    """Series, flavour and architecture of "6.1-cloud-arm64". Raises UsageError for anything else."""
    own, architecture = of_version(version)
    match = VERSION.fullmatch(own)
    if match is None:
        raise UsageError(
            f"{version!r} is not a Linux series.",
            "Give two numbers, such as 6.1, or add a flavour or an architecture: 6.1-cloud, 6.1-arm64.",
        )
    return match["series"], match["flavour"] or "", architecture


def check_name(name: str) -> None:
    """Raises UsageError for a name that a user's own guest may not have."""
    if TAKEN.fullmatch(name):
        raise UsageError(f"{name} is a name for guests from packages, or Trio's.", "Give another, such as my-kernel.")
    store.checked(name)


def record(wanted: variant.Variant) -> store.Guest:
    """Lists a variant with its guest. Raises MissingError if there is no such guest."""
    guest = store.find(wanted.guest)
    if wanted.name in (guest.name, *guest.manifest.variants):
        return guest
    return store.rewrite(guest, variants=(*guest.manifest.variants, wanted.name))


def forget(name: str) -> None:
    """Removes the variant `name` from the list. Raises MissingError if it is not listed."""
    wanted = variant.parse(name)
    guest = store.find(wanted.guest)
    if wanted.name not in guest.manifest.variants:
        raise MissingError(f"The variant {name} is not listed here.", "'kernometer guest list' shows those that are.")
    store.rewrite(guest, variants=tuple(each for each in guest.manifest.variants if each != wanted.name))
