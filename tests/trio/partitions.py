"""The partitions of the services that tests boot beside mono, and what each of them still does wrong."""

from __future__ import annotations

import pytest

#: Those with a name, and two that no file of config/structures has.
PARTITIONS = ("hybrid", "micro", "one-server", "micro+together=vfs,fs", "mono+apart=fs")
#: For a test that takes seconds: mono in each run, the others in their turn.
MONO_AND_IN_TURN = ("mono", *(pytest.param(each, marks=pytest.mark.slow(minutes=1)) for each in PARTITIONS))

#: By structure, the questions of usertests that are answered wrongly: none. It only gets shorter: a question here that
#: is answered rightly fails tests/trio/test_structures.py until it is taken out.
EXPECTED_TO_FAIL: dict[str, set[str]] = {}
