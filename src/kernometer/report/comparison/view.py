"""From a Comparison to its view for table and page: lines, tallies, what differs, what to look at first."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher

from kernometer.report.chart import curves as curve_plots
from kernometer.report.chart.axis import Axis, Bar, Plot, axis_of, span
from kernometer.report.session.absolute import anchor, family
from kernometer.report.session.first import FEW, FIRST
from kernometer.report.session.systems import per, short, single
from kernometer.report.session.view import NOTHING, FigureText, System
from kernometer.report.words.curves import crossing_lines, ratio_range, spread_of, x_text
from kernometer.report.words.names import name, sentence
from kernometer.report.words.units import format_factor, format_percent, ratio_interval, ratio_text
from kernometer.results.model import Workload
from kernometer.stats.curves import Curve, gathered, largest, shown_point, tally
from kernometer.stats.differences import NOT_KNOWN
from kernometer.stats.model import Comparison, Difference, RowComparison, Verdict
from kernometer.tables import grouped

#: A note that so many rows share is printed once, under the table.
SHARED = 4
#: Characters of a text that is shown whole.
LONG = 60
#: Larger numbers of sessions are not shown: nobody would measure them.
MOST_SESSIONS = 100
#: The verdict of a curve without a decided difference: the first of these that one of its points has.
WITHOUT_STEP = (Verdict.UNDECIDED, Verdict.EQUIVALENT, Verdict.FAILED, Verdict.NOT_THERE)
DECIDED = (Verdict.SLOWER, Verdict.FASTER)

Line = RowComparison | Curve[RowComparison]


@dataclass(frozen=True, slots=True)
class ComparedRow:
    """One line of a comparison: a row, or a curve by the point that represents it."""

    row: str
    anchor: str
    per: str  #: "call"; "" if the unit contains it
    better: str  #: "lower" or "higher"
    a: FigureText
    b: FigureText
    ratio: float | None
    ratio_text: str
    interval: str
    floor: str  #: by path: how far other states of the guest, or layouts, move the count
    verdict: Verdict
    verdicts: Mapping[Verdict, int]  #: one; of a curve those of its points, each with their number
    note: tuple[str, ...]  #: undecided rows: what could have been seen, and what is missing; curves: at which value
    why: tuple[str, ...]  #: reasons of failed and absent rows, and other notes of this row alone
    footnotes: tuple[int, ...] = ()  #: numbers, from 1, of notes shared with other rows
    bar: Bar | None = None
    parts: tuple[str, ...] = ()  #: by path: the ratio of the kernel's parts


@dataclass(frozen=True, slots=True)
class ComparedCurve:
    """A curve of the comparison: its drawing and, folded, its points."""

    name: str
    anchor: str
    parameter: str
    summary: str  #: how many points, and its largest decided difference
    tallies: Mapping[Verdict, int]  #: of its points, without verdicts that no point has
    plot: Plot | None  #: None if no point has a ratio
    rows: tuple[ComparedRow, ...]
    xs: tuple[str, ...]  #: the parameter's value of each row


@dataclass(frozen=True, slots=True)
class Cause:
    """Why the two sides differ, by the rules of `kernometer explain`."""

    title: str
    confidence: str
    evidence: tuple[str, ...]
    refute: str


@dataclass(frozen=True, slots=True)
class ComparisonView:
    """The view of B against A."""

    anchor: str
    a: System
    b: System
    sentence: str
    decided: bool  #: False: no row has an interval, and there is no verdict to show
    by_path: bool
    delta: str
    axis: Axis
    tallies: Mapping[Verdict, int]  #: how many rows got each verdict
    first: tuple[ComparedRow, ...]  #: what people ask for first, and what differs most; the largest ratio first
    families: tuple[tuple[str, tuple[ComparedRow, ...]], ...]  #: rows, and a line a curve
    curves: tuple[ComparedCurve, ...]
    same: tuple[Difference, ...]
    differs: tuple[Difference, ...]
    footnotes: tuple[str, ...]
    remarks: tuple[str, ...]
    conditions: tuple[str, ...]
    causes: tuple[Cause, ...] = ()  #: the surest first

    @property
    def interval(self) -> str:
        """The head of the column of intervals."""
        return "Interval" if self.by_path else "95 % interval"

    @property
    def unasked(self) -> tuple[Difference, ...]:
        """The differences besides the compared one; facts that only one side knows come last."""
        differences = [difference for difference in self.differs if not difference.asked]
        return tuple(sorted(differences, key=lambda difference: NOT_KNOWN in (difference.a, difference.b)))

    @property
    def lines(self) -> tuple[ComparedRow, ...]:
        return tuple(row for _family, rows in self.families for row in rows)


def view(
    comparison: Comparison, a: System, b: System, workloads: Mapping[str, Workload], order: Sequence[str] = ()
) -> ComparisonView:
    """The whole view of B against A.

    `workloads`: the definitions, which determine the curves; none: every point is a row. `order`: the registry's
    rows; other rows come last.
    """
    place = {row: index for index, row in enumerate(order)}
    rows = {row.row: row for row in sorted(comparison.rows, key=lambda row: place.get(row.row, len(place)))}
    lines = [rows[line] if isinstance(line, str) else line for line in gathered(rows, workloads)]
    where = f"against-{b.letter.lower()}"
    footnotes = footnotes_of(comparison.rows)
    shown = [standing(line) for line in lines]
    axis = axis_of([None if row is None else span(row.ratio, row.low, row.high) for row in shown], comparison.delta)
    made = {_name(line): _line(line, footnotes, axis, where) for line in lines}
    families = grouped((family(_name(line))[1], made[_name(line)]) for line in lines)
    curves = [line for line in lines if isinstance(line, Curve)]
    return ComparisonView(
        anchor=where,
        a=a,
        b=b,
        sentence=sentence(comparison.sentence),
        decided=not comparison.undecidable,
        by_path=comparison.method == "path",
        delta=f"{comparison.delta * 100:.3g} %",
        axis=axis,
        tallies={verdict: comparison.count(verdict) for verdict in Verdict},
        first=tuple(made[_name(line)] for line in _first(lines, decided=not comparison.undecidable)),
        families=tuple((title, tuple(members)) for title, members in families.items()),
        curves=tuple(_curve(curve, comparison.delta, footnotes, axis, (a, b), where) for curve in curves),
        same=tuple(map(_in_words, comparison.same)),
        differs=tuple(map(_in_words, comparison.differs)),
        footnotes=tuple(map(sentence, footnotes)),
        remarks=tuple(map(sentence, comparison.remarks)),
        conditions=tuple(map(sentence, comparison.conditions)),
    )


def named_view(comparison: Comparison, workloads: Mapping[str, Workload]) -> ComparisonView:
    """`view` for the terminal, which shows only the names of the two systems."""
    a, b = (System(sign, name(title), {}, ()) for sign, title in zip("AB", (comparison.a, comparison.b), strict=True))
    return view(comparison, a, b, workloads)


def standing(line: Line) -> RowComparison | None:
    """The row that represents a line; None for a curve without a ratio at any point."""
    if isinstance(line, RowComparison):
        return line
    point = shown_point(line)
    return None if point is None else point.item


def curve_verdict(curve: Curve[RowComparison]) -> Verdict:
    """The verdict of its largest decided difference; without one, the first of WITHOUT_STEP among its points."""
    most, counts = largest(curve), tally(curve)
    return most.verdict if most is not None else next(verdict for verdict in WITHOUT_STEP if verdict in counts)


def _name(line: Line) -> str:
    return line.name if isinstance(line, Curve) else line.row


def _effect(line: Line) -> float:
    """The logarithm of its ratio; 0 if it has none."""
    row = standing(line)
    return math.log(row.ratio) if row is not None and row.ratio is not None and 0 < row.ratio < math.inf else 0.0


def _first(lines: Sequence[Line], *, decided: bool) -> list[Line]:
    """What people ask for first, what failed, and the largest decided differences, or without intervals the largest
    ratios; the largest ratio first. If there are few lines, all of them."""
    moved = [line for line in lines if not decided or _verdict(line) in DECIDED]
    most = sorted(moved, key=lambda line: -abs(_effect(line)))[: len(FIRST)]
    wanted = [line for line in lines if decided and _name(line) in FIRST]
    failed = [line for line in lines if decided and _verdict(line) is Verdict.FAILED][: len(FIRST)]
    chosen = lines if len(lines) <= FEW else {_name(line): line for line in (*most, *wanted, *failed)}.values()
    return sorted(chosen, key=lambda line: ((row := standing(line)) is None or row.ratio is None, -_effect(line)))


def _verdict(line: Line) -> Verdict:
    return curve_verdict(line) if isinstance(line, Curve) else line.verdict


def missing(row: RowComparison) -> str:
    """For an undecided row: the difference that these runs could have detected, and what δ would take."""
    parts = []
    if row.smallest is not None and math.isfinite(row.smallest):
        parts.append(f"sees {format_factor(row.smallest)}")
    if row.minutes_missing is not None and math.isfinite(row.minutes_missing):
        parts.append(f"+{_minutes(row.minutes_missing)}")
    if row.sessions_missing is not None:
        more = min(row.sessions_missing, MOST_SESSIONS)
        parts.append(f"+{more}{' or more' * (more < row.sessions_missing)} session{'' if more == 1 else 's'}")
    return ", ".join(parts)


def footnotes_of(rows: Sequence[RowComparison]) -> list[str]:
    """Notes that at least SHARED rows share, in the order of their first row."""
    counted = Counter(note for row in rows for note in row.notes)
    return [note for note, count in counted.items() if count >= SHARED]


def own_notes(row: RowComparison, footnotes: Sequence[str]) -> list[str]:
    """The row's other notes."""
    return [note for note in row.notes if note not in footnotes]


