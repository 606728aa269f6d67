"""Trio's counters are exact, and cost nothing where they are not compiled in."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernometer import source_folder
from kernometer.guests.kernels import trio
from kernometer.results.store import read_file
from kernometer.stats.counters import by_emulator, by_kernel
from tests.support.cli.real import kernometer
from tests.support.trio.boot import Kernel, Machine, boot, devices, initramfs
from tests.support.trio.fixtures import Program
from tests.support.trio.partitions import BRIEFLY_IN_TURN, MONO_AND_IN_TURN
from tests.support.trio.variants import variant

pytestmark = pytest.mark.guest

#: Of all that counted.c does, by the process itself: 5 pages, 100 + 7 + 7 + 9 calls (mmap, munmap, pipe, two closes,
#: clone, wait, and what musl's fork does around it).
OWN = {
    "calls.pm.getppid": 100,
    "calls.vfs.read": 7,
    "calls.vfs.write": 7,
    "calls.vfs.pipe": 1,
    "calls.vfs.close": 2,
    "calls.vm.map_anonymous": 1,
    "calls.vm.unmap": 1,
    "calls.pm.clone": 1,
    "calls.pm.wait4": 1,
}
#: What the child adds to the sum over all.
OF_CHILD = {"calls.pm.exit": 1}

#: 100 calls of getppid, in the sum over all. A call of a server is a message there in registers and one back, with the
#: wait for the next one: the server, which waits, runs at once, and so does its caller.
CALLS = 100
IN_KERNEL = {
    "traps.system_calls": CALLS,
    "traps.servers": 0,
    "switches.direct": 0,
    "switches.queued": 0,
    "switches.address_space": 0,
    "messages.calls": 0,
    "messages.replies": 0,
    "bytes.messages": 0,
}
BY_THREAD = IN_KERNEL | {
    "traps.servers": CALLS,
    "switches.direct": CALLS,
    "messages.calls": CALLS,
    "messages.replies": CALLS,
}
BY_PROCESS = BY_THREAD | {"switches.address_space": 2 * CALLS}
#: By the structure's name without changes of it, of which none is about pm; where none is said, pm is in a process.
CALLED = {"mono": IN_KERNEL, "hybrid": BY_THREAD}

#: Faults of each kind and who answered them, by the operation of counted.c's; `vm`: how vm is asked.
FAULTS = {
    "touch": {"vm": 5, "kernel": 0, "refused": 0, "paged": 0},
    "err": {"vm": 0, "kernel": 1, "refused": 2, "paged": 0},
    "map": {"vm": 0, "kernel": 0, "refused": 0, "paged": 1},
}
TRANSFERRED = 7 * 1000
DESCRIPTORS = 8  #: bytes that pipe gives
#: A process's own counters have more lines, to be read too, after it has made new calls.
NAMES = 400


def counted(kernel: Kernel, program: Program, what: str = "all") -> tuple[dict[str, int], dict[str, int], int]:
    """What counted.c saw of its own and of all, and its null call."""
    machine = Machine(path=True)
    files = {"bin/counted": program("counted")} | dict(devices(kernel, machine, ("minix",) if what == "map" else ()))
    ended = boot(kernel, initramfs(("counted", what), files), machine, seconds=120)
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


@pytest.mark.parametrize("kernel", BRIEFLY_IN_TURN, indirect=True)
def test_every_event_is_counted_once_for_its_process_and_in_the_sum(kernel: Kernel, program: Program) -> None:
    """Expected: as many calls as were made, five faults for five pages. Broken: one more or fewer."""
    own, total, null = counted(kernel, program)
    assert {name: own.get(name) for name in OWN} == OWN
    assert {name: total.get(name) for name in OWN} == OWN
    assert {name: total.get(name, 0) - own.get(name, 0) for name in OF_CHILD} == OF_CHILD
    assert own["traps.faults"] >= 5
    assert own["bytes.in"] >= TRANSFERRED
    assert own["traps.system_calls"] >= sum(OWN.values())
    assert null > 0


@pytest.mark.parametrize("kernel", BRIEFLY_IN_TURN, indirect=True)
def test_a_call_is_so_many_messages_and_switches(
    kernel: Kernel, program: Program, request: pytest.FixtureRequest
) -> None:
    """Expected: what its way is made of, by hand; the process's own share. Broken: a message that nobody counts."""
    expected = CALLED.get(request.node.callspec.params["kernel"].partition("+")[0], BY_PROCESS)
    own, total, _ = counted(kernel, program, "call")
    assert {name: total.get(name, 0) for name in expected} == expected
    for name in ("switches.direct", "messages.calls", "messages.replies"):
        assert own.get(name, 0) == expected[name]


