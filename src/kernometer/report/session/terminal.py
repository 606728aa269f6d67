"""A session on the terminal: what was measured, whether it can be trusted, its figures, and notes on them.

Prints `view.AbsoluteView`, as the page does. Used by `run` and `show`.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import msgspec
from rich.table import Table
from rich.text import Text

from kernometer.explain.cycles import modelled
from kernometer.report.session import absolute, memory, quantiles
from kernometer.report.session.first import FEW
from kernometer.report.session.systems import subject
from kernometer.report.session.view import AbsoluteRow, AbsoluteView, CurveView, FigureText, WorkloadView
from kernometer.report.words.curves import figures_document
from kernometer.report.words.units import counted
from kernometer.report.write.terminal import Grid, broken, show
from kernometer.results.model import Result
from kernometer.results.rows import in_registry_order
from kernometer.stats.model import RowFigure
from kernometer.tables import grouped

if TYPE_CHECKING:
    from rich.console import Console

#: The narrowest column of row names.
NARROWEST = 14
GAP = 2
#: Eight heights, for a stream that can write blocks and for one that cannot; and the sign of a point without a value.
BLOCKS, ASCII = "▁▂▃▄▅▆▇█", "_.-:=+*#"
NO_VALUE = "?"
#: Values whose ratio is less use only a part of the height, so that noise does not look like a mountain.
FULL_HEIGHT = 2.0
#: Characters of a plot; from more points so many are chosen evenly.
WIDEST = 48

_DIRECTION = {"lower": "↓", "higher": "↑"}

#: The cells of a line: name, value, accuracy, per, direction, runs, flags.
Cells = tuple[str, ...]


def print_result(
    console: Console,
    result: Result,
    figures: Mapping[str, RowFigure],
    *,
    everything: bool = False,
    details: bool = False,
    points: bool = False,
    named: Collection[str] = (),
) -> None:
    """Prints a result with these figures: the rows that people ask for first, or all rows if there are few.

    `everything`: all rows. `details`: all rows, with the details of every flag. `points`: every point of a curve as a
    row. `named`: rows given by name, all of which are shown as rows.
    """
    subjects = [subject("A", result.session.label, [result], [figures], every_flag=details)]
    view = absolute.view(subjects)
    lines = [line for workload in view.workloads for line in _lines(workload, points=points, named=named)]
    few = not (everything or details or points or named) and len(lines) > FEW and bool(view.first)
    _print_facts(console, view, few=few)
    if few:
        of_row = {row.row: workload for workload in view.workloads for line in workload.lines for row in line.rows}
        lines = [(of_row[row.row], row) for row in view.first]
    if lines:
        console.print(_table(lines, console.width, signs(console.encoding)))
        console.print()
    for text in _below(view, lines, few=few, details=details):
        console.print(Text(text))
    show(console, quantiles.blocks(subjects))
    if details:
        show(console, memory.blocks(result, subjects))


def _print_facts(console: Console, view: AbsoluteView, *, few: bool) -> None:
    [system] = view.systems
    [session] = system.sessions
    console.print(Text(f"{view.title}: {view.lead}", "bold"))
    known = {"Session": session.id, "Measured": f"{session.started}, {session.state}", **system.facts}
    shown = ("Session", "Measured", "CPU", "Probe", "Disturbing") if few else known
    facts = ((name, known[name]) for name in shown if name in known)
    show(console, [Grid((), facts, left=(0, 1), unbroken=(0,), cut=True)])
    if view.trust:
        console.print(Text(view.trust, "yellow" if session.note or not session.complete else ""))
    console.print()


Line = tuple[WorkloadView, AbsoluteRow | CurveView]


def _lines(workload: WorkloadView, *, points: bool, named: Collection[str]) -> Iterator[Line]:
    """Its lines in order; a curve whose rows are all in `named` as its points."""
    for line in workload.lines:
        if isinstance(line, CurveView) and (points or all(row.row in named for row in line.rows)):
            yield from ((workload, row) for row in line.rows)
        else:
            yield workload, line


def _table(lines: Sequence[Line], width: int, heights: str) -> Table:
    """One line per row; a curve has several: its name, its plot, its lowest and its highest value."""
    counted = any(workload.unit.startswith("instructions") for workload, _line in lines)
    heads = ("value", "±" if counted else "±95 %", "per", "", "runs", "")
    cells = [shown for line in lines for shown in _cells(*line, heights, width)]
    columns = zip(heads, *(shown[1:] for shown in cells), strict=True)
    sizes = [max(len(part) for cell in column for part in cell.split("\n")) for column in columns]
    gap = GAP
    if width - sum(sizes) - gap * len(heads) < NARROWEST:  # names of units break between their words
        sizes[2], gap = max(len(word) for shown in cells for word in ("per", *shown[3].split())), 1
    longest = max(len(shown[0]) for shown in cells)
    room = max(NARROWEST, min(longest, width - sum(sizes) - gap * len(heads)))
    table = Table(box=None, padding=(0, gap, 0, 0), pad_edge=False, header_style="bold")
    table.add_column("row", width=room, no_wrap=True)
    for head, size in zip(heads, sizes, strict=True):
        right = head in ("value", heads[1], "runs")
        table.add_column(head, justify="right" if right else "left", width=size, no_wrap=head != "per")
    for line in lines:
        for name, *others, flags in _cells(*line, heights, room):
            table.add_row(Text("\n".join(broken(name, room))), *map(Text, others), Text(flags, "yellow"))
    return table


def _cells(workload: WorkloadView, line: AbsoluteRow | CurveView, heights: str, width: int) -> Iterator[Cells]:
    """The line of a row, or the lines of a curve; `width` is that of the first column."""
    common = (workload.per, _DIRECTION.get(workload.better, ""))
    if isinstance(line, AbsoluteRow):
        [figure] = line.figures
        value = figure.text if figure.value is not None else figure.text.replace(" ", "\n")
        numbers, words = ("\n".join(lines) for lines in zip((value, figure.accuracy), *figure.parts, strict=True))
        yield line.row, numbers, words, *common, str(figure.runs), _letters([figure])
        return
    figures = [row.figures[0] for row in line.rows]
    runs = sorted({figure.runs for figure in figures})
    levels = sum(figure.levels for figure in figures)
    yield (
        line.name,
        "",
        f"levels at {levels}" if levels else "",
        *common,
        "–".join(map(str, dict.fromkeys((runs[0], runs[-1])))),
        _letters(figures),
    )
    plot = spark([figure.value for figure in figures], heights, max(8, min(WIDEST, width - 2)))
    together = f"  {plot}  {line.span}"
    for text in [together] if len(together) <= width else [f"  {line.span}", f"  {plot}"]:
        yield text, *[""] * 6
    for word, row in zip(("lowest", "highest"), line.ends, strict=False):
        [figure] = row.figures
        yield f"  {word}, at {row.parameters}", figure.text, figure.accuracy, *[""] * 4


def _letters(figures: Iterable[FigureText]) -> str:
    return "".join(sorted({tag.letter for figure in figures for tag in figure.tags}))


def signs(encoding: str | None) -> str:
    """BLOCKS, or ASCII if this encoding has no blocks."""
    try:
        BLOCKS.encode(encoding or "ascii")
    except (LookupError, UnicodeEncodeError):
        return ASCII
    return BLOCKS


def spark(values: Sequence[float | None], heights: str, width: int = WIDEST) -> str:
    """The values as one line of characters, on a logarithmic scale from the least to the largest."""
    if len(values) > width:
        values = [values[round(i * (len(values) - 1) / (width - 1))] for i in range(width)]
    logs = [math.log(value) if value is not None and 0 < value < math.inf else None for value in values]
    known = [log for log in logs if log is not None]
    if not known:
        return NO_VALUE * len(logs)
    least, span = min(known), max(max(known) - min(known), math.log(FULL_HEIGHT))
    top = len(heights) - 1
    return "".join(NO_VALUE if log is None else heights[round((log - least) / span * top)] for log in logs)


def _below(view: AbsoluteView, lines: Sequence[Line], *, few: bool, details: bool) -> Iterator[str]:
    """The legend, notes on rows, and what was not measured."""
    figures = [row.figures[0] for _of, line in lines for row in line.rows]
    if figures:
        yield _legend(figures, {workload.better for workload, _line in lines})
    codes = {tag.code for figure in figures for tag in figure.tags}
    [session] = view.systems[0].sessions
    for group in view.flags:
        if details or (group.code in codes and not few):
            yield f"{group.letter} {group.title} ({counted(group.count, 'row')}): {group.meaning}"
        if details or (group.code == "probe" and not few):  # remarks of workloads are printed nowhere else
            yield from (f"  {item.rows}: {item.detail}" for item in group.items)
    if few:
        letters = ", ".join(f"{group.letter} {group.title}" for group in view.flags if group.code in codes)
        yield from [f"Flags: {letters}."] if letters else []
        yield "These are the rows that people ask for first. All of them:"
        yield f"kernometer show {session.id} --all"
    elif not details and (folded := [group for group in view.flags if group.folded]):
        counts = ", ".join(f"{group.title} on {group.count}" for group in folded)
        yield f"Flags not shown: {counts} of {counted(len(figures), 'row')}. With their details:"
        yield f"kernometer show {session.id} --details"
    if details:
        yield from _hangs_on(view)
        yield from _overheads(view)
        if view.slower:
            slower = counted(len(view.slower), "row")
            yield f"counters: while events were counted, in a run of their own, {slower} took longer:"
            yield from (f"  {row}: {times:.3g} times as long" for row, times in view.slower.items())
    absences = [absence for absence in view.absences if absence.kind == "failed" or not few]
    yield from (f"{absence.kind}: {absence.rows}: {absence.reason}" for absence in absences)
    yield from (line for system in view.systems for session in system.sessions for line in session.damage)


def _legend(figures: Collection[FigureText], directions: Collection[str]) -> str:
    """The legend of the signs that the table uses."""
    kinds = []
    if any(figure.accuracy.startswith("exact") for figure in figures):
        kinds.append("exact: all counts equal")
    words = {word for figure in figures for _number, word in figure.parts}
    if any(figure.levels for figure in figures):
        kinds.append("levels: kinds of iteration, each in so many of them; the first figure is the lower median")
    if "kernel part" in words:
        kinds.append("kernel part: of the figure, what runs in the kernel, where a tenth or more does not")
    if any("floor" in figure.accuracy for figure in figures):
        kinds.append("floor: how far other states of the guest move the count")
    if any(figure.accuracy.startswith("±") for figure in figures):
        counted = any(figure.text.endswith("instr") for figure in figures)
        kinds.append(f"±: {'the spread of the runs' if counted else '95 % interval within this session'}")
    kinds.append(", ".join(f"{sign} {word} is better" for word, sign in _DIRECTION.items() if word in directions))
    return f"{'; '.join(kinds)}."


def _hangs_on(view: AbsoluteView) -> Iterator[str]:
    """What figures depend on besides the kernel (settings, the relation of two CPUs), with the workloads."""
    names = grouped((workload.hangs_on, workload.name) for workload in view.workloads if workload.hangs_on)
    if names:
        yield "Figures also depend on"
        yield from (f"  {detail} ({', '.join(names)})" for detail, names in names.items())


def _overheads(view: AbsoluteView) -> Iterator[str]:
    """The overheads that were measured with rows, and whether the figures still include them."""
    rows = [(workload, row) for workload in view.workloads for line in workload.lines for row in line.rows]
    told = [(row.row, row.figures[0].overhead, workload.subtracts) for workload, row in rows]
    lines = [f"  {row}: {overhead}. {subtracts}" for row, overhead, subtracts in told if overhead]
    yield from ["Overhead (less: subtracted from the figure; beside it: still in it)", *lines] if lines else []


def document(result: Result, figures: Mapping[str, RowFigure]) -> dict[str, Any]:
    """For programs (`show --json`): plain values, not rounded, every row."""
    plain = msgspec.to_builtins
    ordered = {row: figures[row] for row in in_registry_order((result,), figures)}
    _processor, counted = modelled([result])
    tails = quantiles.document(result)
    return {
        "session": plain(result.session),
        "header": plain(result.header),
        "rows": [
            plain(figures[row]) | (memory.document(counted[row]) if row in counted else {}) | tails.get(row, {})
            for row in ordered
        ],
        "curves": figures_document(ordered, result.workloads),
        "failures": plain(result.failures),
        "unsupported": plain(result.unsupported),
        "events": plain(result.events),
        "memories": plain(result.memories),
        "tallies": plain(result.tallies),
        "end": plain(result.end),
        "damage": list(result.damage),
    }
