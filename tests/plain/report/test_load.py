"""Peak and crossings of a curve, as table and documents give them."""

from __future__ import annotations

from dataclasses import replace

from kernometer.report.words.curves import comparison_document, crossing_lines, figures_document
from kernometer.stats.model import Comparison
from tests.support.stats.load import FASTER, OPEN, SLOWER, WORKLOADS, compared, load

CROSSED = compared((FASTER, 0.8), (OPEN, 1.0), (SLOWER, 1.25))


def test_a_crossing_is_a_line_of_the_table_and_part_of_the_document() -> None:
    """Expected: between 1 and 4 users, by interpolation at 2. Broken: only the largest difference is told."""
    assert crossing_lines(CROSSED) == ["crosses between 1 and 4"]
    rows = tuple(point.item for point in CROSSED.points)
    comparison = Comparison(
        "a", "b", "ab", 0.02, tuple(replace(row, row=CROSSED.rows[i]) for i, row in enumerate(rows))
    )
    (document,) = comparison_document(comparison, WORKLOADS)
    (crossing,) = document["crossings"]
    assert (crossing["before"], crossing["after"], round(crossing["at"], 6)) == (1, 4, 2)


def test_a_peak_is_part_of_the_document_where_higher_is_better() -> None:
    (document,) = figures_document({point.row: point.item for point in load(50, 90, 90.5).points}, WORKLOADS)
    assert document["peak"] == {"x": 4, "row": "load/many@users=4", "first": 2, "last": 4}
    lower = load(3, 2, 1, better="lower")
    (document,) = figures_document({point.row: point.item for point in lower.points}, WORKLOADS)
    assert document["peak"] is None
