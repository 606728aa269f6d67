"""Published tables for the terminal and as JSON: rows, a paper's stated numbers with its rows, comparisons."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from typing import Any

from rich.text import Text

from kernometer.report.words.units import NOTHING, format_value, ratio_text
from kernometer.report.write.document import plain
from kernometer.report.write.terminal import BLANK, Block, Grid, Line
from kernometer.results.model import Paper, Publication, Published, Stated
from kernometer.results.papers import PREFIX, Column
from kernometer.stats.printed import Check, Holds, Pair, checks, name_of, shown
from kernometer.text import printable

#: Printed with every comparison of published figures.
NO_VERDICT = "Published figures have no samples, so there is no interval and no verdict."
#: Fields of a Pair that only exist with a measured side.
_OURS = ("unit", "published", "printed")
_DIRECTION = {"lower": "↓", "higher": "↑", "": ""}


def _table(heads: Sequence[str], rows: Iterable[Sequence[str | Text]], right: Sequence[str] = ()) -> Grid:
    return Grid(heads, rows, left=[number for number, head in enumerate(heads) if head not in right])


def _say(*lines: str, style: str = "") -> Iterator[Block]:
    yield from (Line(printable(line), style) for line in lines)


def who(paper: Paper) -> str:
    """Authors, year, title in one line; for an imported result the suite and the file."""
    if paper.suite:
        return f"{paper.title}, imported from {paper.where}"
    year = f" {paper.year}" if paper.year else " (no date)"
    return f"{', '.join(paper.authors)}{year}: {paper.title}" + (f". {paper.where}" if paper.where else "")


def papers_blocks(publications: Iterable[Publication]) -> Iterator[Block]:
    """Every paper: its name for commands, its systems with figures, and how many figures."""
    rows = [
        (
            *(PREFIX + publication.paper.name, str(len(publication.figures)), str(len(publication.stated))),
            ", ".join(_systems(publication, publication.figures))
            or ", ".join(system.system for system in publication.paper.systems),
            f"{', '.join(publication.paper.authors)}: {publication.paper.title}",
        )
        for publication in publications
    ]
    yield Grid(("name", "figures", "stated", "systems", "paper"), rows, left=(0, 3, 4), unbroken=(0,))


def _systems(publication: Publication, figures: Iterable[Published]) -> list[str]:
    """The systems with a figure, in the paper's order."""
    used = {figure.system for figure in figures}
    return [system.system for system in publication.paper.systems if system.system in used]


def blocks(publication: Publication, figures: Sequence[Published]) -> Iterator[Block]:
    """The paper, its tables with one column per system, and its stated numbers with its own rows."""
    paper = publication.paper
    yield from _say(who(paper), style="bold")
    if paper.machine:
        yield from _say(f"on {paper.machine}")
    yield from _say(*(f"{key}: {value}" for key, value in paper.conditions.items()), style="dim")
    yield from _say(*(f"It lacks {lack}." for lack in paper.lacks))
    for name in dict.fromkeys(figure.table for figure in figures):
        inside = [figure for figure in figures if figure.table == name]
        about = paper.tables.get(name, "")
        yield BLANK
        yield from _say(f"{name}{': ' + about if about else ''}", style="bold")
        yield _figures_table(inside, _systems(publication, inside))
        yield from _say(*_notes(inside), style="dim")
    if publication.stated:
        yield BLANK
        yield from _stated(publication)
    yield from _say(*paper.notes, *(f"left out: {part}" for part in paper.left_out))


def _figures_table(figures: Sequence[Published], systems: Sequence[str]) -> Grid:
    rows = []
    for row in dict.fromkeys(figure.row for figure in figures):
        cells = {figure.system: figure for figure in figures if figure.row == row}
        first = next(iter(cells.values()))
        values = (shown(cells[system]) if system in cells else "" for system in systems)
        ours = first.ours[0] if first.ours else f"{first.overhead_of[0]}, its overhead" if first.overhead_of else ""
        rows.append((row, *values, _DIRECTION[first.better], ours))
    return _table(("row", *systems, "", "our row"), rows, right=systems)


def _notes(figures: Iterable[Published]) -> list[str]:
    """Each note with its rows."""
    rows_of: dict[str, dict[str, None]] = {}
    for figure in figures:
        notes = [figure.note] if figure.note else []
        notes += [f"differs from {figure.differs}"] if figure.differs else []
        notes += [f"read as {figure.meant}"] if figure.meant and not figure.note else []
        for note in notes:
            rows_of.setdefault(note, {})[figure.row] = None
    return [f"{', '.join(rows)}: {note}" for note, rows in rows_of.items()]


