"""A command whose arguments may end in `-- COMMAND…`; click by itself would only remove the dashes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kernometer.cli.options import BriefHelp
from kernometer.errors import UsageError

if TYPE_CHECKING:
    import click

_KEY, _AGAIN = "kernometer.command", "kernometer.again"


class TakesCommand(BriefHelp):
    """Keeps everything after the first `--` apart and unparsed."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if "--" in args:
            at = args.index("--")
            ctx.meta[_KEY] = tuple(args[at + 1 :])
            args = args[:at]
        return super().parse_args(ctx, args)


def repeat(context: click.Context, rows: tuple[str, ...], command: tuple[str, ...]) -> None:
    """Sets the defaults without arguments: a stored session's rows, or its `command` after `--`."""
    context.meta[_AGAIN] = (rows, command[command.index("--") + 1 :] if not rows and "--" in command else ())


def rows_of(context: click.Context, given: tuple[str, ...]) -> tuple[str, ...]:
    """The rows `given`; without rows and without a command, the rows of `repeat`."""
    again: tuple[tuple[str, ...], tuple[str, ...]] = context.meta.get(_AGAIN, ((), ()))
    rows, command = again
    if given or _KEY in context.meta:
        return given
    if command:
        context.meta[_KEY] = command
    return rows


def command_of(context: click.Context) -> tuple[str, ...]:
    """The arguments after `--`, () without `--`. Raises UsageError if nothing follows it."""
    words: tuple[str, ...] | None = context.meta.get(_KEY)
    if words is None:
        return ()
    if not words:
        raise UsageError("There is no command after --.", "For example: kernometer run -- true")
    return words
