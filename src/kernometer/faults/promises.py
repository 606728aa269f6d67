"""What the worker's events promise, and whether a disk keeps it. Pure. The head of `guest/worker.c` defines both."""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Annotated

import msgspec

from kernometer.faults.worker import LARGEST, MOST_LOOSE, content

#: The worker's lines are shorter than this.
MOST_LINE = 4096
#: No file reaches this version: the worker removes it long before.
MOST_VERSION = 10_000
FORMAT = 1
SECTOR = 512

Count = Annotated[int, msgspec.Meta(ge=0)]


class Event(msgspec.Struct, frozen=True):
    """A line of the worker. Numbers that it lacks are 0, texts empty."""

    event: str
    what: str = ""
    operation: Count = 0
    file: Count = 0
    version: Count = 0
    length: Count = 0
    errno: Count = 0
    seed: Count = 0
    path: str = ""
    to: str = ""
    slowest: str = ""
    slowest_ns: Count = 0
    format: Annotated[int, msgspec.Meta(ge=FORMAT, le=FORMAT)] = FORMAT


def read(line: bytes) -> Event | None:
    """None for other lines: the kernel's, incomplete ones, those of another format."""
    if len(line) > MOST_LINE:
        return None
    try:
        event = msgspec.json.decode(line, type=Event)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None
    return event if event.version <= MOST_VERSION else None


def events(output: bytes) -> Iterator[Event]:
    """The events of an output, without an incomplete last line."""
    for line in output.split(b"\n")[:-1]:
        if (event := read(line)) is not None:
            yield event


@dataclass(frozen=True, slots=True)
class Kept:
    file: int
    version: int


@dataclass
class Promises:
    """What must be on the disks after some events. Paths are the worker's."""

    seed: int | None = None
    kept: dict[str, Kept] = field(default_factory=dict)
    gone: set[str] = field(default_factory=set)
    #: By path, the files that it may hold where nothing is promised; by file, the version that was kept last.
    may_be: dict[str, set[int]] = field(default_factory=dict)
    least: dict[int, int] = field(default_factory=dict)
    errors: int = 0
    wrong: int = 0
    ended: bool = False

    @classmethod
    def after(cls, told: Iterable[Event]) -> Promises:
        promises = cls()
        for event in told:
            promises.add(event)
        return promises

    def add(self, event: Event) -> None:
        match event.event:
            case "start":
                self.seed = event.seed
            case "changes":
                self._changes(event)
            case "kept":
                self.kept[event.path] = Kept(event.file, event.version)
                self.may_be[event.path] = {event.file}
                self.least[event.file] = event.version
            case "gone":
                self.gone.add(event.path)
                self.may_be[event.path] = set()
            case "error":
                self.errors += 1
            case "wrong":
                self.wrong += 1
            case "end":
                self.ended = True

    def _changes(self, event: Event) -> None:
        paths = {path for path in (event.path, event.to) if path}
        self.gone -= paths
        for path in [path for path, kept in self.kept.items() if path in paths or kept.file == event.file]:
            del self.kept[path]
        for path in paths:
            self.may_be.setdefault(path, set()).add(event.file)


@dataclass
class Judgement:
    """Sentences about what is lost and wrong on one disk; how many promises were checked, and how many held."""

    lost: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)
    promises: int = 0
    fine: int = 0


def judge(promises: Promises, tree: Mapping[str, bytes | None], directory: str) -> Judgement:
    """`tree` is the content of the disk at `directory`: from path, beginning with "/", to bytes; None: a directory.
    Promises about other directories are left out."""
    judged = Judgement()
    seed = promises.seed
    if seed is None:
        return judged
    here = {posixpath.normpath(f"{directory}/{path}"): data for path, data in tree.items()}

    def promised(holds: bool, sentence: str) -> None:
        judged.promises += 1
        judged.fine += holds
        if not holds:
            judged.lost.append(sentence)

    for path, kept in sorted(promises.kept.items()):
        if path.startswith(f"{directory}/"):
            wanted = content(seed, kept.file, kept.version)
            promised(path in here and here[path] == wanted, f"{path}: {_difference(here.get(path), wanted, kept)}")
    for path in sorted(promises.gone):
        if path.startswith(f"{directory}/"):
            promised(path not in here, f"{path}: it was gone, and is there again")
    for path, data in sorted(here.items()):
        if data is None or path in promises.kept or not path.startswith(f"{directory}/w{seed}/"):
            continue
        files = promises.may_be.get(path, set())
        reasons = [_stranger(seed, file, promises.least.get(file, 0), data) for file in sorted(files)]
        if all(reasons):
            judged.wrong.append(f"{path}: {'; '.join(reasons) or 'nobody has made it'}")
    return judged


def _difference(present: bytes | None, wanted: bytes, kept: Kept) -> str:
    what = f"file {kept.file}, version {kept.version}"
    if present is None:
        return f"{what} is not there"
    if len(present) != len(wanted):
        return f"{what} has {len(wanted)} bytes, and {len(present)} are there"
    at = next((at for at in range(len(present)) if present[at] != wanted[at]), 0)
    return f"{what} differs from byte {at} on"


def _stranger(seed: int, file: int, least: int, data: bytes) -> str:
    """Why this content is of no version of the file from `least` on, nor of a mixture; "" if it is."""
    versions = [content(seed, file, version) for version in range(least, least + MOST_LOOSE + 1)]
    lengths = [len(version) for version in versions]
    if not min(lengths) <= len(data) <= max(lengths):
        return f"{len(data)} bytes are no version's of file {file}"
    padded = [version.ljust(LARGEST, b"\0") for version in versions]
    for begin in range(0, len(data), SECTOR):
        piece = data[begin : begin + SECTOR]
        if any(version[begin : begin + len(piece)] == piece for version in padded):
            continue
        for at in range(begin, begin + len(piece)):
            if all(version[at] != data[at] for version in padded):
                return f"byte {at} is no version's of file {file}"
    return ""
