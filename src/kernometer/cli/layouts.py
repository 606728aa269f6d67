"""What is known of layouts: the floors that counts of two builds are held against, from the store."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kernometer.results.store import Store
    from kernometer.stats.floors import Layout


def known_layouts(store: Store) -> tuple[Layout, ...]:
    """Every kernel of the store that was counted on rotated machines. Raises ResultError where it cannot be read."""
    from kernometer.stats.floors import MIN_MACHINES, layouts

    return layouts(store.rotated(MIN_MACHINES))
