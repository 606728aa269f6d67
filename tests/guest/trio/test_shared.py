"""Whose the processor is while servers work: the program's that asks them, which has its share of it and no more."""

from __future__ import annotations

import pytest

from tests.support.trio.boot import Kernel, Machine, boot, initramfs
from tests.support.trio.fixtures import Program
from tests.support.trio.partitions import MONO_AND_IN_TURN

pytestmark = pytest.mark.guest

PAIRS = {"pm-pm", "vfs-vm"}
ALONE = {"pm", "vm"}
TICK_NS = 10_000_000  #: what times counts in


@pytest.mark.parametrize("kernel", MONO_AND_IN_TURN, indirect=True)
def test_the_processor_is_shared_by_those_who_call_and_theirs_is_what_servers_do(
    kernel: Kernel, program: Program
) -> None:
    """By path, so that a call takes as long as it has instructions. Expected: of two that call without pause neither
    makes less than a third of the other's calls; one alone is told that it had all the time that passed. Broken: a call
    that keeps the processor, or time that is a server's or nobody's."""
    ended = boot(kernel, initramfs(("shared",), {"bin/shared": program("shared")}), Machine(path=True), seconds=120)
    assert ended.status == 0, ended
    found = {
        name: [int(each) for each in numbers] for name, *numbers in map(str.split, ended.bulk.decode().splitlines())
    }
    assert set(found) == PAIRS | ALONE
    for pair in PAIRS:
        assert min(found[pair]) * 3 >= max(found[pair]) > 0, (pair, found[pair])
    for name in ALONE:
        passed, by_clock, by_usage, by_times = found[name]
        assert [by_clock, by_usage] == pytest.approx([passed, passed], rel=0.02), (name, found[name])
        assert by_times == pytest.approx(passed, abs=2 * TICK_NS), (name, found[name])
