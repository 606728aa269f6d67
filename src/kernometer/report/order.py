"""In which order rows are shown: the registry's, whatever the order in which they were measured. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kernometer.results.model import Result


def in_registry_order(result: Result, rows: Iterable[str]) -> list[str]:
    """Rows sorted as the result's definitions list them; those that are not defined come last, as they came."""
    places: dict[str, int] = {}
    for workload in result.workloads.values():
        for info in workload.rows:
            places.setdefault(info.row, len(places))
    return sorted(rows, key=lambda row: places.get(row, len(places)))
