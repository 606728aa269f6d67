"""A store of made up sessions, and calls of the command line on it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import structs

from kernometer.__main__ import main
from kernometer.results.model import Result, RowInfo
from kernometer.results.store import Store
from tests.support.results import make

if TYPE_CHECKING:
    import pytest


def fill(store: Store, *rows: str, **session: object) -> str:
    """One session of these rows; its id."""
    with store.create(make.session(**session)) as file:
        file.add(make.header())
        for row in rows or ("syscall/getppid",):
            file.add(make.workload(row.partition("@")[0], rows=(RowInfo(row=row, id=2),)))
            file.add(make.run(row=row))
    return file.path.stem


def keep(store: Store, result: Result) -> str:
    """This session, whole, under a new id, which it returns."""
    with store.create(structs.replace(result.session, id=make.session().id)) as file:
        for record in (result.header, *result.workloads.values(), *result.runs, *result.profiles):
            if record is not None:
                file.add(record)
    return file.path.stem


def call(store: Store, capsys: pytest.CaptureFixture[str], *words: str, status: int = 0) -> str:
    """What it prints, or the error where one is expected."""
    assert main(["--store", str(store.folder), *words]) == status
    told = capsys.readouterr()
    return told.err if status else told.out
