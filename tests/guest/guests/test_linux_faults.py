"""Faults in Debian's kernel, booted for real: they happen in the task that entered the function, and what is seen of
each kind is what such a fault does."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from kernometer.cli import kernometer
from kernometer.errors import TargetError, UsageError
from kernometer.faults.kinds import Fault, Kind
from kernometer.faults.linux import DATA, Observation, Place
from kernometer.faults.linux_guest import Linux
from kernometer.guests import store
from kernometer.targets.qemu import QemuTarget

#: Makes files in /volume, and checks one that it has to read from the disk again.
WORKER = b"""#!/bin/sh
bad=0
for i in 1 2 3 4 5 6 7 8; do
	printf %04095d $i >/volume/$i && sync || bad=1
	echo 3 >/proc/sys/vm/drop_caches
	[ "$(cat /volume/$i)" = "$(printf %04095d $i)" ] || { bad=1; echo "{\\"event\\":\\"wrong\\",\\"file\\":$i}"; }
done
exit $bad
"""
#: A function of MINIX FS that makes a name, for a new file, under the directory's lock.
ADD_LINK = "minix:minix_add_link"

PANIC = "panic_on_oops=1"

pytestmark = [pytest.mark.guest, pytest.mark.slow(minutes=0.16)]


@pytest.fixture(scope="module")
def linux(linux_6_1: store.Guest) -> Iterator[Linux]:
    with Linux(target=QemuTarget.from_spec(f"{linux_6_1.name}+memory=256"), worker=WORKER) as made:
        yield made


@pytest.fixture(scope="module")
def minix(linux: Linux) -> tuple[Place, ...]:
    return linux.places("minix")


def struck(linux: Linux, kind: Kind, value: int = 1, *, panic_on_oops: bool = False) -> Observation:
    """A run in which the third name strikes."""
    return linux.run(Fault("minix", 0, ADD_LINK, kind, 3, value), "minix", panic_on_oops=panic_on_oops)


def step(seen: Observation, name: str) -> Mapping[str, Any]:
    [found] = [event for event in seen.events if event["event"] == name]
    return found


def test_the_functions_that_are_entered_are_known_with_their_entries(minix: tuple[Place, ...]) -> None:
    """Expected: a name for each of eight files. Broken: faults are drawn where nothing passes."""
    assert {place.symbol: place.entries for place in minix}[ADD_LINK] == 8
    assert len(minix) > 15
    assert all(place.symbol.startswith("minix:") and place.entries > 0 for place in minix)


@pytest.mark.parametrize("panic_on_oops", [False, True])
def test_a_null_write_strikes_the_task_that_entered_the_function(linux: Linux, *, panic_on_oops: bool) -> None:
    """Expected: the worker oopses in its own call, with the function's caller in the trace; its death, or a panic.
    Broken: a thread or a handler of the module's oopses, and nothing that the worker needs is hurt."""
    seen = struck(linux, "null-write", panic_on_oops=panic_on_oops)
    assert seen.struck is not None
    assert (seen.struck["task"], seen.struck["context"], seen.struck["n"]) == ("worker", "task", 3)
    assert seen.struck["caller"] == "minix_create [minix]"
    assert "BUG: kernel NULL pointer dereference" in seen.console
    assert f"PID: {seen.struck['pid']} Comm: worker" in seen.console
    stack = seen.console.partition("Call Trace:")[2].partition("</TASK>")[0]
    assert stack.index("km_struck") < stack.index("minix_create+") < stack.index("do_syscall_64")
    if panic_on_oops:
        assert seen.ended == "panic"
        assert not [event for event in seen.events if event["event"] == "worker"]
    else:
        assert seen.ended == "finished"
        assert step(seen, "worker")["status"] == 137
        assert step(seen, "afterwards")["status"] is None, "the dead task holds the directory's lock"


def test_an_endless_loop_leaves_a_guest_that_computes_and_prints_nothing(linux: Linux) -> None:
    seen = struck(linux, "infinite-loop")
    assert seen.struck is not None
    assert seen.ended == "quiet"


def test_a_run_that_is_to_end_does_so(linux: Linux) -> None:
    """Broken: Ctrl-C waits for a guest that hangs."""
    linux.stopping.set()
    try:
        with pytest.raises(TargetError, match="not done"):
            struck(linux, "infinite-loop")
    finally:
        linux.stopping.clear()


