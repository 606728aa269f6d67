"""A curve as text and as a document. docs/statistics.md, "Curves"."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from kernometer.report.words.units import NOTHING
from kernometer.report.write.document import pick
from kernometer.results.model import Result, Workload
from kernometer.stats.curves import Curve, crossings, curves, largest, peak, tally
from kernometer.stats.model import Comparison, RowComparison, RowFigure


def definitions(results: Iterable[Result]) -> dict[str, Workload]:
    """Every definition of these results; where two differ, the first."""
    workloads: dict[str, Workload] = {}
    for result in results:
        for name, workload in result.workloads.items():
            workloads.setdefault(name, workload)
    return workloads


def x_text(x: float) -> str:
    """A parameter's value as in row names: 4096, 0.5."""
    return f"{x:.0f}" if x == int(x) and abs(x) < 1e15 else f"{x:g}"


def spread_of(curve: Curve[Any]) -> str:
    """`12 points, 4096 … 8388608`."""
    first, last = curve.points[0].x, curve.points[-1].x
    return f"{len(curve.points)} points, {x_text(first)} … {x_text(last)}"


def ratio_range(curve: Curve[RowComparison]) -> str:
    """The range of its points' ratios, for a curve without a decided difference."""
    known = [point.item.ratio for point in curve.points if point.item.ratio is not None]
    return f"{min(known):.3f} … {max(known):.3f}" if known else NOTHING


def rows_document(rows: Iterable[str], workloads: Mapping[str, Workload]) -> list[dict[str, Any]]:
    """The curves of these rows, for programs: their rows, each with its parameter's value."""
    return [_document(line) for line in curves(dict.fromkeys(rows), workloads)]


def figures_document(figures: Mapping[str, RowFigure], workloads: Mapping[str, Workload]) -> list[dict[str, Any]]:
    """The same for a result, with each curve's peak (stats/curves.py; null: lower is better)."""
    documents = []
    for line in curves(figures, workloads):
        top = peak(line)
        told = None if top is None else pick(top.point, "x", "row") | pick(top, "first", "last")
        documents.append(_document(line) | {"peak": told})
    return documents


def crossing_lines(curve: Curve[RowComparison]) -> list[str]:
    """Between which values the ratio crosses 1: `crosses between 4 and 16`."""
    return [
        f"crosses between {x_text(crossing.before.x)} and {x_text(crossing.after.x)}" for crossing in crossings(curve)
    ]


def comparison_document(comparison: Comparison, workloads: Mapping[str, Workload]) -> list[dict[str, Any]]:
    """The same for a comparison, with the tally of verdicts, largest decided difference (null: none) and crossings."""
    documents = []
    for line in curves({row.row: row for row in comparison.rows}, workloads):
        most = largest(line)
        of_most = next((pick(point, "x", "row") for point in line.points if point.item is most), None)
        counts = {verdict.value: count for verdict, count in tally(line).items()}
        crossed = [{"before": cross.before.x, "after": cross.after.x, "at": cross.at} for cross in crossings(line)]
        documents.append(_document(line) | {"verdicts": counts, "largest": of_most, "crossings": crossed})
    return documents


def _document(curve: Curve[Any]) -> dict[str, Any]:
    points = [pick(point, "x", "row") for point in curve.points]
    return pick(curve, "name", "workload", "parameter") | {"fixed": dict(curve.fixed), "points": points}
