"""`kernometer guest add`: from packages, from any kernel's file, from a disk, Xen, or Trio."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from stat import S_IFCHR, S_IFREG, S_ISCHR
from typing import Any

from kernometer.cli.commands.guests import MINE
from kernometer.cli.env import Env
from kernometer.errors import UsageError
from kernometer.guests import store, variant
from kernometer.guests.architecture import of_name
from kernometer.guests.images import initramfs, roots
from kernometer.guests.images.initramfs import Entry
from kernometer.guests.inside import programs
from kernometer.guests.kernels import bsd, linux, mach, own, tree, trio, xen
from kernometer.guests.kernels.kernelfile import KernelFile
from kernometer.guests.store import Guest
from kernometer.guests.variant import Variant
from kernometer.targets import booting, build
from kernometer.targets.consoles import description, images
from kernometer.targets.consoles import saving as at_console
from kernometer.targets.qemu import QemuTarget

#: The word for our init in place of a file's path.
OURS = Path("ours")
#: The most bytes of a disk that is copied.
MAX_DISK = 4 << 30
#: Of a file: what every file system has in one piece.
_FRAGMENT = 512


@dataclass(frozen=True, slots=True)
class Wanted:
    """The words and options of one call."""

    system: str
    versions: tuple[str, ...]
    tree: Path | None
    kernel: Path | None  #: of a BSD, for which there is a description too
    name: str  #: of a guest from a file; "" by default
    arch: str | None
    drivers: Path | None
    symbols: Path | None
    modules: tuple[str, ...]
    init: Path | None
    probe: Path | None
    root: str
    label: str
    append: str
    machine: str | None
    memory: int | None
    cpu: str | None
    devices: tuple[str, ...]
    output: own.Output | None
    dom0: str | None

    @property
    def from_file(self) -> bool:
        """Whether it is a kernel that the user built."""
        return self.system == "kernel" or self.tree is not None

    @property
    def words(self) -> tuple[str, ...]:
        """The options of a variant, as in its name."""
        given = (("machine", self.machine), ("cpu", self.cpu), ("memory", self.memory))
        devices = (("device", each) for each in self.devices)
        return (*self.append.split(), *(f"{key}={value}" for key, value in (*given, *devices) if value is not None))

    def check(self) -> None:
        """Raises UsageError for an option that does not apply here."""
        for given, name in (
            (self.arch, "arch"),
            (self.drivers, "modules"),
            (self.symbols, "symbols"),
            (self.modules, "module"),
            (self.init, "init"),
            (self.probe, "probe"),
            (self.root != "initramfs", "root"),
            (self.label, "as"),
            (self.output, "output"),
        ):
            if given and not self.from_file:
                raise UsageError(f"--{name} is for a kernel from a file.", "kernometer guest add kernel FILE")
        xen = self.system == "xen"
        for given, name, applies, reason in (
            (self.tree, "tree", self.system == "linux", "for linux"),
            (self.name, "name", self.from_file or self.system not in SYSTEMS, "for a kernel or a disk from a file"),
            (self.dom0, "dom0", xen, "for xen"),
            (self.words, "append", not xen, "not for xen, whose recipe is fixed"),
        ):
            if given and not applies:
                raise UsageError(f"--{name} is {reason}.", "See 'kernometer guest add --help'.")

    def variant(self, guest: str) -> Variant:
        """The variant of these options. Raises UsageError for an argument that is not an option."""
        for word in self.words:
            if "+" in word:
                raise UsageError(f"{word!r} cannot be an option: a variant's name joins its options by +.")
        return variant.parse("+".join((guest, *self.words)))


def add(env: Env, /, **given: Any) -> None:
    wanted = Wanted(**given)
    if wanted.kernel is not None:
        if wanted.system not in bsd.NAMES or wanted.versions:
            raise UsageError("--kernel is for openbsd and freebsd.", "kernometer guest add openbsd --kernel bsd.rd")
        _add_own(env, replace(wanted, system="kernel", name=wanted.name or wanted.system), wanted.kernel, wanted.system)
        return
    if wanted.system in description.shipped() or wanted.system.endswith(".toml"):
        _at_console(env, wanted)
        return
    if wanted.system not in SYSTEMS:
        raise UsageError(
            f"There is no system {wanted.system!r} to add.",
            "linux, xen and gnumach come from packages, trio from its sources, kernel from any kernel's file; "
            f"{', '.join(description.shipped())}, or a description's .toml file, from a disk's image.",
        )
    if not wanted.from_file:  # its words need not be a variant's
        wanted.variant("guest")
    wanted.check()
    SYSTEMS[wanted.system](env, wanted)


def _linux(env: Env, wanted: Wanted) -> None:
    if wanted.tree is None:
        _from_packages(env, wanted)
        return
    if wanted.versions:
        raise UsageError("A tree has the version that it was built from.", f"Leave {wanted.versions[0]} out.")
    built = tree.read(wanted.tree)
    given = replace(wanted, symbols=wanted.symbols or built.symbols, drivers=wanted.drivers or built.modules)
    _add_own(env, given, built.kernel, layout=built.layout, checked=wanted.symbols is None)


def _from_packages(env: Env, wanted: Wanted) -> None:
    for each in wanted.versions:
        linux.check_version(each)
    for version in wanted.versions or (None,):
        name = linux.name_of(version)
        if not (wanted.words and any(guest.name == name for guest in store.listed())):
            what = f"the newest Linux {version}" if version else "the Linux that this release installs"
            env.say(f"{name}: looking for {what} …")
            _say_added(env, linux.add(version, env.say))
        _list_variant(env, wanted, name)


def _kernel(env: Env, wanted: Wanted) -> None:
    if len(wanted.versions) != 1:
        raise UsageError("A kernel is added from one file.", "For example guest add kernel arch/x86/boot/bzImage")
    _add_own(env, wanted, Path(wanted.versions[0]))


def _add_own(
    env: Env, wanted: Wanted, kernel: Path, kind: str = "", *, layout: str = "", checked: bool = False
) -> None:
    """`kind`: see own.Given. `checked`: its symbols are known to be this kernel's."""
    given = own.Given(
        machine=replace(wanted, append="").variant("guest"),
        append=wanted.append,
        architecture=of_name(wanted.arch) if wanted.arch else None,
        modules=wanted.modules,
        drivers=wanted.drivers,
        symbols=wanted.symbols,
        init=None if wanted.init == OURS else wanted.init,
        probe=wanted.probe,
        root=_root(wanted),
        output=wanted.output,
        system=wanted.label,
        kind=kind,
        layout=layout,
    )
    check = (lambda guest: _map_checked(env, guest)) if wanted.symbols and not checked else None
    guest = own.add(wanted.name or MINE, kernel, given, env.say, check)
    _say_added(env, guest)
    for remark in guest.manifest.remarks:
        env.say(f"{guest.name}: {remark}")


