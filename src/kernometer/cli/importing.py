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
    "--command", default="", help="The command that printed FILE, if FILE lacks it (perf bench --format=simple)."
)
@pass_env
def command(env: Env, files: tuple[Path, ...], label: str, command: str) -> None:
    """Store results of other suites: lmbench's results files, UnixBench's reports, the output of perf bench, and the
    JSON of hyperfine and pyperf.

    Each file becomes a result with the conditions that it states, and a list of what it lacks. 'show', 'compare' and
    'figure' take it. Its rows are compared with Kernometer's rows of the same definition; other rows come with a note
    on the difference (docs/published.md).

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
