"""A comparison on the terminal: the sentence first, then what differs, then the rows. Prints `view.ComparisonView`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from rich.table import Table
from rich.text import Text

from kernometer.report.comparison.view import ComparedRow, ComparisonView
from kernometer.report.session.view import FigureText
from kernometer.report.words.units import NOTHING
from kernometer.report.write.terminal import broken
from kernometer.stats.model import Verdict

if TYPE_CHECKING:
    from rich.console import Console

#: Characters of a note; the narrowest column of row names; lines about what differs, without --all.
NOTE, NARROWEST, DIFFERENCES = 300, 14, 3

LEGEND = "undecided: the smallest difference that these runs could have seen (sees), and what more it takes to see ±{}"
CURVES = "curves (*): the largest decided difference and where it is, or how far the ratios reach; --points lists all"
#: Colours only repeat the verdict's word.
_STYLES = {
    Verdict.SLOWER: "red",
    Verdict.FASTER: "green",
    Verdict.UNDECIDED: "yellow",
    Verdict.FAILED: "bold red",
    Verdict.NOT_THERE: "dim",
}


def print_comparison(console: Console, view: ComparisonView, *, everything: bool = False) -> None:
    """Prints the sentence, every difference by name, the lines to look at first or all lines, and the remarks."""
    console.print(Text(f"{view.sentence}", "bold"))
    console.print(Text(f"A: {view.a.name}; B: {view.b.name}"))
    for condition in view.conditions:
        console.print(Text(condition))
    for line in _differences(view, everything=everything):
        console.print(line)
    lines = sorted(view.lines, key=lambda row: (row.ratio is None, -(row.ratio or 0))) if everything else view.first
    if lines:
        console.print(_table(view, lines, console.width))
    for text in _below(view, lines):
        console.print(Text(text[:NOTE], "dim"))


def _differences(view: ComparisonView, *, everything: bool) -> Iterator[Text]:
    """A few of the differences that were not asked for; `everything`: all differences."""
    contrasts = view.differs if everything else view.unasked
    shown = contrasts if everything else contrasts[:DIFFERENCES]
    if view.unasked:
        yield Text("warning: the two sides differ in more than what is compared:", "yellow")
    for contrast in shown:
        yield Text(f"  {contrast.what}: {contrast.a or NOTHING} | {contrast.b or NOTHING}")
    if len(shown) < len(contrasts):
        yield Text(f"  and in {len(contrasts) - len(shown)} more; --all names them")


def _below(view: ComparisonView, lines: Sequence[ComparedRow]) -> Iterator[str]:
    yield from (f"{row.row}: {'; '.join(row.why)}" for row in lines if row.why)
    if len(lines) < len(view.lines):
        kind = "asked for first and those that differ most" if view.decided else "that moved most, by chance or not"
        yield f"These are the rows {kind}; --all shows all of them."
    if view.decided and any(row.verdict is Verdict.UNDECIDED for row in lines):
        yield LEGEND.format(view.delta)
    if any("*" in row.row for row in lines):
        yield CURVES
    if view.decided:
        yield from (*view.footnotes, *view.remarks)


def _table(view: ComparisonView, lines: Sequence[ComparedRow], width: int) -> Table:
    columns = _columns(view, lines, stacked=False)
    if sum(map(_width, columns[1:])) + NARROWEST > width:
        columns = _columns(view, lines, stacked=True)
    room = max(NARROWEST, min(_width(columns[0]), width - sum(map(_width, columns[1:]))))
    table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0))
    for head, *_cells in columns:
        table.add_column(str(head), justify="left" if head in ("row", "verdict") else "right", no_wrap=True)
    for name, *cells in zip(*(column[1:] for column in columns), strict=True):
        table.add_row("\n".join(broken(str(name), room)), *cells)
    return table


def _columns(view: ComparisonView, lines: Sequence[ComparedRow], *, stacked: bool) -> list[list[str | Text]]:
    """The columns with their heads; `stacked`: B's figure below A's, and the interval below its ratio. The ratio is of
    costs: above 1, B is slower. LEGEND explains the text under it."""
    gap = "\n" if stacked else " "
    columns: list[list[str | Text]] = [["row", *(row.row for row in lines)]]
    if stacked:
        columns.append(["A, B", *(f"{_figure(row.a)}\n{_figure(row.b)}" for row in lines)])
    else:
        columns += [["A", *(_figure(row.a) for row in lines)], ["B", *(_figure(row.b) for row in lines)]]
    ratios = (f"{row.ratio_text}{gap}{row.interval}".strip() for row in lines)
    if view.decided:
        ratios = ("\n".join((ratio, *row.parts, *row.note)) for ratio, row in zip(ratios, lines, strict=True))
    columns.append(["ratio" if view.by_path or not view.decided else "ratio [95 %]", *ratios])
    if view.by_path:
        columns.append(["floor", *(row.floor for row in lines)])
    return [*columns, ["verdict", *map(_verdict, lines)]] if view.decided else columns


def _figure(figure: FigureText) -> str:
    return "\n".join((figure.text, *(f"{number} {what}" for number, what in figure.parts)))


def _width(column: Sequence[str | Text]) -> int:
    """The column's width with the space behind it."""
    return 1 + max(len(line) for cell in column for line in str(cell).split("\n"))


def _verdict(row: ComparedRow) -> Text:
    """The row's verdict; for a curve how many of its points have each verdict."""
    many = sum(row.verdicts.values()) > 1
    words = [f"{count} {verdict.value}" if many else verdict.value for verdict, count in row.verdicts.items()]
    return Text("\n".join(words), _STYLES.get(row.verdict, ""))
