"""Builds a kernel module against the headers of a guest's own kernel, and gets modules of it that guests do not keep.
Debian's packages are fetched and unpacked without root rights; only the modules stay in the cache."""

from __future__ import annotations

import re
import shutil
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from kernometer.cache import cache_folder, kept, sha256
from kernometer.errors import BuildError, MissingError, TargetError, UsageError
from kernometer.guests import store
from kernometer.guests.inside import programs
from kernometer.guests.kernels import drivers, kernelpackage
from kernometer.guests.packages import building, suites
from kernometer.guests.packages.suites import Say

#: Seconds for a build, which takes three.
BUILD_SECONDS = 300
_UNPACK_SECONDS = 300
_IMAGE = "linux-image-"
#: The end of a release; 6.1.0-56-cloud-amd64 shares headers with 6.1.0-56-amd64.
_FLAVOUR = re.compile(r"(-[a-z]+)?-amd64$")
_CC = re.compile(r'^CONFIG_CC_VERSION_TEXT="(.*)"$', re.MULTILINE)


def modules(guest: store.Guest, source: Path, wanted: Sequence[str], say: Say) -> dict[str, bytes]:
    """The module built of the file `source`, and the guest's own modules `wanted` with their dependencies, by name.

    The first call for a guest and a source downloads some 85 MB. Raises UsageError for a kernel that is not from
    Debian's packages for amd64, MissingError for a missing program or package, BuildError if the module does not build.
    """
    made = guest.manifest
    if not made.package.startswith(_IMAGE) or not made.release:
        raise UsageError(
            f"{guest.name} is not a Linux from packages: there are no headers to build a module against.",
            "Use a guest of 'kernometer guest add linux 6.1'.",
        )
    if not _FLAVOUR.search(made.release):
        raise UsageError(
            f"{guest.name} is {made.release}: modules are built against Debian's headers for amd64 alone.",
            "Use a guest that was added on Debian: 'kernometer guest add linux 6.1'.",
        )
    key = sha256("\0".join((guest.image, *wanted, sha256(source.read_bytes()))).encode())
    folder = kept(cache_folder() / "modules" / key[:24], lambda scratch: _made(guest, source, wanted, scratch, say))
    return {file.stem: file.read_bytes() for file in sorted(folder.glob("*.ko"))}


def _made(guest: store.Guest, source: Path, wanted: Sequence[str], scratch: Path, say: Say) -> Path:
    programs.need(f"{source.stem} is a module of the guest's kernel", "make", "gcc")
    made = guest.manifest
    modules = scratch / "modules"
    modules.mkdir()
    (scratch / "packages").mkdir()
    headers = f"linux-headers-{made.release}"
    base = _FLAVOUR.sub("", made.release)
    names = (made.package, headers, f"linux-headers-{base}-common")
    image, *packages = suites.exactly(names, made.version, scratch / "packages", say)
    tools = re.compile(rf"linux-kbuild-({re.escape('.'.join(base.split('.')[:2]))}|{re.escape(base)})")
    kbuild = suites.newest_of(tools, "linux-kbuild-", scratch, say)
    if kbuild is None:
        raise MissingError(f"The package sources have no {tools.pattern}.", "Add the guest again.")
    for name, content in _own(guest, image, wanted).items():
        (modules / f"{name}.ko").write_bytes(content)
    built = _built(guest, source, headers, (*packages, kbuild.file), scratch, say)
    shutil.copy(built, modules)
    return modules


def _own(guest: store.Guest, image: Path, wanted: Sequence[str]) -> dict[str, bytes]:
    """The modules `wanted` and their dependencies, from the kernel's package."""
    seen: dict[str, bytes] = {}
    with closing(kernelpackage.files_of(image)) as files:
        for path, content in files:
            if (name := drivers.name_of(path.name)) and name.startswith("virtio"):
                seen[name] = drivers.uncompressed(path.name, content())
    built_in = (guest.folder / store.DRIVERS / drivers.BUILT_IN).read_text().split()
    order, missing = drivers.resolved(wanted, seen, frozenset(built_in))
    if missing:
        raise MissingError(f"The kernel of {guest.name} has no {', '.join(missing)}.", "Use a full flavour.")
    return {name: seen[name] for name in order}


def _built(guest: store.Guest, source: Path, headers: str, packages: Sequence[Path], scratch: Path, say: Say) -> Path:
    root, build = scratch / "root", scratch / "build"
    build.mkdir()
    unpacking = [("dpkg-deb", "-x", str(package), str(root)) for package in packages]
    building.run("The headers", unpacking, scratch, _UNPACK_SECONDS)
    makefile = root / "usr/src" / headers / "Makefile"
    if not makefile.is_file():
        raise TargetError(f"The package {headers} contains no Makefile.", "Report this package.")
    makefile.write_text(makefile.read_text().replace("/usr/src", str(root / "usr/src")))
    shutil.copy(source, build)
    (build / "Makefile").write_text(f"obj-m := {source.stem}.o\n")
    say(f"Building {source.stem} for {guest.manifest.release} …")
    make = ("make", "-C", str(makefile.parent), f"M={build}", f"CC={_compiler(guest, say)}", "modules")
    building.run(source.stem, [make], build, BUILD_SECONDS)
    built = build / f"{source.stem}.ko"
    brd = guest.folder / store.DRIVERS / "brd.ko"
    ours, its = (drivers.modinfo(each.read_bytes(), each.stem).vermagic for each in (built, brd))
    if ours != its:
        raise BuildError(f"{source.stem} is for the kernel {ours!r}, and the guest's modules for {its!r}.")
    return built


def _compiler(guest: store.Guest, say: Say) -> str:
    """The kernel's own compiler (gcc-12) if it is here, else gcc; tells the user if its version differs."""
    match = _CC.search((guest.folder / store.CONFIG).read_text(errors="replace"))
    wanted = match[1] if match else "unknown"
    named = wanted.split(" ", 1)[0]
    compiler = named if shutil.which(named) else "gcc"
    here = programs.version(compiler)
    if here.partition(" ")[2] != wanted.partition(" ")[2]:
        say(f"The kernel was built by {wanted}, and its module is built by {here}.")
    return compiler
