"""Sockets that hold each other by descriptors on their way: lost ones go, and what that costs, counted by path."""

from __future__ import annotations

import pytest

from tests.support.trio.boot import Kernel, Machine, boot, initramfs
from tests.support.trio.fixtures import Program

pytestmark = pytest.mark.guest

#: More than the table of files has places, if each pair took two of them for good.
PAIRS = 40_000
#: What they may hold at a time, in pages: 16 MiB; all of them together held 380.
HELD = 4096
#: Empty pages that the allocator keeps.
SPARE = 8
#: Instructions of one call, that nothing interrupts: a tenth of a tick.
LONGEST = 1_000_000


def lost(kernel: Kernel, program: Program, *words: str) -> dict[str, int]:
    """What lost.c says of it."""
    command = ("lost", *words)
    ended = boot(kernel, initramfs(command, {"bin/lost": program("lost")}), Machine(path=True), seconds=120)
    assert ended.status == 0, ended
    return {name: int(value) for name, value in (line.split() for line in ended.bulk.decode().splitlines())}


def test_pairs_that_hold_themselves_do_not_fill_the_table_of_files(kernel: Kernel, program: Program) -> None:
    """Expected: none is refused, they hold little at a time, nothing is missing soon after. Broken: ENFILE for good."""
    found = lost(kernel, program, "pairs", str(PAIRS))
    assert found["missing"] <= SPARE
    assert found["held"] < HELD
    assert found["longest"] < LONGEST


def test_a_chain_of_sockets_costs_by_its_length(kernel: Kernel, program: Program) -> None:
    """Expected: four times as long a chain is made and ended in about four times as many instructions, and no call
    takes long. Broken: sixteen times as many, as each end looks through all; or one call ends them all."""
    short, long = (lost(kernel, program, "chain", str(length)) for length in (1000, 4000))
    assert long["made"] < 8 * short["made"]
    assert long["closed"] < 8 * short["closed"]
    assert long["longest"] < LONGEST
