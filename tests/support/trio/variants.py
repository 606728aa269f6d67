"""Builds of Trio by other words than the front end's, each in a folder of its own."""

from __future__ import annotations

import filecmp
import functools
import re
import shutil
from pathlib import Path

from kernometer.cache import kept
from kernometer.guests.kernels import trio
from tests.support.checkout import KEPT, alone, made

#: What is built in the sources' own folder, which is not to be copied.
BUILT = {"build", "__pycache__"}


def mirrored(source: Path, to: Path) -> None:
    """Makes `to` the same as `source`, without BUILT, and writes only what differs: make goes by the files' times."""
    wanted = {each.relative_to(source) for each in source.rglob("*") if each.is_file()}
    wanted = {each for each in wanted if not BUILT & {*each.parts}}
    for old in {each.relative_to(to) for each in to.rglob("*") if each.is_file()} - wanted:
        (to / old).unlink()
    for each in wanted:
        if not (to / each).exists() or not filecmp.cmp(source / each, to / each):
            (to / each).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source / each, to / each)


def built(structure: str) -> Path:
    """The kernel as the front end builds and keeps it; one process at a time, since they would all build the same."""
    with alone("trio"):
        return trio.built(structure)


def objects() -> dict[str, Path]:
    """The services' objects that the front end keeps, as above."""
    with alone("trio"):
        return trio.objects()


def continued(sources: Path, structure: str, *words: str) -> Path:
    """As `variant`, but begun with the front end's objects of these very sources, so that services are not compiled
    once more. All share one folder."""
    service = next(iter(objects().values()))
    begun = next(each.parent for each in service.parents if each.name == "any")
    folder = KEPT / f"continued-{begun.name}"
    with alone("continued"):
        if not folder.exists():
            for old in KEPT.glob("continued-*"):
                shutil.rmtree(old)
            half = folder.with_name("half-continued")
            shutil.rmtree(half, ignore_errors=True)
            shutil.copytree(begun, half)
            half.rename(folder)
    given = trio.make_words(trio.lwip_sources(print))
    return made(sources, folder, f"STRUCTURE={structure}", "WERROR=", *words, *given)


@functools.cache
def micro(sources: Path) -> Path:
    """micro, with the same bytes as `built` has: what hostile services are linked to is compiled for it already."""
    with alone("hostile"):  # the next to build there
        folder = continued(sources, "micro")
        name = trio.file_name("micro")
        return kept(KEPT / f"trio-micro-{folder.name}.elf", lambda scratch: Path(shutil.copy(folder / name, scratch)))


def variant(sources: Path, structure: str, *words: str, name: str = "") -> Path:
    """The folder in which `make WORDS` builds, with the network; the kernel in it is called trio.file_name(structure).
    Variants of one name share the folder."""
    name = name or re.sub(r"\W+", "-", " ".join((trio.file_name(structure), *words)))
    given = trio.make_words(trio.lwip_sources(print))
    return made(sources, KEPT / name, f"STRUCTURE={structure}", *words, *given)
