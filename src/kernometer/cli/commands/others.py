"""The commands about this host and about the command line itself: check, man, completion."""

from __future__ import annotations

import click

from kernometer.cli.completion import SHELLS
from kernometer.cli.env import done_by, json_option


@click.command()
@json_option
@done_by("check")
def check() -> None:
    """Show what disturbs measuring on this host, and what to do about it.

    It takes a third of a second and changes nothing. Every result that is measured here records the same findings.
    The suggested commands take effect until the next boot.
    """


@click.command()
@done_by("man")
def man() -> None:
    """Print the manual page.

    To read it: kernometer man | man -l -

    To install it: kernometer man > ~/.local/share/man/man1/kernometer.1
    """


@click.command()
@click.argument("shell", type=click.Choice([*SHELLS]))
@done_by("completion")
def completion() -> None:
    """Print the script that completes commands, options, workloads, targets, stored results and guests.

    \b
    bash: eval "$(kernometer completion bash)" in ~/.bashrc
    zsh:  eval "$(kernometer completion zsh)" in ~/.zshrc
    fish: kernometer completion fish > ~/.config/fish/completions/kernometer.fish
    """
