"""The matrix as one HTML file: the heat map, which operations got longer and when, and every cell in words."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

from kernometer.report import forest, heat
from kernometer.report.compared import image
from kernometer.report.forest import Layout
from kernometer.report.html import fill
from kernometer.report.matrix_view import MatrixRow, MatrixView, finite, view
from kernometer.report.view import Plot
from kernometer.stats.model import Verdict
from kernometer.stats.series import Series


@dataclass(frozen=True, slots=True)
class FamilyView:
    """Rows of one subject, drawn in both layouts and in words."""

    title: str
    wide: tuple[Plot, ...]
    narrow: tuple[Plot, ...]
    rows: tuple[MatrixRow, ...]

    @property
    def points(self) -> tuple[MatrixRow, ...]:
        """Of its curves, in their order."""
        return tuple(point for row in self.rows for point in row.points)


@dataclass(frozen=True, slots=True)
class Page:
    """What the template lays out."""

    title: str
    by: str
    made: str
    lead: str
    matrix: MatrixView
    families: tuple[FamilyView, ...]
    legend: tuple[tuple[str, str], ...]  #: name of a colour, the ratios that it stands for


def render(of: Series) -> str:
    """The page of a series. Raises whatever its parts do."""
    return fill("matrix.html.j2", build(view(of)), "report.css", "matrix.css")


def build(of: MatrixView) -> Page:
    count = len(of.heads) + 1
    families = tuple(
        FamilyView(title, _plots(of, title, rows, "wide"), _plots(of, title, rows, "narrow"), rows)
        for title, rows in of.families
    )
    lasting = [change for change in of.longer if change.verdict == Verdict.SLOWER.value]
    return Page(
        title=f"{count} systems, {len(of.rows)} operations",
        by=of.by,
        made=of.made,
        lead=(
            f"On {of.last} {len(lasting)} of {len(of.rows)} operations cost more than on {of.baseline}, and "
            f"{sum(change.verdict == Verdict.FASTER.value for change in of.shorter)} cost less."
        ),
        matrix=of,
        families=families,
        legend=_legend(),
    )


def _plots(of: MatrixView, title: str, rows: tuple[MatrixRow, ...], layout: Layout) -> tuple[Plot, ...]:
    """A family's drawings: one, or in the narrow layout as many as its systems need."""
    systems = len(of.heads)
    width = heat.columns(layout, systems)
    plots = []
    for start in range(0, systems, width):
        which = slice(start, start + width)
        heads = of.heads[which]
        drawing = forest.svg(heat.spec(rows, of.heads, which, layout, systems, of.baseline))
        size = heat.size(layout, len(rows), heads, systems)
        text = f"{len(rows)} rows on {len(heads)} systems. {_extremes(rows, heads, which)} The table has every figure."
        label = f"{title}: ratio of each system to {of.baseline}" + (
            f", {heads[0]} to {heads[-1]}" if start or width < systems else ""
        )
        plots.append(Plot(image(drawing, label, text, *size), size[0]))
    return tuple(plots)


def _extremes(rows: tuple[MatrixRow, ...], heads: tuple[str, ...], which: slice) -> str:
    """The largest and the smallest decided ratio, in words."""
    found = [
        (cell.ratio or 1.0, row.row, head)
        for row in rows
        for cell, head in zip(row.cells[which], heads, strict=True)
        if cell.kind in (Verdict.SLOWER.value, Verdict.FASTER.value) and finite(cell.ratio)
    ]
    if not found:
        return "No difference is decided."
    (low, *least), (high, *most) = min(found), max(found)
    return (
        f"The largest ratio is {forest.ratio_text(high)}, {most[0]} on {most[1]}; "
        f"the smallest {forest.ratio_text(low)}, {least[0]} on {least[1]}."
    )


def _legend() -> tuple[tuple[str, str], ...]:
    """From the most that is faster to the most that is slower."""
    edges = (1.0, *heat.STEPS)
    slower = [f"{low:g} – {high:g}" for low, high in pairwise(edges)] + [f"above {edges[-1]:g}"]
    faster = [f"{1 / high:.2g} – {1 / low:.2g}" for low, high in pairwise(edges)]
    faster.append(f"below {1 / edges[-1]:.2g}")
    return (
        *((f"f{number}", text) for number, text in reversed([*enumerate(faster, 1)])),
        *((f"s{number}", text) for number, text in enumerate(slower, 1)),
    )
