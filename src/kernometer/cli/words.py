"""A command whose arguments may end in `-- COMMAND…`, which click by itself would only strip of its dashes."""

from __future__ import annotations

import click

from kernometer.errors import UsageError

_KEY, _AGAIN = "kernometer.command", "kernometer.again"


class TakesCommand(click.Command):
    """Keeps what stands after the first `--` aside, whole and unread."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if "--" in args:
            at = args.index("--")
            ctx.meta[_KEY] = tuple(args[at + 1 :])
            args = args[:at]
        return super().parse_args(ctx, args)


def repeat(context: click.Context, rows: tuple[str, ...], command: tuple[str, ...]) -> None:
    """What is meant where no words are given: a stored session's rows, or what followed `--` in its `command`."""
    context.meta[_AGAIN] = (rows, command[command.index("--") + 1 :] if not rows and "--" in command else ())


def rows_of(context: click.Context, given: tuple[str, ...]) -> tuple[str, ...]:
    """The rows that were `given`; where neither they nor a command were, those that are repeated."""
    again: tuple[tuple[str, ...], tuple[str, ...]] = context.meta.get(_AGAIN, ((), ()))
    rows, command = again
    if given or _KEY in context.meta:
        return given
    if command:
        context.meta[_KEY] = command
    return rows


def command_of(context: click.Context) -> tuple[str, ...]:
    """The words after `--`, () where there is no `--`. Raises UsageError where there is nothing after it."""
    words: tuple[str, ...] | None = context.meta.get(_KEY)
    if words is None:
        return ()
    if not words:
        raise UsageError("There is no command after --.", "For example: kernometer run -- true")
    return words
