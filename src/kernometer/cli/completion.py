"""`kernometer completion SHELL`: the script that completes commands and options in a shell."""

from __future__ import annotations

import click
from click.shell_completion import BashComplete, FishComplete, ZshComplete

from kernometer.cli import kernometer
from kernometer.cli.env import Env, pass_env

SHELLS = {"bash": BashComplete, "zsh": ZshComplete, "fish": FishComplete}


@click.command()
@click.argument("shell", type=click.Choice(list(SHELLS)))
@pass_env
def command(env: Env, shell: str) -> None:
    """Prints the script that completes commands and options.

    \b
    bash: eval "$(kernometer completion bash)" in ~/.bashrc
    zsh:  eval "$(kernometer completion zsh)" in ~/.zshrc
    fish: kernometer completion fish > ~/.config/fish/completions/kernometer.fish
    """
    completer = SHELLS[shell](kernometer, {}, "kernometer", "_KERNOMETER_COMPLETE")
    click.echo(completer.source(), file=env.out)
