"""The matrix as one HTML file: the heat map, which operations got longer and when, and every cell as text.

The heat map is a table. Each cell's colour is the logarithm of its ratio in steps, with readable text on it, and only
repeats the cell's sign and figure.
"""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

from kernometer.explain import machines
from kernometer.report.explanation.boundaries import of_series
from kernometer.report.explanation.machines import view as study_view
from kernometer.report.matrix.measures import MEASURES, measured_in
from kernometer.report.matrix.view import STEPS, MatrixView, families, view
from kernometer.report.session.counters import counters
from kernometer.report.write.html import fill
from kernometer.stats.figures import INSTRUCTIONS, Counted
from kernometer.stats.model import Verdict
from kernometer.stats.series import Series


def render(matrix: Series, counted: Counted = INSTRUCTIONS) -> str:
    """The page of a series. `counted`: what boundaries are priced in."""
    shown, study = view(matrix), machines.study(matrix.results)
    every = [row for line in shown.rows for row in (line, *line.points)]
    points = [(title, tuple(point for row in rows for point in row.points)) for title, rows in shown.families]
    values = {
        "title": f"{len(shown.heads) + 1} systems, {len(shown.rows)} operations",
        "by": shown.by,
        "lead": _lead(shown),
        "matrix": shown,
        "tallies": counters({column.name: column.results for column in matrix.columns if column.results}),
        "boundaries": of_series(matrix, counted),
        "study": study_view(study) if study and study.total else None,  # of kernels by machines
        "points": [family for family in points if family[1]],  # of curves, by family
        "measures": [
            (next(iter(measured.comparisons.values())).conditions[0], families(measured))
            for name in MEASURES
            if (measured := measured_in(matrix, name))
        ],
        "notes": tuple(dict.fromkeys(why for row in every for cell in row.cells for why in cell.why)),
        "legend": _legend(),
    }
    return fill("matrix.html.j2", values, "report.css", "matrix.css")


def _lead(shown: MatrixView) -> str:
    if shown.first == shown.last or shown.last not in shown.heads:  # all were compared with one, or with the last
        return f"{len(shown.heads)} systems, each compared with {shown.baseline}."
    at = shown.heads.index(shown.last)
    kinds = Counter(row.cells[at].kind for row in shown.rows)
    more, less = kinds[Verdict.SLOWER.value], kinds[Verdict.FASTER.value]
    operations = f"{more} of {len(shown.rows)} operations cost more than on {shown.baseline}"
    return f"On {shown.last} {operations}, and {less} cost less."


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
