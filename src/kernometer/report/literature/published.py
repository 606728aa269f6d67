"""Published tables for the terminal and as JSON: rows, a paper's stated numbers with its rows, comparisons."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import msgspec
from rich.table import Table
from rich.text import Text

from kernometer.report.words.units import NOTHING, format_value, ratio_text
from kernometer.results.model import Paper, Publication, Published, Stated
from kernometer.results.papers import PREFIX, Column
from kernometer.stats.printed import Check, Holds, Pair, checks, name_of, shown
from kernometer.text import printable

if TYPE_CHECKING:
    from rich.console import Console

#: Printed with every comparison of published figures.
NO_VERDICT = "Published figures have no samples, so there is no interval and no verdict."
#: Fields of a Pair that only exist with a measured side.
_OURS = ("unit", "published", "printed")
_DIRECTION = {"lower": "↓", "higher": "↑", "": ""}


def _table(*heads: str, right: Sequence[str] = ()) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="bold")
    for head in heads:
        table.add_column(head, justify="right" if head in right else "left", overflow="fold")
    return table


def _say(console: Console, *lines: str, style: str = "") -> None:
    for line in lines:
        console.print(Text(printable(line), style))


def who(paper: Paper) -> str:
    """Authors, year, title in one line; for an imported result the suite and the file."""
    if paper.suite:
        return f"{paper.title}, imported from {paper.where}"
    year = f" {paper.year}" if paper.year else " (no date)"
    return f"{', '.join(paper.authors)}{year}: {paper.title}" + (f". {paper.where}" if paper.where else "")


def print_papers(console: Console, publications: Iterable[Publication]) -> None:
    """Every paper: its name for commands, its systems with figures, and how many figures."""
    table = _table("name", "figures", "stated", "systems", "paper", right=("figures", "stated"))
    table.columns[0].no_wrap = True
    for one in publications:
        counts = (str(len(one.figures)), str(len(one.stated)))
        used = ", ".join(_systems(one, one.figures)) or ", ".join(system.system for system in one.paper.systems)
        table.add_row(PREFIX + one.paper.name, *counts, used, f"{', '.join(one.paper.authors)}: {one.paper.title}")
    console.print(table)


def _systems(publication: Publication, figures: Iterable[Published]) -> list[str]:
    """The systems with a figure, in the paper's order."""
    used = {one.system for one in figures}
    return [one.system for one in publication.paper.systems if one.system in used]


def print_publication(console: Console, publication: Publication, figures: Sequence[Published]) -> None:
    """The paper, its tables with one column per system, and its stated numbers with its own rows."""
    paper = publication.paper
    _say(console, who(paper), style="bold")
    if paper.machine:
        _say(console, f"on {paper.machine}")
    _say(console, *(f"{key}: {value}" for key, value in paper.conditions.items()), style="dim")
    _say(console, *(f"It lacks {one}." for one in paper.lacks))
    for name in dict.fromkeys(one.table for one in figures):
        inside = [one for one in figures if one.table == name]
        systems = _systems(publication, inside)
        about = paper.tables.get(name, "")
        console.print()
        _say(console, f"{name}{': ' + about if about else ''}", style="bold")
        table = _table("row", *systems, "", "our row", right=systems)
        for row in dict.fromkeys(one.row for one in inside):
            cells = {one.system: one for one in inside if one.row == row}
            first = next(iter(cells.values()))
            values = [shown(cells[system]) if system in cells else "" for system in systems]
            ours = first.ours[0] if first.ours else f"{first.overhead_of[0]}, its overhead" if first.overhead_of else ""
            table.add_row(*(Text(cell) for cell in (row, *values, _DIRECTION[first.better], ours)))
        console.print(table)
        _say(console, *_notes(inside), style="dim")
    if publication.stated:
        console.print()
        print_stated(console, publication)
    _say(console, *paper.notes, *(f"left out: {one}" for one in paper.left_out))


def _notes(figures: Iterable[Published]) -> list[str]:
    """Each note with its rows."""
    found: dict[str, dict[str, None]] = {}
    for one in figures:
        notes = [one.note] if one.note else []
        notes += [f"differs from {one.differs}"] if one.differs else []
        notes += [f"read as {one.meant}"] if one.meant and not one.note else []
        for note in notes:
            found.setdefault(note, {})[one.row] = None
    return [f"{', '.join(rows)}: {note}" for note, rows in found.items()]


