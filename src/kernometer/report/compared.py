"""From a Comparison to what the page shows of it: table, tallies, the strip of what differs, the forest plot."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence

from markupsafe import escape

from kernometer.report import curve_plots, forest
from kernometer.report.absolute import anchor, family
from kernometer.report.curves import crossing_lines, ratio_range, spread_of, x_text
from kernometer.report.subjects import Subject, name, rows_of, sentence, single, workloads_of
from kernometer.report.units import exact_text, format_percent
from kernometer.report.view import NOTHING, ComparedCurve, ComparedRow, ComparisonView, Contrast, Figure, Plot, Tally
from kernometer.stats.curves import Curve, gathered, largest, shown_point, tally
from kernometer.stats.model import Comparison, Difference, RowComparison, RowFigure, Verdict

#: A note that so many rows share is said once, under the table.
SHARED = 4
_DIGEST = re.compile(r"[0-9a-f]{32,}")


def view(comparison: Comparison, a: Subject, b: Subject) -> ComparisonView:
    """Everything the page says of B against A."""
    ordered = {row.row: row for row in _in_order(comparison.rows, (a, b))}
    lines = [ordered[one] if isinstance(one, str) else one for one in gathered(ordered, workloads_of((a, b)))]
    points = _points(lines)
    axis = forest.domain(points, comparison.delta) if points else (0.5, 2.0)
    delta = f"{comparison.delta * 100:.3g}\u00a0%"
    footnotes = footnotes_of(comparison.rows)
    rows = [_row(line, footnotes) for line in lines if not isinstance(line, Curve)]
    letters = (a.letter, b.letter)
    curves = [line for line in lines if isinstance(line, Curve)]
    return ComparisonView(
        anchor=f"against-{b.letter.lower()}",
        a=a.system,
        b=b.system,
        sentence=_headline(comparison.sentence),
        interval="Interval" if comparison.method == "path" else "95\u00a0% interval",
        delta=delta,
        tallies=tuple(_tally(verdict, comparison.count(verdict)) for verdict in Verdict),
        wide=_plots(points, comparison, axis, "wide", letters),
        narrow=_plots(points, comparison, axis, "narrow", letters),
        undrawn=len(lines) - len(points),
        families=_families(rows),
        curves=tuple(_curve(curve, comparison.delta, footnotes, letters) for curve in curves),
        same=tuple(map(_contrast, comparison.same)),
        differs=tuple(map(_contrast, comparison.differs)),
        footnotes=tuple(map(sentence, footnotes)),
        remarks=tuple(map(sentence, comparison.remarks)),
    )


def _tally(verdict: Verdict, count: int) -> Tally:
    return Tally(verdict.name.lower(), count, verdict.value)


def _families(rows: Sequence[ComparedRow]) -> tuple[tuple[str, tuple[ComparedRow, ...]], ...]:
    found: dict[str, list[ComparedRow]] = {}
    for row in rows:
        found.setdefault(family(row.row)[1], []).append(row)
    return tuple((title, tuple(members)) for title, members in found.items())


def missing(row: RowComparison) -> str:
    """Of an undecided row: what these runs could have seen, and what it takes to see δ."""
    parts = []
    if row.smallest is not None and math.isfinite(row.smallest):
        parts.append(f"could have seen {_percent(row.smallest)}")
    if row.minutes_missing is not None and math.isfinite(row.minutes_missing):
        parts.append(f"needs about {_minutes(row.minutes_missing)} more")
    if row.sessions_missing is not None:
        plural = "" if row.sessions_missing == 1 else "s"
        parts.append(f"needs {row.sessions_missing} more session{plural} a side")
    return "; ".join(parts)


def footnotes_of(rows: Sequence[RowComparison]) -> list[str]:
    """Notes that many rows share, in the order of their first row."""
    counted = Counter(note for row in rows for note in row.notes)
    return [note for note, count in counted.items() if count >= SHARED]


def own_notes(row: RowComparison, footnotes: Sequence[str]) -> list[str]:
    """Notes of this row alone."""
    return [note for note in row.notes if note not in footnotes]


def _row(row: RowComparison, footnotes: Sequence[str]) -> ComparedRow:
    own = [missing(row)] if row.verdict is Verdict.UNDECIDED else []
    own += own_notes(row, footnotes)
    interval = exact_text(row)
    if row.low is not None and row.high is not None:
        interval = f"{forest.ratio_text(row.low)} – {forest.ratio_text(row.high)}"
    return ComparedRow(
        row=name(row.row),
        anchor=anchor(row.row),
        a=_figure(row.a),
        b=_figure(row.b),
        ratio=row.ratio,
        ratio_text="–" if row.ratio is None else forest.ratio_text(row.ratio),
        interval=interval,
        verdict=row.verdict,
        note=sentence("; ".join(filter(None, own))),
        footnotes=tuple(number for number, note in enumerate(footnotes, 1) if note in row.notes),
    )


def _curve(
    curve: Curve[RowComparison], delta: float, footnotes: Sequence[str], letters: tuple[str, str]
) -> ComparedCurve:
    title, parameter = name(curve.name), name(curve.parameter)
    counts = tally(curve)
    summary = "; ".join((spread_of(curve), largest_words(curve), *crossing_lines(curve)))
    text = (
        f"{', '.join(f'{count} {verdict.value}' for verdict, count in counts.items())} of {sentence(summary)}. "
        "The table of its points has every figure."
    )
    drawn = f"Ratio of {letters[1]} to {letters[0]}, {title}, along {parameter}"
    return ComparedCurve(
        name=title,
        parameter=parameter,
        summary=sentence(summary),
        tallies=tuple(_tally(verdict, count) for verdict, count in counts.items()),
        plot=curve_plots.ratios(curve, delta, letters[1], drawn, text),
        rows=tuple(_row(point.of, footnotes) for point in curve.points),
        xs=tuple(x_text(point.x) for point in curve.points),
    )


def largest_words(curve: Curve[RowComparison]) -> str:
    """`largest decided difference 1.103 [1.095, 1.112] at 524288`, or that there is none."""
    most = largest(curve)
    if most is None or most.ratio is None:
        return f"no decided difference, ratios {ratio_range(curve)}"
    at = next(x_text(point.x) for point in curve.points if point.of is most)
    interval = ""
    if most.low is not None and most.high is not None:
        interval = f" [{forest.ratio_text(most.low)}, {forest.ratio_text(most.high)}]"
    return f"largest decided difference {forest.ratio_text(most.ratio)}{interval} at {at}"


def _figure(figure: RowFigure | None) -> Figure:
    return NOTHING if figure is None else single(figure)


def _contrast(difference: Difference) -> Contrast:
    return Contrast(name(difference.what), short(difference.a), short(difference.b))


def short(text: str) -> str:
    """A digest by its beginning."""
    return f"{text[:12]}…" if _DIGEST.fullmatch(text) else sentence(text)


def _headline(text: str) -> str:
    """The verdict sentence, in which no line ends between a number and what it counts."""
    return re.sub(r"(?<=[ ±]\d) (?=[a-z%])|(?<=\d\d) (?=[a-z%])|(?<=equivalent) (?=\()", "\u00a0", sentence(text))


def _in_order(rows: Sequence[RowComparison], subjects: Sequence[Subject]) -> list[RowComparison]:
    """In the registry's order; rows without a run in any of them last."""
    place = {row: index for index, row in enumerate(rows_of(subjects))}
    return sorted(rows, key=lambda row: place.get(row.row, len(place)))