def _root(wanted: Wanted) -> own.Root:
    """A disk is not written to: with --init it is a copy that holds what that names, and the probe; without, the probe
    is in it already. An ext2 image is made for each job, but in a BSD's memory, which gets this one."""
    root = own.Root.of(wanted.root)

    def holds_bsd(_: KernelFile) -> bytes:
        init, probe = (linux.read_given(path, "a program") for path in (wanted.init, wanted.probe) if path)
        entries = initramfs.entries(init, probe, extra={programs.COMMAND: programs.encoded(booting.WAIT)})
        nodes = (Entry(name, S_IFCHR | mode, device=at) for name, mode, at in bsd.NODES)
        return roots.ext2([*(each for each in entries if not S_ISCHR(each.mode)), *nodes], root.mib, root.block)

    if root.disk is None:
        both = root.kind == "ext2" and wanted.init not in (None, OURS) and wanted.probe
        return replace(root, holds=holds_bsd if both else None)
    image = images.image(root.disk)

    def holds(kernel: KernelFile) -> bytes:
        content = linux.read_given(image.path, "the disk", MAX_DISK)
        init = programs.init(kernel.architecture, stranger=not kernel.release) if wanted.init == OURS else wanted.init
        probe = wanted.probe or build.static_probe(kernel.architecture)
        files = {
            name: linux.read_given(path, name) for name, path in (("init", init), (initramfs.PROBE, probe)) if path
        }
        command = Entry(programs.COMMAND, S_IFREG | 0o644, programs.encoded(booting.WAIT))
        files[roots.INIT] = files["init"]
        put = [*(Entry(name, S_IFREG | 0o755, data) for name, data in files.items()), command]
        return roots.holding(content, put, str(root.disk))

    if wanted.probe and not wanted.init:
        begin = linux.read_given(wanted.probe, "the probe")[:_FRAGMENT]
        if begin not in linux.read_given(image.path, "the disk", MAX_DISK):
            raise UsageError(f"{root.disk} is not changed, and the probe is not in it.", "Put it in, or add --init.")
    return replace(root, disk=image.path, digest=image.digest, holds=holds if wanted.init else None)