def print_stated(console: Console, publication: Publication) -> None:
    """The numbers in the paper's text, next to the values that follow from its rows."""
    table = _table("stated", "as printed", "from the rows", "", right=("as printed", "from the rows"))
    found = checks(publication)
    for check in found:
        table.add_row(
            Text(f"{check.stated.what} ({check.stated.place})"),
            Text(_printed(check.stated)),
            Text(_computed(check)),
            Text(check.holds.value, "red" if check.holds is Holds.NOT else ""),
        )
    console.print(table)
    _say(console, *(f"{check.stated.what}: {check.stated.note}" for check in found if check.stated.note), style="dim")


def _printed(stated: Stated) -> str:
    unit = "" if stated.unit in stated.printed or stated.unit == "times" else stated.unit
    return f"{stated.printed} {unit}".strip()


def _computed(check: Check) -> str:
    if check.low is None or check.high is None:
        return NOTHING
    unit = " %" if check.stated.form.startswith("percent") else ""
    ends = dict.fromkeys(f"{value:.4g}" for value in (check.low, check.high))
    return " to ".join(ends) + unit


def print_pairs(console: Console, names: tuple[str, str], publication: Publication, pairs: Sequence[Pair]) -> None:
    """Two systems of one paper or suite; or a system of `publication` and a measured result, in our units."""
    paper, measured = publication.paper, bool(pairs[0].published)
    _say(console, f"{names[1]} against {names[0]}: {len(pairs)} rows that both have. {NO_VERDICT}", style="bold")
    _say(console, f"{who(paper)}; on {paper.machine or 'a machine not named'}")
    if measured:
        _say(console, different(paper), style="yellow")
    heads = ("row", "A", "B", "ratio", "as printed") if measured else ("row", "A", "B", "ratio")
    table = _table(*heads, right=("A", "B", "ratio"))
    for pair in pairs:
        sides = (one if isinstance(one, str) else format_value(one, pair.unit) for one in (pair.a, pair.b))
        cells = (pair.row, *sides, NOTHING if pair.ratio is None else ratio_text(pair.ratio))
        printed = (f"{pair.published.rpartition(': ')[2]}: {pair.printed}",) if measured else ()
        table.add_row(*(Text(printable(cell)) for cell in (*cells, *printed)))
    console.print(table)
    _say(console, f"A: {names[0]}; B: {names[1]}; ratio: cost of B over cost of A, above 1 where B is slower.")
    _say(console, *dict.fromkeys(f"{pair.row}: {pair.note}" for pair in pairs if pair.note), style="dim")
    apart = {one.differs: one.row for one in publication.figures if one.differs and measured}
    _say(console, *(f"not compared: {row} differs from {differs}" for differs, row in apart.items()), style="dim")


def print_alone(console: Console, column: Column, pairs: Sequence[Pair]) -> None:
    """The rows of one side that the other has not."""
    both = {pair.row for pair in pairs}
    figures = [one for one in column.publication.figures if one.system == column.system and one.better]
    if rows := [one.row for one in figures if name_of(one) not in both]:
        _say(console, f"only in {column.name}, {len(rows)} rows: {', '.join(rows)}")


def different(paper: Paper) -> str:
    """The sentence on what else than the kernels affects a ratio of the two."""
    year = f", year ({paper.year})" if paper.year else ", year"
    what = (
        f"program ({paper.title}), compiler, perhaps machine" if paper.suite else f"machine{year}, compiler and probe"
    )
    return f"The two sides also differ in {what}, so the ratio is not that of the kernels alone."


# For programs --------------------------------------------------------------------------------------------------------


def document(publication: Publication, figures: Sequence[Published]) -> dict[str, Any]:
    """`show published/… --json`."""
    plain = msgspec.to_builtins
    stated = [
        {**plain(check.stated), "from_rows": _ends(check), "holds": check.holds.value} for check in checks(publication)
    ]
    return {"paper": plain(publication.paper), "figures": plain(figures), "stated": stated}


def _ends(check: Check) -> list[float] | None:
    return None if check.low is None or check.high is None else [check.low, check.high]


def pairs_document(names: tuple[str, str], paper: Paper, pairs: Sequence[Pair]) -> dict[str, Any]:
    """`compare … --json`: as for measured results, but without verdicts. A measured row's values are in its unit."""
    decided = {"verdict": None, "low": None, "high": None}
    rows = [{key: value for key, value in asdict(one).items() if one.unit or key not in _OURS} for one in pairs]
    differs = {"differs": different(paper)} if pairs[0].unit else {}
    return {"a": names[0], "b": names[1], "why": NO_VERDICT, "rows": [{**row, **decided} for row in rows], **differs}
