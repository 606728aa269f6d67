"""Layout floors from the store: counts of two builds that differ by less stay undecided."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kernometer.results.model import Result
    from kernometer.results.store import Store
    from kernometer.stats.floors import Layout
    from kernometer.stats.model import RowFigure


def figures_of(store: Store, result: Result) -> dict[str, RowFigure]:
    """The figures of a result; by path with the floors from the store."""
    from kernometer.stats.figures import figures
    from kernometer.stats.floors import with_floors

    found = figures(result)
    return with_floors(found, result, known_layouts(store)) if result.session.by == "path" else found


def known_layouts(store: Store) -> tuple[Layout, ...]:
    """Every kernel of the store that was counted on rotated machines. Raises ResultError if it cannot be read."""
    from kernometer.stats.floors import MIN_MACHINES, layouts

    return layouts(store.rotated(MIN_MACHINES))
