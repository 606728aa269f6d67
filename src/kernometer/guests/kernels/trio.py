"""Trio, the project's own small kernel, with one guest for each structure (`trio-mono`, `trio-micro+together=vfs,fs`);
and `probe-trio`, which measures the unit costs that only Trio has.

make, gcc and ld build both from sources that come with Kernometer, and the kernel's network from the distribution's
lwIP; the same compiler and the same sources give the same bytes, in any directory. The cache keeps the files under a
digest of what they are made of.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
import tomllib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from kernometer import source_folder
from kernometer.cache import cache_folder, kept, sha256
from kernometer.errors import BuildError, MissingError, TargetError, UsageError
from kernometer.guests import store
from kernometer.guests.inside import programs
from kernometer.guests.kernels import elf, linux
from kernometer.guests.packages import building, suites
from kernometer.guests.packages.suites import Say

#: The named ways to combine the services; each is a guest `trio-STRUCTURE`.
STRUCTURES = ("mono", "hybrid", "micro", "one-server")
#: A structure with changes: services in one protection domain, or each in a process; switches of the experiment.
_STRUCTURE = re.compile(
    r"(?P<name>[a-z-]+)(?:\+(?:(?:together|apart)=[a-z_]+(?:,[a-z_]+)*|with=[a-z-]+(?:,[a-z-]+)*))*"
)
#: Those of drivers.KEPT that are in the kernel: a memory disk of disks.SIZE, its file system, the emulated display.
BUILT_IN = ("bochs", "brd", "minix")
#: The program for the unit costs: its file, and its directory in the sources of the user programs.
PROBE = "probe-trio"
_NEEDS = "Trio is built here"
#: The interface of the service that makes pages present, which all others may ask for one (tools/idl_parse.py).
_PAGER = "vm"
#: The most seconds for a build, which takes some ten on one core.
BUILD_SECONDS = 300.0
#: The kernel's sources; the rest of the directory is text, tests, and programs for the guest.
_PARTS = ("Makefile", "config", "drivers", "interfaces", "kernel", "seam", "services", "tools")
#: The line in the kernel that identifies it: release, structure, switches.
_BUILD_LINE = re.compile(rb"Trio ([\w.-]{1,40}) structure=([\w+=,-]{1,400})([\x20-\x7e]{0,200})\0")


def add(structure: str, say: Say = linux.silently) -> store.Guest:
    """Builds and stores `trio-STRUCTURE`; one of that name is replaced, its variants stay listed.

    Raises UsageError for an unknown structure, MissingError without a compiler, BuildError with its messages, or with
    the reason why these services cannot be so divided.
    """
    check(structure)
    kernel = built(structure, say).read_bytes()
    manifest = store.Manifest(
        name=f"trio-{structure}",
        package="trio",
        package_sha256=_digest(source_folder("trio")),
        layout=elf.layout(kernel),
        **identified(kernel),
    )
    return store.add(manifest, {store.KERNEL: kernel})


def identified(kernel: bytes) -> dict[str, Any]:
    """What a manifest has of a Trio, wherever it was built; nothing of another kernel."""
    line = _BUILD_LINE.search(kernel)
    if line is None:
        return {}
    release = line[1].decode()
    version, structure = f"{release}{line[3].decode()}", line[2].decode()
    return {"version": version, "release": f"{release}-{structure}", "built_in": BUILT_IN}


def check(structure: str) -> None:
    """Raises UsageError for an unknown structure. The build finds out whether there are such services."""
    match = _STRUCTURE.fullmatch(structure)
    if match is None or match["name"] not in STRUCTURES:
        there = f"There are {', '.join(STRUCTURES)}; with changes, for example micro+together=vfs,fs or mono+apart=fs."
        raise UsageError(f"Trio has no structure {structure!r}.", there)


def current() -> frozenset[str]:
    """The structures whose stored guests are of these sources."""
    digest = _digest(source_folder("trio"))
    guests = (guest for guest in store.listed() if is_trio(guest) and guest.manifest.package_sha256 == digest)
    return frozenset(guest.name.removeprefix("trio-") for guest in guests)


def calls() -> dict[str, tuple[str, ...]]:
    """Each service, from above, with those that it may call or ask for a page: config/services.toml. A service without
    a boundary (rs), which calls nobody and is neither called nor asked, is left out."""
    services = _config("services")

    def is_below(other: dict[str, Any], service: dict[str, Any]) -> bool:
        """If a provider calls its own interface, it calls all other providers of it (tools/idl_parse.py)."""
        provided = other["provides"]
        is_before = provided == service["provides"] and provided in other["calls"]
        return (provided in service["calls"] and not is_before) or provided == _PAGER != service["provides"]

    return {
        name: tuple(each for each, other in services.items() if is_below(other, service))
        for name, service in services.items()
        if service["calls"] or any(service["provides"] in (*other["calls"], _PAGER) for other in services.values())
    }


def switches(structure: str) -> tuple[str, ...]:
    """The switches that change something in a structure and are decisions of its design: config/switches.toml."""
    where = _config("switches")
    places = {"mono": {"all"}, "hybrid": {"all", "messages"}}.get(structure, {"all", "messages", "processes"})
    return tuple(switch for switch, place in where.items() if place in places)


def _config(name: str) -> dict[str, Any]:
    return tomllib.loads((source_folder("trio") / "config" / f"{name}.toml").read_text())


def is_trio(guest: store.Guest) -> bool:
    """Whether it is one of Trio's: linux.check_name reserves these names."""
    return guest.name.partition("-")[0] == "trio"


