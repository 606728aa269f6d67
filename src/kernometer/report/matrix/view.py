"""The view model of the matrix: cells, heads, which operations got longer, and when. All text is printable."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from kernometer.explain.functions import Breakdown, difference, newest
from kernometer.report.comparison.view import curve_verdict, footnotes_of, missing, own_notes
from kernometer.report.profile.functions import ChangedView, changed_view
from kernometer.report.session.absolute import family
from kernometer.report.session.systems import gather, short
from kernometer.report.session.view import System
from kernometer.report.words.curves import definitions, x_text
from kernometer.report.words.names import name, sentence, short_names
from kernometer.report.words.units import NOTHING, exact_text, format_value, ratio_text
from kernometer.results.model import BUILD, Workload
from kernometer.stats.curves import Curve, extremes, gathered, shown_point, tally, with_points
from kernometer.stats.model import Comparison, RowComparison, RowFigure, Verdict
from kernometer.stats.series import Change, Column, Series, Step, change_size, versions

#: Kinds of events that a step names.
KINDS = 5
#: Follows the sign where iterations have levels, and means are compared.
OF_MEANS = "m"
OF_MEANS_LEGEND = f"{OF_MEANS}: of means, as iterations have levels."
SIGNS = {Verdict.EQUIVALENT: "=", Verdict.UNDECIDED: "?", Verdict.FAILED: "×", Verdict.NOT_THERE: "–"}
#: Verdicts whose notes stand at each cell, even if many cells share them.
TOLD = frozenset({Verdict.FAILED, Verdict.NOT_THERE})
#: Ratios at which the next darker step of a cell's colour begins; their inverses likewise.
STEPS = (1.05, 1.1, 1.25, 1.5, 2.0)
_DECIDED = frozenset({Verdict.SLOWER.value, Verdict.FASTER.value})
_COMPARED = _DECIDED | {Verdict.EQUIVALENT.value, Verdict.UNDECIDED.value}
Profiles = Mapping[str, Mapping[str, Breakdown]]
ABSENT = "absent"  #: the kind of a cell whose row was not measured on both
ALONE = "·"  #: the sign of one whose row was measured there, and not on the baseline


@dataclass(frozen=True, slots=True)
class Cell:
    """One row on one system, against the baseline."""

    kind: str  #: a verdict's value, or ABSENT
    sign: str  #: the short text: the ratio if it is decided, else a sign
    words: str  #: ratio and verdict
    note: tuple[str, ...]  #: its floor, and what is missing for a verdict
    ratio: float | None
    why: tuple[str, ...] = ()  #: why it failed or is not there, and other remarks on this cell

    @property
    def colour(self) -> str:
        """As a CSS class: s1 to s6 for slower, f1 to f6 for faster, else its kind."""
        if self.ratio is None or not (self.kind in _DECIDED and 0 < self.ratio < math.inf):
            return self.kind.replace(" ", "_")
        return heat(self.ratio)


def heat(ratio: float) -> str:
    """The step of a ratio's colour: s1 to s6 above 1, f1 to f6 below, of which the last is 0 too."""
    away = max(ratio, 1 / ratio) if ratio > 0 else math.inf
    return f"{'s' if ratio > 1 else 'f'}{1 + sum(away >= edge for edge in STEPS)}"


@dataclass(frozen=True, slots=True)
class MatrixRow:
    row: str  #: or a curve's name, with * for the value of its parameter
    figure: str  #: the baseline's; of a curve the lowest and the highest
    cells: tuple[Cell, ...]
    points: tuple[MatrixRow, ...] = ()  #: of a curve

    @property
    def note(self) -> tuple[str, ...]:
        """The notes that all its cells share, such as a floor: shown once, beside the figure."""
        known = [cell.note for cell in self.cells if cell.kind in _COMPARED]
        return tuple(text for text in known[0] if all(text in other for other in known)) if known else ()


#: Rows by the title of their family.
Families = tuple[tuple[str, tuple[MatrixRow, ...]], ...]


@dataclass(frozen=True, slots=True)
class StepView:
    """A change from one system to the next."""

    before: str
    after: str
    ratio: str
    more: str  #: the difference in the row's own unit
    events: str  #: which events happened more or less often; "" if that is not known
    functions: ChangedView | None  #: which functions make the difference; None without profiles


