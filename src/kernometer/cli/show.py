"""`kernometer show`: one result as a table."""

from __future__ import annotations

from collections.abc import Mapping

from kernometer.cli import published
from kernometer.cli.env import Env
from kernometer.cli.show_comparisons import figures_of
from kernometer.errors import UsageError
from kernometer.report.session.terminal import document, print_result
from kernometer.results.model import Result
from kernometer.results.papers import ALL
from kernometer.results.rows import Row
from kernometer.stats.model import RowFigure


def command(env: Env, name: str, rows: tuple[str, ...], details: bool, everything: bool, points: bool) -> None:
    if name == ALL:
        published.show_all(env)
        return
    store = env.store()
    if column := store.column(name):
        published.show(env, column, rows)
        return
    result = store.load(name)
    chosen = choose(result, figures_of(store, result), rows)
    if env.json:
        env.print_json(document(result, chosen))
    else:
        print_result(env.console(), result, chosen, everything=everything, details=details, points=points, named=rows)


def choose(result: Result, figures: Mapping[str, RowFigure], wanted: tuple[str, ...]) -> dict[str, RowFigure]:
    """The rows that match any of the words; all rows without a word. Raises UsageError for a word without a row, with
    the reason: the row failed, is unsupported, or was on a line that cannot be read."""
    if not wanted:
        return dict(figures)
    chosen: dict[str, RowFigure] = {}
    for word in wanted:
        matching = {row: figure for row, figure in figures.items() if Row(row).is_named(word)}
        if not matching:
            without = [(failure.row, f"It failed: {failure.text}") for failure in result.failures]
            without += [(lack.row, f"It is unsupported: {lack.reason}.") for lack in result.unsupported]
            became = [why for row, why in without if Row(row).is_named(word)]
            said = " ".join(dict.fromkeys((f"The result has no figure of {word!r}.", *became[:3], *result.damage[:3])))
            raise UsageError(said, "Leave ROW out to see all of its rows.")
        chosen |= matching
    return chosen
