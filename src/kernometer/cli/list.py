"""`kernometer list` and `kernometer rm`: what is stored."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from rich.measure import Measurement

from kernometer.cli.env import Env
from kernometer.errors import UsageError
from kernometer.report.write.terminal import Grid, grid
from kernometer.results.compressed import NO_ZSTD
from kernometer.results.index import Summary
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
    report_file: Path | None,
    data_file: Path | None,
    tree: Path | None,
) -> None:
    if not history and (rows or report_file or data_file or tree):
        raise UsageError("Without --history sessions are listed, not rows.", "kernometer list --history ROW")
    if published:
        from kernometer.cli.published import show_all

        show_all(env)
        return
    wanted = {"label": label, "target": target, "by": by or "", "newest": newest or 0}
    if history:
        from kernometer.cli.history import command as show_history

        show_history(env, rows, report_file, data_file, tree, wanted)
        return
    store = env.store()
    callable_ = [session.path for session in store.summaries() if not session.problem and not session.growing]
    names = {path: f"@{place or 'last'}" for place, path in enumerate(callable_)}
    sessions = store.summaries(label=label, target=target, by=by or "", newest=newest or 0)
    if env.json:
        env.print_json([asdict(session) | {"path": str(session.path)} for session in sessions])
        return
    if sessions:
        _print(env.console(), [(names.get(session.path, ""), session) for session in sessions])
    else:
        env.say(f"No results in {store.folder}" + (" of that kind." if label or target or by else "."))
        env.say("'kernometer run' measures this machine.")


#: From this width on the table shows the kernels; on a narrower screen they would cut all other columns.
WIDE = 100
#: Characters of a line, at the most.
LONGEST = 2000


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
    table = grid(Grid(heads, rows, left=[number for number in every if heads[number] != "rows"], unbroken=every))
    widest = Measurement.get(console, console.options.update(width=LONGEST), table).maximum
    console.width = max(console.width, widest + 2)  # the terminal breaks a line that is too long: names are copied
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
        env.print(f"{path.stem}: removed")
