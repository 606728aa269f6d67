"""`kernometer list` and `kernometer rm`: what is stored."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click
from rich.measure import Measurement

from kernometer.cli.env import Env
from kernometer.errors import UsageError
from kernometer.report.write.terminal import Grid, grid
from kernometer.results.compressed import NO_ZSTD
from kernometer.results.index import Summary
from kernometer.results.rows import Row
from kernometer.text import printable

if TYPE_CHECKING:
    from rich.console import Console


def command(
    env: Env,
    rows: tuple[str, ...],
    label: str,
    target: str,
    by: str | None,
    newest: int | None,
    published: bool,
    history: bool,
) -> None:
    if rows and not history:
        raise UsageError("Without --history sessions are listed, not rows.", "kernometer list --history ROW")
    if published:
        from kernometer.cli.published import show_all

        show_all(env)
        return
    store = env.store()
    callable_ = [session.path for session in store.summaries() if not session.problem and not session.growing]
    places = {path: place for place, path in enumerate(callable_)}
    sessions = store.summaries(label=label, target=target, by=by or "", newest=newest or 0)
    if history:
        _history(env, sessions, rows)
        return
    if env.json:
        click.echo(json.dumps([_document(session) for session in sessions], indent=1), file=env.out)
        return
    if sessions:
        _print(env.console(), [(_call(places.get(session.path)), session) for session in sessions])
    else:
        env.say(f"No results in {store.folder}" + (" of that kind." if label or target or by else "."))
        env.say("'kernometer run' measures this machine.")


def _history(env: Env, stored: list[Summary], rows: tuple[str, ...]) -> None:
    from kernometer.report.store.changes import blocks, document
    from kernometer.stats.changes import courses

    store = env.store()
    sessions = (
        store.read(session.path) for session in stored if session.runs and not (session.problem or session.growing)
    )
    shown = [course for course in courses(sessions) if not rows or any(Row(course.row).is_named(word) for word in rows)]
    if not shown:
        raise UsageError("No stored session has such a row.", "'kernometer list' and 'kernometer show' tell what is.")
    if env.json:
        click.echo(json.dumps(document(shown), indent=1), file=env.out)
    else:
        env.show(blocks(shown, every=bool(rows)))


#: From this width on the table shows the kernels; on a narrower screen they would cut all other columns.
WIDE = 100
#: Characters of a line, at the most.
LONGEST = 2000


def _call(place: int | None) -> str:
    return "" if place is None else "@last" if place == 0 else f"@{place}"


def _document(session: Summary) -> dict[str, Any]:
    return asdict(session) | {"path": str(session.path)}


def _print(console: Console, named: list[tuple[str, Summary]]) -> None:
    wide = console.width >= WIDE
    heads = ("", "id", "label", "target", *(["kernel"] if wide else []), "by", "rows", "")
    rows = []
    for name, session in named:
        cells = (
            session.id or session.path.name,
            session.label,
            session.target,
            *([session.kernel] if wide else []),
            session.by,
        )
        count = "" if session.problem else str(session.rows)
        rows.append((name, *(printable(cell, 200) for cell in (*cells, count, state(session)))))
    every = range(len(heads))
    table = grid(Grid(heads, rows, left=[number for number in every if heads[number] != "rows"], whole=every))
    whole = Measurement.get(console, console.options.update(width=LONGEST), table).maximum
    console.width = max(console.width, whole + 2)  # the terminal breaks a line that is too long: names are copied
    console.print(table)


def state(session: Summary) -> str:
    """What is wrong with a session; "" if nothing is."""
    if session.problem:
        return "cannot be read: zstd is not installed" if session.problem == NO_ZSTD else "unreadable"
    if session.growing:
        return "measuring"
    parts = [f"{session.failures} failed"] if session.failures else []
    if not session.complete:
        parts.append("not complete")
    elif session.damage:
        parts.append("damaged")
    return ", ".join(parts)


def remove(env: Env, names: tuple[str, ...], yes: bool) -> None:
    for path in env.store().remove(names, sets=yes):
        click.echo(f"{path.stem}: removed", file=env.out)
