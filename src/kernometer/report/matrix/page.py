"""The matrix as one HTML file: the heat map, which operations got longer and when, and every cell as text.

The heat map is a table. Each cell's colour is the logarithm of its ratio in steps, with readable text on it, and only
repeats the cell's sign and figure.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from itertools import pairwise

from kernometer.report.explanation.boundaries import of_series
from kernometer.report.explanation.boundaries_view import BoundariesView
from kernometer.report.explanation.machines import StudyView
from kernometer.report.explanation.machines import of_columns as study_of
from kernometer.report.explanation.machines import view as study_view
from kernometer.report.matrix.view import STEPS, MatrixRow, MatrixView, view
from kernometer.report.session.counters import NOTHING_TOLD, counters
from kernometer.report.session.view import Tallies
from kernometer.report.write.html import fill
from kernometer.stats.model import Verdict
from kernometer.stats.series import Series


@dataclass(frozen=True, slots=True)
class Page:
    """The values for the template."""

    title: str
    by: str
    made: str
    lead: str
    matrix: MatrixView
    tallies: Tallies
    boundaries: BoundariesView | None
    study: StudyView | None  #: of kernels by machines
    points: tuple[tuple[str, tuple[MatrixRow, ...]], ...]  #: of curves, by family
    notes: tuple[str, ...]  #: remarks on cells, each once
    legend: tuple[tuple[str, str], ...]  #: name of a colour, its ratios


def render(of: Series) -> str:
    """The page of a series."""
    told = counters({column.name: column.results for column in of.columns if column.results})
    found = study_of(of)
    page = build(view(of), told, of_series(of), study_view(found) if found and found.whole else None)
    return fill("matrix.html.j2", page, "report.css", "matrix.css")


def build(
    of: MatrixView,
    told: Tallies = NOTHING_TOLD,
    priced: BoundariesView | None = None,
    study: StudyView | None = None,
) -> Page:
    count = len(of.heads) + 1
    if of.first == of.last or of.last not in of.heads:  # all were compared with one, or with the last
        lead = f"{count - 1} systems, each compared with {of.baseline}."
    else:
        at = of.heads.index(of.last)
        kinds = Counter(row.cells[at].kind for row in of.rows)
        lead = (
            f"On {of.last} {kinds[Verdict.SLOWER.value]} of {len(of.rows)} operations cost more than on {of.baseline}, "
            f"and {kinds[Verdict.FASTER.value]} cost less."
        )
    points = [(title, tuple(point for row in rows for point in row.points)) for title, rows in of.families]
    every = [row for one in of.rows for row in (one, *one.points)]
    return Page(
        title=f"{count} systems, {len(of.rows)} operations",
        by=of.by,
        made=of.made,
        lead=lead,
        matrix=of,
        tallies=told,
        boundaries=priced,
        study=study,
        points=tuple(one for one in points if one[1]),
        notes=tuple(dict.fromkeys(why for row in every for cell in row.cells for why in cell.why)),
        legend=_legend(),
    )


def _legend() -> tuple[tuple[str, str], ...]:
    """From the fastest to the slowest."""
    edges = (1.0, *STEPS)
    slower = [f"{low:g} – {high:g}" for low, high in pairwise(edges)] + [f"above {edges[-1]:g}"]
    faster = [f"{1 / high:.2g} – {1 / low:.2g}" for low, high in pairwise(edges)]
    faster.append(f"below {1 / edges[-1]:.2g}")
    return (
        *((f"f{number}", text) for number, text in reversed([*enumerate(faster, 1)])),
        *((f"s{number}", text) for number, text in enumerate(slower, 1)),
    )
