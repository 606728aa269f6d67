"""`kernometer completion SHELL`: the script that completes a command line in a shell."""

from __future__ import annotations

import os

import click
from click.shell_completion import (
    BashComplete,
    CompletionItem,
    FishComplete,
    ZshComplete,
    add_completion_class,
    split_arg_string,
)

from kernometer.cli import kernometer
from kernometer.cli.env import Env, pass_env

_BASH = """\
%(complete_func)s() {
    local IFS=$'\\n'
    COMPREPLY=($(COMP_WORDS="${COMP_LINE:0:COMP_POINT}" BREAKS="$COMP_WORDBREAKS" %(complete_var)s=bash_complete "$1"))
}
complete -o nosort -o default -F %(complete_func)s %(prog_name)s
"""


@add_completion_class
class Bash(BashComplete):
    """bash breaks words at : and @, which targets, rows and names of results contain. So the script passes the whole
    line, and only the part after the last break is completed."""

    source_template = _BASH

    def get_completion_args(self) -> tuple[list[str], str]:
        line = os.environ["COMP_WORDS"]
        words = split_arg_string(line)[1:]
        self.word = words.pop() if words and not line[-1:].isspace() else ""
        return words, self.word

    def format_completion(self, item: CompletionItem) -> str:
        kept = max((self.word.rfind(one) + 1 for one in os.environ.get("BREAKS", "")), default=0)
        return str(item.value)[kept:] if item.type == "plain" else ""


SHELLS = {"bash": Bash, "zsh": ZshComplete, "fish": FishComplete}


@click.command()
@click.argument("shell", type=click.Choice(list(SHELLS)))
@pass_env
def command(env: Env, shell: str) -> None:
    """Print the script that completes commands, options, workloads, targets, stored results and guests.

    \b
    bash: eval "$(kernometer completion bash)" in ~/.bashrc
    zsh:  eval "$(kernometer completion zsh)" in ~/.zshrc
    fish: kernometer completion fish > ~/.config/fish/completions/kernometer.fish
    """
    completer = SHELLS[shell](kernometer, {}, "kernometer", "_KERNOMETER_COMPLETE")
    click.echo(completer.source(), file=env.out)