@pytest.mark.parametrize("kernel", BRIEFLY_IN_TURN, indirect=True)
def test_bytes_are_counted_for_the_program_whose_they_are(kernel: Kernel, program: Program) -> None:
    """Expected: in each structure the bytes that went through a pipe, both ways. Broken: a server has them."""
    own, total, _ = counted(kernel, program, "transfer")
    assert (own["bytes.in"], total["bytes.in"]) == (TRANSFERRED, TRANSFERRED)
    assert own["bytes.out"] == TRANSFERRED + DESCRIPTORS
    assert 0 <= total["bytes.out"] - own["bytes.out"] <= NAMES


@pytest.mark.parametrize("what", FAULTS)
@pytest.mark.parametrize("kernel", BRIEFLY_IN_TURN, indirect=True)
def test_faults_are_counted_by_who_answered_them(
    kernel: Kernel, program: Program, request: pytest.FixtureRequest, what: str
) -> None:
    """Expected: pages of zeros are vm's, asked as it is; an address beyond the program's is the kernel's; a page of a
    file is brought by vfs. Broken: a fault is nobody's, or counted twice."""
    asked = "procedure" if request.node.callspec.params["kernel"].startswith("mono") else "message"
    expected = {name.replace("vm", asked): times for name, times in FAULTS[what].items()}
    for counters in counted(kernel, program, what)[:2]:
        assert {name: counters.get(f"faults.{name}", 0) for name in expected} == expected
        assert counters["traps.faults"] == sum(expected.values())


#: Rows of the probe, with what one operation of each is made of, whatever the structure.
MEASURED = {
    "syscall/getppid": {"traps.system_calls": 1, "calls.pm.getppid": 1},
    "ctx/pipe-pair@same-cpu": {"traps.system_calls": 4, "calls.vfs.read": 2, "calls.vfs.write": 2, "bytes.in": 16},
    "mem/touch@pages=64": {"traps.faults": 1, "calls.vm.fault": 1, "calls.kernel.space_zero": 1},
    "proc/fork-exit": {"traps.system_calls": 10, "traps.faults": 5, "calls.pm.clone": 1, "calls.pm.exit": 1},
    "proc/execl": {"traps.system_calls": 3, "calls.pm.execute": 1},
}
#: The plugin's sums contain the first iterations and ticks.
PLUGIN_APART = 0.15
#: How many writes of CR3 in one operation may only flush, where vm is in the program's address space.
FLUSHES = {"proc/fork-exit": 10, "proc/execl": 4}
#: How many switches the operation between two readings has beyond the timed one's, where services are processes: two
#: messages there and back; the counters' text is longer than a page, and the new program touches two for it.
BETWEEN_READINGS = {"proc/execl": 4}


@pytest.mark.parametrize("kernel", MONO_AND_IN_TURN, indirect=True)
def test_each_row_has_the_counters_of_one_operation(
    kernel: Kernel, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """Expected: whole numbers, as the operation is made of; as many system calls and switches of address spaces as the
    emulator saw in the regions. Broken: set-up or readings are among them, or a switch is not counted."""
    structure = request.node.callspec.params["kernel"]
    assert trio.add(structure).kernel.read_bytes() == kernel.file.read_bytes()
    kernometer(tmp_path, "run", "--by", "path", "--on", f"qemu:trio-{structure}", *MEASURED)
    (file,) = tmp_path.glob("*.ndjson")
    result = read_file(file)
    assert result.failures == ()
    for row, expected in MEASURED.items():
        counts, seen = by_kernel(row, (result,)), by_emulator(row, (result,))
        assert counts is not None, row
        assert {name: counts.get(name) for name in expected} == expected, row
        traps = counts.get("traps.system_calls", 0) + (0 if structure == "hybrid" else counts.get("traps.servers", 0))
        assert seen["syscalls"] == pytest.approx(traps, rel=PLUGIN_APART, abs=PLUGIN_APART), row
        spaces = counts.get("switches.address_space", 0)
        beyond = seen["cr3_writes"] - spaces
        assert (
            -PLUGIN_APART - BETWEEN_READINGS.get(row, 0) < beyond < FLUSHES.get(row, 0) + PLUGIN_APART * max(1, spaces)
        ), row


@pytest.mark.slow(minutes=0.13)
def test_counters_that_are_not_compiled_in_cost_nothing(kernel: Kernel, program: Program) -> None:
    """Expected: a null call shorter by what the counting takes, and no counts. Broken: a branch that asks is left."""
    without = Kernel.trio(variant(source_folder("trio"), "mono", "SWITCHES=-DTRIO_NO_COUNTERS") / "trio-mono.elf")
    _, _, with_counters = counted(kernel, program)
    own, total, null = counted(without, program)
    assert not [name for name in (*own, *total) if name.startswith("calls.")]
    assert null == with_counters - 5
