"""Parameters of a slow test: some in each run of `make test`, the others in their turn (tests/conftest.py)."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

import pytest


def in_turn(names: Iterable[Any], minutes: float, *, always: Collection[Any] = ()) -> list[Any]:
    """`minutes`: what one of the others takes on two cores."""
    slow = pytest.mark.slow(minutes=minutes)
    return [name if name in always else pytest.param(name, marks=slow) for name in names]


def some(cases: Iterable[Any], minutes: float, *, every: int) -> list[Any]:
    """Of many that are alike, each `every`th always. A tuple has a case's arguments."""
    slow = pytest.mark.slow(minutes=minutes)
    return [
        case if place % every == 0 else pytest.param(*(case if isinstance(case, tuple) else (case,)), marks=slow)
        for place, case in enumerate(cases)
    ]
