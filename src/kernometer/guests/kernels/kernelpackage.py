"""The contents of one kernel's Debian packages: the packed image, its configuration, the modules for a guest; and the
modules of one's own kernel, as `make modules_install` leaves them.

Packages are read from their archives: of 400 MB of modules only those that may be needed, without writing to the disk.
A kernel is one package, or several (Ubuntu; Debian since 7.2).
"""

from __future__ import annotations

import subprocess
import tarfile
import threading
from collections.abc import Callable, Container, Generator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path, PurePosixPath

from kernometer.errors import TargetError, UsageError
from kernometer.guests.kernels import drivers

#: Each file's path, and a function for its content.
Files = Generator[tuple[PurePosixPath, Callable[[], bytes]], None, None]

#: Limits the packed kernel and its configuration: an archive may be hostile.
MAX_MEMBER = 256 << 20
#: The most bytes of one kernel's modules in memory.
MAX_KEPT = 1 << 30
UNPACK_SECONDS = 300
#: A tree has it, and no installed directory.
_OF_A_BUILD = "include/config/kernel.release"
_INSTALL = "make modules_install INSTALL_MOD_PATH=DIR, then --modules DIR."

#: Directories of drivers.KEPT's dependencies, for the first pass, after which a second one is seldom needed.
_LIKELY = (
    *("arch/x86/crypto/", "arch/x86/lib/", "crypto/", "lib/"),
    *("drivers/block/brd.", "drivers/gpu/drm/drm", "drivers/gpu/drm/tiny/", "drivers/gpu/drm/ttm/"),
    *("drivers/i2c/algos/", "drivers/i2c/i2c-core.", "fs/ext4/", "fs/jbd2/", "fs/mbcache.", "fs/minix/"),
)


@dataclass(slots=True)
class Contents:
    """`drivers` has the modules of drivers.KEPT and their dependencies, by name, uncompressed."""

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
    kept = _needed(seen, [partial(files_of, package) for package in packages])
    if len(seen.images) != 1:
        raise TargetError(f"{packages[0].name} contains {len(seen.images)} kernels.", "Report this package.")
    ((release, image),) = seen.images.items()
    return Contents(release, image, seen.config, kept, seen.built_in)


def read_installed(folder: Path, release: str) -> tuple[dict[str, bytes], frozenset[str]]:
    """The modules of drivers.KEPT and their dependencies, and the names of built-in ones, from `folder`, which is
    lib/modules/RELEASE, contains it (INSTALL_MOD_PATH), or is the tree that built them.

    Raises UsageError without modules of the kernel `release` ("": not known), TargetError if they are damaged.
    """
    seen = _Seen()
    try:
        built = (folder / _OF_A_BUILD).is_file()
        source = partial(_built, folder, release) if built else partial(_files_below, _installed(folder, release))
        return _needed(seen, [source]), seen.built_in
    except OSError as error:
        raise UsageError(f"{error.filename}: {error.strerror}.", _INSTALL) from error


def _first(name: str, path: PurePosixPath) -> bool:
    """Whether the first pass reads a module: dependencies are not known yet, and some are by an alias (crc32c)."""
    return path.as_posix().partition("/kernel/")[2].startswith(_LIKELY) or name in drivers.KEPT


def _installed(folder: Path, release: str) -> Path:
    if (folder / "modules.builtin").is_file():
        places = [folder.resolve()]
    else:
        places = [file.parent for file in sorted(folder.glob("lib/modules/*/modules.builtin"))]
    fitting = [place for place in places if release in ("", place.name)]
    if len(fitting) != 1:
        there = ", ".join(place.name for place in places) or "no modules"
        raise UsageError(f"{folder} has {there}, and the kernel is {release or 'of an unknown release'}.", _INSTALL)
    return fitting[0]


def _needed(seen: _Seen, sources: Sequence[Callable[[], Files]]) -> dict[str, bytes]:
    """The modules to be kept, after as many passes over the sources as their dependencies need."""
    further: set[str] | None = None
    while True:
        for source in sources:
            _look(source(), seen, further)
        order, missing = drivers.resolved(drivers.KEPT, seen.modules, seen.built_in)
        further = {name for name in missing if name in seen.there and name not in seen.modules}
        if not further:
            return {name: seen.modules[name] for name in order}


def _look(source: Files, seen: _Seen, wanted: Container[str] | None) -> None:
    """One pass over a source's files. It reads the modules `wanted`; None: those of the first pass."""
    with closing(source) as files:
        for path, content in files:
            release, kind = _kind(path)
            if kind in ("vmlinuz", "vmlinux"):
                seen.images[release] = content()
            elif kind == "config":
                seen.config = content()
            elif kind == "modules.builtin":
                names = (drivers.name_of(line) for line in content().decode(errors="replace").splitlines())
                seen.built_in = frozenset(name for name in names if name)
            elif name := drivers.name_of(kind):
                seen.there.add(name)
                if name not in seen.modules and (_first(name, path) if wanted is None else name in wanted):
                    seen.modules[name] = drivers.uncompressed(kind, content())
                    seen.kept_bytes += len(seen.modules[name])
            if seen.kept_bytes > MAX_KEPT:
                raise TargetError(f"The needed modules have more than {MAX_KEPT >> 20} MiB.", "Report this kernel.")


def _kind(path: PurePosixPath) -> tuple[str, str]:
    """(release, file's name) of boot/vmlinuz-RELEASE, vmlinux-RELEASE on riscv64, [usr/]lib/modules/RELEASE/**/NAME;
    ("", "") of other paths."""
    parts = path.parts[1:] if path.parts[:1] == ("usr",) else path.parts
    if parts[:1] == ("boot",) and len(parts) == 2:
        name, _, release = parts[1].partition("-")
        return release, name
    if parts[:2] == ("lib", "modules") and len(parts) > 3:
        return parts[2], parts[-1]
    return "", ""


def _files_below(place: Path) -> Files:
    """As files_of, of an installed directory. Links are not followed, for `build` leads to the sources."""
    for file in sorted(place.rglob("*")):
        if file.is_file():
            yield PurePosixPath("lib/modules", place.name, file.relative_to(place)), partial(_file, file)


def _built(tree: Path, release: str) -> Files:
    """As files_of, of what `make` built: modules.order lists the modules, also those that are not built (yet)."""
    place, order = PurePosixPath("lib/modules", release), tree / "modules.order"
    yield place / "modules.builtin", partial(_file, tree / "modules.builtin")
    for line in order.read_text(errors="replace").splitlines() if order.is_file() else ():
        name = PurePosixPath(line.removeprefix("kernel/")).with_suffix(".ko")
        if (tree / name).is_file():
            yield place / "kernel" / name, partial(_file, tree / name)


def _file(file: Path) -> bytes:
    if file.stat().st_size > drivers.MAX_DRIVER:
        raise TargetError(f"{file} is too large for a kernel module.")
    return file.read_bytes()


def files_of(package: Path) -> Files:
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