@dataclass(frozen=True, slots=True)
class ChangeView:
    row: str
    total: str  #: ratio of the last system to the first
    verdict: str  #: of that ratio
    steps: tuple[StepView, ...]
    since: str  #: if no step shows the change: the first system with a decided difference from the first one


@dataclass(frozen=True, slots=True)
class MatrixView:
    """The whole matrix. `heads` are those of the systems without the baseline, in the order of each row's cells."""

    by: str
    delta: str
    baseline: str
    baseline_name: str
    heads: tuple[str, ...]
    names: tuple[str, ...]  #: whole names, in the same order
    first: str  #: system of the series, and its last one
    last: str
    families: Families
    longer: tuple[ChangeView, ...]
    shorter: tuple[ChangeView, ...]
    sentences: tuple[str, ...]  #: of each comparison
    systems: tuple[System, ...]
    failures: tuple[tuple[str, str], ...]  #: system, why it is not whole
    conditions: tuple[str, ...]  #: of the comparisons, each once
    warnings: tuple[str, ...]  #: what differs besides the system
    remarks: tuple[str, ...]

    @property
    def means(self) -> str:
        """The legend of ratios of means; "" without one."""
        of_means = any(cell.sign.endswith(OF_MEANS) for row in self.rows for cell in row.cells)
        return OF_MEANS_LEGEND if of_means else ""

    @property
    def rows(self) -> tuple[MatrixRow, ...]:
        return tuple(row for _title, rows in self.families for row in rows)


def view(matrix: Series, *, points: bool = False) -> MatrixView:
    """The view of a series for table and page. `points`: every point of a curve as a row of its own."""
    names = [column.name for column in matrix.columns]
    heads = dict(zip(names, short_names(names), strict=True))
    others = [column for column in matrix.columns if column.name != matrix.baseline]
    comparisons = list(matrix.comparisons.values())
    shared = _shared(matrix)
    workloads = {} if points else definitions(matrix.results)
    profiles = {column.name: newest(column.results) for column in matrix.columns}
    longer, shorter = (
        tuple(_changed([change for change in matrix.changes if change.longer is way], workloads, heads, profiles))
        for way in (True, False)
    )
    measured = [column for column in matrix.columns if column.results]
    steps = versions(measured) or measured
    return MatrixView(
        by=measured[0].results[0].session.by,
        delta=f"{comparisons[0].delta * 100:.3g} %",
        baseline=heads[matrix.baseline],
        baseline_name=name(matrix.baseline),
        heads=tuple(heads[column.name] for column in others),
        names=tuple(name(column.name) for column in others),
        first=heads[steps[0].name],
        last=heads[steps[-1].name],
        families=families(matrix, points=points),
        longer=longer,
        shorter=tuple(reversed(shorter)),
        sentences=tuple(sentence(comparison.sentence) for comparison in comparisons),
        systems=tuple(subject.system for subject in gather([(column.name, column.results) for column in measured])),
        failures=tuple((name(column.name), sentence(column.failure)) for column in matrix.columns if column.failure),
        conditions=tuple(dict.fromkeys(sentence(text) for comparison in comparisons for text in comparison.conditions)),
        warnings=_warnings(comparisons, heads),
        remarks=(*_one_probe(measured), *_remarks(comparisons, shared)),
    )


def families(matrix: Series, *, points: bool = False) -> Families:
    """The rows by the title of their family. `points`: as in `view`."""
    others = [column for column in matrix.columns if column.name != matrix.baseline]
    shared = _shared(matrix)
    made: dict[str, list[MatrixRow]] = {}
    judged = {row: tuple(matrix.cell(row, column.name) for column in others) for row in matrix.rows}
    notes = [shared.get(column.name, []) for column in others]
    known, *measured = (
        {row for result in column.results for row in result.rows}
        for column in (next(column for column in matrix.columns if column.name == matrix.baseline), *others)
    )
    for line in gathered(judged, {} if points else definitions(matrix.results)):
        if isinstance(line, str):
            row, rows = _row(line, matrix.figures.get(line), judged[line], notes), {line}
        else:
            row, rows = _curve(line, matrix.figures, notes), {point.row for point in line.points}
        cells = (_alone(cell) if rows & (its - known) else cell for cell, its in zip(row.cells, measured, strict=True))
        made.setdefault(family(row.row)[1], []).append(replace(row, cells=tuple(cells)))
    return tuple((title, tuple(rows)) for title, rows in made.items())


