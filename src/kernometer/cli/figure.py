"""`kernometer figure`: a plot or a grid of the literature, in its form, from any results."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from kernometer.cli.env import Env
from kernometer.cli.report import name_systems
from kernometer.errors import UsageError
from kernometer.report.literature.definition import PaperFigure, find, paper_figures
from kernometer.report.literature.draw import FORMATS, picture
from kernometer.report.literature.points import Source, draw, source_of, source_of_published
from kernometer.report.literature.text import as_csv, blocks
from kernometer.report.write.file import write
from kernometer.report.write.terminal import Grid
from kernometer.results.model import Result
from kernometer.results.papers import Column
from kernometer.stats.figures import figures


def command(env: Env, name: str | None, results: tuple[str, ...], listed: bool, output: Path | None) -> None:
    if listed or name is None:
        if not listed:
            raise UsageError("Which figure?", "'kernometer figure --list' names them.")
        rows = ((figure.name, figure.title, figure.shows) for figure in paper_figures().values())
        env.show([Grid(("name", "", "the original"), rows, left=(0, 1, 2), unbroken=(0,))])
        return
    figure = find(name)
    form = output.suffix.removeprefix(".").lower() if output else ""
    if output and form not in (*FORMATS, "csv"):
        raise UsageError(f"{output.name!r} has no known suffix.", f"End it in .{', .'.join((*FORMATS, 'csv'))}.")
    if not results:
        raise UsageError("Of which result?", f"For example: kernometer figure {name} @last.")
    drawing = draw(figure, _sources(env, figure, results))
    if output is None:
        env.show(blocks(drawing))
        return
    write(output, as_csv(drawing) if form == "csv" else picture(drawing, form), "figure")
    env.say(f"The figure is in {output}.")


def _sources(env: Env, figure: PaperFigure, words: Sequence[str]) -> list[Source]:
    """Each result once, in the order of the arguments; a whole published table becomes its systems."""
    store = env.store()
    columns = {word: store.column(word) for word in words}
    measured = _measured(env, [word for word, column in columns.items() if column is None])
    sources: list[Source] = []
    for word, column in columns.items():
        sources += [measured[word]] if column is None else _published(figure, column)
    return sources


def _measured(env: Env, words: Sequence[str]) -> dict[str, Source]:
    """By argument its session, under a name that differs from the others'."""
    results = {word: _session(env, word) for word in words}
    systems = name_systems([(result,) for result in results.values()])
    names = {members[0].session.id: name for name, members in systems.items()}
    return {word: source_of(names[result.session.id], result, figures(result)) for word, result in results.items()}


def _published(figure: PaperFigure, column: Column) -> list[Source]:
    """The named system; for a whole table all systems that have the figure's rows, the reference first."""
    chosen = [system for system in column.publication.paper.systems if column.system in ("", system.system)]
    chosen.sort(key=lambda system: system.system != figure.reference)
    suite = column.publication.paper.suite  # one machine's results of several years have the same name
    made = [
        source_of_published(column.name if suite else system.name, column.publication, system.system)
        for system in chosen
    ]
    if not any(source.values for source in made):
        raise UsageError(f"{column.name} has no figures of Kernometer's rows.", "Give a measured result.")
    return [  # a whole table's system without one of the bars is left out
        source
        for source in made
        if column.system or (source.values and all(source.values.keys() & {*bar.rows} for bar in figure.bar))
    ]


def _session(env: Env, word: str) -> Result:
    """Raises UsageError for several sessions: they have no common interval here."""
    sessions = env.store().load_set(word)
    if len(sessions) > 1:
        raise UsageError(
            f"{word} is a set of {len(sessions)} sessions; a figure shows single sessions.",
            "Give each by its id, or the newest by the label without 'label:'.",
        )
    return sessions[0]
