"""A user's own kernel as a guest: `guest add kernel FILE`, whatever kernel it is. docs/guests.md."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import msgspec

from kernometer.cache import sha256
from kernometer.errors import UsageError
from kernometer.guests import store
from kernometer.guests.architecture import Architecture
from kernometer.guests.emulator.qemu import Machine, standard
from kernometer.guests.kernels import bsd, drivers, elf, kernelfile, kernelpackage, linux, multiboot, symbols, trio
from kernometer.guests.kernels.kernelfile import KernelFile
from kernometer.guests.packages.suites import Say
from kernometer.guests.variant import Variant

Output = Literal["debug-port", "serial"]

#: The most bytes of a list of symbols, Linux's has some 5 MB, or of an ELF file with debugging information.
MAX_SYMBOLS = 1 << 30
_SYMBOL = re.compile(rb"[0-9a-f]{8,16} [A-Za-z?] [!-~]{1,4096}(?:\s+\[[\w-]+\])?")
#: The fewest functions of a Linux; the smallest that starts a process has some 10,000.
LEAST_FUNCTIONS = 1000
_PLAIN = Variant("guest")
#: The usual options of an ext2 image: MiB, and bytes of a block.
EXT2 = {"size": "16", "block": "1024"}
_MIB, _BLOCK = re.compile(r"[1-9]\d{0,2}"), re.compile("1024|2048|4096")
_PLACES = {"debug-port": "debug port", "serial": "serial line"}


@dataclass(frozen=True, slots=True)
class Root:
    """What the first process and the probe are on."""

    kind: Literal["initramfs", "ext2", "disk", "none"] = "initramfs"
    disk: Path | None = None  #: the user's image
    digest: str = ""  #: its
    holds: Callable[[KernelFile], bytes] | None = None  #: makes an image, or a copy of it, with init and probe in it
    mib: int = 0  #: of an ext2 image
    block: int = 0  #: bytes

    @classmethod
    def of(cls, word: str) -> Root:
        """By `initramfs`, `none`, `disk:FILE` or `ext2:size=MIB,block=BYTES`. Raises UsageError."""
        kind, _, rest = word.partition(":")
        if kind == "disk" and rest:
            return cls("disk", Path(rest))
        if word in ("initramfs", "none"):
            return cls("none" if word == "none" else "initramfs")
        given = EXT2 | dict(part.partition("=")[::2] for part in rest.split(",") if part)
        sizes = (_MIB.fullmatch(given["size"]), _BLOCK.fullmatch(given["block"]))
        if kind != "ext2" or given.keys() != EXT2.keys() or not all(sizes):
            raise UsageError(
                f"--root {word!r}: no such root.", "initramfs, none, disk:FILE, ext2, or ext2:size=16,block=1024."
            )
        return cls("ext2", mib=int(given["size"]), block=int(given["block"]))

    @property
    def is_made(self) -> bool:
        """Whether it is made for each job."""
        return self.kind in ("initramfs", "ext2")


@dataclass(frozen=True, slots=True, kw_only=True)
class Given:
    """What a user gives with the kernel's file."""

    machine: Variant = _PLAIN  #: with options of the machine alone
    append: str = ""  #: further words for the kernel, any that are printable
    architecture: Architecture | None = None  #: None: the file's
    modules: Sequence[str] = ()  #: multiboot's, each `FILE WORDS…`; none: the archive, if `root` is that
    drivers: Path | None = None  #: the directory of Linux's `make modules_install`, or of its build
    symbols: Path | None = None  #: the build's list of them, or the ELF file that has them
    init: Path | None = None  #: the first process; None: ours, but on a disk its own
    probe: Path | None = None  #: that is put in, or is in the root already; None: the one that is compiled here
    root: Root = Root()
    output: Output | None = None  #: None: the debug port, where there is one
    system: str = ""  #: the kernel's name and version in words; "": what the file says
    kind: str = ""  #: openbsd, freebsd: what it has to be; "": any
    layout: str = ""  #: where its data lie, if its build says so; "": what the file says


