"""Runs of a campaign in parallel."""

from __future__ import annotations

import threading

import msgspec

from kernometer.errors import TargetError
from kernometer.faults.campaign import in_parallel
from kernometer.faults.kinds import Fault
from kernometer.faults.records import Record
from tests.support.faults import make


def test_who_leaves_in_the_middle_waits_for_no_guest() -> None:
    """As Ctrl-C does. Expected: runs under way are told to end, and none is done again. Broken: up to a minute each."""
    stopping, begun, ended = threading.Event(), threading.Event(), []

    def run(number: int, fault: Fault) -> Record:
        if number == 0:
            return msgspec.structs.replace(make.record(0), fault=fault)
        begun.set()
        ended.append(stopping.wait(60))
        raise TargetError("It is not done.")

    said: list[str] = []
    faults = [(number, make.record(number).fault) for number in range(4)]
    runs = in_parallel(run, faults, 2, "a guest", stopping, said.append)
    assert next(runs).number == 0
    assert begun.wait(60)
    runs.close()  # type: ignore[attr-defined]  # it is a generator
    assert set(ended) == {True}
    assert len(ended) <= 2
    assert said == []
