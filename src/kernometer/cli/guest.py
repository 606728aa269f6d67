"""`kernometer guest`: the kernels that can be booted here."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import click

from kernometer.cli.env import Env, json_option, pass_env
from kernometer.errors import UsageError

if TYPE_CHECKING:
    from kernometer.guests.store import Guest

SYSTEMS = ("linux",)


@click.group()
def command() -> None:
    """Kernels to measure under QEMU, by path: 'kernometer run --by path --on qemu:GUEST'.

    \b
    Examples:
      kernometer guest add linux 6.1
      kernometer guest list
      kernometer guest rm linux-6.1
    """


@command.command()
@click.argument("system", metavar="SYSTEM")
@click.argument("versions", metavar="VERSION...", nargs=-1, required=True)
@pass_env
def add(env: Env, system: str, versions: tuple[str, ...]) -> None:
    """Fetch the newest kernel of each VERSION (6.1, 6.12) of SYSTEM (linux), and keep it.

    It comes from this distribution's own package sources, as apt has checked it, some 100 MB each. Root rights are not
    needed and nothing is installed. A guest that is here already is replaced by the newest of its version.
    """
    from kernometer.guests import linux

    if system not in SYSTEMS:
        raise UsageError(f"There are no guests of {system!r}.", f"There are of: {', '.join(SYSTEMS)}.")
    for version in versions:
        env.say(f"Fetching the newest Linux {version} …")
        guest = linux.add(version)
        click.echo(f"{guest.name}: {guest.manifest.package} {guest.manifest.version}", file=env.out)


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
    """Remove guests. Results that were measured with them stay."""
    from kernometer.guests import store

    for name in names:
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
    for title in ("guest", "package", "version", "MB"):
        table.add_column(title, justify="right" if title == "MB" else "left", overflow="fold")
    for guest in found:
        made = guest.manifest
        size = f"{made.kernel_bytes / 1e6:.0f}"
        table.add_row(*(Text(printable(cell)) for cell in (made.name, made.package, made.version, size)))
    env.console().print(table)
