"""Random system calls, and random sequences of calls by several processes and threads, against Trio: the kernel stays
up, each sequence keeps what it promises, and all pages are back. Each failure says its seed; the same calls come again
by `fuzz --seed SEED`, with `--from CALL --log` beginning where it is of interest, and so do sequences. Ten million of
them are `make campaign`."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.trio import fuzzing
from tests.support.trio.boot import Kernel
from tests.support.trio.fuzzing import Report, findings
from tests.support.trio.partitions import PARTITIONS
from tests.support.turns import in_turn

pytestmark = pytest.mark.guest

#: Of sequences there are 26 kinds, each made in its turn.
ROUND = 26
#: What a kernel that checks itself is given to do.
WORK = {
    "usertests": ("usertests",),
    "calls": fuzzing.calls(7, 200_000),
    "sequences": fuzzing.sequences(7, 12 * ROUND),
}


def held(kernel: Kernel, programs: Path, *command: str, seconds: float) -> Report:
    """What the fuzzer reports, which found nothing."""
    ended = fuzzing.run(kernel, programs, *command, seconds=seconds)
    assert findings(ended) == [], (command, str(ended))
    return Report.read(ended.bulk.decode())


@pytest.fixture(scope="module", params=["mono", "hybrid", "micro"])
def checked(request: pytest.FixtureRequest, sources: Path) -> Kernel:
    """A kernel that checks itself."""
    assert sources.is_dir()
    return fuzzing.checked_kernel(request.param)


@pytest.mark.slow(minutes=0.75)
@pytest.mark.parametrize("kernel", ("mono", *PARTITIONS), indirect=True)
def test_random_calls_do_no_harm(kernel: Kernel, user_programs: Path, commits_seed: int) -> None:
    """Expected: all calls answered, no page lost. Broken: the kernel's last words."""
    command = fuzzing.calls(commits_seed, 40_000)
    figures = held(kernel, user_programs, *command, seconds=300.0).figures
    assert figures["calls"] == 40_000
    assert figures["free_pages"] > 0
    assert figures["promised_pages"] > 0


@pytest.mark.slow(minutes=0.4)
@pytest.mark.parametrize("kernel", ("mono", *PARTITIONS), indirect=True)
def test_random_sequences_keep_what_they_promise(kernel: Kernel, user_programs: Path, commits_seed: int) -> None:
    """Expected: what is written is read, no process, descriptor or page is left. Broken: a sequence's number, name and
    condition; or a machine that hangs."""
    command = fuzzing.sequences(commits_seed, 6 * ROUND)
    assert held(kernel, user_programs, *command, seconds=300.0).figures["sequences"] == 6 * ROUND


@pytest.mark.parametrize("kernel", in_turn(("mono", *PARTITIONS), 0.15, always=["mono"]), indirect=True)
def test_a_share_of_both_in_every_structure(kernel: Kernel, user_programs: Path, commits_seed: int) -> None:
    """Expected and broken: as above."""
    for command in (fuzzing.calls(commits_seed, 5_000), fuzzing.sequences(commits_seed, ROUND)):
        held(kernel, user_programs, *command, seconds=300.0)


@pytest.mark.slow(minutes=0.25)
@pytest.mark.parametrize(
    ("kernel", "seed", "first", "count"), [("hybrid", 5, 0, 5), ("micro", 77, 120, 40)], indirect=["kernel"]
)
def test_processes_that_are_killed_anywhere_end(
    kernel: Kernel, user_programs: Path, seed: int, first: int, count: int
) -> None:
    """Expected: each is reaped soon. Broken, as it was: one that waits for its turn gives it to each server that was
    notified, and never has it (hybrid, each time); a thread that is made while its process ends stays (micro, two times
    of three)."""
    command = (*fuzzing.sequences(seed, count), "--from", str(first), "--only", "kill_anywhere")
    held(kernel, user_programs, *command, seconds=300.0)


@pytest.mark.slow(minutes=1)
def test_many_random_sequences_keep_what_they_promise(kernel: Kernel, user_programs: Path, commits_seed: int) -> None:
    """Expected and broken: as above."""
    command = fuzzing.sequences(1000 + commits_seed, 30 * ROUND)
    held(kernel, user_programs, *command, seconds=900.0)


@pytest.mark.slow(minutes=1.2)
@pytest.mark.parametrize("words", WORK.values(), ids=WORK)
def test_a_kernel_that_checks_itself_has_nothing_to_complain_of(
    checked: Kernel, user_programs: Path, words: tuple[str, ...]
) -> None:
    """Expected: usertests, random calls and sequences violate no invariant, meet no undefined behaviour and no errno
    that its interface does not list, and every page comes back. Broken: a panic, or a line `checked:` on the
    console."""
    held(checked, user_programs, *words, seconds=900.0)


@pytest.mark.slow(minutes=0.2)
def test_a_machine_that_hangs_is_told_by_its_silence(kernel: Kernel, user_programs: Path) -> None:
    """Expected: ended long before its time, and its last word is told. Broken: all other tests wait for it."""
    command = ("sh", "-c", "echo the last >&2; while true; do true; done")
    ended = fuzzing.run(kernel, user_programs, *command, seconds=600.0, silence=10.0)
    assert ended.qemu_status is None
    assert findings(ended) == ["the machine hangs, or is too slow; the last that it said: the last"]
