"""What every command gets: its streams, the store, and how to show things."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO, TypeVar

import click

if TYPE_CHECKING:
    from rich.console import Console

    from kernometer.report.write.terminal import Block
    from kernometer.results.store import Store

#: Columns if the output is no terminal and COLUMNS is not set.
WIDTH = 80

_F = TypeVar("_F", bound=Callable[..., Any])


@dataclass(slots=True)
class Env:
    """One call of the command line. Everything heavy is imported by the method that needs it."""

    out: TextIO
    err: TextIO
    store_folder: Path | None = None  #: None: the XDG data home
    color: bool = True  #: False: --no-color or NO_COLOR
    json: bool = False  #: --json: one JSON document on `out`, nothing else there
    raw: bool = False  #: --raw: every sample counts, also those taken while the core was shared
    _store: Store | None = None  #: made once: for an archive it takes a digest

    def console(self, *, err: bool = False) -> Console:
        """A rich console on `out` or `err`."""
        from kernometer.cli.console import on

        return on(self.err if err else self.out, color=self.color, columns=_columns())

    def show(self, blocks: Iterable[Block]) -> None:
        """Prints lines and tables on `out`."""
        from kernometer.report.write.terminal import show

        show(self.console(), blocks)

    def print(self, text: str) -> None:
        """Prints a line on `out`, as it is."""
        click.echo(text, file=self.out)

    def print_json(self, document: object, **how: Any) -> None:
        """Prints a document; `how` as json.dumps takes it."""
        import json

        self.print(json.dumps(document, **{"indent": 1, **how}))

    def answer(self, document: Callable[[], object], blocks: Iterable[Block], **how: Any) -> None:
        """Prints with --json the document, else the lines and tables."""
        if self.json:
            self.print_json(document(), **how)
        else:
            self.show(blocks)

    def store(self) -> Store:
        """The store of results. Raises ResultError if there is no place for one."""
        from kernometer.results.store import Store, default_folder

        if self._store is None:
            self._store = Store(self.store_folder or default_folder(), raw=self.raw)
        return self._store

    def say(self, text: str) -> None:
        """Prints a remark for the user on standard error."""
        click.echo(text, file=self.err)


def no_color_wanted() -> bool:
    """Whether the environment asks for no colour, by the convention of NO_COLOR."""
    return bool(os.environ.get("NO_COLOR"))


def _columns() -> int:
    """COLUMNS if it is a sensible number."""
    given = os.environ.get("COLUMNS", "")
    return max(40, int(given)) if given.isdecimal() and len(given) < 5 else WIDTH


def called(module: str, name: str) -> Callable[..., Any]:
    """The function of that name in `kernometer.cli.MODULE`, which is imported when it is called."""
    return lambda *given, **named: getattr(import_module(f"kernometer.cli.{module}"), name)(*given, **named)


def done_by(module: str, name: str = "command") -> Callable[[_F], Callable[..., None]]:
    """Turns a declaration, which has the help text, into a command that calls that function with its Env, and leaves
    with the status that it returns; without one it is done."""

    def call(env: Env, /, *given: Any, **named: Any) -> None:
        raise click.exceptions.Exit(called(module, name)(env, *given, **named) or 0)

    return lambda declared: functools.update_wrapper(click.make_pass_decorator(Env)(call), declared)


def callback(module: str, name: str) -> Callable[[click.Context, click.Parameter, Any], Any]:
    """An option's callback. It is not called without a value, nor while a man page or a completion is made."""

    def call(context: click.Context, parameter: click.Parameter, value: Any) -> Any:
        if value is None or context.resilient_parsing or context.find_object(Env) is None:
            return value
        return called(module, name)(context, parameter, value)

    return call


def _flag_of_env(name: str, help_text: str) -> Callable[[_F], _F]:
    """A flag `--NAME` that sets `Env.NAME`; the command takes no argument for it."""

    def remember(context: click.Context, _parameter: click.Parameter, value: bool) -> None:
        env = context.find_object(Env)
        if env is not None:  # None while a man page or a completion is made
            setattr(env, name, value)

    return click.option(f"--{name}", is_flag=True, expose_value=False, callback=remember, help=help_text)


json_option = _flag_of_env("json", "Print JSON.")
raw_option = _flag_of_env("raw", "Count every sample alike, whatever the state of the core (docs/statistics.md).")
