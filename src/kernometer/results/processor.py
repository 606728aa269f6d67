"""The modelled processor: the geometry of its caches, TLBs and predictors, and what each event costs it. One file each
in `processors/`; every number has its source. docs/cycles.md."""

from __future__ import annotations

from importlib import resources
from typing import Annotated

import msgspec
from msgspec import Meta
from msgspec.structs import replace

from kernometer.errors import UsageError

LINE = 64  #: bytes
CURVES = "+curves"  #: behind a name

Entries = Annotated[int, Meta(ge=1, le=1 << 24)]
Ways = Annotated[int, Meta(ge=1, le=64)]
Cycles = Annotated[float, Meta(ge=0, le=1e6)]
Words = Annotated[str, Meta(max_length=1000)]


class Cache(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A set-associative cache of lines of 64 bytes."""

    kib: Entries
    ways: Ways
    source: Words


class Buffer(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A set-associative TLB, or (one way) a stack of return addresses."""

    entries: Entries
    source: Words
    ways: Ways = 1


class Geometry(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, omit_defaults=True):
    """Of one core."""

    l1i: Cache
    l1d: Cache
    l2: Cache
    l3: Cache
    itlb: Buffer
    dtlb: Buffer
    stlb: Buffer  #: the second level, for all sizes of pages
    returns: Buffer
    itlb_large: Buffer | None = None  #: for pages of 2 MiB and more; None: they are in `itlb`
    dtlb_large: Buffer | None = None
    stlb_code: Buffer | None = None  #: the second level of code; None: `stlb` has both
    curves: bool = False  #: fully associative caches beside these, of their sizes and others (curves.h)

    @property
    def word(self) -> str:
        """As the emulator's plugin takes it: entries and ways of each, 0 for none (memory.h, memory_open)."""
        caches = (self.l1i, self.l1d, self.l2, self.l3)
        buffers = (self.itlb, self.itlb_large, self.dtlb, self.dtlb_large, self.stlb, self.stlb_code)
        sizes = [(cache.kib * 1024 // LINE, cache.ways) for cache in caches]
        sizes += [(buffer.entries, buffer.ways) if buffer else (0, 0) for buffer in buffers]
        numbers = [str(number) for size in (*sizes, (self.returns.entries,)) for number in size]
        return "/".join([*numbers, "curves"] if self.curves else numbers)


class Cost(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What one event costs, in cycles, and the ends of what is published."""

    cycles: Cycles
    least: Cycles
    most: Cycles
    what: Words
    source: Words


class Processor(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A file of `processors/`."""

    name: Annotated[str, Meta(max_length=40)]
    what: Words
    geometry: Geometry
    costs: dict[str, Cost]  #: by the names of explain/cycles.KINDS
    sources: dict[str, Words]  #: by the labels in brackets that `source` has


def names() -> tuple[str, ...]:
    """Of the processors that are known."""
    files = resources.files(__package__) / "processors"
    return tuple(sorted(path.name.removesuffix(".toml") for path in files.iterdir() if path.name.endswith(".toml")))


def find(name: str) -> Processor:
    """The processor of this name, as it is written in its file or named by it (`zen3`, `Zen 3`); with CURVES behind it
    fully associative caches are counted too. Raises UsageError."""
    file = name.removesuffix(CURVES).replace(" ", "").lower()
    if file not in names():
        raise UsageError(f"{name[:40]!r}: no such processor.", f"There are {', '.join(names())}, and host.")
    text = (resources.files(__package__) / "processors" / f"{file}.toml").read_text()
    processor = msgspec.toml.decode(text, type=Processor)
    if not name.endswith(CURVES):
        return processor
    geometry = replace(processor.geometry, curves=True)
    return replace(processor, name=f"{processor.name}{CURVES}", geometry=geometry)
