"""A comparison as a table for the terminal: the sentence first, then what differs, then the rows."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from rich.table import Table
from rich.text import Text

from kernometer.report.compared import footnotes_of, own_clauses, short
from kernometer.report.units import NOTHING, format_percent, format_value
from kernometer.stats.model import Comparison, RowComparison, RowFigure, Verdict
from kernometer.text import printable

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.console import Console

#: Characters of a name, of a value that differs, of a note: 80 columns hold a row.
NAME, VALUE, NOTE = 36, 60, 300

LEGEND = (
    "undecided rows: the smallest difference that these runs could have seen (sees), and the minutes or the sessions "
    "a side (ses.) it takes to see ±{:.3g} %"
)
#: Not by colour alone: the word stands beside it.
_STYLES = {
    Verdict.SLOWER: "red",
    Verdict.FASTER: "green",
    Verdict.EQUIVALENT: "",
    Verdict.UNDECIDED: "yellow",
    Verdict.FAILED: "bold red",
}


def print_comparison(console: Console, comparison: Comparison) -> None:
    """The sentence, every difference by name, a row a workload, and the remarks."""
    console.print(Text(printable(comparison.sentence), "bold"))
    for line in _differences(comparison):
        console.print(line)
    if comparison.rows:
        console.print(_table(comparison))
    if comparison.count(Verdict.UNDECIDED):
        console.print(Text(LEGEND.format(comparison.delta * 100), "dim"))
    shared = footnotes_of(comparison.rows)
    for row in comparison.rows:
        own = "; ".join(own_clauses(row, shared))
        if own:
            console.print(Text(printable(f"{row.row}: {own}", NOTE)))
    for remark in (*shared, *comparison.remarks):
        console.print(Text(printable(remark, NOTE), "dim"))


def _differences(comparison: Comparison) -> Iterator[Text]:
    if comparison.differs:
        yield Text("warning: the two sides differ in more than what is compared:", "yellow")
    for one in comparison.differs:
        a, b = (printable(short(value), VALUE) or NOTHING for value in (one.a, one.b))
        yield Text(f"  {printable(one.what, NAME)}: {a} | {b}")


def _table(comparison: Comparison) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0))
    table.add_column("row", overflow="fold")
    table.add_column(printable(comparison.a, 12), justify="right", no_wrap=True)
    table.add_column(printable(comparison.b, 12), justify="right", no_wrap=True)
    table.add_column("ratio [95 %]", justify="right", no_wrap=True)
    table.add_column("verdict", no_wrap=True)
    for row in sorted(comparison.rows, key=_effect):
        verdict = Text(row.verdict.value, _STYLES[row.verdict])
        table.add_row(printable(row.row), _figure(row.a), _figure(row.b), _ratio(row), verdict)
    return table


def _effect(row: RowComparison) -> tuple[bool, float]:
    """The largest slowdown first, rows without a ratio last."""
    return row.ratio is None, -(row.ratio or 0.0)


def _figure(figure: RowFigure | None) -> str:
    if figure is None or figure.value is None:
        return NOTHING
    low, high = figure.value_low, figure.value_high
    return format_value(figure.value, figure.unit, None if low is None or high is None else (high - low) / 2)


def _ratio(row: RowComparison) -> str:
    """Of costs: above 1, B is slower. Under it, for a row that is undecided, what LEGEND explains."""
    if row.ratio is None:
        text = NOTHING
    elif row.low is None or row.high is None:
        text = f"{row.ratio:.3f}"
    else:
        text = f"{row.ratio:.3f} [{row.low:.3f}, {row.high:.3f}]"
    wanting = _wanting(row) if row.verdict is Verdict.UNDECIDED else ""
    return f"{text}\n{wanting}" if wanting else text


def _wanting(row: RowComparison) -> str:
    parts = []
    if row.smallest is not None and math.isfinite(row.smallest):
        parts.append(f"sees {format_percent(row.smallest)}")
    if row.minutes_missing is not None and math.isfinite(row.minutes_missing):
        parts.append(f"+{max(1, math.ceil(row.minutes_missing))} min")
    if row.sessions_missing is not None:
        parts.append(f"+{row.sessions_missing} ses.")
    return ", ".join(parts)
