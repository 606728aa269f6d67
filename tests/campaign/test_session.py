"""A session's records: what a target may say, and what is the front end's own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from kernometer.campaign.plan import EFFORTS, Plan
from kernometer.campaign.session import measure, records
from kernometer.errors import TargetError
from kernometer.results.model import By, Unsupported
from kernometer.results.reader import parse
from kernometer.results.store import Store
from kernometer.targets.base import Deadline, Job, Place, Program
from tests.results import make

ROW = "syscall/getppid"


class Says:
    """A target that prints these lines whatever it is asked."""

    name = "says"
    by: tuple[By, ...] = ("time",)
    programs: tuple[Program, ...] = ("probe",)
    quick_start = True

    def __init__(self, *lines: bytes) -> None:
        self.lines = lines

    def place(self, by: By) -> Place:  # noqa: ARG002  # the protocol's signature
        return Place()

    def describe(self, job: Job) -> tuple[str, ...]:
        return (self.name, *job.arguments)

    def run(self, job: Job, until: Deadline) -> Iterator[bytes]:  # noqa: ARG002  # the protocol's signature
        yield from self.lines

    def close(self) -> None:
        """Nothing to let go of."""


def said(*lines: bytes) -> list[object]:
    return [record for record, _line in records(Says(*lines), Job(()), Deadline.after(1))]


def test_a_targets_own_records_pass() -> None:
    found = said(b'{"type":"unsupported","row":"syscall/getppid","reason":"no"}')
    assert found == [Unsupported(row="syscall/getppid", reason="no")]


def test_lines_are_kept_as_the_probe_printed_them(tmp_path: Path) -> None:
    """A newer probe's field, its way to write a number. Expected: its bytes. Broken: what we know of them."""
    lines = (
        *make.lines([make.header(), make.workload()]),
        make.lines([make.run()])[0].replace(b"{", b'{ "new":1e2, ', 1),
    )
    plan = Plan("time", "quick", (ROW,), (ROW,), EFFORTS["quick"], 7)
    kept = measure(plan, Says(*lines), Store(tmp_path), "", lambda _record: None).read_bytes()
    assert kept.splitlines()[1:-1] == list(lines)
    assert [run.row for run in parse([kept]).runs] == [ROW]


@pytest.mark.parametrize(
    "line",
    [
        b'{"type":"end","complete":true}',
        b'{"type":"session","format":1,"id":"x","label":"","target":"local","by":"time","profile":"quick",'
        b'"started":0,"kernometer":"0"}',
        b'{"type":"run"}',
        b"not json",
        b'{"type":"unsupported","row":"a","reason":"no","new":"\xff"}',
    ],
)
def test_what_is_none_of_its_records_is_an_error_that_shows_it(line: bytes) -> None:
    """Expected: TargetError with the line. Broken: a guest or a host ends the session's file early, or renames it."""
    with pytest.raises(TargetError, match="no record") as caught:
        said(line)
    assert caught.value.last_output
