"""What `show`, `list` and `compare` do where a name means a published table."""

from __future__ import annotations

import json
from collections.abc import Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import click

from kernometer.cli.env import Env
from kernometer.errors import UsageError
from kernometer.results.model import Published
from kernometer.results.published import ALL, PREFIX, Column, is_published, load, names
from kernometer.text import printable


def show(env: Env, name: str, rows: tuple[str, ...]) -> None:
    """`show published` names them all, `show published/NAME[:SYSTEM] [ROW]…` shows one."""
    from kernometer.report import published as report

    if name == ALL:
        papers = [load(PREFIX + one).publication for one in names()]
        if env.json:
            _print_json(env, [report.document(one, one.figures)["paper"] for one in papers])
        else:
            report.print_papers(env.console(), papers)
        return
    column = load(name)
    figures = [one for one in column.publication.figures if column.system in ("", one.system)]
    chosen = _choose(figures, rows)
    if env.json:
        _print_json(env, report.document(column.publication, chosen))
    else:
        report.print_publication(env.console(), column.publication, chosen)


def _choose(figures: Sequence[Published], rows: tuple[str, ...]) -> list[Published]:
    """Those whose row as printed, table, or row of ours any of the words means."""
    for word in rows:
        if not any(_means(word, one) for one in figures):
            raise UsageError(f"The paper has no row {printable(word, 80)!r}.", "Leave ROW out to see all of them.")
    return [one for one in figures if not rows or any(_means(word, one) for word in rows)]


def _means(word: str, one: Published) -> bool:
    return any(fnmatchcase(name, word) or name.partition("@")[0] == word for name in (one.row, one.table, *one.ours))


def compare(env: Env, first: str, others: Sequence[str], report_file: Path | None) -> None:
    """Each of the others against the first, where at least one of the two is published: arithmetic, no verdict."""
    if report_file is not None:
        raise UsageError(
            "A report holds measured results; a published table has no samples to show.",
            "Leave --report out, or draw a figure: kernometer figure --list.",
        )
    apart = [name for name in others if not is_published(name)]
    if not is_published(first) and apart:
        raise UsageError(
            f"{apart[0]} is judged against {first} by samples, which a published table lacks.",
            "Compare the two measured results in a call of their own.",
        )
    documents = [_compare(env, first, other) for other in others]
    if env.json:
        _print_json(env, documents)


def _compare(env: Env, a: str, b: str) -> dict[str, Any]:
    """Prints one comparison, unless JSON is wanted; gives it as a document."""
    from kernometer.report import published as report

    if is_published(a) and is_published(b):
        return _two_columns(env, _of_one_system(a), _of_one_system(b))
    first = is_published(a)
    column = _of_one_system(a if first else b)
    found = _beside(env, column, b if first else a)
    paper = column.publication.paper
    if not env.json:
        report.print_beside(env.console(), (a, b), column.publication, found, published_first=first)
    return report.beside_document((a, b), paper, found, published_first=first)


def _two_columns(env: Env, a: Column, b: Column) -> dict[str, Any]:
    from kernometer.report import published as report
    from kernometer.stats.published import columns

    if a.publication.paper.name != b.publication.paper.name:
        raise UsageError(
            "Two papers have no rows in common: each has its own machine and its own programs.",
            "Compare two systems of one paper, or each paper with a measured result.",
        )
    pairs = columns(a.publication, a.system, b.system)
    if not pairs:
        raise UsageError(f"{a.name} and {b.name} have no row in common.", f"See 'kernometer show {PREFIX[:-1]}'.")
    if not env.json:
        report.print_pairs(env.console(), (a.name, b.name), a.publication.paper, pairs)
    return report.pairs_document((a.name, b.name), pairs)


def _beside(env: Env, column: Column, measured: str) -> Any:
    from kernometer.stats.figures import figures
    from kernometer.stats.published import beside

    results = env.store().load_set(measured)
    if len(results) > 1:
        raise UsageError(
            f"{measured} is a set of {len(results)} sessions; a published table is held against one.",
            "Give one session: its id, @last, or its label without 'label:'.",
        )
    [result] = results
    if result.session.by != "time":
        raise UsageError(
            f"{measured} counts instructions, and the papers measured times.", "Compare with a result by time."
        )
    found = beside(column.publication, column.system, figures(result))
    if not found:
        rows = dict.fromkeys(
            row for one in column.publication.figures if one.system == column.system for row in one.ours
        )
        some = " ".join(dict.fromkeys(row.partition("@")[0] for row in rows))
        raise UsageError(
            f"{measured} has no row that {column.name} has too.",
            f"Measure some: kernometer run --profile full {some}." if some else "Our catalogue has none of its rows.",
        )
    return found


def _of_one_system(name: str) -> Column:
    """Raises UsageError where the name is that of a whole paper."""
    if name == ALL:
        raise UsageError("Say which paper and which system.", "For example: published/miao-2011:linux.")
    column = load(name)
    if not column.system:
        systems = [one.system for one in column.publication.paper.systems]
        raise UsageError(f"{name} has several systems.", f"Say which: {', '.join(f'{name}:{one}' for one in systems)}.")
    return column


def _print_json(env: Env, document: Any) -> None:
    click.echo(json.dumps(document, indent=1), file=env.out)
