"""The matrix on the terminal: one row per operation, one column per system, in groups of columns that fit."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from rich.table import Table
from rich.text import Text

from kernometer.report.matrix.view import Cell, ChangeView, MatrixView
from kernometer.report.session.terminal import broken
from kernometer.report.words.names import lines
from kernometer.stats.model import Verdict
from kernometer.text import printable

if TYPE_CHECKING:
    from rich.console import Console

#: Characters: of a system's column, of the baseline's, of a row's name at most; of a head's lines; of a remark.
COLUMN, BASELINE, ROW, HEAD_LINES, LINE = 7, 15, 30, 4, 300
GAP = 1

LEGEND = (
    "Ratio of cost to {}'s: above 1, slower. = within ±{}; ? undecided; × failed; – not there; blank: not measured."
)
#: Colours only repeat the figure or the sign.
_STYLES = {
    Verdict.SLOWER.value: "red",
    Verdict.FASTER.value: "green",
    Verdict.UNDECIDED.value: "yellow",
    Verdict.FAILED.value: "bold red",
}


def print_matrix(console: Console, view: MatrixView) -> None:
    """Prints the sentences, the groups of columns, the legend, and what changed when."""
    for text in view.sentences:
        console.print(Text(printable(text), "bold"))
    for system, why in view.failures:
        console.print(Text(printable(f"{system}: {why}", LINE), "bold red"))
    for text in view.conditions:
        console.print(Text(printable(text, 2 * LINE)))
    if view.warnings:
        console.print(Text("warning: the systems differ in more than their kernels:", "yellow"))
    for text in view.warnings:
        console.print(Text(f"  {printable(text, LINE)}"))
    for table in _tables(view, console.width):
        console.print()
        console.print(table)
    console.print(Text(f"{LEGEND.format(view.baseline, view.delta)} {view.means}".rstrip(), "dim"))
    for text in _failures(view):
        console.print(Text(printable(text, LINE)))
    for title, changes in (("Longer, and when", view.longer), ("Shorter, and when", view.shorter)):
        if changes:
            console.print()
            console.print(Text(f"{title} (each against the system before; last: {view.last})", "bold"))
        for change in changes:
            console.print(_change(change, view))
    console.print()
    for text in view.remarks:
        console.print(Text(printable(text, LINE), "dim"))


def _tables(view: MatrixView, width: int) -> Iterator[Table]:
    """Groups of columns; the first contains the baseline's figures."""
    room = max(12, min(ROW, max((len(row.row) for row in view.rows), default=0)))
    start = 0
    while start < len(view.heads):
        first = start == 0
        left = width - room - GAP - (BASELINE + GAP if first else 0)
        end = start + max(1, left // (COLUMN + GAP))
        yield _table(view, slice(start, end), room, with_baseline=first)
        start = end


def _table(view: MatrixView, of: slice, room: int, *, with_baseline: bool) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, GAP, 0, 0), collapse_padding=True)
    table.add_column("", width=room, no_wrap=True)
    if with_baseline:
        table.add_column(_head(view.baseline, BASELINE), justify="right", width=BASELINE, no_wrap=True)
    for head in view.heads[of]:
        table.add_column(_head(head, COLUMN), justify="right", width=COLUMN, no_wrap=True)
    for title, rows in view.families:
        table.add_row(Text(printable(title, room), "bold"))
        for row in rows:
            baseline = [row.figure.replace(" … ", " …\n")] if with_baseline else []
            table.add_row("\n".join(broken(row.row, room)), *baseline, *map(_text, row.cells[of]))
    return table


def _head(name: str, width: int) -> str:
    return "\n".join(lines(name, width, HEAD_LINES))


def _text(cell: Cell) -> Text:
    return Text(cell.sign, _STYLES.get(cell.kind, ""))


def _failures(view: MatrixView) -> Iterator[str]:
    """Rows that failed or are not there on a system that did not fail itself, grouped by reason."""
    whole = dict(view.failures)
    rows: dict[str, list[str]] = {}
    for row in view.rows:
        for cell, system in zip(row.cells, view.names, strict=True):
            why = "; ".join(cell.why)
            if cell.kind in (Verdict.FAILED.value, Verdict.NOT_THERE.value) and why != whole.get(system):
                rows.setdefault(why, []).append(row.row)
    for note, names in rows.items():
        more = f" and {len(names) - 1} more rows" if len(names) > 1 else ""
        yield f"{names[0]}{more}: {note}"


def _change(change: ChangeView, view: MatrixView) -> Text:
    """`sig/catch 1.43`, and a line a step: `6.12 1.36: +812 instr; +2 cr3 writes; +600 in finish_task_switch, …`."""
    lines = [f"{change.row} {change.total}" if change.total and change.verdict else change.row]
    for step in change.steps:
        functions = step.functions.summary.partition(": ")[2] if step.functions else ""  # their sum is the step's
        lines.append(f"  {step.after} {step.ratio}: {'; '.join(filter(None, (step.more, step.events, functions)))}")
    if change.since:
        lines.append(f"  little by little, decided against {view.baseline} since {change.since}")
    return Text("\n".join(printable(line, LINE).removesuffix(": ") for line in lines))
