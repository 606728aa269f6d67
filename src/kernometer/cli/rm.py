"""`kernometer rm`: removes stored results."""

from __future__ import annotations

import click

from kernometer.cli import completion
from kernometer.cli.env import Env, pass_env


@click.command()
@click.argument("names", metavar="RESULT...", nargs=-1, required=True, shell_complete=completion.results)
@click.option("--yes", is_flag=True, help="Remove all sessions of a label, also if there are several.")
@pass_env
def command(env: Env, names: tuple[str, ...], yes: bool) -> None:
    """Remove stored results for good: every RESULT, or none if one of them cannot be removed.

    RESULT is an id or the beginning of one, a label (its newest session), @last, @1, label:NAME for all sessions of a
    label, or the name of a file of the store (for one that cannot be read).
    """
    for path in env.store().remove(names, sets=yes):
        click.echo(f"{path.stem}: removed", file=env.out)
