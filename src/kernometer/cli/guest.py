"""`kernometer guest`: the kernels that can be booted here."""

from __future__ import annotations

import json
import textwrap
from typing import TYPE_CHECKING, Any

import click

from kernometer.cli import complete
from kernometer.cli.env import Env, json_option, pass_env
from kernometer.cli.guest_add import add
from kernometer.cli.guest_boot import boot
from kernometer.text import printable

if TYPE_CHECKING:
    from kernometer.guests.store import Guest


@click.group()
def command() -> None:
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


command.add_command(add)
command.add_command(boot)


@command.command(name="list")
@json_option
@pass_env
def list_(env: Env) -> None:
    """List the guests on this host, with the package that each was made from."""
    from kernometer.guests import store

    found = store.listed()
    if env.json:
        click.echo(json.dumps([_document(guest) for guest in found], indent=1), file=env.out)
        return
    if not found:
        env.say(f"There are no guests in {store.guests_folder()}.")
        env.say("'kernometer guest add linux' fetches one.")
        return
    _print(env, found)


@command.command()
@click.argument("names", metavar="GUEST...", nargs=-1, required=True, shell_complete=complete.guests)
@pass_env
def rm(env: Env, names: tuple[str, ...]) -> None:
    """Remove guests, or variants from the list. Their results stay."""
    from kernometer.guests import store, variant
    from kernometer.guests.kernels import linux

    for name in names:
        if variant.parse(name).words:
            linux.forget(name)
        else:
            store.remove(name)
        click.echo(f"{name}: removed", file=env.out)


def _document(guest: Guest) -> dict[str, Any]:
    import msgspec

    return {**msgspec.to_builtins(guest.manifest), "kernel": str(guest.kernel)}


def _print(env: Env, found: tuple[Guest, ...]) -> None:
    """One line per guest; below it, indented, its options that differ from the defaults, and its variants."""
    rows = [("guest", "kernel", "MB", "from"), *(_row(guest) for guest in found)]
    widths = [max(len(row[column]) for row in rows) for column in range(3)]
    _line(env, rows[0], widths)
    for guest, row in zip(found, rows[1:], strict=True):
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
    from kernometer.guests.emulator.qemu import standard

    made, (usual, words) = guest.manifest, standard(guest.architecture)
    parts = [
        made.machine.type if made.machine.type != usual.type else "",
        f"{made.machine.memory_mib} MiB" if made.machine.memory_mib != usual.memory_mib else "",
        f"-cpu {made.machine.cpu}" if made.machine.cpu != usual.cpu else "",
        *made.machine.devices,
        made.command_line.removeprefix(words).strip(),
    ]
    return ", ".join(part for part in parts if part)