def _shared(matrix: Series) -> dict[str, list[str]]:
    """By system the notes that many of its rows share."""
    return {
        comparison.b: footnotes_of([row for row in comparison.rows if row.verdict not in TOLD])
        for comparison in matrix.comparisons.values()
    }


def _row(
    row: str, figure: RowFigure | None, judged: Sequence[RowComparison | None], notes: Sequence[Sequence[str]]
) -> MatrixRow:
    cells = tuple(_cell(cell, shared) for cell, shared in zip(judged, notes, strict=True))
    return MatrixRow(name(row), _figure(figure), cells)


def _curve(
    curve: Curve[tuple[RowComparison | None, ...]], figures: Mapping[str, RowFigure], notes: Sequence[Sequence[str]]
) -> MatrixRow:
    """One line: on each system the point that represents the curve there; its points as rows."""
    ends = extremes(with_points(curve, [figures.get(point.row) for point in curve.points]))
    texts = [] if ends is None else list(dict.fromkeys(format_value(figure.value, figure.unit) for figure in ends))
    cells = tuple(
        _curve_cell(with_points(curve, [point.item[at] for point in curve.points]), shared)
        for at, shared in enumerate(notes)
    )
    points = tuple(_row(point.row, figures.get(point.row), point.item, notes) for point in curve.points)
    return MatrixRow(name(curve.name), " … ".join(texts) or NOTHING, cells, points)


def _curve_cell(curve: Curve[RowComparison], shared: Sequence[str]) -> Cell:
    """Its largest decided difference; without one, the verdict of its points."""
    point = shown_point(curve)
    counts = tally(curve)
    if not counts:
        return _cell(None, shared)
    words = ", ".join(f"{count} {verdict.value}" for verdict, count in counts.items())
    why = dict.fromkeys(sentence(note) for each_point in curve.points for note in own_notes(each_point.item, shared))
    kind = curve_verdict(curve)
    sign = SIGNS.get(kind, "")
    if point is not None and not sign:
        sign = ratio_text(point.item.ratio or 1.0)
        words = f"{sign} {kind.value} at {x_text(point.x)}; {words}"
    return Cell(kind.value, sign, words, (), point.item.ratio if point is not None else None, tuple(why))


def _alone(cell: Cell) -> Cell:
    """Of a row that was measured there, and not on the baseline."""
    return replace(cell, sign=ALONE, words="not measured on the baseline") if cell.kind == ABSENT else cell


def _cell(row: RowComparison | None, shared: Sequence[str]) -> Cell:
    if row is None:
        return Cell(ABSENT, "", "not measured on both", (), None)
    ratio = NOTHING if row.ratio is None else ratio_text(row.ratio)
    note = tuple(filter(None, (exact_text(row), missing(row) if row.verdict is Verdict.UNDECIDED else "")))
    why = tuple(map(sentence, own_notes(row, shared)))
    words = row.verdict.value if row.ratio is None else f"{ratio} {row.verdict.value}"
    sign = SIGNS.get(row.verdict, ratio) + (OF_MEANS if row.by_mean else "")
    return Cell(row.verdict.value, sign, words, note, row.ratio, why)


def _figure(figure: RowFigure | None) -> str:
    if figure is None or figure.value is None:
        return NOTHING
    levels = f"\n{len(figure.levels)} levels" if figure.levels else ""
    return f"{format_value(figure.value, figure.unit)}{levels}"


def _changed(
    changes: Sequence[Change], workloads: Mapping[str, Workload], heads: dict[str, str], profiles: Profiles
) -> Iterator[ChangeView]:
    """Changes in their order; for a curve the point that changed most, with the number of points."""
    of_row = {change.row: change for change in changes}
    for line in gathered(of_row, workloads):
        if isinstance(line, str):
            yield _change(of_row[line], heads, profiles)
            continue
        most = max(line.points, key=lambda point: abs(math.log(change_size(point.item) or 1.0)))
        title = f"{line.name} at {x_text(most.x)} ({len(line.points)} points)"
        yield replace(_change(most.item, heads, profiles), row=name(title))


