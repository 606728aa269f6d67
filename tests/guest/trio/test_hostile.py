"""Trio against programs that mean harm, on small machines, and against archives that are damaged."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from tests.support.trio.boot import Kernel, Machine, Outcome, boot, initramfs
from tests.support.trio.fixtures import Program
from tests.support.trio.partitions import BRIEFLY_IN_TURN, PARTITIONS

pytestmark = pytest.mark.guest

PANIC = b"Kernel panic"


def hostile(kernel: Kernel, program: Program, memory: int, *command: str) -> Outcome:
    archive = initramfs(command, {"bin/hostile": program("hostile")})
    return boot(kernel, archive, Machine(memory_mib=memory), seconds=240.0)


@pytest.mark.parametrize("kernel", BRIEFLY_IN_TURN, indirect=True)
def test_what_is_not_a_programs_is_refused(kernel: Kernel, program: Program) -> None:
    """Expected: SIGSEGV for what SMEP, UMIP, NX and the rings forbid and for addresses that the processor refuses;
    as many free pages after as before. Broken: a FAIL line, or the kernel's panic."""
    ended = hostile(kernel, program, 64, "hostile", "forbidden")
    assert ended.status == 0, ended
    assert PANIC not in ended.console


@pytest.mark.slow(minutes=0.11)
@pytest.mark.parametrize("kernel", ("mono", *PARTITIONS), indirect=True)
@pytest.mark.parametrize("memory", [32, 64])
def test_who_takes_everything_gets_an_error_and_all_comes_back(kernel: Kernel, program: Program, memory: int) -> None:
    """Expected: processes, threads, descriptors, sockets on their way, memory, mappings, files until there are no
    more, and programs with damaged headers: init and the shell go on, all pages are back. Broken: a FAIL line."""
    ended = hostile(kernel, program, memory, "hostile")
    assert ended.status == 0, ended
    assert PANIC not in ended.console


@pytest.mark.parametrize("harm", ["empty", "noise", "cut", "sizes"])
def test_a_damaged_archive_is_a_clean_end(kernel: Kernel, harm: str) -> None:
    """Expected: a line that says what is wrong, and the machine is off. Broken: an exception, or no end."""
    inside = initramfs(("true",))
    archive = bytearray(inside.archive)
    if harm == "empty":
        archive = bytearray()
    elif harm == "noise":
        archive = bytearray(random.Random(1).randbytes(100_000))
    elif harm == "cut":
        del archive[len(archive) // 3 :]
    else:
        # the first file's size, and the length of its name: eight digits each (cpio's newc)
        archive[54:62] = archive[94:102] = b"FFFFFFFF"
    ended = boot(kernel, replace(inside, archive=bytes(archive)), seconds=60.0)
    assert ended.qemu_status is not None, ended
    assert b"exception" not in ended.console, ended
    assert b"page fault in the kernel" not in ended.console, ended
    assert b"trio: " in ended.console.splitlines()[-1], ended
