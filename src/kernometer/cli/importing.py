"""`kernometer import`: results of other suites."""

from __future__ import annotations

from pathlib import Path

import click

from kernometer.cli import options
from kernometer.cli.env import Env, pass_env
from kernometer.errors import ResultError


@click.command()
@click.argument("files", metavar="FILE...", nargs=-1, required=True, type=click.Path(path_type=Path))
@options.label
@click.option(
    "--command", default="", help="What printed FILE, where that does not say so (perf bench --format=simple)."
)
@pass_env
def command(env: Env, files: tuple[Path, ...], label: str, command: str) -> None:
    """Keep what other suites measured: lmbench's results files, UnixBench's reports, what perf bench prints, and the
    JSON of hyperfine and pyperf.

    Each becomes a result with the conditions that its file states, and says what it lacks. 'show', 'compare' and
    'figure' take it; rows with the definition of one of ours are held against that one, and of others the difference
    is told (docs/published.md).

    \b
    Examples:
      kernometer import lmbench/results/x86_64-linux-gnu/host.0 --label before
      kernometer import pipe.txt --command 'perf bench --format=simple sched pipe'
      kernometer compare before @1
    """
    from kernometer.results.imported import MAX_BYTES, publication

    store = env.store()
    for path in files:
        try:
            with path.open("rb") as file:
                data = file.read(MAX_BYTES + 1)
        except OSError as error:
            raise ResultError(f"{path} cannot be read: {error.strerror}.", "Give a file that a suite wrote.") from error
        found = publication(data, str(path), label, command)
        kept = store.keep(found)
        ours = sum(bool(one.ours) for one in found.figures)
        what = f"{found.paper.title}, {len(found.figures)} figures, {ours} with the definition of a row of ours"
        click.echo(f"{kept.stem}: {what}", file=env.out)
