"""A session's records: what a target may say, and what is the front end's own."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from kernometer.campaign.session import records
from kernometer.errors import TargetError
from kernometer.results.model import By, Unsupported
from kernometer.targets.base import Deadline, Job, Place, Program


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
    return list(records(Says(*lines), Job(()), Deadline.after(1)))


def test_a_targets_own_records_pass() -> None:
    found = said(b'{"type":"unsupported","row":"syscall/getppid","reason":"no"}')
    assert found == [Unsupported(row="syscall/getppid", reason="no")]


@pytest.mark.parametrize(
    "line",
    [
        b'{"type":"end","complete":true}',
        b'{"type":"session","format":1,"id":"x","label":"","target":"local","by":"time","profile":"quick",'
        b'"started":0,"kernometer":"0"}',
        b'{"type":"run"}',
        b"not json",
    ],
)
def test_what_is_none_of_its_records_is_an_error_that_shows_it(line: bytes) -> None:
    """Expected: TargetError with the line. Broken: a guest or a host ends the session's file early, or renames it."""
    with pytest.raises(TargetError, match="no record") as caught:
        said(line)
    assert caught.value.last_output
