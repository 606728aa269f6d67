"""How long a call keeps the processor: a second process has its turn all the while."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.trio.boot import Kernel, Machine, boot, initramfs

pytestmark = pytest.mark.guest

#: Microseconds, which by path are thousands of instructions: one tick's share of another process, and what a call may
#: take until it looks.
TICK, LOOK = 10_000, 4_000
#: trio/user/gaps has so many calls.
CALLS = 40


@pytest.mark.slow(minutes=0.8)
def test_no_call_keeps_the_processor_for_long(kernel: Kernel, user_programs: Path) -> None:
    """Expected: beside each call with its largest arguments another process waits for a tick, and little more; the
    counts are the same on every host. Broken: the calls that do not look, with their gaps."""
    inside = initramfs(("gaps",), {"bin/gaps": (user_programs / "gaps").read_bytes()})
    ended = boot(kernel, inside, Machine(path=True, memory_mib=1024), seconds=600.0)
    assert ended.status == 0, ended
    gaps = {name: int(value) for name, value in (line.split() for line in ended.bulk.decode().splitlines())}
    assert len(gaps) >= CALLS, ended
    assert {name: gap for name, gap in gaps.items() if gap > TICK + LOOK} == {}
