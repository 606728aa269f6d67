"""The matrix on the terminal: one row per operation, one column per system, in groups of columns that fit."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.text import Text

from kernometer.report.matrix.view import ChangeView, MatrixView
from kernometer.report.write.terminal import BLANK, Block, Line, Wide
from kernometer.stats.model import Verdict
from kernometer.text import printable, some

#: Characters: of a system's column, of the baseline's, of a row's name at most; of a head's lines; of a remark.
COLUMN, BASELINE, ROW, HEAD_LINES, LINE = 7, 15, 30, 4, 300

LEGEND = (
    "Ratio of cost to {}'s: above 1, slower. = within ±{}; ? undecided; × failed; – not there; "
    "· not measured on the baseline; blank: not measured."
)
#: Colours only repeat the figure or the sign.
_STYLES = {
    Verdict.SLOWER.value: "red",
    Verdict.FASTER.value: "green",
    Verdict.UNDECIDED.value: "yellow",
    Verdict.FAILED.value: "bold red",
}


def blocks(view: MatrixView) -> Iterator[Block]:
    """The sentences, the groups of columns, the legend, and what changed when."""
    yield from (Line(printable(text), "bold") for text in view.sentences)
    yield from (Line(printable(f"{system}: {why}", LINE), "bold red") for system, why in view.failures)
    yield from (Line(printable(text, 2 * LINE)) for text in view.conditions)
    if view.warnings:
        yield Line("warning: the systems differ in more than their kernels:", "yellow")
    yield from (Line(f"  {printable(text, LINE)}") for text in view.warnings)
    yield _table(view)
    yield Line(f"{LEGEND.format(view.baseline, view.delta)} {view.means}".rstrip(), "dim")
    yield from (Line(printable(text, LINE)) for text in _failures(view))
    for title, changes in (("Longer, and when", view.longer), ("Shorter, and when", view.shorter)):
        if changes:
            yield Line(f"{title} (each against the system before; last: {view.last})", "bold", apart=True)
        yield from (Line(_change(change, view)) for change in changes)
    yield BLANK
    yield from (Line(printable(text, LINE), "dim") for text in view.remarks)


def _table(view: MatrixView) -> Wide:
    """The first column has the baseline's figures."""
    rows: list[tuple[str | Text, Sequence[str | Text]]] = []
    for title, members in view.families:
        rows.append((Text(printable(title, ROW), "bold"), ()))
        for row in members:
            signs = (Text(cell.sign, _STYLES.get(cell.kind, "")) for cell in row.cells)
            rows.append((row.row, (row.figure.replace(" … ", " …\n"), *signs)))
    widths = (BASELINE, *(COLUMN for _ in view.heads))
    return Wide((view.baseline, *view.heads), widths, rows, ROW, HEAD_LINES, spare=1, apart=True)


def _failures(view: MatrixView) -> Iterator[str]:
    """Rows that failed or are not there on a system that did not fail itself, grouped by reason."""
    failures = dict(view.failures)
    rows: dict[str, list[str]] = {}
    for row in view.rows:
        for cell, system in zip(row.cells, view.names, strict=True):
            why = "; ".join(cell.why)
            if cell.kind in (Verdict.FAILED.value, Verdict.NOT_THERE.value) and why != failures.get(system):
                rows.setdefault(why, []).append(row.row)
    for note, names in rows.items():
        yield f"{some(names, 1, ' rows')}: {note}"


def _change(change: ChangeView, view: MatrixView) -> str:
    """`sig/catch 1.43`, and a line a step: `6.12 1.36: +812 instr; +2 cr3 writes; +600 in finish_task_switch, …`."""
    lines = [f"{change.row} {change.total}" if change.total and change.verdict else change.row]
    for step in change.steps:
        functions = step.functions.summary.partition(": ")[2] if step.functions else ""  # their sum is the step's
        lines.append(f"  {step.after} {step.ratio}: {'; '.join(filter(None, (step.more, step.events, functions)))}")
    if change.since:
        lines.append(f"  little by little, decided against {view.baseline} since {change.since}")
    return "\n".join(printable(line, LINE).removesuffix(": ") for line in lines)
