"""A comparison as a table for the terminal: the sentence first, then what differs, then the rows."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from rich.table import Table
from rich.text import Text

from kernometer.report.compared import footnotes_of, own_notes, short
from kernometer.report.curves import crossing_lines, ratio_range, value_text, verdict_lines, x_text
from kernometer.report.table import broken
from kernometer.report.units import NOTHING, format_percent
from kernometer.results.model import Workload
from kernometer.stats.curves import Curve, gathered, largest, shown_point
from kernometer.stats.model import Comparison, RowComparison, RowFigure, Verdict
from kernometer.text import printable

if TYPE_CHECKING:
    from rich.console import Console

    Line = RowComparison | Curve[RowComparison]

#: Characters of a name, of a value that differs, of a note: 80 columns hold a row.
NAME, VALUE, NOTE = 36, 60, 300

LEGEND = (
    "undecided rows: the smallest difference that these runs could have seen (sees), and the minutes or the sessions "
    "a side (ses.) it takes to see ±{:.3g} %"
)
CURVES = (
    "curves (*): figures and ratio are of the largest decided difference, at that value of the parameter; where none "
    "is decided, how far the ratios reach; undecided points by the worst of them; --points lists all"
)
#: Not by colour alone: the word stands beside it.
_STYLES = {
    Verdict.SLOWER: "red",
    Verdict.FASTER: "green",
    Verdict.EQUIVALENT: "",
    Verdict.UNDECIDED: "yellow",
    Verdict.FAILED: "bold red",
    Verdict.NOT_THERE: "dim",
}


def print_comparison(console: Console, comparison: Comparison, workloads: Mapping[str, Workload]) -> None:
    """The sentence, every difference by name, a line a row or a curve, and the remarks.

    `workloads`: the definitions, which say what forms a curve; none: every point is a row.
    """
    console.print(Text(printable(comparison.sentence), "bold"))
    for text in _differences(comparison):
        console.print(text)
    of_row = {row.row: row for row in comparison.rows}
    lines = [of_row[one] if isinstance(one, str) else one for one in gathered(of_row, workloads)]
    if comparison.rows:
        console.print(_table(comparison, lines, console.width))
    if comparison.count(Verdict.UNDECIDED):
        console.print(Text(LEGEND.format(comparison.delta * 100), "dim"))
    if any(isinstance(line, Curve) for line in lines):
        console.print(Text(CURVES, "dim"))
    shared = footnotes_of(comparison.rows)
    for note in _notes(lines, shared):
        console.print(Text(printable(note, NOTE)))
    for remark in (*shared, *comparison.remarks):
        console.print(Text(printable(remark, NOTE), "dim"))


def _differences(comparison: Comparison) -> Iterator[Text]:
    if comparison.differs:
        yield Text("warning: the two sides differ in more than what is compared:", "yellow")
    for one in comparison.differs:
        a, b = (printable(short(value), VALUE) or NOTHING for value in (one.a, one.b))
        yield Text(f"  {printable(one.what, NAME)}: {a} | {b}")


def _notes(lines: Sequence[Line], shared: Sequence[str]) -> Iterator[str]:
    """Notes of one row alone; of a curve each note once, with the number of its points."""
    for line in lines:
        if not isinstance(line, Curve):
            own = "; ".join(own_notes(line, shared))
            if own:
                yield f"{line.row}: {own}"
            continue
        counts = Counter(note for point in line.points for note in own_notes(point.of, shared))
        for note, count in counts.items():
            yield f"{line.name}: {note} ({count} of {len(line.points)} points)"


def _table(comparison: Comparison, lines: Sequence[Line], width: int) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0))
    table.add_column("row", overflow="fold")
    table.add_column(printable(comparison.a, 12), justify="right", no_wrap=True)
    table.add_column(printable(comparison.b, 12), justify="right", no_wrap=True)
    by_path = comparison.method == "path"
    table.add_column("ratio" if by_path else "ratio [95 %]", justify="right", no_wrap=True)
    if by_path:
        table.add_column("floor", justify="right", no_wrap=True)
    table.add_column("verdict", no_wrap=True)
    rows = [
        (*cells, *([_floor(line)] if by_path else ()), verdict)
        for line in sorted(lines, key=_effect)
        for *cells, verdict in [_curve(line) if isinstance(line, Curve) else _row(line)]
    ]
    heads = [str(column.header) for column in table.columns]
    columns = [(head, *map(str, column)) for head, column in zip(heads, zip(*rows, strict=True), strict=True)]
    sizes = [max(len(line) for cell in column for line in cell.split("\n")) + 1 for column in columns]
    room = max(len(heads[0]), width - sum(sizes[1:]))
    for name, *cells in rows:
        table.add_row("\n".join(broken(str(name), room)), *cells)
    return table


def _row(row: RowComparison) -> tuple[str | Text, ...]:
    verdict = Text(row.verdict.value, _STYLES[row.verdict])
    return printable(row.row), _figure(row.a), _figure(row.b), _ratio(row), verdict


def _curve(curve: Curve[RowComparison]) -> tuple[str | Text, ...]:
    """One line group: the point of the largest decided difference, and how many points got which verdict."""
    most = largest(curve)
    at = next((x_text(point.x) for point in curve.points if point.of is most), "")
    ratio = [ratio_range(curve)] if most is None else [_ratio(most), f"at {at}"]
    undecided = [point.of for point in curve.points if point.of.verdict is Verdict.UNDECIDED]
    worst = max(undecided, key=lambda row: row.smallest or 0.0, default=None)
    if worst is not None and _wanting(worst):
        ratio.append(_wanting(worst))
    ratio += crossing_lines(curve)
    verdicts = [(text, _STYLES[verdict]) for verdict, text in verdict_lines(curve)]
    return (
        printable(curve.name),
        _figure(most.a) if most is not None else "",
        _figure(most.b) if most is not None else "",
        "\n".join(ratio),
        Text("\n").join(Text(*one) for one in verdicts),
    )


def _effect(line: Line) -> tuple[bool, float]:
    """The largest slowdown first, rows without a ratio last. A curve stands by the point that stands for it."""
    if not isinstance(line, Curve):
        return line.ratio is None, -(line.ratio or 0.0)
    point = shown_point(line)
    return point is None, -(point.of.ratio or 0.0 if point is not None else 0.0)


def _figure(figure: RowFigure | None) -> str:
    return NOTHING if figure is None else value_text(figure)


def _ratio(row: RowComparison) -> str:
    """Of costs: above 1, B is slower. Under it, for a row that is undecided, what LEGEND explains."""
    if row.ratio is None:
        text = NOTHING
    elif row.exact:
        text = f"{row.ratio:.3f} exact"
    elif row.low is None or row.high is None:
        text = f"{row.ratio:.3f}"
    else:
        text = f"{row.ratio:.3f} [{row.low:.3f}, {row.high:.3f}]"
    wanting = _wanting(row) if row.verdict is Verdict.UNDECIDED else ""
    return f"{text}\n{wanting}" if wanting else text


def _floor(line: Line) -> str:
    """Of exact counts: what other states of the guest moved them by. Of a curve, at the point that is shown."""
    row = largest(line) if isinstance(line, Curve) else line
    return "" if row is None or not row.exact or row.floor is None else format_percent(row.floor)


def _wanting(row: RowComparison) -> str:
    parts = []
    if row.smallest is not None and math.isfinite(row.smallest):
        parts.append(f"sees {format_percent(row.smallest)}")
    if row.minutes_missing is not None and math.isfinite(row.minutes_missing):
        parts.append(f"+{max(1, math.ceil(row.minutes_missing))} min")
    if row.sessions_missing is not None:
        parts.append(f"+{row.sessions_missing} ses.")
    return ", ".join(parts)