def _line(line: Line, footnotes: Sequence[str], axis: Axis, where: str) -> ComparedRow:
    """A row; a curve as the point of its largest decided difference, or without one as the range of its ratios."""
    if isinstance(line, RowComparison):
        return _row(line, footnotes, axis)
    point, most = shown_point(line), largest(line)
    made = _row(line.points[0].item if point is None else point.item, footnotes, axis)
    undecided = [point.item for point in line.points if point.item.verdict is Verdict.UNDECIDED]
    worst = max(undecided, key=lambda row: row.smallest or 0.0, default=None)
    at = [f"at {x_text(point.x)}"] if point is not None and most is not None else []
    notes = [*at, *([missing(worst)] if worst is not None else []), *crossing_lines(line)]
    counts = Counter(note for point in line.points for note in own_notes(point.item, footnotes))
    return replace(
        made,
        row=name(line.name),
        anchor=f"{where}-{anchor(line.name)}",
        a=NOTHING if most is None else made.a,
        b=NOTHING if most is None else made.b,
        ratio_text=ratio_range(line) if most is None else made.ratio_text,
        interval="" if most is None else made.interval,
        floor="" if most is None else made.floor,
        parts=() if most is None else made.parts,
        verdict=curve_verdict(line),
        verdicts=tally(line),
        note=tuple(filter(None, notes)),
        why=tuple(sentence(f"{note} ({count} of {len(line.points)} points)") for note, count in counts.items()),
    )


