"""Arguments that are not single words: lists, `-- COMMAND…`, and those of a stored session."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterable
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING

from kernometer.campaign.plan import Effort
from kernometer.cli.env import Env
from kernometer.cli.options import TakesCommand
from kernometer.errors import ResultError, UsageError
from kernometer.results.rows import Row
from kernometer.targets.parse import FORMS

if TYPE_CHECKING:
    import click

_KEY, _AGAIN = TakesCommand.KEY, "kernometer.again"


def rows_of(context: click.Context, given: tuple[str, ...]) -> tuple[str, ...]:
    """The rows `given`; without rows and without a command, what a session measured that is `repeated`."""
    rows: tuple[str, ...]
    rows, command = context.meta.get(_AGAIN, ((), ()))
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
#: A comma before a kind of target: `qemu:linux-6.1+cpu=max,-pcid,local` is two.
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


def repeated(context: click.Context, _parameter: click.Parameter, name: str) -> None:
    """Runs before the other options are read, so that options on the command line override the session's."""
    result = context.ensure_object(Env).store().load(name)
    session, rows = result.session, [row.row for workload in result.workloads.values() for row in workload.rows]
    efforts = {key: session.effort[key] for key in (field.name for field in fields(Effort)) if session.effort.get(key)}
    given = {"spec": session.target, "by": session.by, "profile": session.profile, "seed": session.seed, **efforts}
    given["processor"] = str(session.processor.get("name", "none"))
    given["unit_costs"] = any(Row(row).is_unit_cost for row in rows)
    context.default_map = {**(context.default_map or {}), **given}
    again, command = tuple(Row(row).argument for row in rows if not Row(row).command), session.command
    context.meta[_AGAIN] = (again, command[command.index("--") + 1 :] if not again and "--" in command else ())


def writable(_context: click.Context, parameter: click.Parameter, path: Path) -> Path:
    """Raises ResultError before measuring if the file cannot be written."""
    if path.is_file() or not path.exists():  # a device or a pipe is opened later
        try:
            tempfile.TemporaryFile(dir=path.parent).close()
        except OSError as error:
            text = f"{path} cannot be written: {error.strerror}."
            raise ResultError(text, f"Name another file with {parameter.opts[0]} FILE.") from error
    return path
