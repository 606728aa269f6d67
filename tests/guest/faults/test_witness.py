"""Bugs in the C source of a driver: does the second witness see what the campaigns say of faults put elsewhere?"""

from __future__ import annotations

import pytest

from tests.campaigns.witness import HUNG, KINDS, PANIC, SURVIVED, Bug, Witness

pytestmark = [pytest.mark.guest, pytest.mark.slow(minutes=0.1)]


@pytest.fixture(scope="module")
def witness(tmp_path_factory: pytest.TempPathFactory) -> Witness:
    return Witness(tmp_path_factory.mktemp("witness"))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("file", "function", "entry"),
    [("virtio_blk/virtio_blk.c", "ask", 200), ("ram_block/ram_block.c", "block_read", 70)],
)
def test_a_bug_in_a_disks_driver_is_survived_by_micro(
    witness: Witness, kind: str, file: str, function: str, entry: int
) -> None:
    assert witness.outcome("micro", Bug(file, function, kind, entry)) == SURVIVED


def test_a_bug_that_strikes_again_later_is_survived_again(witness: Witness) -> None:
    """Every fourth flush, which has no words. Broken: the second is taken for the first, made again, and fails."""
    assert witness.outcome("micro", Bug("ram_block/ram_block.c", "block_flush", "null write", 4)) == SURVIVED


@pytest.mark.parametrize("kind", KINDS)
def test_a_bug_in_a_disks_driver_is_the_end_of_mono(witness: Witness, kind: str) -> None:
    outcome = witness.outcome("mono", Bug("virtio_blk/virtio_blk.c", "ask", kind, 200))
    assert outcome == (HUNG if kind == "endless loop" else PANIC)


def test_an_overflow_of_the_first_stack_is_told(witness: Witness) -> None:
    """The disk interrupts a machine where nobody runs. Broken: what lies below is overwritten, and no panic is seen."""
    assert witness.outcome("mono", Bug("virtio_blk/virtio_blk.c", "block_notified", "stack overflow", 60)) == PANIC
