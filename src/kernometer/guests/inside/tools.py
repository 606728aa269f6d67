"""The programs that some rows run in a guest; only the guests of these rows contain them.

Every guest has busybox; a compiler is megabytes of initramfs, and would change the counts of other rows. It is tcc from
the distribution's source, linked statically with musl, with musl to link with. Where a file system has no other files,
`tcc -o program program.c` makes a program that runs there, with `-static` or without. configure and make build it once,
in a temporary directory, without root rights.
"""

from __future__ import annotations

import platform
import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path

from kernometer.cache import cache_folder, kept, sha256
from kernometer.errors import MissingError, TargetError
from kernometer.guests import store
from kernometer.guests.architecture import X86_64
from kernometer.guests.inside import programs
from kernometer.guests.inside.programs import Provided
from kernometer.guests.packages import building, suites

BUSYBOX_STEP = "Debian, Ubuntu: apt-get install busybox-static."


def provide(needs: Iterable[str], guest: store.Guest | None = None) -> Provided:
    """The programs among `needs`, for `guest` or any guest of this host's architecture. The probe's arguments say why a
    program is missing: its rows are then unsupported, and the others are measured."""
    wanted = set(needs)
    if guest is not None and guest.architecture is not X86_64:
        lacking = wanted & {"tcc"} | (wanted & {"busybox"} if not guest.manifest.busybox_sha256 else set())
        reasons = (f"{name}=Guests of {guest.architecture.name} have no {name}." for name in sorted(lacking))
        return Provided(arguments=tuple(word for reason in reasons for word in ("--no-program", reason)))
    files: Mapping[str, bytes] = {}
    words: tuple[str, ...] = ()
    if "busybox" in wanted and not programs.busybox():
        words += ("--no-program", f"busybox=There is no static busybox on this host. {BUSYBOX_STEP}")
    if "tcc" in wanted:
        try:
            files = toolchain()
        except (MissingError, TargetError) as error:
            words += ("--no-program", f"tcc={error.text} {error.next_step}".rstrip())
    return Provided(files, words)


#: Directories of Debian's musl-dev on the host.
HEADERS = Path("/usr/include/x86_64-linux-musl")
LIBRARIES = Path("/usr/lib/x86_64-linux-musl")
#: The files that a guest needs; libpthread.a and others are empty in musl, but programs are linked with them by name.
LINKED = ("crt1.o", "crti.o", "crtn.o", "lib*.a")
#: musl's shared library is also its dynamic loader, which must be executable: in a guest only files in bin/ are.
SHARED = "libc.so"

#: tcc's directory in a guest. The library path begins with bin/, because of SHARED.
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
#: The new tcc compiles its library of helpers, and must not search the guest's directories then. The library lacks the
#: objects for bounds checking, which do not build with musl.
HELPERS = "libtcc1.a"
MAKE = (
    ("make", "tcc"),
    ("make", "-C", "lib", f"../{HELPERS}", f"XFLAGS=-B.. -I.. -nostdinc -I../../tcc/include -I{HEADERS}"),
)
#: The most seconds for the build, which takes 20 on two cores.
BUILD_SECONDS = 300.0

_NEXT_STEP = "Debian, Ubuntu: apt-get install gcc make musl-tools."


def toolchain() -> Mapping[str, bytes]:
    """The files by name in the guest's file system, some 4 MB; those below bin/ must be executable.

    The same compiler and the same packages give the same bytes. Raises MissingError if a program or the source is
    missing, TargetError if apt fails, BuildError (with the last output) if tcc does not build.
    """
    files = {f"usr/lib/{path.name}": path.read_bytes() for path in _linked()}
    files |= _tree(HEADERS, "usr/include")
    files[f"bin/{SHARED}"] = (LIBRARIES / SHARED).read_bytes()
    return files | _tree(_built(), "")


def _linked() -> list[Path]:
    """musl's objects and archives. Raises MissingError if musl, or a program that builds tcc, is not installed."""
    missing = [program for program in ("gcc", "make", "musl-gcc") if shutil.which(program) is None]
    linked = sorted(path for pattern in LINKED for path in LIBRARIES.glob(pattern))
    if missing or not linked or not (LIBRARIES / SHARED).is_file() or platform.machine() != "x86_64":
        what = " and ".join(missing) if missing else "musl for x86-64"
        raise MissingError(f"A guest's compiler cannot be made: there is no {what} here.", _NEXT_STEP)
    return linked


def _tree(folder: Path, name: str) -> dict[str, bytes]:
    """The files below `folder`, their names below `name`."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return {str(Path(name) / path.relative_to(folder)): path.read_bytes() for path in files}


def _built() -> Path:
    """The directory of tcc's own files, from the cache if this compiler and this musl made it."""
    libc = sha256((LIBRARIES / "libc.a").read_bytes())
    parts = (*programs.distribution(), programs.version("musl-gcc"), libc, CONFIGURE, MAKE)
    return kept(cache_folder() / "toolchains" / f"tcc-{sha256(repr(parts).encode())[:16]}", build)


def build(scratch: Path) -> Path:
    """A directory in `scratch` with tcc, its own library and headers, as in a guest. Raises what `toolchain` raises."""
    source = suites.source("tcc", scratch)
    objects = scratch / "objects"  # not in the source: there configure fails if the path contains a space
    objects.mkdir()
    building.run("tcc", (CONFIGURE, *MAKE), objects, BUILD_SECONDS, _NEXT_STEP)
    made = scratch / "made"
    own = made / OWN
    shutil.copytree(source / "include", own / "include", ignore=shutil.ignore_patterns("Makefile*"))
    shutil.copyfile(objects / HELPERS, own / HELPERS)
    (made / "bin").mkdir()
    shutil.copyfile(objects / "tcc", made / "bin" / "tcc")
    return made