def built(structure: str, say: Say = linux.silently) -> Path:
    """The kernel, an ELF file, from the cache if this compiler built these sources. Raises what `add` raises."""
    programs.need(_NEEDS, "gcc", "ld", "objcopy", "make")
    sources = source_folder("trio")
    name = file_name(structure)

    def kernel(network: Path | None) -> Path:
        def make(folder: Path) -> None:
            say(f"trio-{structure}: compiling …")
            if "with=" not in structure:  # switches change services too
                shutil.copytree(_services(network), folder)
            build(sources, folder, structure, network)

        return _kept(name, (_digest(sources), structure, _name(network), *map(programs.version, ("gcc", "ld"))), make)

    return _with_what_builds(kernel, say)


def _with_what_builds(make: Callable[[Path | None], Path], say: Say) -> Path:
    """What `make` makes with lwIP's sources, the only ones that are not Trio's own; without them if they are missing or
    do not build, as `say` tells."""
    network = lwip_sources(say)
    try:
        return make(network)
    except BuildError as error:
        if network is None:
            raise
        made = make(None)  # if this fails too, the network is not the cause
        say(f"trio: without network, since it does not build with lwIP: {error.text}")
        return made


def _name(network: Path | None) -> str:
    """The distribution of lwIP's sources, for a digest."""
    return "" if network is None else network.name


def objects(say: Say = linux.silently) -> dict[str, Path]:
    """The object of each service, the same in all structures. Raises what `add` raises."""
    programs.need(_NEEDS, "gcc", "ld", "objcopy", "make")
    table = _config("services")
    made = _with_what_builds(_services, say)
    return {name: made / "any" / f"{service['sources']}.o" for name, service in table.items()}


def _services(network: Path | None) -> Path:
    """A folder of `build` with the services' objects, from which the kernel of any structure can be built."""
    sources = source_folder("trio")

    def make(folder: Path) -> Path:
        _make(sources, folder / "build", *_words("mono", network), "services")
        return folder / "build"

    made_of = (_digest(sources), "services", _name(network), *map(programs.version, ("gcc", "ld")))
    return kept(cache_folder() / "trio" / sha256("\0".join(made_of).encode())[:24], make)


def is_driver(service: str) -> bool:
    """Whether its sources are a driver's, by config/services.toml."""
    return str(_config("services")[service]["sources"]).startswith("drivers/")


