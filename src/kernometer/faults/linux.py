"""Where a fault can strike in a Linux guest, which faults are drawn there, and what a run with one showed. Pure."""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping, Sequence
from typing import Any, Literal, get_args

import msgspec

from kernometer.faults.kinds import Fault, Kind, drawn
from kernometer.faults.outcomes import MOST_SENTENCE, WRONG, Findings
from kernometer.faults.promises import Event, Judgement, Promises, judge

#: The drivers and file systems that are made faulty; run.sh gives each its disk.
Subject = Literal["virtio_blk", "brd", "8250", "ext4", "minix"]
SUBJECTS: tuple[Subject, ...] = get_args(Subject)
DRIVERS = SUBJECTS[:3]
#: The functions for wrong data: each read by these drivers passes one of them.
DATA = ("brd:brd_do_bvec", "virtio_blk:virtio_queue_rq")
#: Where the worker's disk is mounted.
WORK = "/volume"
#: The end of the names of run.sh's own files there.
AFTERWARDS = "/afterwards"
#: How a run ended: by its script's last line; by a panic; by computing long without output; by the emulator's end.
Ended = Literal["finished", "panic", "quiet", "stopped"]

#: What the kernel prints about a fault.
_WORDS = re.compile(r"(?:BUG: |Oops: |general protection fault|Kernel panic - |EXT4-fs error|watchdog: ).*")
_OOPSES = ("BUG: ", "Oops: ", "general protection fault")
MOST_WORDS = 3
#: How long operations may take in any run: the guest's clock jumps while an emulated drive answers in the host's time.
NOISE_NS = 350_000_000


class Place(msgspec.Struct, frozen=True):
    """A function that a fault can strike, and how often the worker entered it in a run without fault."""

    subject: Subject
    symbol: str  #: "ext4:ext4_readdir", "serial8250_tx_chars"
    entries: int


class Observation(msgspec.Struct, frozen=True):
    """What was seen of one run, from outside."""

    events: tuple[Mapping[str, Any], ...]  #: the worker's and run.sh's lines, in order
    struck: Mapping[str, Any] | None  #: the module's line; None: fewer than n entries
    console: str  #: its last part
    ended: Ended
    fsck: int | None = None  #: the exit status of fsck on the disk after the run; None: the disk is in memory
    files: Mapping[str, bytes] | None = None  #: of the disk, as another guest read it; None: it could not be read


def faults(places: Sequence[Place], kinds: Sequence[Kind], count: int, seed: int) -> tuple[Fault, ...]:
    """Drawn as for Trio: kinds take turns, then a subject, a function, an entry, whose number is the `operation`."""
    entries: dict[tuple[str, str], int] = {(place.subject, place.symbol): place.entries for place in places}
    able: dict[tuple[Kind, str], list[tuple[int, str]]] = {}
    for kind in kinds:
        for place in places:
            if kind != "wrong-data" or place.symbol in DATA:
                able.setdefault((kind, place.subject), []).append((0, place.symbol))
    return tuple(
        msgspec.structs.replace(fault, operation=1 + fault.value % entries[fault.service, fault.function])
        for fault in drawn(able, DRIVERS, count, seed, 1)
    )


def module_words(fault: Fault) -> tuple[str, ...]:
    """The module's parameters."""
    return (f"symbol={fault.function}", f"kind={fault.kind}", f"n={fault.operation}", f"seed={fault.value}")


def files_in(events: Sequence[Mapping[str, Any]]) -> dict[str, bytes] | None:
    """The files that run.sh sent, by path: of its step "files" if there is one. None if the sending did not end."""
    ends = [event.get("status") for event in events if event.get("event") == "files"]
    if ends != [0] and (ends or all(event.get("event") != "finished" for event in events)):
        return None
    sent = (event for event in events if event.get("event") == "file")
    files = [(str(event["path"]).removeprefix(WORK), str(event["content"])) for event in sent]
    return {path: base64.b64decode(content) for path, content in files if not path.endswith(AFTERWARDS)}


def findings(seen: Observation) -> Findings:
    """Judges a run. A step of run.sh that never ended is a hang. A disk that cannot be mounted is damaged; a memory
    disk, which ended with its guest, is not judged. The status of fsck counts only after an unmounting."""
    promises = Promises.after(msgspec.convert(event, Event) for event in seen.events)
    judged = Judgement() if seen.files is None else judge(promises, seen.files, WORK)
    steps = {str(event["event"]): event["status"] for event in seen.events if "status" in event}
    unreadable = seen.files is None and seen.fsck is not None
    hung = seen.ended == "quiet" or None in steps.values()
    words = list(dict.fromkeys(_WORDS.findall(seen.console)))[:MOST_WORDS]
    if seen.struck is not None:
        words.insert(0, "in {context} of {task}, called by {caller}".format_map(seen.struck))
    return Findings(
        ended="dead" if seen.ended in ("panic", "stopped") else "hung" if hung else "finished",
        slowest_ns=max((int(event.get("slowest_ns", 0)) for event in seen.events), default=0),
        errors=promises.errors,
        wrong=promises.wrong,
        lost=len(judged.lost),
        promises=judged.promises,
        strange=len(judged.wrong),
        damage=int(unreadable),
        fsck=seen.fsck if seen.fsck is not None and steps.get("unmount") == 0 else 0,
        steps_failed=tuple(
            f"{name} {status}" for name, status in steps.items() if status and (name, status) != ("worker", WRONG)
        ),
        sentences=tuple(sentence[:MOST_SENTENCE] for sentence in (*words, *judged.lost, *judged.wrong)[:8]),
    )


def usual(normal: Findings) -> Findings:
    """What runs are compared with: the run without fault, and at least NOISE_NS for an operation."""
    return msgspec.structs.replace(normal, slowest_ns=max(normal.slowest_ns, NOISE_NS))


def oopsed(shown: Findings) -> bool:
    """Whether the kernel itself noticed the fault, so that panic_on_oops makes a difference."""
    return any(sentence.startswith(_OOPSES) for sentence in shown.sentences)
