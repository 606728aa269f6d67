"""The matrix as one HTML file: the heat map, which operations got longer and when, and every cell as text.

The heat map is a table. Each cell's colour is the logarithm of its ratio in steps, with readable text on it, and only
repeats the cell's sign and figure.
"""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

from kernometer.report.explanation.boundaries import of_series
from kernometer.report.explanation.machines import of_columns as study_of
from kernometer.report.explanation.machines import view as study_view
from kernometer.report.matrix.view import STEPS, MatrixView, view
from kernometer.report.session.counters import counters
from kernometer.report.write.html import fill
from kernometer.stats.model import Verdict
from kernometer.stats.series import Series


def render(of: Series) -> str:
    """The page of a series."""
    shown, study = view(of), study_of(of)
    every = [row for one in shown.rows for row in (one, *one.points)]
    points = [(title, tuple(point for row in rows for point in row.points)) for title, rows in shown.families]
    values = {
        "title": f"{len(shown.heads) + 1} systems, {len(shown.rows)} operations",
        "by": shown.by,
        "made": shown.made,
        "lead": _lead(shown),
        "matrix": shown,
        "tallies": counters({column.name: column.results for column in of.columns if column.results}),
        "boundaries": of_series(of),
        "study": study_view(study) if study and study.whole else None,  # of kernels by machines
        "points": [one for one in points if one[1]],  # of curves, by family
        "notes": tuple(dict.fromkeys(why for row in every for cell in row.cells for why in cell.why)),
        "legend": _legend(),
    }
    return fill("matrix.html.j2", values, "report.css", "matrix.css")


def _lead(of: MatrixView) -> str:
    if of.first == of.last or of.last not in of.heads:  # all were compared with one, or with the last
        return f"{len(of.heads)} systems, each compared with {of.baseline}."
    at = of.heads.index(of.last)
    kinds = Counter(row.cells[at].kind for row in of.rows)
    return (
        f"On {of.last} {kinds[Verdict.SLOWER.value]} of {len(of.rows)} operations cost more than on {of.baseline}, "
        f"and {kinds[Verdict.FASTER.value]} cost less."
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
