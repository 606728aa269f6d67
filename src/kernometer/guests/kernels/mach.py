"""GNU Mach as a guest: Debian's kernel, and as its boot task a program of ours that measures unit costs.

Nothing else runs on it: no Hurd, no C library. The program contains the list of `probe-trio`, with the names, numbers
and plans of its units, so that its figures and Trio's are rows of one registry.
"""

from __future__ import annotations

import re
from pathlib import Path

from kernometer import source_folder
from kernometer.cache import cache_folder, kept, sha256
from kernometer.errors import BuildError, MissingError
from kernometer.guests import store
from kernometer.guests.inside import programs
from kernometer.guests.kernels import elf, kernelfile, linux, multiboot, trio
from kernometer.guests.packages import building, suites
from kernometer.guests.packages.suites import Say
from kernometer.processes import called

NAME = "gnumach"
#: Its kernel with a debugger, which is another build and keeps its symbols: a profile has the names of its functions.
DEBUG = "dbg"

#: The boot script of the only task: the ports that the program needs, and what makes and starts a task. The job's words
#: follow.
SCRIPT = "${host-port} ${device-port} $(task-create) $(task-resume)"
COMMAND_LINE = "console=com0"
PROBE = "probe-mach"
BUILD_SECONDS = 120.0

_PACKAGE = "gnumach-image-"
_IMAGE = re.compile(r"gnumach-\d+\.\d+-amd64-up(-dbg)?\.gz")
#: FPU registers are not used: a task that uses them has to have them saved, which its figures would contain.
_FLAGS = (
    *("-O2", "-std=gnu11", "-ffreestanding", "-nostdlib", "-static", "-fno-pic", "-no-pie", "-mgeneral-regs-only"),
    *("-fno-stack-protector", "-fno-asynchronous-unwind-tables", "-fno-tree-loop-distribute-patterns"),
    *("-Wall", "-Wextra", "-Werror", "-Wl,--build-id=none", "-Wl,-z,noexecstack"),
)


def add(say: Say = linux.silently, *, debug: bool = False) -> store.Guest:
    """Stores the newest GNU Mach of the first suite that has one, of this release or a later one, as `gnumach`, or its
    build with a debugger as `gnumach-dbg`.

    Raises MissingError if no suite has one, TargetError if apt or the image fails.
    """
    name = f"{NAME}-{DEBUG}" if debug else NAME
    wanted = re.compile(rf"{_PACKAGE}\d+\.\d+-amd64-up{f'-{DEBUG}' if debug else ''}")
    with store.new_folder() as folder:
        downloaded = suites.newest_of(wanted, _PACKAGE, folder, say, later=True)
        if downloaded is None:
            raise MissingError("No suite of this system's mirrors has GNU Mach.", "Debian has it from trixie on.")
        packed = multiboot.image_of(downloaded.file, _IMAGE, "kernel")
    image = kernelfile.taking_modules(packed, downloaded.package.name)
    manifest = store.Manifest(
        name=name,
        package=downloaded.package.name,
        version=downloaded.package.version,
        suite=downloaded.suite,
        remarks=downloaded.remarks,
        release="",
        package_sha256=downloaded.package.sha256,
        layout=elf.layout(image),
        machine=multiboot.MACHINE,
        command_line=COMMAND_LINE,
        modules=(store.Module(file=store.MACH, arguments=SCRIPT),),
    )
    return store.add(manifest, {store.KERNEL: image})


def probe() -> Path:
    """The boot task, from the cache if it and the registry are unchanged. Raises MissingError or BuildError."""
    programs.need("GNU Mach's boot task is built here", "gcc")
    sources, engine = source_folder("probe") / "mach", source_folder("probe")
    units = sorted(sources.glob("*.c"))
    parts = (*units, *sorted(sources.glob("*.h")), engine / "marker.c", *sorted(engine.glob("*.h")))
    listing = _listing()
    digest = sha256(listing + "\n".join(f"{part.name} {sha256(part.read_bytes())}" for part in parts).encode())
    version = programs.version("gcc")

    def make(folder: Path) -> Path:
        (folder / "list.ndjson").write_bytes(listing)
        included = ("-I", str(engine), f"-Wa,-I,{folder}", f'-DKM_SOURCE_DIGEST="{digest}"')
        files = (*map(str, units), str(engine / "marker.c"))
        command = ("gcc", *_FLAGS, *included, "-o", str(folder / PROBE), *files)
        building.run("GNU Mach's boot task", (command,), sources, BUILD_SECONDS)
        return folder / PROBE

    key = sha256("\0".join((digest, *_FLAGS, version)).encode())
    return kept(cache_folder() / "mach" / f"{key[:24]}-{PROBE}", make)


def _listing() -> bytes:
    """The registry: a record of each unit per line, as `probe-trio` prints it on this host."""
    words = (str(trio.probe()), "--list", "--json", "--by", "path", "--profile", "full", "*")
    done = called(words, 60, failure=BuildError)
    if done.returncode != 0:
        raise BuildError("probe-trio does not list its units.", "", done.stderr[-2000:])
    return "".join(line for line in done.stdout.splitlines(keepends=True) if line.startswith("{")).encode()
