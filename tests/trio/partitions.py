"""The partitions of the services that tests boot beside mono, and what each of them still does wrong."""

from __future__ import annotations

import pytest

#: Those with a name, and three that no file of config/structures has.
PARTITIONS = ("hybrid", "micro", "one-server", "micro+together=vfs,fs", "mono+apart=fs", "mono+apart=vfs")


def in_turn(minutes: float, *always: str) -> tuple[object, ...]:
    """For a test that takes so long: some in each run, the others in their turn."""
    others = (each for each in PARTITIONS if each not in always)
    return (*always, *(pytest.param(each, marks=pytest.mark.slow(minutes=minutes)) for each in others))


MONO_AND_IN_TURN = in_turn(0.5, "mono")
#: Of a boot and little more.
BRIEFLY_IN_TURN = in_turn(0.1, "mono", "micro")

#: By structure, the questions of usertests that are answered wrongly: none. It only gets shorter: a question here that
#: is answered rightly fails tests/trio/test_structures.py until it is taken out.
EXPECTED_TO_FAIL: dict[str, set[str]] = {}
