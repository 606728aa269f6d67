"""What a shell can complete besides commands and options: rows, targets, stored results, guests.

A completion prints candidates only; after any error it prints none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import click
from click.shell_completion import CompletionItem

from kernometer.cli import config
from kernometer.errors import KernometerError

#: How many sessions are offered by id. Every label is offered.
NEWEST = 20

_Completer = Callable[[click.Context, click.Parameter, str], list[CompletionItem]]


def _of(names: Callable[[click.Context, str], Iterator[str]]) -> _Completer:
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
    found = Store(given or default_folder()).summaries()
    yield from ("@last", "@1")
    yield from (name for one in found if one.label for name in (one.label, f"label:{one.label}"))
    yield from (one.id for one in found[:NEWEST] if one.id)
    yield from (PREFIX + name for name in names())


def _rows(_context: click.Context, word: str) -> Iterator[str]:
    from kernometer.campaign.plan import definitions

    for one in definitions("time", "full"):
        yield one.name
        yield from (row.row for row in one.rows if "@" in word)


def _guests(_context: click.Context, _word: str) -> Iterator[str]:
    from kernometer.guests.store import listed

    for guest in listed():
        yield from (guest.name, *guest.manifest.variants)


def _targets(context: click.Context, word: str) -> Iterator[str]:
    from kernometer.targets.parse import FORMS

    yield from (form.partition(":")[0] + ":" * (":" in form) for form, _what in FORMS)
    yield from (f"qemu:{name}" for name in _guests(context, word))


results, rows, guests, targets = map(_of, (_results, _rows, _guests, _targets))
