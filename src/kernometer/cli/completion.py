"""`kernometer completion SHELL`: the script that completes a command line in a shell; and what is completed besides
commands and options: rows, targets, stored results, guests. After any error a completion prints no candidates."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator

import click
from click.shell_completion import (
    BashComplete,
    CompletionItem,
    FishComplete,
    ZshComplete,
    add_completion_class,
    split_arg_string,
)

from kernometer.cli import config, kernometer
from kernometer.cli.env import Env
from kernometer.errors import KernometerError
from kernometer.targets.parse import FORMS

_BASH = """\
%(complete_func)s() {
    local IFS=$'\\n'
    COMPREPLY=($(COMP_WORDS="${COMP_LINE:0:COMP_POINT}" BREAKS="$COMP_WORDBREAKS" %(complete_var)s=bash_complete "$1"))
}
complete -o nosort -o default -F %(complete_func)s %(prog_name)s
"""


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
        kept = max((self.word.rfind(mark) + 1 for mark in os.environ.get("BREAKS", "")), default=0)
        return str(item.value)[kept:] if item.type == "plain" else ""


add_completion_class(Bash)  # the first click of 8.1 gives nothing back to a decorated class
SHELLS = {"bash": Bash, "zsh": ZshComplete, "fish": FishComplete}


def command(env: Env, shell: str) -> None:
    completer = SHELLS[shell](kernometer, {}, "kernometer", "_KERNOMETER_COMPLETE")
    env.print(completer.source())


#: How many sessions are offered by id. Every label is offered.
NEWEST = 20

_Completer = Callable[[click.Context, click.Parameter, str], list[CompletionItem]]


def _completer(names: Callable[[click.Context, str], Iterator[str]]) -> _Completer:
    def complete(context: click.Context, _parameter: click.Parameter, word: str) -> list[CompletionItem]:
        try:
            return [CompletionItem(name) for name in dict.fromkeys(names(context, word)) if name.startswith(word)]
        except (KernometerError, OSError):
            return []

    return complete


def _results(context: click.Context, _word: str) -> Iterator[str]:
    from kernometer.results.papers import PREFIX, names
    from kernometer.results.store import Store, default_folder

    root = context.find_root()
    given = root.params.get("folder") or config.options(root.command, config.read()).get("folder")
    sessions = Store(given or default_folder()).summaries()
    yield from ("@last", "@1")
    yield from (name for session in sessions if session.label for name in (session.label, f"label:{session.label}"))
    yield from (session.id for session in sessions[:NEWEST] if session.id)
    yield from (PREFIX + name for name in names())


def _rows(_context: click.Context, word: str) -> Iterator[str]:
    from kernometer.campaign.plan import definitions
    from kernometer.results.rows import Row

    for workload in definitions("time", "full"):
        yield workload.name
        yield from (row.row for row in workload.rows if Row(word).name != Row(word).workload)


def _guests(_context: click.Context, _word: str) -> Iterator[str]:
    from kernometer.guests.store import listed

    for guest in listed():
        yield from (guest.name, *guest.manifest.variants)


def _targets(context: click.Context, word: str) -> Iterator[str]:
    yield from (form.partition(":")[0] + ":" * (":" in form) for form, _what in FORMS)
    yield from (f"qemu:{name}" for name in _guests(context, word))


results, rows, guests, targets = map(_completer, (_results, _rows, _guests, _targets))
