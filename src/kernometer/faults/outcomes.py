"""What a run with a fault showed, and what its outcome is called. Pure. docs/reliability.md defines each outcome."""

from __future__ import annotations

import re
from base64 import b64decode
from collections.abc import Mapping
from typing import Literal, get_args

import msgspec

from kernometer.faults.minixfs import Image
from kernometer.faults.promises import Promises, events, judge

#: From the best to the worst.
Outcome = Literal["masked", "delayed", "error", "lost", "hung", "dead"]
OUTCOMES: tuple[Outcome, ...] = get_args(Outcome)
WORDS: Mapping[Outcome, str] = {
    "masked": "masked",
    "delayed": "delayed",
    "error": "error returned",
    "lost": "data lost",
    "hung": "hung",
    "dead": "dead",
}
#: How a run ended: by its script's last line; by the emulator's end; or by a long time without output.
Ended = Literal["finished", "dead", "hung"]

#: Where the worker works: in memory; on the memory disk; on the virtio disk, whose image is read outside the guest.
MEMORY_FOLDERS, DISK_FOLDER = ("/tmp", "/disk/minix"), "/disk/virtio"  # noqa: S108  # in the guest
#: An operation was delayed if it took longer than this, and than so many times the longest one without a fault.
DELAY_NS, DELAY_TIMES = 50_000_000, 3
MOST_SENTENCES, MOST_SENTENCE = 4, 200
_ENDS = re.compile(r"^trio: (\w+) ends: ", re.MULTILINE)
#: checksum.c's message, and the number of such messages so far.
_REFUSED = re.compile(r"^trio: checksum: sector \d+ is not what was written \((\d{1,9}) such answers\)$", re.MULTILINE)
_BEGINS = re.compile(r"^trio: \w+ has begun anew, after (\d{1,18}) ns$", re.MULTILINE)
#: What the kernel says at its end.
_LAST_WORDS = re.compile(r"^trio: (?:Kernel panic|the first process ends)[^\n]*\n?(?:trio: [^\n]*)?", re.MULTILINE)


class Seen(msgspec.Struct, frozen=True):
    """What was seen of one run, from outside."""

    output: bytes  #: of the worker and of run.sh
    console: str  #: its last part
    ended: Ended
    struck: int | None  #: how often the fault's code ran; None if the emulator did not tell
    fsck: int  #: the exit status of fsck.minix on the disk
    disk: bytes


class Findings(msgspec.Struct, frozen=True):
    """What a run showed, judged."""

    ended: Ended
    slowest_ns: int = 0  #: the worker's longest operation, of the guest's time
    errors: int = 0  #: that the worker met
    wrong: int = 0  #: reads with wrong bytes: by the worker, and of the virtio disk's files afterwards
    lost: int = 0  #: promises about synced data that do not hold, on all disks that could be read
    promises: int = 0
    strange: int = 0  #: files with bytes that were never written
    damage: int = 0  #: sentences about the virtio disk's file system
    fsck: int = 0
    steps_failed: tuple[str, ...] = ()
    services: tuple[str, ...] = ()  #: that ended, in order
    pauses_ns: tuple[int, ...] = ()  #: from the end of each restarted service to its restart, in the guest's time
    sentences: tuple[str, ...] = ()
    refused: int = 0  #: answers of the disk that /dev/checked refused


class _Step(msgspec.Struct, frozen=True):
    """A line of run.sh."""

    event: str
    status: int = 0
    directory: str = ""
    path: str = ""
    content: str = ""


_STEPS = ("known", "mounted", "worker", "afterwards", "listed", "unmounted", "compared")
#: A step's exit status for wrong data, which are counted.
WRONG = 2


def findings(seen: Seen) -> Findings:
    """Judges the worker's files: on the disk's image, and in the guest's memory if the guest listed them. The files of
    the disk that the guest listed must be those of the image."""
    said = list(events(seen.output))
    console = seen.console.replace("\r\n", "\n")
    promises = Promises.after(said)
    steps, files = _steps(seen.output)
    image = Image(seen.disk)
    tree = image.tree()
    judged = [judge(promises, tree, DISK_FOLDER)]
    listed = {
        folder: {path.removeprefix(folder): data for path, data in files.items() if path.startswith(f"{folder}/")}
        for folder in (*MEMORY_FOLDERS, DISK_FOLDER)
        if any(step.event == "listed" and step.directory == folder and step.status == 0 for step in steps)
    }
    judged += [judge(promises, below, folder) for folder, below in listed.items() if folder != DISK_FOLDER]
    misread = [
        f"{DISK_FOLDER}{path} is read with other bytes than it has"
        for path, data in listed.get(DISK_FOLDER, {}).items()
        if tree.get(path) != data
    ]
    words = _LAST_WORDS.findall(console)[-1:] if seen.ended == "dead" else []
    sentences = [*words, *(text for disk in judged for text in (*disk.lost, *disk.wrong)), *misread, *image.wrong]
    return Findings(
        ended=seen.ended,
        slowest_ns=max((event.slowest_ns for event in said), default=0),
        errors=promises.errors,
        wrong=promises.wrong + len(misread) + sum((s.event, s.status) == ("afterwards", WRONG) for s in steps),
        lost=sum(len(disk.lost) for disk in judged),
        promises=sum(disk.promises for disk in judged),
        strange=sum(len(disk.wrong) for disk in judged),
        damage=len(image.wrong),
        fsck=seen.fsck,
        steps_failed=tuple(
            f"{step.event} {step.directory}".strip()
            for step in steps
            if step.status and not (step.event in ("worker", "afterwards") and step.status == WRONG)
        ),
        services=tuple(_ENDS.findall(console)),
        pauses_ns=tuple(map(int, _BEGINS.findall(console))),
        sentences=tuple(sentence[:MOST_SENTENCE] for sentence in sentences[:MOST_SENTENCES]),
        refused=max(map(int, _REFUSED.findall(console)), default=0),
    )


def outcome(shown: Findings, usual: Findings) -> Outcome:
    """The worst that happened; `usual` is the run without a fault."""
    if shown.ended != "finished":
        return shown.ended
    if wrong(shown, usual):
        return "lost"
    if shown.errors or shown.refused or shown.steps_failed or shown.fsck != usual.fsck:
        return "error"
    if shown.services or shown.slowest_ns > delay(usual):
        return "delayed"
    return "masked"


def wrong(shown: Findings, usual: Findings) -> bool:
    """Whether data are wrong: on a disk, or as the worker or the script read them."""
    return bool(shown.lost or shown.strange or shown.wrong or shown.damage > usual.damage)


def told(shown: Findings) -> bool:
    """Whether the worker or the script met an error, or /dev/checked refused an answer."""
    return bool(shown.errors or shown.refused or shown.steps_failed)


def delay(usual: Findings) -> int:
    """Nanoseconds of the guest's time from which an operation is delayed."""
    return max(DELAY_NS, DELAY_TIMES * usual.slowest_ns)


def _steps(output: bytes) -> tuple[list[_Step], dict[str, bytes]]:
    steps, files = [], {}
    for line in output.split(b"\n")[:-1]:
        try:
            step = msgspec.json.decode(line, type=_Step)
            if step.event == "file":
                files[step.path] = b64decode(step.content, validate=True)
            elif step.event in _STEPS:
                steps.append(step)
        except (msgspec.DecodeError, ValueError):
            continue
    return steps, files
