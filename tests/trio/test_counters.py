"""Trio's counters are exact, and cost nothing where they are not compiled in."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from kernometer.cache import source_folder
from tests.trio.boot import Kernel, Machine, boot, initramfs
from tests.trio.conftest import Program

pytestmark = pytest.mark.guest

#: Of counted.c's work, by the process itself: 5 pages, 100 + 7 + 7 + 9 calls (mmap, munmap, pipe, two closes, clone,
#: wait, and what musl's fork does around it), a byte each way seven times.
OWN = {
    "calls.pm.getppid": 100,
    "calls.vfs.read": 7,
    "calls.vfs.write": 7,
    "calls.vfs.pipe": 1,
    "calls.vfs.close": 2,
    "calls.vm.map_anonymous": 1,
    "calls.vm.unmap": 1,
    "calls.pm.clone": 1,
    "calls.pm.wait": 1,
}
#: What the child adds to the sum over all.
OF_CHILD = {"calls.pm.exit": 1}


def counted(kernel: Kernel, program: Program) -> tuple[dict[str, int], dict[str, int], int]:
    """What counted.c saw of its own and of all, and its null call."""
    ended = boot(kernel, initramfs(("counted",), {"bin/counted": program("counted")}), Machine(path=True), seconds=120)
    assert ended.status == 0, ended
    own: dict[str, int] = {}
    total: dict[str, int] = {}
    null = 0
    for line in ended.bulk.decode().splitlines():
        words = line.split()
        if words[0] == "null":
            null = int(words[1])
        else:
            (own if words[0] == "own" else total)[words[1]] = int(words[2])
    return own, total, null


def test_every_event_is_counted_once_for_its_process_and_in_the_sum(kernel: Kernel, program: Program) -> None:
    """Expected: as many calls as were made, at least five faults for five pages. Broken: one more or fewer."""
    own, total, null = counted(kernel, program)
    assert {name: own.get(name) for name in OWN} == OWN
    assert {name: total.get(name) for name in OWN} == OWN
    assert {name: total.get(name, 0) - own.get(name, 0) for name in OF_CHILD} == OF_CHILD
    assert own["traps.faults"] >= 5
    assert own["bytes.in"] >= 7
    assert own["traps.system_calls"] >= sum(OWN.values())
    assert 0 < null <= 100


@pytest.mark.slow(minutes=1)
def test_counters_that_are_not_compiled_in_cost_nothing(kernel: Kernel, program: Program, tmp_path: Path) -> None:
    """Expected: a null call shorter by what the counting takes, and no counts. Broken: a branch that asks is left."""
    words = ("make", "-j2", "-C", str(source_folder("trio")), f"BUILD={tmp_path}", "SWITCHES=-DTRIO_NO_COUNTERS")
    subprocess.run(words, check=True, capture_output=True, timeout=300)
    without = Kernel.trio(tmp_path / "trio-mono.elf")
    _, _, with_counters = counted(kernel, program)
    own, total, null = counted(without, program)
    assert not [name for name in (*own, *total) if name.startswith("calls.")]
    assert null == with_counters - 5