def _stated(publication: Publication) -> Iterator[Block]:
    """The numbers in the paper's text, next to the values that follow from its rows."""
    made = checks(publication)
    rows = [
        (
            f"{check.stated.what} ({check.stated.place})",
            *(_printed(check.stated), _computed(check)),
            Text(check.holds.value, "red" if check.holds is Holds.NOT else ""),
        )
        for check in made
    ]
    yield Grid(("stated", "as printed", "from the rows", ""), rows, left=(0, 3))
    notes = (f"{check.stated.what}: {check.stated.note}" for check in made if check.stated.note)
    yield from _say(*notes, style="dim")


def _printed(stated: Stated) -> str:
    unit = "" if stated.unit in stated.printed or stated.unit == "times" else stated.unit
    return f"{stated.printed} {unit}".strip()


def _computed(check: Check) -> str:
    if check.low is None or check.high is None:
        return NOTHING
    unit = " %" if check.stated.form.startswith("percent") else ""
    ends = dict.fromkeys(f"{value:.4g}" for value in (check.low, check.high))
    return " to ".join(ends) + unit


def pairs_blocks(names: tuple[str, str], publication: Publication, pairs: Sequence[Pair]) -> Iterator[Block]:
    """Two systems of one paper or suite; or a system of `publication` and a measured result, in our units."""
    paper, measured = publication.paper, bool(pairs[0].published)
    yield from _say(f"{names[1]} against {names[0]}: {len(pairs)} rows that both have. {NO_VERDICT}", style="bold")
    yield from _say(f"{who(paper)}; on {paper.machine or 'a machine not named'}")
    if measured:
        yield from _say(different(paper), style="yellow")
    rows = []
    for pair in pairs:
        sides = (side if isinstance(side, str) else format_value(side, pair.unit) for side in (pair.a, pair.b))
        cells = (pair.row, *sides, NOTHING if pair.ratio is None else ratio_text(pair.ratio))
        printed = (f"{pair.published.rpartition(': ')[2]}: {pair.printed}",) if measured else ()
        rows.append([printable(cell) for cell in (*cells, *printed)])
    heads = ("row", "A", "B", "ratio", "as printed") if measured else ("row", "A", "B", "ratio")
    yield _table(heads, rows, right=("A", "B", "ratio"))
    yield from _say(f"A: {names[0]}; B: {names[1]}; ratio: cost of B over cost of A, above 1 where B is slower.")
    yield from _say(*dict.fromkeys(f"{pair.row}: {pair.note}" for pair in pairs if pair.note), style="dim")
    apart = {figure.differs: figure.row for figure in publication.figures if figure.differs and measured}
    yield from _say(*(f"not compared: {row} differs from {differs}" for differs, row in apart.items()), style="dim")


def alone_blocks(column: Column, pairs: Sequence[Pair]) -> Iterator[Block]:
    """The rows of one side that the other lacks."""
    both = {pair.row for pair in pairs}
    figures = [figure for figure in column.publication.figures if figure.system == column.system and figure.better]
    if rows := [figure.row for figure in figures if name_of(figure) not in both]:
        yield from _say(f"only in {column.name}, {len(rows)} rows: {', '.join(rows)}")


def different(paper: Paper) -> str:
    """The sentence on what affects a ratio of the two besides the kernels."""
    year = f", year ({paper.year})" if paper.year else ", year"
    what = (
        f"program ({paper.title}), compiler, perhaps machine" if paper.suite else f"machine{year}, compiler and probe"
    )
    return f"The two sides also differ in {what}, so the ratio is not that of the kernels alone."


# For programs --------------------------------------------------------------------------------------------------------


def document(publication: Publication, figures: Sequence[Published]) -> dict[str, Any]:
    """`show published/… --json`."""
    stated = [
        {
            **plain(check.stated),
            "from_rows": None if None in (check.low, check.high) else [check.low, check.high],
            "holds": check.holds.value,
        }
        for check in checks(publication)
    ]
    return {"paper": plain(publication.paper), "figures": plain(figures), "stated": stated}


def pairs_document(names: tuple[str, str], paper: Paper, pairs: Sequence[Pair]) -> dict[str, Any]:
    """`compare … --json`: as for measured results, but without verdicts. A measured row's values are in its unit."""
    decided = {"verdict": None, "low": None, "high": None}
    rows = [{key: value for key, value in asdict(pair).items() if pair.unit or key not in _OURS} for pair in pairs]
    differs = {"differs": different(paper)} if pairs[0].unit else {}
    return {"a": names[0], "b": names[1], "why": NO_VERDICT, "rows": [{**row, **decided} for row in rows], **differs}
