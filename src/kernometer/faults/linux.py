"""Where a fault can strike in a Linux guest, which faults are drawn there, and what a run with one showed. Pure."""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping, Sequence
from typing import Any, Literal, get_args

import msgspec

from kernometer.faults.kinds import Fault, Kind, drawn
from kernometer.faults.outcomes import MOST_SENTENCE, Found
from kernometer.faults.promises import Event, Judgement, Promises, judge

#: What is made faulty: a driver or a file system, each with the disk that run.sh gives it.
Subject = Literal["virtio_blk", "brd", "8250", "ext4", "minix"]
SUBJECTS: tuple[Subject, ...] = get_args(Subject)
DRIVERS, FILE_SYSTEMS = SUBJECTS[:3], SUBJECTS[3:]
#: The places of wrong data: functions that each read of a driver passes.
DATA = ("brd:brd_do_bvec", "virtio_blk:virtio_queue_rq")
#: Where the worker's disk is mounted.
WORK = "/volume"
#: The names of run.sh's own files there.
AFTERWARDS = "/afterwards"
#: How a run ended: by its script's last line; by a panic; by an emulator that computed long without any output; by an
#: emulator that ended for another reason.
Ended = Literal["finished", "panic", "quiet", "stopped"]

#: The kernel's own words about a fault, on its console.
_WORDS = re.compile(r"(?:BUG: |Oops: |general protection fault|Kernel panic - |EXT4-fs error|watchdog: ).*")
_OOPSES = ("BUG: ", "Oops: ", "general protection fault")
MOST_WORDS = 3
NOISE_NS = 350_000_000
#: The worker's exit status for wrong data, which are counted.
_SAW_WRONG = 2


class Place(msgspec.Struct, frozen=True):
    """A function that was entered, so that a fault can strike it, and how often while the worker ran without fault."""

    subject: Subject
    symbol: str  #: "ext4:ext4_readdir", "serial8250_tx_chars"
    entries: int


class Observation(msgspec.Struct, frozen=True):
    """What was seen of one run, from outside."""

    events: tuple[Mapping[str, Any], ...]  #: the worker's and run.sh's lines, in order
    struck: Mapping[str, Any] | None  #: the module's line; None: the function was entered less than n times
    console: str  #: its last part
    ended: Ended
    fsck: int | None = None  #: the exit status of fsck on the disk after the run; None: its disk is not a file
    files: Mapping[str, bytes] | None = None  #: of the disk, as another guest read it; None: it could not


def faults(places: Sequence[Place], kinds: Sequence[Kind], count: int, seed: int) -> tuple[Fault, ...]:
    """Drawn as for Trio: kinds take turns, then a subject, one of its functions, one of the entries. A fault's
    `operation` is the number of that entry."""
    entries: dict[tuple[str, str], int] = {(one.subject, one.symbol): one.entries for one in places}
    able: dict[tuple[Kind, str], list[tuple[int, str]]] = {}
    for kind in kinds:
        for one in places:
            if kind != "wrong-data" or one.symbol in DATA:
                able.setdefault((kind, one.subject), []).append((0, one.symbol))
    return tuple(
        msgspec.structs.replace(one, operation=1 + one.value % entries[one.service, one.function])
        for one in drawn(able, DRIVERS, count, seed, 1)
    )


def module_words(fault: Fault) -> tuple[str, ...]:
    """The module's parameters."""
    return (f"symbol={fault.function}", f"kind={fault.kind}", f"n={fault.operation}", f"seed={fault.value}")


def files_in(events: Sequence[Mapping[str, Any]]) -> dict[str, bytes] | None:
    """The files that run.sh sent, by path; None if it did not come to their end: where a step of its sends them, that
    step's, else its own."""
    ends = [one.get("status") for one in events if one.get("event") == "files"]
    if ends != [0] and (ends or all(one.get("event") != "finished" for one in events)):
        return None
    files = [(str(one["path"]).removeprefix(WORK), str(one["content"])) for one in events if one.get("event") == "file"]
    return {path: base64.b64decode(content) for path, content in files if not path.endswith(AFTERWARDS)}


def found(seen: Observation) -> Found:
    """Judges what was seen. A step of run.sh that never ended is a hang. Of a memory disk that went with its guest
    nothing can be said; a disk that cannot be mounted is damaged. What fsck says counts after an unmounting."""
    promises = Promises.after(msgspec.convert(one, Event) for one in seen.events)
    judged = Judgement() if seen.files is None else judge(promises, seen.files, WORK)
    steps = {str(one["event"]): one["status"] for one in seen.events if "status" in one}
    unreadable = seen.files is None and seen.fsck is not None
    hung = seen.ended == "quiet" or None in steps.values()
    words = list(dict.fromkeys(_WORDS.findall(seen.console)))[:MOST_WORDS]
    if seen.struck is not None:
        words.insert(0, "in {context} of {task}, called by {caller}".format_map(seen.struck))
    return Found(
        ended="dead" if seen.ended in ("panic", "stopped") else "hung" if hung else "finished",
        slowest_ns=max((int(one.get("slowest_ns", 0)) for one in seen.events), default=0),
        errors=promises.errors,
        wrong=promises.wrong,
        lost=len(judged.lost),
        promises=judged.promises,
        strange=len(judged.wrong),
        damage=int(unreadable),
        fsck=seen.fsck if seen.fsck is not None and steps.get("unmount") == 0 else 0,
        steps_failed=tuple(
            f"{name} {status}" for name, status in steps.items() if status and (name, status) != ("worker", 2)
        ),
        sentences=tuple(one[:MOST_SENTENCE] for one in (*words, *judged.lost, *judged.wrong)[:8]),
    )


def usual(normal: Found) -> Found:
    """What runs are compared with, by a run without fault. The guest's clock jumps while an emulated drive answers in
    the host's time, so that operations up to NOISE_NS are usual whatever that run says."""
    return msgspec.structs.replace(normal, slowest_ns=max(normal.slowest_ns, NOISE_NS))


def oopsed(shown: Found) -> bool:
    """Whether the kernel found the fault itself, so that panic_on_oops makes a difference."""
    return any(one.startswith(_OOPSES) for one in shown.sentences)
