"""Which faults are drawn for a Linux guest: repeatable, at functions that were entered, at entries that happen."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from kernometer.faults.kinds import KINDS, Fault
from kernometer.faults.linux import (
    DATA,
    Ended,
    Observation,
    Place,
    faults,
    files_in,
    findings,
    module_words,
    oopsed,
    usual,
)
from kernometer.faults.outcomes import outcome
from kernometer.faults.worker import content

PLACES = (
    Place("virtio_blk", "virtio_blk:virtblk_done", 3),
    Place("virtio_blk", "virtio_blk:virtio_queue_rq", 7),
    Place("ext4", "ext4:ext4_rename2", 2),
)
SOURCE = (Path(__file__).parents[3] / "src/kernometer/faults/guest/linux/km_fault.c").read_text()


def test_the_same_seed_draws_the_same_faults_and_another_one_others() -> None:
    """Expected: a campaign can be run again. Broken: no outcome can be looked at twice."""
    assert faults(PLACES, KINDS, 50, 1) == faults(PLACES, KINDS, 50, 1)
    assert faults(PLACES, KINDS, 50, 1) != faults(PLACES, KINDS, 50, 2)


def test_every_entry_of_every_function_is_drawn_and_no_other() -> None:
    """Expected: n from 1 to the number of entries. Broken: a fault that never happens."""
    found = {(one.function, one.operation) for one in faults(PLACES, ("leak",), 2000, 1)}
    assert found == {(place.symbol, n) for place in PLACES for n in range(1, place.entries + 1)}


def test_wrong_data_are_drawn_only_where_data_pass() -> None:
    """Expected: at the functions with a driver's reads. Broken: a bit flipped where an argument is no page."""
    assert {one.function for one in faults(PLACES, ("wrong-data",), 50, 1)} == {DATA[1]}
    assert faults(PLACES[:1], ("wrong-data",), 50, 1) == ()


def test_the_module_knows_the_kinds_and_the_parameters_that_are_drawn() -> None:
    """Expected: one list of kinds. Broken: a kind that the module refuses, after minutes of a campaign."""
    assert set(re.findall(r'\{ "([a-z-]+)", \w+', SOURCE)) == set(KINDS)
    words = module_words(Fault("brd", 0, "brd:brd_do_bvec", "leak", 2, 3))
    assert words == ("symbol=brd:brd_do_bvec", "kind=leak", "n=2", "seed=3")
    assert set(re.findall(r"module_param\((\w+)", SOURCE)) == {word.partition("=")[0] for word in words}


KEPT = {"event": "kept", "file": 1, "version": 2, "path": "/volume/w1/a/s0"}
FINE: tuple[dict[str, Any], ...] = (
    {"event": "start", "seed": 1},
    KEPT,
    {"event": "end", "slowest_ns": 5_000_000},
    *({"event": step, "status": 0} for step in ("worker", "afterwards", "unmount")),
)
STRUCK = {"context": "task", "task": "worker", "caller": "vfs_rename"}


def seen(*more: dict[str, Any], without: str = "", ended: Ended = "finished", console: str = "") -> Observation:
    """A run in which all went well, but for these events."""
    events = (*(one for one in FINE if one["event"] != without), *more)
    return Observation(events, STRUCK, console, ended, 0, {"/w1/a/s0": content(1, 1, 2)})


@pytest.mark.parametrize(
    ("what", "expected"),
    [
        (seen(), "masked"),
        (seen({"event": "end", "slowest_ns": 900_000_000}), "masked"),
        (seen({"event": "end", "slowest_ns": 1_200_000_000}), "delayed"),
        (seen({"event": "error", "errno": 5}), "error"),
        (seen({"event": "worker", "status": 137}, without="worker"), "error"),
        (
            seen({"event": "wrong", "path": "/volume/w1/a/s0"}, {"event": "worker", "status": 2}, without="worker"),
            "lost",
        ),
        (replace(seen(), files={}), "lost"),
        (replace(seen(), files=None), "lost"),
        (replace(seen(), files=None, fsck=None), "masked"),
        (replace(seen(), fsck=4), "error"),
        (replace(seen({"event": "unmount", "status": 1}, without="unmount"), fsck=4), "error"),
        (seen({"event": "afterwards", "status": None}, without="afterwards"), "hung"),
        (seen(ended="quiet"), "hung"),
        (seen({"event": "error", "errno": 5}, ended="panic"), "dead"),
    ],
)
def test_the_worst_of_what_was_seen_is_the_outcome(what: Observation, expected: str) -> None:
    assert outcome(findings(what), usual(findings(seen()))) == expected


@pytest.mark.parametrize(
    ("ends", "known"),
    [
        (({"event": "files", "status": 0}, {"event": "finished"}), True),
        (({"event": "files", "status": 0},), True),
        (({"event": "files", "status": None}, {"event": "finished"}), False),
        (({"event": "finished"},), True),
        ((), False),
    ],
)
def test_files_that_were_not_all_sent_are_unknown(ends: tuple[dict[str, Any], ...], *, known: bool) -> None:
    """Expected: a directory that a dead task has locked hides what is in it. Broken: what was not sent is lost."""
    sent = [{"event": "file", "path": f"/volume/{name}", "content": "Kg=="} for name in ("a", "w1/afterwards")]
    assert files_in((*sent, *ends)) == ({"/a": b"*"} if known else None)


def test_only_what_the_kernel_itself_finds_is_an_oops() -> None:
    """Expected: panic_on_oops is tried for these. Broken: runs that cannot differ, or pairs that are missing."""
    assert oopsed(findings(seen(console="[ 2.1] BUG: kernel NULL pointer dereference, address: 0\n")))
    assert not oopsed(findings(seen(console="[ 2.1] EXT4-fs error (device vda): bad block bitmap checksum\n")))
    assert findings(seen()).sentences == ("in task of worker, called by vfs_rename",)