def _map_checked(env: Env, guest: Guest) -> tuple[str, ...]:
    """Only a Linux lists its functions itself."""
    if not guest.manifest.release or guest.manifest.built_in or not guest.has_init:
        return ()
    env.say(f"{guest.name}: booting it, to check its symbols against what the kernel lists itself …")
    why = QemuTarget.of_guest(guest, variant.parse(guest.name)).unchecked_map()
    return (f"Its symbols could not be checked: {why}.",) if why else ()


def _at_console(env: Env, wanted: Wanted) -> None:
    """A system on a disk. It boots once now, since a saved one is needed for every row."""
    wanted.check()
    if len(wanted.versions) != 1:
        raise UsageError(
            "A described system is added with the image of its disk.", "For example guest add freebsd disk.img"
        )
    guest = at_console.add(wanted.name, wanted.system, wanted.versions[0], wanted.variant("guest"))
    _say_added(env, guest)
    env.say(f"{guest.name}: booting it, to save it where a probe waits, unless this image is saved …")
    QemuTarget.of_guest(guest, variant.parse(guest.name)).save()
    env.print(f"{guest.name}: saved; measure it: kernometer run --by path --on qemu:{guest.name}")


def _xen(env: Env, wanted: Wanted) -> None:
    if wanted.versions:
        raise UsageError("xen takes no version: it is the one of this release.", "kernometer guest add xen")
    _say_added(env, xen.add(wanted.dom0 or xen.DOM0, env.say))


def _trio(env: Env, wanted: Wanted) -> None:
    for structure in wanted.versions:
        trio.check(structure)
    for structure in wanted.versions or trio.STRUCTURES:
        guest = trio.add(structure, env.say)
        _say_added(env, guest)
        _list_variant(env, wanted, guest.name)


def _gnumach(env: Env, wanted: Wanted) -> None:
    for each in wanted.versions:
        if each != mach.DEBUG:
            raise UsageError(f"There is no gnumach {each!r}.", f"Without a word, or {mach.DEBUG}: with symbols.")
    for debug in dict.fromkeys(each == mach.DEBUG for each in wanted.versions or ("",)):
        guest = mach.add(env.say, debug=debug)
        _say_added(env, guest)
        _list_variant(env, wanted, guest.name)


def _list_variant(env: Env, wanted: Wanted, guest: str) -> None:
    if wanted.words:
        named = wanted.variant(guest)
        linux.record(named)
        env.print(f"{named.name}: a variant of {guest}")


def _say_added(env: Env, guest: Guest) -> None:
    made = guest.manifest
    where = f" ({made.suite})" if made.suite else ""
    env.print(f"{guest.name}: {made.package} {made.version}{where}")


SYSTEMS = {"linux": _linux, "kernel": _kernel, "xen": _xen, "trio": _trio, "gnumach": _gnumach}
