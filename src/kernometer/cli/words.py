"""A command whose arguments may end in `-- COMMAND…`, which click by itself would only strip of its dashes."""

from __future__ import annotations

import click

from kernometer.errors import UsageError

_KEY = "kernometer.command"


class TakesCommand(click.Command):
    """Keeps what stands after the first `--` aside, whole and unread."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if "--" in args:
            at = args.index("--")
            ctx.meta[_KEY] = tuple(args[at + 1 :])
            args = args[:at]
        return super().parse_args(ctx, args)


def command_of(context: click.Context) -> tuple[str, ...]:
    """The words after `--`, () where there is no `--`. Raises UsageError where there is nothing after it."""
    words: tuple[str, ...] | None = context.meta.get(_KEY)
    if words is None:
        return ()
    if not words:
        raise UsageError("There is no command after --.", "For example: kernometer run -- true")
    return words
