"""`kernometer guest`: the kernels that can be booted here."""

from __future__ import annotations

import json
import os
import shlex
import textwrap
from pathlib import Path
from typing import Any

import click
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
        click.echo(json.dumps([_document(guest) for guest in guests], indent=1), file=env.out)
        return
    if not guests:
        env.say(f"There are no guests in {store.guests_folder()}.")
        env.say("'kernometer guest add linux' fetches one.")
        return
    _print(env, guests)


def rm(env: Env, names: tuple[str, ...]) -> None:
    for name in names:
        if variant.parse(name).words:
            linux.forget(name)
        else:
            store.remove(name)
        click.echo(f"{name}: removed", file=env.out)


def _document(guest: Guest) -> dict[str, Any]:
    return {**msgspec.to_builtins(guest.manifest), "kernel": str(guest.kernel)}


def _print(env: Env, guests: tuple[Guest, ...]) -> None:
    """One line per guest; below it, indented, its options that differ from the defaults, and its variants."""
    rows = [("guest", "kernel", "MB", "from"), *(_row(guest) for guest in guests)]
    widths = [max(len(row[column]) for row in rows) for column in range(3)]
    _line(env, rows[0], widths)
    for guest, row in zip(guests, rows[1:], strict=True):
        _line(env, row, widths)
        made = guest.manifest
        variants = (name.removeprefix(made.name) for name in made.variants)
        for below in (_machine(guest), *made.remarks, *variants):
            if below:
                _folded(env, f"  {printable(below)}")


def _row(guest: Guest) -> tuple[str, str, str, str]:
    made = guest.manifest
    origin = made.package if made.package.startswith("/") else made.suite or made.package
    megabytes = made.kernel_bytes / 1e6
    size = f"{megabytes:.0f}" if megabytes >= 1 else f"{megabytes:.1f}"
    cells = (made.name, made.release or made.version, size, origin)
    name, kernel, shown, where = map(printable, cells)
    return name, kernel, shown, where


def _line(env: Env, row: tuple[str, str, str, str], widths: list[int]) -> None:
    name, kernel, size, origin = row
    _folded(env, f"{name:{widths[0]}}  {kernel:{widths[1]}}  {size:>{widths[2]}}  {origin}")


def _folded(env: Env, text: str) -> None:
    lines = textwrap.wrap(text, env.console().width, subsequent_indent="    ", break_on_hyphens=False)
    click.echo("\n".join(lines), file=env.out)


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
        click.echo(shlex.join(argv), file=env.out)
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


def check(env: Env, spec: str) -> None:
    target = QemuTarget.from_spec(spec.removeprefix("qemu:"))
    failed = False
    env.say(f"{target.name}: booting it, a minute for most kernels …")
    for rung in climb(target):
        failed |= bool(rung.failure)
        told = rung.failure or ", ".join(filter(None, ("ok", rung.remark)))
        click.echo(printable(f"{rung.name:9}  {'failed: ' if rung.failure else ''}{told}"), file=env.out)
        if rung.failure and rung.step:
            click.echo(f"           next: {printable(rung.step)}", file=env.out)
        for line in rung.last_output.splitlines()[-LAST_LINES:]:
            click.echo(f"           | {printable(line, 120)}", file=env.out)
    raise click.exceptions.Exit(Status.TARGET if failed else Status.DONE)


def how_to_attach(guest: Guest, socket: Path) -> str:
    """The command line, and where to find names and addresses of the kernel's functions."""
    made = guest.manifest
    command = shlex.join(("gdb", "-ex", f"target remote {socket}", str(guest.kernel)))
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
