"""`kernometer import`: results of other stores and of other suites."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import click

from kernometer.cli.env import Env
from kernometer.cli.progress import counted
from kernometer.errors import ResultError, UsageError
from kernometer.results.compressed import chunks
from kernometer.results.imported import MAX_BYTES, publications
from kernometer.results.store import merge, results_in
from kernometer.results.writer import SUFFIX, Kept, is_result
from kernometer.text import printable

#: Of what was not read: so much is said at once; 'show' has the rest.
SHOWN = 5


def command(env: Env, files: tuple[Path, ...], label: str, command: str) -> None:
    stores = [path for path in files if path.is_dir() or is_result(path.name)]
    if stores and (label or command):
        raise UsageError(f"{stores[0]} has labels of its own.", "Leave --label and --command out.")
    for path in files:
        if path not in stores:
            _of_suite(env, path, label, command)
    lost = sum(_merge(env, path) for path in stores)
    if lost:
        raise ResultError(f"{lost:,} results were not taken; the others are here.", "Each has its reason above.")


def _merge(env: Env, source: Path) -> int:
    """How many of its results were not taken."""
    store = env.store()
    files = results_in(source)
    if not files:
        raise ResultError(f"There is no result in {source}.", f"Give a directory with *{SUFFIX} files.")
    kept: Counter[Kept] = Counter()
    lost = 0
    with counted(env, len(files), "results") as tick:
        for one in merge(store.writable(), files):
            tick()
            if one.kept is None:
                lost += 1
                env.say(printable(f"{one.source}: not taken: {one.problem}", 400))
            else:
                kept[one.kept] += 1
    parts = [f"{kept[one]:,} {one.value}" for one in Kept] + ([f"{lost:,} not taken"] if lost else [])
    click.echo(printable(f"{source}: {', '.join(parts)}"), file=env.out)
    return lost


def _of_suite(env: Env, path: Path, label: str, command: str) -> None:
    store = env.store()
    try:
        data = b"".join(chunks(path, MAX_BYTES + 1))
    except OSError as error:
        raise ResultError(f"{path} cannot be read: {error.strerror}.", "Give a file that a suite wrote.") from error
    runs = publications(data, str(path), label, command)
    for found in runs:
        kept, paper = store.keep(found), found.paper
        ours = sum(bool(one.ours) for one in found.figures)
        what = f"{paper.title}, {len(found.figures)} figures, {ours} with the definition of a row of ours"
        which = f"; {paper.label or 'one run of the file'}: {paper.systems[0].name}" if len(runs) > 1 else ""
        click.echo(f"{kept.stem}: {what}{which}", file=env.out)
        for note in paper.notes:
            env.say(f"  {note}")
        for line in paper.left_out[:SHOWN]:
            env.say(f"  not read: {line}")
        if len(paper.left_out) > SHOWN:
            env.say(f"  and {len(paper.left_out) - SHOWN} more: kernometer show {kept.stem}")
