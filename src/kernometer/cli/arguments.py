"""What a command's arguments hold besides words: lists, `-- COMMAND…`, and a stored session's in their place."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import fields

import click

from kernometer.campaign.plan import Effort
from kernometer.cli.completion import results
from kernometer.cli.env import Env
from kernometer.cli.options import BriefHelp
from kernometer.errors import UsageError
from kernometer.results.rows import Row
from kernometer.targets.parse import FORMS

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


_KINDS = tuple(form.partition(":")[0] for form, _ in FORMS)
#: A comma before a kind of target: `qemu:linux-6.1+cpu=max,-erms,local` is two.
_TARGETS = re.compile(rf",(?=(?:{'|'.join(_KINDS)})(?::|,|$))")
#: A comma before a family's slash: `ctx/ring@procs=8,token=0,syscall/*` is two.
_WORKLOADS = re.compile(r",(?=[^,@=]*/)")


def is_target(word: str) -> bool:
    """Whether a word names a target: no workload begins with a kind of them."""
    return word.partition(":")[0] in _KINDS


def targets(words: Iterable[str]) -> tuple[str, ...]:
    """The targets that `--on A,B --on C` names, each once, in order."""
    return _each(words, _TARGETS)


def workloads(words: Iterable[str]) -> tuple[str, ...]:
    """The workloads, rows and patterns that `--workloads A,B` names."""
    return _each(words, _WORKLOADS)


def _each(words: Iterable[str], comma: re.Pattern[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(part for word in words for part in comma.split(word) if part))


def _repeated(context: click.Context, _parameter: click.Parameter, name: str | None) -> None:
    """Runs before the other options are read, so that options on the command line override the session's."""

    env = context.find_object(Env)
    if name is None or env is None:
        return
    result = env.store().load(name)
    session, rows = result.session, [row.row for one in result.workloads.values() for row in one.rows]
    efforts = {key: session.effort[key] for key in (one.name for one in fields(Effort)) if session.effort.get(key)}
    given = {"spec": session.target, "by": session.by, "profile": session.profile, "seed": session.seed, **efforts}
    given["unit_costs"] = any(Row(row).is_unit_cost for row in rows)
    context.default_map = {**(context.default_map or {}), **given}
    repeat(context, tuple(Row(row).argument for row in rows if not Row(row).command), session.command)


again = click.option(
    "--again",
    metavar="RESULT",
    is_eager=True,
    expose_value=False,
    callback=_repeated,
    shell_complete=results,
    help="Repeat a session: its target, rows, options (but for the label) and seed. Other options override its own.",
)
