"""Results in a store."""

from __future__ import annotations

from pathlib import Path

from kernometer.results.model import Session
from kernometer.results.store import Store
from tests.support.results import make


def fill(store: Store, session: Session | None = None, runs: int = 2) -> Path:
    """One complete result in the store."""
    records = make.records(runs)
    with store.create(session or make.session()) as file:
        for record in records[1:-1]:
            file.add(record)
    return file.path
