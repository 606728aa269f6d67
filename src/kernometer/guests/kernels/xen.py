"""Xen as a guest: Debian's hypervisor, and one of the Linux guests as its first domain, paravirtualised.

QEMU loads the hypervisor as a multiboot kernel with two modules, the domain's kernel and the job's archive. A variant's
words are added to Xen's command line (`xen+xpti=true`); the domain has the command line of its own guest.
"""

from __future__ import annotations

import re
from pathlib import Path

from kernometer.cache import sha256
from kernometer.errors import MissingError, UsageError
from kernometer.guests import store, variant
from kernometer.guests.emulator.qemu import COMMAND_LINE, Machine
from kernometer.guests.kernels import kernelfile, linux, multiboot
from kernometer.guests.packages import suites
from kernometer.guests.packages.suites import Say

NAME = "xen"
#: The default first domain.
DOM0 = "linux-6.1"

#: smap=no: QEMU 7.2 checks a return from ring 3 to ring 3 by `iret` as if ring 0 read the stack, and a paravirtualised
#: kernel, whose stack is a user's page, dies at its first one. The command line is the same for every QEMU.
#: loglvl=error: Xen waits for each byte that it prints; at 115,200 baud a line costs some seven million instructions.
XEN_LINE = "com1=115200,8n1 console=com1 loglvl=error smap=no"
#: The serial console becomes Xen's in a paravirtualised Linux.
CONSOLES = ("console=ttyS0", "console=hvc0")

_PACKAGE = re.compile(r"xen-hypervisor-\d+\.\d+-amd64")
_IMAGE = re.compile(r"xen-\d+\.\d+-amd64\.gz")
_DOM0_OPTION = b"CONFIG_XEN_DOM0=y"


def add(dom0: str = DOM0, say: Say = linux.silently) -> store.Guest:
    """Stores the newest Xen of the system's package sources with the guest `dom0` on it.

    The guest is `xen` for linux-6.1, else `xen-` and the name of `dom0`, which may be a variant: the domain gets its
    words. A missing Linux series is added first. Raises UsageError for a guest that cannot be a first domain,
    MissingError if the sources have no Xen, TargetError if apt or an image fails.
    """
    wanted = variant.parse(dom0)
    name = guest_name(wanted)
    below = _dom0(wanted, say)
    with store.new_folder() as folder:
        downloaded = suites.newest_of(_PACKAGE, "xen-hypervisor-", folder, say)
        if downloaded is None:
            raise MissingError(
                "This system's package sources have no Xen.", "Debian has it in main, Ubuntu in universe."
            )
        package = downloaded.package
        packed = multiboot.image_of(downloaded.file, _IMAGE, "hypervisor")
    hypervisor = kernelfile.taking_modules(packed, package.name)
    kernel = below.kernel.read_bytes()
    made = below.manifest
    manifest = store.Manifest(
        name=name,
        package=f"{package.name} with {made.package}",
        version=f"{package.version} with {made.version}",
        suite=downloaded.suite,
        parts=(f"{made.package} {made.package_sha256}", *made.parts),
        remarks=made.remarks,
        release=made.release,
        package_sha256=package.sha256,
        kernel_bytes=len(hypervisor) + len(kernel),
        drivers_sha256=made.drivers_sha256,
        machine=Machine(type="pc"),
        command_line=XEN_LINE,
        modules=(
            store.Module(file="dom0", arguments=_dom0_line(wanted, made), sha256=sha256(kernel)),
            store.Module(file=store.INITRAMFS),
        ),
    )
    return store.add(manifest, {store.KERNEL: hypervisor, "dom0": kernel} | _for_rows(below.folder))


def guest_name(dom0: variant.Variant) -> str:
    """`xen` of linux-6.1, `xen-linux-6.12`, `xen-linux-6.1-mitigations-off` of linux-6.1+mitigations=off. Raises
    UsageError for words that change the virtual machine."""
    if dom0.machine(Machine()) != Machine():
        raise UsageError(
            f"{dom0.name}: machine, cpu, memory and seed are the virtual machine's, not the first domain's.",
            "Give them with the target: qemu:xen+memory=1024.",
        )
    return NAME if dom0.name == DOM0 else f"{NAME}-{re.sub(r'[^A-Za-z0-9.-]', '-', dom0.name)}"


def _dom0(wanted: variant.Variant, say: Say) -> store.Guest:
    """The guest of the first domain, undamaged and suitable."""
    try:
        guest = store.find(wanted.guest)
    except MissingError:
        version = wanted.guest.removeprefix("linux-")
        if version == wanted.guest or not linux.VERSION.fullmatch(version):
            raise
        say(f"{wanted.guest}: looking for the newest Linux {version} …")
        guest = linux.add(version, say)
    guest.check()
    config = guest.folder / store.CONFIG
    if guest.manifest.modules:
        raise UsageError(f"{guest.name} is not a Linux by itself.", f"For example --dom0 {DOM0}.")
    if config.is_file() and _DOM0_OPTION not in config.read_bytes().splitlines():
        raise UsageError(
            f"The kernel of {guest.name} cannot be Xen's first domain: it lacks CONFIG_XEN_DOM0.",
            f"Use a full flavour: cloud kernels lack many options. For example --dom0 {DOM0}.",
        )
    return guest


def _dom0_line(wanted: variant.Variant, made: store.Manifest) -> str:
    """The guest's own command line with Xen's console instead of the serial one."""
    usual = made.command_line or COMMAND_LINE
    return wanted.command_line(usual.replace(*CONSOLES))


def _for_rows(folder: Path) -> dict[str, bytes]:
    """The kernel's configuration and modules, for rows that need them."""
    files = (folder / store.CONFIG, *sorted((folder / store.DRIVERS).glob("*")))
    return {str(file.relative_to(folder)): file.read_bytes() for file in files if file.is_file()}