def _points(lines: Sequence[RowComparison | Curve[RowComparison]]) -> list[forest.Point]:
    """Rows with a ratio, a curve by the point that stands for it; one without an interval is its point alone."""
    found = []
    for line in lines:
        if isinstance(line, Curve):
            point = shown_point(line)
            if point is None:
                continue
            row, title = point.of, f"{line.name} at {x_text(point.x)}"
        else:
            row, title = line, line.row
        if row.verdict is Verdict.FAILED or row.ratio is None or not (0 < row.ratio < math.inf):
            continue
        low, high = (
            end if end is not None and 0 < end < math.inf else edge
            for end, edge in ((row.low, row.ratio), (row.high, row.ratio))
        )
        ends = min(low, row.ratio), max(high, row.ratio)
        known = row.low is not None and row.high is not None
        found.append(forest.Point(name(title), row.ratio, *ends, row.verdict, known=known, exact=row.exact))
    return found


def _plots(
    points: Sequence[forest.Point],
    comparison: Comparison,
    axis: tuple[float, float],
    layout: forest.Layout,
    letters: tuple[str, str],
) -> tuple[Plot, ...]:
    """The parts of the forest plot in one layout, each an accessible image."""
    if not points:
        return ()
    parts = forest.parts(points)
    plots = []
    for number, part in enumerate(parts, 1):
        drawing = forest.svg(forest.spec(part, delta=comparison.delta, axis=axis, layout=layout, names=letters))
        of = f", part {number} of {len(parts)}" if len(parts) > 1 else ""
        intervals = "" if comparison.method == "path" else ", with 95 % intervals"
        title = f"Ratio of {letters[1]} to {letters[0]} by row{intervals}{of}"
        text = (
            f"{len(part)} rows from {part[0].name} at {forest.ratio_text(part[0].ratio)} to {part[-1].name} at "
            f"{forest.ratio_text(part[-1].ratio)}. The comparison table has every figure."
        )
        width, height = forest.size(layout, len(part))
        plots.append(Plot(image(drawing, title, text, width, height), width))
    return tuple(plots)


def image(drawing: str, title: str, text: str, width: int, height: int) -> str:
    """Vega's element in one that scales, says what it is, and hides its many parts from a screen reader."""
    inner = drawing[drawing.index(">") + 1 : drawing.rindex("</svg>")]
    return (
        f'<svg role="img" viewBox="0 0 {width} {height}" aria-label="{escape(title)}">'
        f"<title>{escape(title)}</title><desc>{escape(text)}</desc>"
        f'<g aria-hidden="true" font-family="sans-serif">{inner}</g></svg>'
    )


def _percent(share: float) -> str:
    return format_percent(share) if share < 1 else f"a factor of {1 + share:.3g}"


def _minutes(minutes: float) -> str:
    return f"{max(1, minutes):.0f} min" if minutes < 120 else f"{minutes / 60:.0f} h"
