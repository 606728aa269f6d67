"""`kernometer guest` and its commands: list, rm, boot, add."""

from __future__ import annotations

from pathlib import Path

import click

from kernometer.cli import completion, options
from kernometer.cli.env import done_by, json_option

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
@click.argument("system", metavar="SYSTEM")
@click.argument("versions", metavar="[VERSION|STRUCTURE|IMAGE...]", nargs=-1)
@click.option(
    "--kernel",
    metavar="FILE",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Make a guest from a kernel of your own: a bzImage, an ELF vmlinux, a Trio, a multiboot kernel.",
)
@click.option("--name", metavar="NAME", default="", help=f"The name of the guest with that kernel [default: {MINE}].")
@click.option(
    "--modules",
    "drivers",
    metavar="DIR",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="For linux with --kernel: the directory of 'make modules_install'; rows on disks need some.",
)
@click.option(
    "--system-map",
    metavar="FILE",
    type=click.Path(dir_okay=False, path_type=Path),
    help="For linux with --kernel: the build's System.map, for a profile of a kernel that lists no functions itself.",
)
@click.option(
    "--module",
    "modules",
    metavar="'FILE WORDS'",
    multiple=True,
    help="A multiboot module and its arguments; repeatable. FILE may be @initramfs, @probe or @probe-mach.",
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
    help="Where a multiboot guest prints the probe's lines [default: debug-port].",
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

    SYSTEM trio is Kernometer's own kernel, built from its sources by this host's C compiler. It takes structures: mono
    makes trio-mono, and so do hybrid, micro and one-server; micro+together=vfs,fs puts two services of micro into one
    process, mono+apart=fs takes one out of the kernel. Without one those four are built.

    SYSTEM gnumach is Debian's GNU Mach, on which --unit-costs are measured, and nothing else. With the word dbg it is
    the build with symbols, gnumach-dbg.

    SYSTEM freebsd, openbsd, minix-3, or a description's .toml file, takes the image of a disk (or qemu:GUEST, for its
    kernel). The system is booted once, driven at its serial console, and saved where a probe waits.

    With --kernel the guest NAME is made from a copy of your own linux, trio, or multiboot kernel; the other options
    become the guest's defaults.

    \b
    Examples:
      kernometer guest add linux
      kernometer guest add linux 6.1 6.12 6.1-cloud
      kernometer guest add linux 6.1 --append mitigations=off
      kernometer guest add linux --kernel arch/x86/boot/bzImage --modules /tmp/root
      kernometer guest add xen --dom0 linux-6.1
      kernometer guest add trio
      kernometer guest add trio mono micro+together=vfs,fs
      kernometer guest add freebsd disk.img
    """
