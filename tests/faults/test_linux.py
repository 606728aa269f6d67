"""Which faults are drawn for a Linux guest: repeatable, at functions that were entered, at entries that happen."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from typing import Any

import msgspec
import pytest

from kernometer.faults.linux import DATA, KINDS, Ended, Fault, Observation, Place, drawn, outcome
from kernometer.faults.worker import content

PLACES = (
    Place("virtio_blk", "virtio_blk:virtblk_done", 3),
    Place("virtio_blk", "virtio_blk:virtio_queue_rq", 7),
)
SOURCE = (Path(__file__).parents[2] / "faults/linux/km_fault.c").read_text()


def test_the_same_seed_draws_the_same_fault_and_another_one_others() -> None:
    """Expected: a campaign can be run again. Broken: no outcome can be looked at twice."""
    first = [drawn(PLACES, kind, seed) for kind in KINDS for seed in range(20)]
    assert first == [drawn(PLACES, kind, seed) for kind in KINDS for seed in range(20)]
    assert len(set(first)) > len(first) // 2


def test_every_entry_of_every_function_is_drawn() -> None:
    """Expected: n from 1 to the number of entries. Broken: a fault that never happens."""
    found = Counter((one.symbol, one.n) for seed in range(2000) if (one := drawn(PLACES, "leak", seed)))
    assert set(found) == {(place.symbol, n) for place in PLACES for n in range(1, place.entries + 1)}
    by_function = Counter(one.symbol for seed in range(2000) if (one := drawn(PLACES, "leak", seed)))
    assert min(by_function.values()) > 800


def test_wrong_data_are_drawn_only_where_data_pass() -> None:
    """Expected: at the functions with a driver's reads. Broken: a bit flipped where an argument is no page."""
    assert {one.symbol for seed in range(50) if (one := drawn(PLACES, "wrong-data", seed))} == {DATA[1]}
    assert drawn(PLACES[:1], "wrong-data", 1) is None
    assert drawn((), "null-write", 1) is None


def test_the_module_knows_the_kinds_and_the_parameters_that_are_drawn() -> None:
    """Expected: one list of kinds. Broken: a kind that the module refuses, after minutes of a campaign."""
    assert set(re.findall(r'\{ "([a-z-]+)", \w+', SOURCE)) == set(KINDS)
    words = Fault("brd", "brd:brd_do_bvec", 2, "leak", 3).words
    assert words == ("symbol=brd:brd_do_bvec", "kind=leak", "n=2", "seed=3")
    assert set(re.findall(r"module_param\((\w+)", SOURCE)) == {word.partition("=")[0] for word in words}


KEPT = {"event": "kept", "file": 1, "version": 2, "path": "/work/w1/a/s0"}
FINE: tuple[dict[str, Any], ...] = (
    {"event": "start", "seed": 1},
    KEPT,
    {"event": "end", "slowest_ns": 5_000_000},
    *({"event": step, "status": 0} for step in ("worker", "afterwards", "unmount")),
)
#: The slowest operation without a fault.
USUAL_NS = 2_000_000


def seen(*more: dict[str, Any], without: str = "", ended: Ended = "finished") -> Observation:
    """A run in which all went well, but for these events."""
    events = (*(one for one in FINE if one["event"] != without), *more)
    return Observation(events, {"context": "task"}, "", ended, 0, {"/w1/a/s0": content(1, 1, 2)})


@pytest.mark.parametrize(
    ("what", "expected"),
    [
        (seen(), "masked"),
        (seen({"event": "end", "slowest_ns": 300_000_000}), "delayed"),
        (seen({"event": "error", "errno": 5}), "error returned"),
        (seen({"event": "worker", "status": 137}, without="worker"), "error returned"),
        (seen({"event": "wrong", "path": "/work/w1/a/s0"}), "data lost"),
        (msgspec.structs.replace(seen(), files={}), "data lost"),
        (msgspec.structs.replace(seen(), files=None), "data lost"),
        (msgspec.structs.replace(seen(), files=None, fsck=None), "masked"),
        (seen({"event": "afterwards", "status": None}, without="afterwards"), "hung"),
        (seen(ended="quiet"), "hung"),
        (seen({"event": "error", "errno": 5}, ended="panic"), "dead"),
        (msgspec.structs.replace(seen(), struck=None), None),
    ],
)
def test_the_worst_of_what_was_seen_is_the_outcome(what: Observation, expected: str | None) -> None:
    assert outcome(what, USUAL_NS) == expected
