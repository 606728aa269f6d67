"""`kernometer guest`: the kernels that can be booted here."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import click

from kernometer.cli.env import Env, json_option, pass_env
from kernometer.cli.guest_add import add

if TYPE_CHECKING:
    from kernometer.guests.store import Guest


@click.group()
def command() -> None:
    """Kernels to measure under QEMU, by path: 'kernometer run --by path --on qemu:GUEST'.

    A variant needs no adding: qemu:linux-6.1+mitigations=off+memory=1024 is linux-6.1 with another command line and
    other memory.

    \b
    Examples:
      kernometer guest add linux 6.1 6.12
      kernometer guest list
      kernometer guest rm linux-6.1
    """


command.add_command(add)


@command.command(name="list")
@json_option
@pass_env
def list_(env: Env) -> None:
    """List the guests that are here, with the package that each was made from."""
    from kernometer.guests import store

    found = store.listed()
    if env.json:
        click.echo(json.dumps([_document(guest) for guest in found], indent=1), file=env.out)
        return
    if not found:
        env.say(f"There are no guests in {store.guests_folder()}.")
        env.say("'kernometer guest add linux 6.1' fetches one.")
        return
    _print(env, found)


@command.command()
@click.argument("names", metavar="GUEST...", nargs=-1, required=True)
@pass_env
def rm(env: Env, names: tuple[str, ...]) -> None:
    """Remove guests, or variants from the list. Results that were measured with them stay."""
    from kernometer.guests import linux, store

    for name in names:
        if "+" in name:
            linux.forget(name)
        else:
            store.remove(name)
        click.echo(f"{name}: removed", file=env.out)


def _document(guest: Guest) -> dict[str, Any]:
    import msgspec

    return {**msgspec.to_builtins(guest.manifest), "kernel": str(guest.kernel)}


def _print(env: Env, found: tuple[Guest, ...]) -> None:
    from rich.table import Table
    from rich.text import Text

    from kernometer.text import printable

    table = Table(box=None, pad_edge=False)
    for title in ("guest", "kernel", "from", "MB"):
        table.add_column(title, justify="right" if title == "MB" else "left", overflow="fold")
    for guest in found:
        made = guest.manifest
        size = f"{made.kernel_bytes / 1e6:.0f}"
        origin = made.package if made.package.startswith("/") else made.suite or made.package
        table.add_row(*(Text(printable(cell)) for cell in (made.name, made.release or made.version, origin, size)))
        for name in made.variants:
            table.add_row(Text(printable(f"  {name.removeprefix(made.name)}")))
        if machine := _machine(guest):
            table.add_row(Text(""), Text(printable(machine)))
        if remarks := " ".join(made.remarks):
            table.add_row(Text(""), Text(printable(remarks)))
    env.console().print(table)


def _machine(guest: Guest) -> str:
    """What is not usual about a guest's own machine and command line."""
    from kernometer.guests.qemu import COMMAND_LINE, Machine

    made, usual = guest.manifest, Machine()
    parts = [
        made.machine.type if made.machine.type != usual.type else "",
        f"{made.machine.memory_mib} MiB" if made.machine.memory_mib != usual.memory_mib else "",
        f"-cpu {made.machine.cpu}" if made.machine.cpu != usual.cpu else "",
        made.command_line.removeprefix(COMMAND_LINE).strip(),
    ]
    return ", ".join(part for part in parts if part)
