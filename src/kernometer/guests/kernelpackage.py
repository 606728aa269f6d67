"""The contents of one kernel's Debian packages: the packed image, its configuration, the modules for a guest.

They are read directly from the packages' archives: of 400 MB of modules only those that may be needed, and nothing is
written to the disk. A kernel is one package, or several (Ubuntu; Debian since 7.2).
"""

from __future__ import annotations

import subprocess
import tarfile
import threading
from collections.abc import Callable, Generator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path, PurePosixPath

from kernometer.errors import TargetError
from kernometer.guests import drivers

#: Limits the packed kernel and its configuration, as an archive may be hostile.
MAX_MEMBER = 256 << 20
#: The most bytes of one kernel's modules in memory.
MAX_KEPT = 1 << 30
UNPACK_SECONDS = 300

#: Directories of drivers.KEPT's dependencies, for the first pass: a second one is then seldom needed.
_LIKELY = (
    *("arch/x86/crypto/", "arch/x86/lib/", "crypto/", "lib/"),
    *("drivers/block/brd.", "drivers/gpu/drm/drm", "drivers/gpu/drm/tiny/", "drivers/gpu/drm/ttm/"),
    *("drivers/i2c/algos/", "drivers/i2c/i2c-core.", "fs/ext4/", "fs/jbd2/", "fs/mbcache.", "fs/minix/"),
)


@dataclass(slots=True)
class Contents:
    """`drivers`: the kernel's modules of drivers.KEPT and their dependencies; by name, uncompressed."""

    release: str
    image: bytes
    config: bytes
    drivers: dict[str, bytes]
    built_in: frozenset[str]


@dataclass(slots=True)
class _Seen:
    """The results of the passes over the packages."""

    images: dict[str, bytes] = field(default_factory=dict)  #: by release
    config: bytes = b""
    built_in: frozenset[str] = frozenset()
    modules: dict[str, bytes] = field(default_factory=dict)
    there: set[str] = field(default_factory=set)  #: the name of every module
    kept_bytes: int = 0


def read(packages: Sequence[Path]) -> Contents:
    """Reads one kernel's packages. Raises TargetError if they contain no kernel or several, or are damaged."""
    seen = _Seen()
    for package in packages:
        _look(package, seen, lambda name, inside: inside.startswith(_LIKELY) or name in drivers.KEPT)
    if len(seen.images) != 1:
        raise TargetError(f"{packages[0].name} contains {len(seen.images)} kernels.", "Report this package.")
    ((release, image),) = seen.images.items()
    while True:
        order, missing = drivers.resolved(drivers.KEPT, seen.modules, seen.built_in)
        further = {name for name in missing if name in seen.there and name not in seen.modules}
        if not further:
            break
        for package in packages:
            _look(package, seen, lambda name, _: name in further)  # noqa: B023  # used within this round only
    return Contents(release, image, seen.config, {name: seen.modules[name] for name in order}, seen.built_in)


def _look(package: Path, seen: _Seen, wanted: Callable[[str, str], bool]) -> None:
    """One pass over a package's files; `wanted` gets a module's name and its path below kernel/."""
    with closing(files_of(package)) as files:
        for path, content in files:
            release, kind = _kind(path)
            if kind == "vmlinuz":
                seen.images[release] = content()
            elif kind == "config":
                seen.config = content()
            elif kind == "modules.builtin":
                names = (drivers.name_of(line) for line in content().decode(errors="replace").splitlines())
                seen.built_in = frozenset(name for name in names if name)
            elif name := drivers.name_of(kind):
                seen.there.add(name)
                if name not in seen.modules and wanted(name, str(path).partition("/kernel/")[2]):
                    seen.modules[name] = drivers.uncompressed(kind, content())
                    seen.kept_bytes += len(seen.modules[name])
            if seen.kept_bytes > MAX_KEPT:
                raise TargetError(f"{package.name} contains more than {MAX_KEPT >> 20} MiB of needed modules.")


def _kind(path: PurePosixPath) -> tuple[str, str]:
    """(release, file's name) of boot/vmlinuz-RELEASE and [usr/]lib/modules/RELEASE/**/NAME; ("", "") of other paths."""
    parts = path.parts[1:] if path.parts[:1] == ("usr",) else path.parts
    if parts[:1] == ("boot",) and len(parts) == 2:
        name, _, release = parts[1].partition("-")
        return release, name
    if parts[:2] == ("lib", "modules") and len(parts) > 3:
        return parts[2], parts[-1]
    return "", ""


def files_of(package: Path) -> Generator[tuple[PurePosixPath, Callable[[], bytes]]]:
    """Every regular file of a package: its path, and a function for its content, valid until the next file."""
    words = ("dpkg-deb", "--fsys-tarfile", str(package))
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        patience = threading.Timer(UNPACK_SECONDS, process.kill)
        patience.start()
        try:
            with tarfile.open(fileobj=process.stdout, mode="r|") as archive:
                for member in archive:
                    if member.isreg():
                        yield PurePosixPath(member.name), partial(_content, archive, member)
        except (tarfile.TarError, EOFError, OSError) as error:
            raise TargetError(f"{package.name} cannot be unpacked: {error}.", "Add the guest again.") from error
        finally:
            patience.cancel()
            process.kill()


def _content(archive: tarfile.TarFile, member: tarfile.TarInfo) -> bytes:
    file = archive.extractfile(member)
    if file is None or member.size > MAX_MEMBER:
        raise TargetError(f"{member.name} in the package is too large, or not a file.", "Report this package.")
    return file.read()
