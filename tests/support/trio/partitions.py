"""The partitions of the services that tests boot beside mono, and what each of them still does wrong."""

from __future__ import annotations

from tests.support.turns import in_turn

#: Those with a name, and three that no file of config/structures has.
PARTITIONS = ("hybrid", "micro", "one-server", "micro+together=vfs,fs", "mono+apart=fs", "mono+apart=vfs")


MONO_AND_IN_TURN = in_turn(("mono", *PARTITIONS), 0.2, always=["mono"])
#: Of a boot and little more.
BRIEFLY_IN_TURN = in_turn(("mono", *PARTITIONS), 0.05, always=["mono", "micro"])

#: By structure, the questions of usertests that are answered wrongly: none. It only gets shorter: a question here that
#: is answered rightly fails tests/guest/trio/test_structures.py until it is taken out.
EXPECTED_TO_FAIL: dict[str, set[str]] = {}
