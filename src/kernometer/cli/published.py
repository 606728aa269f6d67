"""What `show`, `list` and `compare` do with a published table or an imported result."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from kernometer.cli.env import Env
from kernometer.errors import UsageError
from kernometer.report.literature import published as report
from kernometer.results.model import Published
from kernometer.results.papers import PREFIX, Column, load, names
from kernometer.results.rows import Row
from kernometer.stats.figures import figures
from kernometer.stats.printed import Pair, beside, columns
from kernometer.text import printable


def show_all(env: Env) -> None:
    """`show published` and `list --published`: every table."""
    papers = [load(PREFIX + name).publication for name in names()]
    env.answer(
        lambda: [report.document(paper, paper.figures)["paper"] for paper in papers], report.papers_blocks(papers)
    )


def show(env: Env, column: Column, rows: tuple[str, ...]) -> None:
    """`show published/NAME[:SYSTEM] [ROW]…`, and the same for an imported result."""
    figures = [figure for figure in column.publication.figures if column.system in ("", figure.system)]
    chosen = _choose(figures, rows)
    env.answer(lambda: report.document(column.publication, chosen), report.blocks(column.publication, chosen))


def _choose(figures: Sequence[Published], rows: tuple[str, ...]) -> list[Published]:
    """Those whose printed row, table, or row of Kernometer matches one of the words."""
    for word in rows:
        if not any(_means(word, figure) for figure in figures):
            raise UsageError(f"The table has no row {printable(word, 80)!r}.", "Leave ROW out to see all of them.")
    return [figure for figure in figures if not rows or any(_means(word, figure) for word in rows)]


def _means(word: str, figure: Published) -> bool:
    return any(
        Row(name).is_like(word) or Row(name).workload == word for name in (figure.row, figure.table, *figure.ours)
    )


def compare(env: Env, sides: Mapping[str, Column | None], report_file: Path | None) -> None:
    """Compares each with the first if at least one of the two has no samples: ratios without verdicts."""
    if report_file is not None:
        raise UsageError(
            "A report holds measured results; a published table or an imported result has no samples to show.",
            "Leave --report out, or draw a figure: kernometer figure --list.",
        )
    first, *others = sides
    apart = [name for name in others if sides[name] is None]
    if sides[first] is None and apart:
        raise UsageError(
            f"{apart[0]} and {first} are compared by their samples, but the other results have none.",
            "Compare the two measured results in a separate call.",
        )
    documents = [_compare(env, (first, other), (sides[first], sides[other])) for other in others]
    if env.json:
        env.print_json(documents)


def _compare(env: Env, names: tuple[str, str], sides: tuple[Column | None, Column | None]) -> dict[str, Any]:
    """Prints one comparison, except with --json; returns it as a document."""
    columns = [of_one_system(side) for side in sides if side is not None]
    first = sides[0] is not None
    pairs = _two_columns(*columns) if len(columns) == 2 else _beside(env, columns[0], names[first], first=first)
    if not env.json:
        env.show(report.pairs_blocks(names, columns[0].publication, pairs))
        for column in columns if len(columns) == 2 else ():
            env.show(report.alone_blocks(column, pairs))
    return report.pairs_document(names, columns[0].publication.paper, pairs)


def _two_columns(a: Column, b: Column) -> Sequence[Pair]:
    papers = a.publication.paper, b.publication.paper
    if papers[0].name != papers[1].name or papers[0].suite:
        raise UsageError(
            "Two papers or suites have no rows in common: each has its own programs.",
            "Compare two systems of one paper, results of one suite, or each with a measured result.",
        )
    pairs = columns(a.publication, a.system, b.publication, b.system)
    if not pairs:
        raise UsageError(f"{a.name} and {b.name} have no row in common.", "'kernometer show' names the rows of each.")
    return pairs


def _beside(env: Env, column: Column, measured: str, *, first: bool) -> Sequence[Pair]:
    results = env.store().load_set(measured)
    if len(results) > 1:
        raise UsageError(
            f"{measured} is a set of {len(results)} sessions; figures without samples are compared with one session.",
            "Give one session: its id, @last, or its label without 'label:'.",
        )
    [result] = results
    by = column.publication.paper.by
    if result.session.by != by:
        did = {"path": "counts instructions", "time": "measured times"}
        what = f"{measured} {did[result.session.by]}, and {column.name} {did[by]}."
        raise UsageError(what, f"Compare with a result by {by}.")
    pairs = beside(column.publication, column.system, figures(result), first=first)
    if not pairs:
        rows = dict.fromkeys(
            row for figure in column.publication.figures if figure.system == column.system for row in figure.ours
        )
        some = " ".join(dict.fromkeys(Row(row).workload for row in rows))
        raise UsageError(
            f"{measured} and {column.name} have no row in common.",
            f"Measure some: kernometer run --profile full {some}." if some else "Kernometer has none of its rows.",
        )
    return pairs


def of_one_system(column: Column) -> Column:
    """Raises UsageError for a whole paper."""
    if not column.system:
        systems = [f"{column.name}:{system.system}" for system in column.publication.paper.systems]
        raise UsageError(f"{column.name} has several systems.", f"Name one: {', '.join(systems)}.")
    return column
