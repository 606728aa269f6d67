"""A C compiler for guests: tcc from the distribution's source, linked statically with musl, and musl to link with.

The result is complete: in a file system that holds nothing else, `tcc -o program program.c` makes a program that runs
there, with `-static` or without. Made once, by configure and make in a temporary folder, without root rights.
"""

from __future__ import annotations

import platform
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

from kernometer.cache import cache_folder, kept, sha256
from kernometer.errors import MissingError
from kernometer.guests import building, suites

#: Where Debian's musl-dev keeps musl on the host.
HEADERS = Path("/usr/include/x86_64-linux-musl")
LIBRARIES = Path("/usr/lib/x86_64-linux-musl")
#: What of it a guest needs; libpthread.a and its like are empty there, and asked for by name.
LINKED = ("crt1.o", "crti.o", "crtn.o", "lib*.a")
#: musl's shared library is its dynamic loader, too, and as such has to be executable: in a guest only bin/ is.
SHARED = "libc.so"

#: Where tcc looks for things in a guest. Its libraries' paths begin with bin/, for SHARED.
OWN = "usr/lib/tcc"
CONFIGURE = (
    "../tcc/configure",
    "--cpu=x86_64",
    "--cc=musl-gcc",
    "--config-musl",
    "--extra-cflags=-O2",
    "--extra-ldflags=-static",
    f"--tccdir=/{OWN}",
    f"--sysincludepaths=/{OWN}/include:/usr/include",
    "--libpaths=/bin:/usr/lib",
    "--crtprefix=/usr/lib",
    f"--elfinterp=/bin/{SHARED}",
)
#: The library of helpers is compiled by the new tcc, which must not look where it will look in a guest. Without the
#: objects for bounds checking: they do not build with musl.
HELPERS = "libtcc1.a"
MAKE = (
    ("make", "tcc"),
    ("make", "-C", "lib", f"../{HELPERS}", f"XFLAGS=-B.. -I.. -nostdinc -I../../tcc/include -I{HEADERS}"),
)
#: Seconds for all of it; 20 on two cores.
BUILD_SECONDS = 300.0

_NEXT_STEP = "Debian, Ubuntu: apt-get install gcc make musl-tools."


def toolchain() -> Mapping[str, bytes]:
    """Name in the guest's file system to content, some 4 MB; what lies below bin/ is to be executable.

    The same compiler and the same packages give the same bytes. Raises MissingError where a program or the source is
    not to be had, TargetError where apt fails, BuildError (with the last output) where tcc does not build.
    """
    found = {f"usr/lib/{path.name}": path.read_bytes() for path in _linked()}
    found |= _tree(HEADERS, "usr/include")
    found[f"bin/{SHARED}"] = (LIBRARIES / SHARED).read_bytes()
    return found | _tree(_built(), "")


def _linked() -> list[Path]:
    """musl's objects and archives. Raises MissingError where it, or what builds tcc, is not installed."""
    missing = [program for program in ("gcc", "make", "musl-gcc") if shutil.which(program) is None]
    found = sorted(path for pattern in LINKED for path in LIBRARIES.glob(pattern))
    if missing or not found or not (LIBRARIES / SHARED).is_file() or platform.machine() != "x86_64":
        what = " and ".join(missing) if missing else "musl for x86-64"
        raise MissingError(f"A guest's compiler cannot be made: there is no {what} here.", _NEXT_STEP)
    return found


def _tree(folder: Path, name: str) -> dict[str, bytes]:
    """The files below `folder`, their names below `name`."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return {str(Path(name) / path.relative_to(folder)): path.read_bytes() for path in files}


def _built() -> Path:
    """The folder of what tcc itself consists of, from the cache where it was made by this compiler with this musl."""
    parts = (*_versions(), sha256((LIBRARIES / "libc.a").read_bytes()), CONFIGURE, MAKE)
    return kept(cache_folder() / "toolchains" / f"tcc-{sha256(repr(parts).encode())[:16]}", build)


def _versions() -> tuple[str, ...]:
    """The distribution's, whose release has one version of the source: apt need not be asked; and the compiler's."""
    try:
        release = platform.freedesktop_os_release()
    except OSError:
        release = {}
    done = subprocess.run(("musl-gcc", "--version"), capture_output=True, text=True, timeout=60, check=False)
    return release.get("ID", ""), release.get("VERSION_ID", ""), done.stdout.partition("\n")[0]


def build(scratch: Path) -> Path:
    """A folder in `scratch` that holds tcc and its own library and headers, where they belong in a guest.

    Raises as `toolchain` does.
    """
    source = suites.source("tcc", scratch)
    objects = scratch / "objects"  # beside the source: in its own folder, configure breaks at a space in the path
    objects.mkdir()
    building.run("tcc", (CONFIGURE, *MAKE), objects, BUILD_SECONDS, _NEXT_STEP)
    made = scratch / "made"
    own = made / OWN
    shutil.copytree(source / "include", own / "include", ignore=shutil.ignore_patterns("Makefile*"))
    shutil.copyfile(objects / HELPERS, own / HELPERS)
    (made / "bin").mkdir()
    shutil.copyfile(objects / "tcc", made / "bin" / "tcc")
    return made
