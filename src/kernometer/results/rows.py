"""Rows by the registry's order, whatever the order in which they were measured or defined, and by users' words."""

from __future__ import annotations

import math
from collections.abc import Iterable
from fnmatch import fnmatchcase

from kernometer.results.model import Result


def in_registry_order(results: Iterable[Result], rows: Iterable[str]) -> tuple[str, ...]:
    """Rows by their number in the registry; rows that no result defines come last, in the given order."""
    place = {info.row: info.id for result in results for one in result.workloads.values() for info in one.rows}
    return tuple(sorted(rows, key=lambda row: place.get(row, math.inf)))


def named(row: str, word: str) -> bool:
    """Whether the word is the row, its workload, or a pattern of one of the two; NAME@ is the row NAME alone."""
    return word == f"{row}@" or any(word == name or fnmatchcase(name, word) for name in (row, row.partition("@")[0]))