def add(
    name: str, kernel: Path, given: Given = Given(), say: Say = linux.silently, check: store.Check | None = None
) -> store.Guest:
    """Stores a copy of the kernel as the guest `name`, and tells `say` how it will boot and what is missing.

    Raises UsageError for a reserved name or for parts that do not fit, TargetError for a kernel that QEMU cannot start.
    """
    linux.check_name(name)
    content = linux.read_given(kernel, "the kernel")
    read = kernelfile.read(content, str(kernel), given.architecture)
    if given.kind and read.way != given.kind:
        raise UsageError(f"{kernel} is {read.what}, and no kernel of {bsd.NAMES[given.kind]}.", "guest add kernel FILE")
    loaded = _loaded(read, given) if read.way in bsd.NAMES else None
    if loaded is not None:
        root = replace(given.root, kind="disk") if loaded.on_drive else Root("none")
        given = replace(given, root=root, system=given.system or bsd.version_of(read.boots))
    identified, named = trio.identified(read.boots), {"version": given.system} if given.system else {}
    files: dict[str, bytes] = {store.KERNEL: read.boots} | ({store.PACKED: read.packed} if read.packed else {})
    for what, path in ((store.INIT, given.init), (store.OWN_PROBE, given.probe)):
        if path is not None and (given.root.is_made or what == store.OWN_PROBE):  # in a foreign root it has the names
            files[what] = linux.read_given(path, f"the {what}")
    if loaded is not None and loaded.drive is not None:
        files[store.ROOT] = loaded.drive
    elif given.root.kind == "disk" and given.root.holds is not None:
        files[store.ROOT] = given.root.holds(read)
    if given.symbols is not None:
        files[store.SYSTEM_MAP] = _symbols(given.symbols, LEAST_FUNCTIONS if read.release else 1)
    held: dict[str, bytes] = {}
    if given.drivers is not None:
        held, built_in = kernelpackage.read_installed(given.drivers, read.release)
        files |= drivers.files(held, built_in)
    modules, further = _modules(read, given)
    machine, words = _standard(read, linux_like=bool(read.release or identified))
    if loaded is not None:
        files, modules = files | loaded.files, loaded.modules
        given = replace(given, append=f"{given.append} {loaded.words}")  # of two values the first one counts
    remarks = [read.what[0].upper() + read.what[1:] + "."] if "CONFIG_PVH" in read.what else []
    if given.root.is_made and modules and not any(module.made for module in modules):
        taken = f"{store.INITRAMFS}, {store.PROBE} or {store.MACH}"
        remarks.append(f"None of its modules is {taken}: no program learns which rows are wanted.")
    manifest = store.Manifest(
        name=name,
        package=str(kernel.resolve()),
        version=read.release or "-",
        remarks=tuple(remarks),
        release=read.release,
        package_sha256=sha256(content),
        kernel_bytes=len(read.boots),
        drivers_sha256="" if given.drivers is None else drivers.digest(held),
        layout=given.layout or (elf.layout(read.boots) if identified or modules else ""),
        machine=given.machine.machine(machine),
        command_line=" ".join(filter(None, (words, *given.append.split()))),
        modules=modules,
        root=given.root.kind,
        root_mib=given.root.mib,
        root_block=given.root.block,
        disk=store.ROOT if store.ROOT in files else str(given.root.disk or ""),
        disk_sha256=sha256(files[store.ROOT]) if store.ROOT in files else given.root.digest,
        output=given.output or ("debug-port" if read.architecture.is_x86 and loaded is None else "serial"),
    )
    manifest = msgspec.structs.replace(manifest, **identified | named)
    _tell(say, manifest, read, files, in_memory=loaded is not None and loaded.has_root)
    return store.add(manifest, files | further, check)


def _standard(read: KernelFile, *, linux_like: bool) -> tuple[Machine, str]:
    """The machine and the command line where the user says nothing: Linux's for Linux and Trio; a PC for others, which
    may need its timer, its interrupt controller and its way to power off."""
    machine, words = standard(read.architecture)
    if read.architecture.is_x86 and (read.way == "multiboot" or not linux_like):
        machine = Machine(type="pc") if machine.type == "microvm" else machine
    return machine, words if linux_like and read.way != "multiboot" else ""