def _row(row: RowComparison, footnotes: Sequence[str], axis: Axis) -> ComparedRow:
    measured = row.a or row.b
    return ComparedRow(
        row=name(row.row),
        anchor=anchor(row.row),
        per=per(measured),
        better=name(measured.better) if measured else "",
        a=single(row.a, kernel=row.kernel_part_ratio is not None),
        b=single(row.b, kernel=row.kernel_part_ratio is not None),
        ratio=row.ratio,
        ratio_text="–" if row.ratio is None else ratio_text(row.ratio),
        interval=ratio_interval(row) or ("of means" if row.by_mean else "exact" if row.exact else ""),
        floor=format_percent(row.floor) if row.exact and row.floor is not None else "",
        verdict=row.verdict,
        verdicts={row.verdict: 1},
        note=tuple(filter(None, [missing(row)])) if row.verdict is Verdict.UNDECIDED else (),
        why=tuple(map(sentence, own_notes(row, footnotes))),
        footnotes=tuple(number for number, note in enumerate(footnotes, 1) if note in row.notes),
        bar=None if row.verdict is Verdict.FAILED else axis.bar(span(row.ratio, row.low, row.high)),
        parts=() if row.kernel_part_ratio is None else (f"kernel part {ratio_text(row.kernel_part_ratio)}",),
    )