def probe() -> Path:
    """`probe-trio`, static, from the cache if the probe's engine and the units are unchanged. Raises what `add` raises.
    Compiler and flags are those of the guests' probe, so that figures of both are comparable."""
    compiler, *flags = programs.static_compiler()
    programs.need(_NEEDS, "make")
    engine, user = source_folder("probe"), source_folder("trio") / "user"
    parts = (user / "Makefile", *sorted(engine.glob("*.[ch]")), *sorted((user / PROBE).glob("*.[ch]")))
    digest = sha256("\n".join(f"{part.name} {sha256(part.read_bytes())}" for part in parts).encode())
    values = (f"CC={compiler}", f"CFLAGS={' '.join(flag for flag in flags if flag != '-static')}", f"PROBE={engine}")

    def make(folder: Path) -> None:
        _make(user, folder, "WERROR=", *values, str(folder / PROBE))

    return _kept(PROBE, (digest, *values[:2], *map(programs.version, (compiler, "ld"))), make)


def file_name(structure: str) -> str:
    """The kernel's name in the build's folder."""
    return f"trio-{re.sub('[+=,]', '-', structure)}.elf"


def build(sources: Path, folder: Path, structure: str, network: Path | None = None) -> None:
    """Compiles the kernel into `folder`, with a network from lwIP's sources in `network`; None: without. Writes nothing
    to the sources; a compiler's warning is no error. Raises BuildError."""
    _make(sources, folder, *_words(structure, network))


def _words(structure: str, network: Path | None) -> tuple[str, ...]:
    return (f"STRUCTURE={structure}", f"PYTHON={sys.executable}", "WERROR=", *make_words(network))


def _kept(name: str, made_of: Sequence[str], make: Callable[[Path], None]) -> Path:
    """The file `name`, from the cache, or from the directory that `make` fills, which may contain more."""

    def folder_of_it(scratch: Path) -> Path:
        make(scratch / "objects")
        ready = scratch / "ready"
        ready.mkdir()
        shutil.copy(scratch / "objects" / name, ready / name)
        return ready

    return kept(cache_folder() / "trio" / sha256("\0".join(made_of).encode())[:24], folder_of_it) / name


def _make(sources: Path, folder: Path, *values: str) -> None:
    """Runs make, with its output in `folder`. Raises BuildError."""
    words = ("make", f"-j{os.cpu_count() or 1}", f"BUILD={folder}", *values)
    building.run("Trio", (words,), sources, BUILD_SECONDS)


def _digest(sources: Path) -> str:
    """The digest of names and contents of the kernel's sources."""
    files = sorted(path.relative_to(sources) for path in sources.rglob("*") if path.is_file())
    wanted = [file for file in files if file.parts[0] in _PARTS and "__pycache__" not in file.parts]
    return sha256("\n".join(f"{file} {sha256((sources / file).read_bytes())}" for file in wanted).encode())


#: The parts of lwIP for Trio's network: its C, and its licence. The distribution's source package is fetched once;
#: nothing of it is part of Kernometer.
LWIP_PARTS = ("src", "COPYING")


def lwip_sources(say: Say) -> Path | None:
    """The folder of lwIP's sources; None if they cannot be got, and `say` tells why."""
    name = "-".join(programs.distribution())
    try:
        return kept(cache_folder() / "lwip" / name, _fetched)
    except (MissingError, TargetError) as error:
        say(f"trio: without network, since lwIP's sources cannot be got: {error}")
        return None


def make_words(network: Path | None) -> tuple[str, ...]:
    """For Trio's make: with these sources of lwIP, or without a network."""
    return () if network is None else (f"LWIP={network}",)


def _fetched(scratch: Path) -> Path:
    """A folder in `scratch` with the parts. Raises MissingError, TargetError."""
    source, ready = suites.source("lwip", scratch), scratch / "ready"
    if not (source / "src" / "core" / "tcp.c").is_file():
        raise TargetError("The source package lwip has no src/core/tcp.c.", "Report this package.")
    ready.mkdir()
    for part in LWIP_PARTS:
        shutil.move(source / part, ready / part)
    return ready
