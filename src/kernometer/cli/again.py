"""`run --again RESULT`: a stored session's target, rows, options and seed as the defaults of this run."""

from __future__ import annotations

from dataclasses import fields

import click

from kernometer.cli import words
from kernometer.cli.complete import results
from kernometer.cli.env import Env


def _fill(context: click.Context, _parameter: click.Parameter, name: str | None) -> None:
    """Runs before the other options are read, so that options on the command line override the session's."""
    from kernometer.campaign.plan import UNITS, Effort, exactly
    from kernometer.results.model import COMMAND

    env = context.find_object(Env)
    if name is None or env is None:
        return
    result = env.store().load(name)
    session, rows = result.session, [row.row for one in result.workloads.values() for row in one.rows]
    efforts = {key: session.effort[key] for key in (one.name for one in fields(Effort)) if session.effort.get(key)}
    given = {"spec": session.target, "by": session.by, "profile": session.profile, "seed": session.seed, **efforts}
    given["unit_costs"] = any(row.startswith(UNITS) for row in rows)
    context.default_map = {**(context.default_map or {}), **given}
    words.repeat(context, tuple(exactly(row) for row in rows if not row.startswith(COMMAND)), session.command)


option = click.option(
    "--again",
    metavar="RESULT",
    is_eager=True,
    expose_value=False,
    callback=_fill,
    shell_complete=results,
    help="Repeat a session: its target, rows, options (but for the label) and seed. Other options override its own.",
)