def test_an_overflowing_stack_meets_the_page_that_guards_it(linux: Linux) -> None:
    seen = struck(linux, "stack-overflow")
    assert "stack guard page was hit" in seen.console
    assert seen.ended == "panic"


def test_a_jump_goes_where_no_code_is(linux: Linux) -> None:
    """Expected: an oops (by this value it goes far; others go into code near the function). Broken: it comes back."""
    seen = struck(linux, "wild-jump", 2)
    assert "BUG: unable to handle page fault" in seen.console
    assert step(seen, "worker")["status"] == 137


def test_a_leak_of_some_pages_is_not_noticed(linux: Linux) -> None:
    seen = struck(linux, "leak")
    assert seen.struck is not None
    assert seen.ended == "finished"
    assert [step(seen, name)["status"] for name in ("worker", "afterwards", "unmount")] == [0, 0, 0]


def test_what_is_answered_and_not_done_is_missing(linux: Linux) -> None:
    """Expected: the name that was not made is missed at the next reading. Broken: the function ran all the same."""
    seen = struck(linux, "not-done")
    assert step(seen, "worker")["status"] == 1
    assert [event["file"] for event in seen.events if event["event"] == "wrong"] == [3]


def test_a_wrong_value_reaches_the_caller(linux: Linux) -> None:
    """Expected: minix_create takes it for an error, and so does the worker. Broken: the answer is the right one."""
    seen = struck(linux, "wrong-value")
    assert seen.struck is not None
    assert step(seen, "worker")["status"] != 0


def test_a_damaged_argument_is_used(linux: Linux) -> None:
    """Expected: one of these pointers leads nowhere. Broken: the function gets the right arguments."""
    seen = [struck(linux, "bad-message", seed) for seed in range(3)]
    assert any("Oops:" in one.console or step(one, "worker")["status"] for one in seen)


def test_what_is_freed_and_used_is_an_argument(linux: Linux) -> None:
    seen = struck(linux, "use-after-free")
    assert seen.struck is not None
    assert "Oops:" in seen.console or step(seen, "worker")["status"] is not None


@pytest.mark.parametrize(("subject", "symbol"), [("brd", DATA[0]), ("virtio_blk", DATA[1])])
def test_a_bit_of_what_the_disk_read_is_wrong(linux: Linux, subject: Any, symbol: str) -> None:
    """Expected: the driver's task or interrupt, and a reader who sees it, or ext4's sums. Broken: the disk itself."""
    seen = [linux.run(Fault(subject, 0, symbol, "wrong-data", n, n), subject) for n in range(4, 16, 2)]
    assert all(one.struck is not None and one.struck["kind"] == "wrong-data" for one in seen)
    assert any(step(one, "worker")["status"] != 0 or "EXT4-fs error" in one.console for one in seen)


def test_a_function_that_is_not_there_is_an_error(linux: Linux) -> None:
    with pytest.raises(TargetError, match="takes no fault at minix:no_such"):
        linux.run(Fault("minix", 0, "minix:no_such", "null-write", 1, 1), "minix")


def test_one_command_draws_runs_and_shows_with_and_without_panic_on_oops(linux: Linux, tmp_path: Path) -> None:
    """Expected: two systems in one document, the second of the faults that oopsed. Broken: a table of one's own."""
    words = ["faults", "--on", linux.target.name, "--kinds", "null-write", "--services", "minix", "-n", "2"]
    done = CliRunner().invoke(
        kernometer, ["--store", str(tmp_path), *words, "--operations", "60", "--jobs", "1", "--seed", "3", "--json"]
    )
    assert done.exit_code == 0, done.output
    plain, panicking = json.loads(done.stdout)
    assert [one["header"]["target"] for one in (plain, panicking)] == [
        linux.target.name,
        f"{linux.target.name} {PANIC}",
    ]
    assert {one["fault"]["service"] for one in plain["faults"]} == {"minix"}
    assert len(plain["faults"]) == 2
    assert all(one["outcome"] == "dead" for one in panicking["faults"] if one["struck"])


def test_linux_has_no_checked_disk(linux: Linux) -> None:
    done = CliRunner().invoke(kernometer, ["faults", "--on", linux.target.name, "--checked"])
    assert isinstance(done.exception, UsageError)
    assert "has no /dev/checked" in done.exception.text
