"""`kernometer guest` and its commands: list, rm, boot, check, add."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from kernometer.cli import completion, options
from kernometer.cli.env import done_by, json_option

_F = TypeVar("_F", bound=Callable[..., Any])

#: Those of guests.architecture, which help and completion need not load.
ARCHITECTURES = ("x86_64", "i386", "aarch64", "riscv64")
#: The name of a guest from a file without --name.
MINE = "mine"


@click.group()
def guest() -> None:
    """Kernels to measure under QEMU, by path or by time: 'kernometer run --by path --on qemu:GUEST'.

    A variant works without being added: qemu:linux-6.1+mitigations=off+memory=1024 is linux-6.1 with another command
    line and memory size.

    \b
    Examples:
      kernometer guest add linux
      kernometer guest list
      kernometer guest boot linux-6.1
      kernometer guest check mine
      kernometer guest rm linux-6.1
    """


@guest.command(name="list")
@json_option
@done_by("guest", "list_")
def list_() -> None:
    """List the guests on this host, with the package that each was made from."""


@guest.command()
@click.argument("names", metavar="GUEST...", nargs=-1, required=True, shell_complete=completion.guests)
@done_by("guest", "rm")
def rm() -> None:
    """Remove guests, or variants from the list. Their results stay."""


@guest.command()
@click.argument("spec", metavar="GUEST", shell_complete=completion.guests)
@options.by
@click.option("--gdb", is_flag=True, help="Wait for a debugger before the first instruction, and print how to attach.")
@options.dry_run
@done_by("guest", "boot")
def boot() -> None:
    """Boot GUEST (linux-6.1, linux-6.1+mitigations=off) with its console on this terminal.

    It starts a shell, with the probe, busybox and a C compiler (tcc). 'exit' powers the guest off, Ctrl-A x ends it at
    once, Ctrl-C goes to the guest. Without a terminal standard input is typed, one line at each prompt. With --by path
    a probe that you call yourself counts instructions.
    """


@guest.command()
@click.argument("spec", metavar="GUEST", shell_complete=completion.guests)
@done_by("guest", "check")
def check() -> None:
    """Find out what GUEST's kernel does and does not do for a measurement by path.

    It boots twice, and shows what holds, from its first output to a row in a guest that continues from a saved one;
    where something does not, also its console's last words and what to try.
    """


def _file(name: str, what: str) -> Callable[[_F], _F]:
    return click.option(name, metavar="FILE", type=options.FILE, help=what)


@guest.command()
@click.argument("system", metavar="SYSTEM")
@click.argument("versions", metavar="[VERSION|STRUCTURE|FILE...]", nargs=-1)
@click.option(
    "--tree",
    metavar="DIR",
    type=options.FOLDER,
    help="For linux: a tree in which it is built, for its kernel, System.map and modules, in place of packages.",
)
@_file("--kernel", "For openbsd and freebsd: a kernel's file (bsd.rd, kernel) in place of a disk's image.")
@click.option(
    "--name", metavar="NAME", default="", help=f"The name of the guest from a file [default: {MINE}, or the system's]."
)
@click.option("--as", "label", metavar="'NAME VERSION'", default="", help="What that kernel is, in results and lists.")
@click.option(
    "--arch",
    type=click.Choice(ARCHITECTURES),
    help="The architecture of its programs, if not the file's: i386 on a PC.",
)
@click.option(
    "--modules",
    "drivers",
    metavar="DIR",
    type=options.FOLDER,
    help="For a Linux from a file: the directory of 'make modules_install'; rows on disks need some.",
)
@_file("--symbols", "The functions of that kernel, for a profile: its build's System.map, or an ELF file.")
@click.option(
    "--module",
    "modules",
    metavar="'FILE WORDS'",
    multiple=True,
    help="A multiboot module and its arguments; repeatable. FILE may be @initramfs (by default the only one), @probe "
    "or @probe-mach.",
)
@_file("--init", "The first process in place of ours, which executes the command in opt/km/command; or the word ours.")
@_file(
    "--probe",
    "The probe in the archive, compiled for that system, in place of ours; or the one in a root of its own, so that a "
    "profile names its functions.",
)
@click.option(
    "--root",
    metavar="ROOT",
    default="initramfs",
    show_default=True,
    help="How that kernel gets init and probe: initramfs, or the same as an image, ext2 (ext2:size=16,block=1024: MiB, "
    "bytes); disk:FILE, none: it has its own, which start 'probe --wait'; disk:FILE with --init: put into a copy.",
)
@click.option("--append", metavar="WORDS", default="", help="Further options of the kernel's command line.")
@click.option("--machine", metavar="TYPE", help="microvm (the default), pc or q35.")
@click.option(
    "--memory", metavar="MIB", type=click.IntRange(32, (1 << 20) - 1), help="The guest's memory in MiB [default: 2048]."
)
@click.option("--cpu", metavar="MODEL", help="QEMU's processor model [default: max].")
@click.option(
    "--device",
    "devices",
    metavar="NAME",
    multiple=True,
    help="A QEMU device that the kernel needs in order to start, for example VGA; repeatable.",
)
@click.option(
    "--output",
    type=click.Choice(["debug-port", "serial"]),
    help="Where that guest prints the probe's lines [default: debug-port, on a PC].",
)
@click.option("--dom0", metavar="GUEST", help="For xen: the Linux that runs on it.")
@done_by("guest_add", "add")
def add() -> None:
    """Make guests, which 'run --on qemu:GUEST' boots.

    SYSTEM linux takes versions: 6.1, 6.12, or a flavour, 6.1-cloud. Without one it makes the guest linux, with the
    kernel of this release. The newest kernel of each version comes from this system's package sources or from further
    suites of the same mirrors, checked by apt, some 100 MB each. This needs no root rights and installs nothing, but
    QEMU and zstd must be installed. An existing guest is replaced by the newest of its version; with --append,
    --machine, --memory, --cpu or --device it stays, and its variant is added to the list.

    With --tree it is the Linux that is built in DIR (or was, with O=DIR), as the guest NAME, with the options of SYSTEM
    kernel.

    SYSTEM trio is Kernometer's own kernel, built from its sources by this host's C compiler. It takes structures: mono
    makes trio-mono, and so do hybrid, micro and one-server; micro+together=vfs,fs puts two services of micro into one
    process, mono+apart=fs takes one out of the kernel. Without one those four are built.

    SYSTEM gnumach is Debian's GNU Mach, on which --unit-costs are measured, and nothing else. With the word dbg it is
    the build with symbols, gnumach-dbg.

    SYSTEM freebsd, openbsd, minix-3, or a description's .toml file, takes the image of a disk (or qemu:GUEST, for its
    kernel). The system is booted once, driven at its serial console, and saved where a probe waits.

    SYSTEM kernel takes the file of any kernel (a bzImage, an Image, an ELF file with a PVH entry or a multiboot
    header), copies it as the guest NAME, and says how it will boot; the other options become the guest's defaults.

    \b
    Examples:
      kernometer guest add linux
      kernometer guest add linux 6.1 6.12 6.1-cloud
      kernometer guest add linux 6.1 --append mitigations=off
      kernometer guest add linux --tree ~/linux --name mine
      kernometer guest add kernel arch/x86/boot/bzImage --modules /tmp/root
      kernometer guest add kernel kernel.elf --as 'Asterinas 0.18' --append 'init=/init'
      kernometer guest add xen --dom0 linux-6.1
      kernometer guest add trio
      kernometer guest add trio mono micro+together=vfs,fs
      kernometer guest add freebsd disk.img
    """
