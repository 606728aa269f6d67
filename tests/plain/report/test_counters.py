"""What one operation is made of: are a kernel's own counters shown as counted, and blanks where it tells none?"""

from __future__ import annotations

import io

import pytest
from msgspec import structs
from rich.console import Console

from kernometer.cli.arguments import is_target
from kernometer.report.session.counters import HEADS, blocks, counters
from kernometer.report.write.terminal import show
from kernometer.results.model import Events, Result, Tally
from kernometer.stats.counters import by_kernel, counted
from tests.support.stats.simulate import path_result

ROW = "syscall/getppid"
#: Of seven iterations; a tick is in one of them, and one switch in each.
MOVED: dict[str, tuple[int, ...]] = {
    "traps.interrupts": (0, 0, 1, 0, 0, 0, 0),
    "switches.direct": (1,) * 7,
    "switches.queued": (1,) * 7,
    "switches.address_space": (2,) * 7,
    "messages.calls": (1,) * 7,
    "messages.replies": (1,) * 7,
    "bytes.messages": (15_296,) * 7,
    "faults.message": (5,) * 7,
    "calls.pm.getppid": (1,) * 7,
}


def told(counts: dict[str, tuple[int, ...]]) -> Result:
    return structs.replace(path_result("a", {ROW: 1000}), tallies=(Tally(row=ROW, counts=counts),))


def untold() -> Result:
    events = Events(row=ROW, regions=10, counts={"cr3_writes": 20})
    return structs.replace(path_result("b", {ROW: 2000}), events=(events,))


def test_a_tick_in_one_iteration_is_no_part_of_the_operation() -> None:
    """Expected: the median of each counter, those of 0 left out. Broken: a seventh of an interrupt."""
    assert by_kernel(ROW, (told(MOVED),)) == {name: each[0] for name, each in MOVED.items() if each[0]}


def test_a_kernel_that_counts_nothing_in_a_row_is_not_one_that_tells_nothing() -> None:
    """Expected: zeros for one, blanks for the other. Broken: they look alike."""
    _row, ((_a, quiet), (_b, silent)) = counters({"a": (told({}),), "b": (untold(),)}).rows[0]
    assert set(quiet[1:]) == {"0"}
    assert dict(zip(HEADS[1:], silent[1:], strict=True)) == dict.fromkeys(HEADS[1:], "–") | {"spaces": "2"}


def test_programs_get_both_kinds_of_counts_by_system() -> None:
    found = counted(ROW, {"a": (told(MOVED),), "b": (untold(),)})
    assert found["a"]["kernel"]["messages.calls"] == 1
    assert found["b"] == {"emulator": {"cr3_writes": 2}}


@pytest.mark.parametrize("width", [80, 200])
def test_the_table_fits_a_terminal(width: int) -> None:
    """Expected: no line longer than 80 characters, each system below the row's name. Broken: wrapped figures."""
    out = io.StringIO()
    console = Console(file=out, width=width)
    show(console, blocks({"qemu:trio-one-server": (told(MOVED),), "qemu:linux-6.1": (untold(),)}))
    lines = out.getvalue().splitlines()
    assert max(map(len, lines)) <= 80
    at = lines.index(ROW)
    assert lines[at + 1].split() == ["trio-one-server", "1,000", "1", "2", "1+1", "2", "15,296", "0", "5", "msg"]


def test_nothing_is_printed_where_no_kernel_tells() -> None:
    out = io.StringIO()
    show(Console(file=out), blocks({"a": (untold(),), "b": (untold(),)}))
    assert out.getvalue() == ""


def test_a_target_is_told_from_a_workload() -> None:
    words = ("local", "qemu:trio-mono", "ssh:host", "wrap:taskset -c 0", "proc/*", "ctx/ring@procs=8", "cmd/x")
    assert [is_target(word) for word in words] == [True] * 4 + [False] * 3