def _modules(read: KernelFile, given: Given) -> tuple[tuple[store.Module, ...], dict[str, bytes]]:
    """A multiboot kernel's modules and their files: those that the user names, else the archive, unless it needs none.
    Raises UsageError for a kernel that takes none."""
    multiboot.check_words(given.append)
    if read.way != "multiboot":
        if given.modules:
            raise UsageError(f"A kernel takes modules by multiboot, and this is {read.what}.", "Leave --module out.")
        return (), {}
    return multiboot.loaded(given.modules or ((store.INITRAMFS,) if given.root.is_made else ()))


def _loaded(read: KernelFile, given: Given) -> bsd.Loaded:
    """A BSD's kernel, with the root that the user gives. Raises UsageError without init and probe of its own."""
    root = given.root
    if root.holds is None and (root.kind == "ext2" or (root.kind == "initramfs" and (given.init or given.probe))):
        raise UsageError(
            "Our init and our probe are programs of Linux, and this is another system's kernel.",
            "Give both: --root ext2:size=3 --init FILE --probe FILE. Or --root disk:FILE, which has its own.",
        )

    def image() -> bytes | None:
        if root.holds is not None:
            return root.holds(read)
        return linux.read_given(root.disk, "the root", bsd.MAX_ROOT) if root.disk is not None else None

    return bsd.loaded(read.boots, image, drive=root.kind == "disk" and root.holds is None)


def _symbols(file: Path, least: int) -> bytes:
    """Raises UsageError unless it has so many functions, as an ELF file or as lines of address, letter and name."""
    content = linux.read_given(file, "the symbols", MAX_SYMBOLS)
    if content[:4] != elf.MAGIC:
        wrong = next((n for n, line in enumerate(content.splitlines(), 1) if not _SYMBOL.fullmatch(line)), 0)
        if wrong:
            raise UsageError(
                f"{file}, line {wrong}: not an address, a letter and a name.", "Give your build's System.map or ELF."
            )
    table = symbols.of_file(content)
    functions = len(table.names) if table else 0
    if functions < least:
        raise UsageError(
            f"{file} has too few functions for a kernel ({functions}): they would be charged with the code of others.",
            "Give your build's whole System.map, or its ELF file with symbols.",
        )
    return content


def _tell(say: Say, made: store.Manifest, read: KernelFile, files: dict[str, bytes], *, in_memory: bool) -> None:
    """How it will boot, and what is missing."""
    known = f", Linux {read.release}" if read.release else ""
    words = f"the words {made.command_line!r}" if made.command_line else "no words"
    say(f"{made.name}: {read.what}{known}; it boots on {made.machine.type} with {words}")
    if store.ROOT in files:
        how = f"{'a copy of the' if made.root_mib == 0 else 'a'} disk, with init and probe in it"
    elif made.root in ("none", "disk"):
        on = f"the disk {made.disk}" if made.disk else "its root in memory" if in_memory else "no archive"
        how = f"{on}: its own first process has to start 'probe --wait' (docs/guests.md)"
    else:
        inside = "the user's init" if store.INIT in files else "our init"
        what = "an archive" if made.root == "initramfs" else f"an ext2 image of {made.root_mib} MiB"
        how = f"{inside} and {'the given' if store.OWN_PROBE in files else 'our'} probe in {what}"
        if made.modules:
            names = ", ".join(" ".join(filter(None, (each.file, each.arguments))) for each in made.modules)
            archive = any(each.file == store.INITRAMFS for each in made.modules)
            how = f"{how}, by the modules {names}" if archive else f"the modules {names}"
    say(f"{made.name}: it gets {how}; the probe's lines come by the {_PLACES[made.output]}")
    if not read.release and symbols.of_file(files.get(store.SYSTEM_MAP, read.boots)) is None:
        say(f"{made.name}: a profile will have addresses and no names: --symbols FILE gives them")