def _curve(
    curve: Curve[RowComparison],
    delta: float,
    footnotes: Sequence[str],
    axis: Axis,
    systems: tuple[System, System],
    where: str,
) -> ComparedCurve:
    title, parameter = name(curve.name), name(curve.parameter)
    a, b = (system.letter for system in systems)
    counts = tally(curve)
    summary = sentence("; ".join((spread_of(curve), largest_words(curve), *crossing_lines(curve))))
    text = (
        f"{', '.join(f'{count} {verdict.value}' for verdict, count in counts.items())} of {summary}. "
        "The table of its points contains every figure."
    )
    return ComparedCurve(
        name=title,
        anchor=f"{where}-{anchor(curve.name)}",
        parameter=parameter,
        summary=summary,
        tallies=counts,
        plot=curve_plots.ratios(curve, delta, b, f"Ratio of {b} to {a}, {title}, along {parameter}", text),
        rows=tuple(_row(point.item, footnotes, axis) for point in curve.points),
        xs=tuple(x_text(point.x) for point in curve.points),
    )


def largest_words(curve: Curve[RowComparison]) -> str:
    """`largest decided difference 1.103 [1.095, 1.112] at 524288`, or `no decided difference, …`."""
    most = largest(curve)
    if most is None or most.ratio is None:
        return f"no decided difference, ratios {ratio_range(curve)}"
    at = next(x_text(point.x) for point in curve.points if point.item is most)
    return f"largest decided difference {f'{ratio_text(most.ratio)} {ratio_interval(most)}'.strip()} at {at}"


def _in_words(difference: Difference) -> Difference:
    a, b = apart(difference.a, difference.b)
    return Difference(name(difference.what), short(a), short(b), difference.asked)


def apart(a: str, b: str) -> tuple[str, str]:
    """Two long texts as the words in which they differ, each with a word before and after it."""
    if a == b or max(len(a), len(b)) <= LONG or NOT_KNOWN in (a, b):
        return a, b
    words = a.split(), b.split()
    shown: tuple[list[str], list[str]] = [], []
    for kind, a1, a2, b1, b2 in SequenceMatcher(None, *words, autojunk=False).get_opcodes():
        for into, part in zip(shown, (words[0][a1:a2], words[1][b1:b2]), strict=True):
            if kind == "equal":
                first, last = a1 == 0, a2 == len(words[0]) and b2 == len(words[1])
                left, right = (() if first else part[:1]), (() if last else part[-1:])
                part = part if len(part) <= len(left) + len(right) else [*left, "…", *right]
            into.extend(part)
    return " ".join(shown[0]), " ".join(shown[1])


def _minutes(minutes: float) -> str:
    return f"{max(1, math.ceil(minutes))} min" if minutes < 120 else f"{minutes / 60:.0f} h"
