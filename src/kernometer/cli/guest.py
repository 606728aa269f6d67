"""`kernometer guest`: the kernels that can be booted here."""

from __future__ import annotations

import os
import shlex
import textwrap
from pathlib import Path

import msgspec

from kernometer.cli.env import Env
from kernometer.errors import Status
from kernometer.guests import store, variant
from kernometer.guests.emulator.interactive import attended
from kernometer.guests.emulator.qemu import standard
from kernometer.guests.kernels import linux
from kernometer.guests.store import Guest
from kernometer.results.model import By
from kernometer.targets.attended import DEBUGGER, Console
from kernometer.targets.ladder import climb
from kernometer.targets.qemu import QemuTarget
from kernometer.text import printable

#: How many lines of a console's last output are shown.
LAST_LINES = 8


def list_(env: Env) -> None:
    guests = store.listed()
    if env.json:
        env.print_json([{**msgspec.to_builtins(guest.manifest), "kernel": str(guest.kernel)} for guest in guests])
        return
    if not guests:
        env.say(f"There are no guests in {store.guests_folder()}.")
        env.say("'kernometer guest add linux' fetches one.")
        return
    rows = [("guest", "kernel", "MB", "from"), *map(_row, guests)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for (name, kernel, size, origin), guest in zip(rows, (None, *guests), strict=True):
        _folded(env, f"{name:{widths[0]}}  {kernel:{widths[1]}}  {size:>{widths[2]}}  {origin}")
        if guest is not None:  # below it, its options that differ from the defaults, and its variants
            variants = (each.removeprefix(guest.manifest.name) for each in guest.manifest.variants)
            for below in filter(None, (_machine(guest), *guest.manifest.remarks, *variants)):
                _folded(env, f"  {printable(below)}")


def rm(env: Env, names: tuple[str, ...]) -> None:
    for name in names:
        if variant.parse(name).words:
            linux.forget(name)
        else:
            store.remove(name)
        env.print(f"{name}: removed")


def _row(guest: Guest) -> tuple[str, ...]:
    made = guest.manifest
    origin = made.package if made.package.startswith("/") else made.suite or made.package
    megabytes = made.kernel_bytes / 1e6
    size = f"{megabytes:.0f}" if megabytes >= 1 else f"{megabytes:.1f}"
    return tuple(map(printable, (made.name, made.release or made.version, size, origin)))


def _folded(env: Env, text: str) -> None:
    lines = textwrap.wrap(text, env.console().width, subsequent_indent="    ", break_on_hyphens=False)
    env.print("\n".join(lines))


def _machine(guest: Guest) -> str:
    """The options of a guest's machine and command line that differ from the defaults."""
    made, (usual, words) = guest.manifest, standard(guest.architecture)
    parts = [
        made.machine.type if made.machine.type != usual.type else "",
        f"{made.machine.memory_mib} MiB" if made.machine.memory_mib != usual.memory_mib else "",
        f"-cpu {made.machine.cpu}" if made.machine.cpu != usual.cpu else "",
        *made.machine.devices,
        made.command_line.removeprefix(words).strip(),
    ]
    return ", ".join(part for part in parts if part)


def boot(env: Env, spec: str, by: By, gdb: bool, dry_run: bool) -> None:
    target = QemuTarget.from_spec(spec.removeprefix("qemu:"))
    console = Console(target.untried(by) if dry_run else target, by, debugger=gdb)
    argv = console.argv
    if dry_run:
        env.print(shlex.join(argv))
        return
    if console.note:
        env.say(f"note: {console.note}")
    env.say("Making what the guest needs …")  # a C compiler, the first time
    with console.folder(env.say) as folder:
        if gdb:
            env.say(how_to_attach(console.target.guest, folder / DEBUGGER))
        if os.isatty(0):
            leave = "'exit' powers the guest off. " if console.has_shell else ""
            env.say(f"{leave}Ctrl-A x ends it at once, Ctrl-A h shows what else there is; Ctrl-C is the guest's.")
        env.out.flush()
        attended(argv, folder, shell=console.has_shell)


def check(env: Env, spec: str) -> Status:
    target = QemuTarget.from_spec(spec.removeprefix("qemu:"))
    failed = False
    env.say(f"{target.name}: booting it, a minute for most kernels …")
    for rung in climb(target):
        failed |= bool(rung.failure)
        told = rung.failure or ", ".join(filter(None, ("ok" if rung.tried else "not tried", rung.remark)))
        env.print(printable(f"{rung.name:9}  {'failed: ' if rung.failure else ''}{told}"))
        if rung.failure and rung.step:
            env.print(f"           next: {printable(rung.step)}")
        for line in rung.last_output.splitlines()[-LAST_LINES:]:
            env.print(f"           | {printable(line, 120)}")
    return Status.TARGET if failed else Status.DONE


def how_to_attach(guest: Guest, socket: Path) -> str:
    """The command line, and where to find names and addresses of the kernel's functions."""
    made = guest.manifest
    command = shlex.join(("gdb", "-ex", f"target remote {socket}", str(guest.code)))
    lines = [
        "QEMU waits for a debugger. In another terminal:",
        f"  {command}",
        "There 'continue' boots the guest. Before it has booted stop it with 'hbreak', not with 'break', which writes",
        "to memory that is not mapped yet.",
    ]
    if made.package.startswith("linux-image-"):  # a package's kernel is stripped
        lines += [
            f"This kernel has no symbols: {made.package}-dbg {made.version} has. Where that is installed, give gdb",
            f"/usr/lib/debug/boot/vmlinux-{made.release} in its place, then 'hbreak start_kernel'. Without it an",
            "address does: 'grep -w start_kernel /proc/kallsyms' in the guest names it, then 'hbreak *0xffffffff…'.",
        ]
    return printable("\n".join(lines), keep="\n")