def _change(change: Change, heads: dict[str, str], profiles: Profiles) -> ChangeView:
    total = change.total
    known = total is not None and total.ratio is not None
    return ChangeView(
        row=name(change.row),
        total=ratio_text(total.ratio) if total is not None and total.ratio is not None else NOTHING,
        verdict=total.verdict.value if total is not None and known else "",
        steps=tuple(_step(step, heads, profiles) for step in change.steps),
        since=heads[change.since] if change.since else "",
    )


def _step(step: Step, heads: dict[str, str], profiles: Profiles) -> StepView:
    row = step.row
    before, after = (profiles[system].get(row.row) for system in (step.before, step.after))
    functions = difference(before, after)
    return StepView(
        before=heads[step.before],
        after=heads[step.after],
        ratio=ratio_text(row.ratio) if row.ratio is not None else NOTHING,
        more=_more(row),
        events=", ".join(f"{_signed(more)} {name(kind).replace('_', ' ')}" for kind, more in _largest(step)),
        functions=changed_view(functions) if functions else None,
    )


def _largest(step: Step) -> list[tuple[str, float]]:
    """The kinds with the largest relative changes, in the order in which they were counted."""
    kept = sorted(step.events, key=lambda kind: -abs(step.events[kind]))[:KINDS]
    return [(kind, more) for kind, more in step.events.items() if kind in kept]


def _more(row: RowComparison) -> str:
    """The difference of the two figures in the row's own unit."""
    if row.a is None or row.b is None or row.a.value is None or row.b.value is None:
        return ""
    more = row.costs[1] - row.costs[0] if row.by_mean and row.costs else row.b.value - row.a.value
    return f"{'+' if more > 0 else '−'}{format_value(abs(more), row.b.unit)}"


def _signed(count: float) -> str:
    size = f"{abs(count):,.0f}" if abs(count) >= 10 or count == round(count) else f"{abs(count):.1f}"
    return f"{'+' if count > 0 else '−'}{size}"


def _warnings(comparisons: Sequence[Comparison], heads: dict[str, str]) -> tuple[str, ...]:
    """Differences besides that of the systems: each fact once, with the systems that differ in it."""
    facts: dict[tuple[str, str], list[str]] = {}
    for comparison in comparisons:
        for fact in comparison.differs:
            if not fact.asked:
                told = f"{heads[comparison.b]}: {short(fact.b)}"
                facts.setdefault((fact.what, fact.a), []).append(told)
    return tuple(
        sentence(f"{what}: {short(a)} on {heads[comparisons[0].a]}; {'; '.join(dict.fromkeys(others))}")
        for (what, a), others in facts.items()
    )


def _one_probe(columns: Sequence[Column]) -> Iterator[str]:
    """A sentence if all were measured by the same program, or by builds of the same sources; a difference of those is
    a warning."""
    headers = [result.header for column in columns for result in column.results]
    probes = [header.probe if header is not None else {} for header in headers]
    digests = {str(probe.get("source_digest", "")) for probe in probes}
    if len(digests) == 1 and (digest := digests.pop()):
        builds = len({tuple(str(probe.get(key, "")) for key in BUILD) for probe in probes})
        several = f", in {builds} builds" if builds > 1 else ""
        yield sentence(f"one probe on all systems{several}: sources {digest[:16]}")


def _remarks(comparisons: Sequence[Comparison], shared: dict[str, list[str]]) -> tuple[str, ...]:
    """Remarks that rows or comparisons share, each once, with the names of all its systems."""
    systems: dict[str, list[str]] = {}
    for comparison in comparisons:
        own = (f"{comparison.b}: {note}" for note in shared[comparison.b])
        for remark in (*comparison.remarks, *own):
            before, name, after = remark.partition(comparison.b)
            named = systems.setdefault(f"{before}\0{after}" if name else remark, [])
            if name:
                named.append(comparison.b)
    return tuple(sentence(remark.replace("\0", ", ".join(names))) for remark, names in systems.items())
