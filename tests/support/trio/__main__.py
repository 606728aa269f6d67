"""`scripts/trio`: boots Trio (or Linux, the same in every other respect) with one command, and prints what it printed.

The command's standard output comes on ours; the console (the kernel's words and the command's standard error) on our
standard error, as it comes. The exit status is the command's; 128 + N where signal N ended it, 125 where it never
ended.

  scripts/trio -- sh -c 'ls -l / | sort'        a name without / is one of /bin: busybox's applets, the probe
  scripts/trio --linux -- sh -c 'ls -l / | sort'              the same initramfs on the cached guest linux-6.1
  scripts/trio --file bin/usertests=build/usertests -- usertests pipe
  scripts/trio --path -- probe --by path syscall/getppid      every instruction counted; the same in every run
  scripts/trio --init build/hello               a program as the first process: no init of ours, no mounts, no port;
                                                the status is the one that the kernel writes to isa-debug-exit
  scripts/trio --keep /tmp/boot --show          prints the QEMU command; --keep keeps initrd, console and bulk there
  scripts/trio --disk minix -- sh -c 'mount; ls -la /disk/minix'   a disk with MINIX FS, in either kernel
  scripts/trio --qemu '-d int,cpu_reset -D /tmp/log' -- true  further words for QEMU (-s -S: waits for gdb at :1234)
"""

from __future__ import annotations

import argparse
import fcntl
import shlex
import subprocess
import sys
from pathlib import Path

from kernometer.errors import KernometerError
from kernometer.guests.images.disks import KINDS
from kernometer.guests.kernels import trio
from kernometer.guests.kernels.trio import file_name
from tests.support.trio.boot import DEBUG_EXIT, Inside, Kernel, Machine, argv, boot, devices, initramfs

ROOT = Path(__file__).resolve().parents[3]
NEVER_ENDED = 125


def options(words: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="scripts/trio", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--build", metavar="DIR", type=Path, default=ROOT / "build" / "trio", help="build/trio")
    parser.add_argument("--structure", metavar="NAME", default="mono", help="mono (the default), micro+together=vfs,fs")
    parser.add_argument("--switches", metavar="WORDS", default="", help="further -D for the build; use another --build")
    parser.add_argument("--kernel", metavar="FILE", type=Path, help="boot this ELF file; build nothing")
    parser.add_argument("--linux", nargs="?", const="linux-6.1", metavar="GUEST", help="boot Linux instead")
    parser.add_argument("--path", action="store_true", help="count instructions (icount); plain TCG without")
    parser.add_argument("--append", metavar="WORDS", default="", help="further words of the kernel's command line")
    parser.add_argument("--file", metavar="NAME=PATH", action="append", default=[], help="a file of the initramfs")
    parser.add_argument("--init", metavar="PATH", type=Path, help="this program is /init; no command is run")
    parser.add_argument("--timeout", metavar="S", type=float, default=60.0, help="seconds until QEMU is ended (60)")
    parser.add_argument("--machine", choices=("microvm", "pc", "q35"), default="microvm")
    parser.add_argument("--memory", metavar="MIB", type=int, default=2048)
    parser.add_argument("--display", choices=("bochs-drm", "vesafb"), default="")
    parser.add_argument("--disk", choices=KINDS, action="append", default=[], help="a memory disk at /disk/KIND")
    parser.add_argument("--qemu", metavar="WORDS", default="", help="further words for QEMU")
    parser.add_argument("--keep", metavar="DIR", type=Path, help="keep the files of the boot in this folder")
    parser.add_argument("--show", action="store_true", help="print the QEMU command, and the folder that it needs")
    parser.add_argument("command", metavar="COMMAND", nargs="*")
    given = parser.parse_args(words)
    if bool(given.command) == bool(given.init):
        parser.error("a command, or a program for --init")
    if given.show and not given.keep:
        parser.error("--show prints a command that needs the folder of --keep")
    return given


def kernel(given: argparse.Namespace) -> Kernel:
    """The one asked for; Trio is built first, by make, which says what is wrong."""
    if given.linux:
        return Kernel.linux(given.linux)
    if given.kernel:
        return Kernel.trio(given.kernel)
    folder = given.build.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    values = (
        f"BUILD={folder}",
        f"STRUCTURE={given.structure}",
        f"SWITCHES={given.switches}",
        f"PYTHON={sys.executable}",
        *trio.make_words(trio.lwip_sources(lambda text: print(text, file=sys.stderr))),
    )
    words = ("make", "--no-print-directory", "-C", str(ROOT / "trio"), *values)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        done = subprocess.run(words, stdout=subprocess.PIPE, check=False, text=True)
    if done.returncode != 0:
        sys.exit(f"scripts/trio: {shlex.join(words)} left with {done.returncode}")
    return Kernel.trio(folder / file_name(given.structure))


def archive(given: argparse.Namespace, booted: Kernel, machine: Machine) -> Inside:
    files = dict(devices(booted, machine, given.disk))
    executable = []
    for each in given.file:
        name, _, path = each.partition("=")
        if not path:
            sys.exit(f"scripts/trio: --file {each}: NAME=PATH")
        files[name] = Path(path).read_bytes()
        if Path(path).stat().st_mode & 0o111:
            executable.append(name)
    return initramfs(given.command, files, executable, given.init.read_bytes() if given.init else None)


def hear(piece: bytes) -> None:
    sys.stderr.buffer.write(piece)
    sys.stderr.buffer.flush()


def main() -> int:
    given = options(sys.argv[1:])
    more = (*(DEBUG_EXIT if given.init else ()), *shlex.split(given.qemu))
    machine = Machine(given.path, given.machine, given.memory, given.display, more)
    booted = kernel(given)
    inside = archive(given, booted, machine)
    if given.show:
        given.keep.mkdir(parents=True, exist_ok=True)
        inside.lay_out(given.keep)
        print(f"cd {shlex.quote(str(given.keep))} && {shlex.join(argv(booted, machine, given.append))}")
        return 0
    ended = boot(booted, inside, machine, append=given.append, seconds=given.timeout, keep=given.keep, hear=hear)
    sys.stdout.buffer.write(ended.bulk)
    sys.stdout.flush()
    status = ended.debug_exit if given.init else ended.status
    if status is None:
        why = "its time was up" if ended.qemu_status is None else f"QEMU ended with {ended.qemu_status}"
        said = "".join(f"\n{line}" for line in (*ended.lines_of_init, *ended.said.splitlines()))
        print(f"scripts/trio: the command never ended: {why}{said}", file=sys.stderr)
        return NEVER_ENDED
    return status


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (KernometerError, OSError) as error:
        sys.exit(f"scripts/trio: {error}")
