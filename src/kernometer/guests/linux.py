"""Linux guests from the distribution's kernel packages: `linux-6.1` is the newest 6.1 that apt offers, full flavour."""

from __future__ import annotations

import re
import subprocess
import tarfile
from pathlib import Path, PurePosixPath

from kernometer.cache import sha256
from kernometer.errors import TargetError, UsageError
from kernometer.guests import apt, store
from kernometer.guests.bzimage import pvh_entry, unpack

SERIES = re.compile(r"\d{1,3}\.\d{1,3}")
#: A packed kernel and its configuration; far below what a hostile archive might hold.
MAX_MEMBER = 256 << 20
UNPACK_SECONDS = 300

_KERNEL = re.compile(r"vmlinuz-(?P<release>[\w.+~-]+)")


def add(series: str) -> store.Guest:
    """Downloads, unpacks and keeps the newest full-flavour kernel of `series` ("6.1"); replaces one that is here.

    Raises UsageError for what is no series, MissingError where the distribution has none, TargetError where apt or
    the image fails. No root rights are needed.
    """
    if not SERIES.fullmatch(series):
        raise UsageError(f"{series!r} is not a Linux series.", "Give two numbers, such as 6.1.")
    with store.new_folder() as folder:
        package, file = apt.fetch(series, folder)
        release, packed, config = _members(file)
        file.unlink()
        kernel = unpack(packed)
        if pvh_entry(kernel) is None:
            raise TargetError(
                f"{package.name} has no PVH entry, so QEMU cannot start its ELF image.", "Add Linux 4.11 or newer."
            )
        (folder / store.KERNEL).write_bytes(kernel)
        if config:
            (folder / store.CONFIG).write_bytes(config)
        manifest = store.Manifest(
            name=f"linux-{series}",
            package=package.name,
            version=package.version,
            release=release,
            package_sha256=package.sha256,
            kernel_sha256=sha256(kernel),
            kernel_bytes=len(kernel),
            config_sha256=sha256(config) if config else "",
        )
        return store.keep(folder, manifest)


def _members(package: Path) -> tuple[str, bytes, bytes]:
    """The kernel's release, its packed image and its configuration, straight from the package's archive.

    The modules, most of the package, are passed over and touch no disk.
    """
    packed: dict[str, bytes] = {}
    config = b""
    with subprocess.Popen(
        ("dpkg-deb", "--fsys-tarfile", str(package)),
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    ) as process:
        try:
            with tarfile.open(fileobj=process.stdout, mode="r|") as archive:
                for member in archive:
                    path = PurePosixPath(member.name)
                    if not member.isreg() or path.parent.name != "boot":
                        continue
                    if match := _KERNEL.fullmatch(path.name):
                        packed[match["release"]] = _content(archive, member)
                    elif path.name.startswith("config-"):
                        config = _content(archive, member)
                    if packed and config:
                        break
        except (tarfile.TarError, EOFError) as error:
            raise TargetError(f"{package.name} cannot be unpacked: {error}.", "Add the guest again.") from error
        finally:
            process.kill()
    if len(packed) != 1:
        raise TargetError(f"{package.name} holds {len(packed)} kernels in /boot.", "Report this package.")
    ((release, image),) = packed.items()
    return release, image, config


def _content(archive: tarfile.TarFile, member: tarfile.TarInfo) -> bytes:
    file = archive.extractfile(member)
    if file is None or member.size > MAX_MEMBER:
        raise TargetError(f"{member.name} in the package is not a file of a sensible size.", "Report this package.")
    return file.read()
