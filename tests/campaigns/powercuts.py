"""A campaign of power cuts: a thousand a structure, disks that lie about flushes, sectors that cannot be read.

usage: PYTHONPATH=.:trio/tools .venv/bin/python -m tests.campaigns.powercuts [STRUCTURE…] [--cuts N] [--recordings N]
                                                  [--boots N] [--sectors N] [--seed N] [--write]

The worker's writes to a virtio disk are recorded once a seed; each cut is made of a recording, and judged from the
outside. Some disks are used again by the guest. Prints the tables; --write puts them into
studies/reliability/power-cuts.md. A Linux guest (linux-6.1) with its own MINIX FS can stand beside Trio's structures.
Exit status 1: with one of Trio's, something was lost, wrong or damaged.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from kernometer.errors import KernometerError
from kernometer.faults.minixfs import Image
from kernometer.guests.kernels import trio
from kernometer.stats.intervals import wilson
from studies.section import commit, here, written
from tests.support.faults.cuts import MODES, cut, drawn
from tests.support.faults.disks import Disk, may_be_unread, sectors, used_again
from tests.support.faults.mending import Mendable
from tests.support.faults.recording import Recording, record
from tests.support.trio.boot import Kernel
from tests.support.trio.minixfs import make

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "studies/reliability/power-cuts.md"
CUTS, RECORDINGS, BOOTS, SECTORS, SEED = 1000, 20, 20, 40, 1
OPERATIONS = 300
#: So many sentences of a structure are shown, each so long.
SHOWN, LONGEST = 5, 300
#: The most flushes before the cut for which a disk that lies has done nothing; so many cuts of such a disk, in parts.
LIES, LYING_PART = 4, 5
#: From the best to the worst; the first two are what is promised.
OUTCOMES = ("clean", "mended", "damaged", "wrong", "lost")
TABLES, FILES = ("superblock", "bitmaps", "inodes", "directories"), ("files",)

Say = Callable[[str], None]


@dataclass
class Found:
    """Of one structure: how often each outcome, and every sentence about what should not be."""

    cuts: Counter[str] = field(default_factory=Counter)
    lying: Counter[str] = field(default_factory=Counter)
    promises: int = 0
    boots: int = 0
    sectors: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)


def recording(kernel: Kernel, seed: int, operations: int = OPERATIONS) -> Recording:
    """Block sizes take turns, and every third worker is paced, so that time too makes the system write."""
    with tempfile.TemporaryDirectory(prefix="power-cuts-") as name:
        folder, size = Path(name), 1024 if seed % 2 else 4096
        make(folder / "empty", 4 * 1024 * 1024 // size, size, 256)
        words = ("--seed", str(seed), "--operations", str(operations), "--pace", "20" if seed % 3 == 0 else "0")
        base = (folder / "empty").read_bytes()
        (folder / "boot").mkdir()
        return record(kernel, base, words, folder / "boot")


def cut_all(found: Found, recorded: Recording, cuts: int, random: Random) -> None:
    """Cuts of one recording; and of the same disk, if it lied."""
    for _ in range(cuts):
        made = drawn(recorded.base, recorded.writes, random)
        disk = Disk.of(made.image, recorded.promised(made.count))
        found.cuts[disk.outcome] += 1
        found.promises += disk.judged.promises
        if disk.outcome not in OUTCOMES[:2]:
            found.wrong.append(f"cut after {made.count} writes, {made.mode}: {'; '.join(disk.sentences[:3])}")
    for _ in range(cuts // LYING_PART):
        made = drawn(recorded.base, recorded.writes, random, random.randrange(1, LIES + 1))
        found.lying[Disk.of(made.image, recorded.promised(made.count)).outcome] += 1


def boot_one(found: Found, kernel: Kernel, recorded: Recording, random: Random, *, mends: bool) -> None:
    """The guest uses a cut's disk again: as it is, or mended before."""
    made = drawn(recorded.base, recorded.writes, random)
    raw = Mendable(made.image).mended() if mends else made.image
    with tempfile.TemporaryDirectory(prefix="power-cuts-") as name:
        again = used_again(kernel, raw, recorded.promised(made.count), Path(name))
    found.boots += 1
    said = [*again.found, *(["it was refused"] if again.refused else []), *sorted(again.unread)]
    if mends and again.disk.outcome != "clean":
        said.append(f"a mended disk is {again.disk.outcome}")
    if again.errors:
        said.append(f"{again.errors} errors")
    if said:
        found.wrong.append(f"booted after {made.count} writes, {made.mode}: {'; '.join(said[:3])}")


def read_one(found: Found, kernel: Kernel, recorded: Recording, kinds: Sequence[str], random: Random) -> None:
    """A sector of the disk after the worker's end cannot be read. Counted by what that did to whom."""
    whole = cut(recorded.base, recorded.writes, len(recorded.writes), MODES[0], random)
    image = Image(whole.image)
    kind = random.choice([kind for kind in kinds if sectors(image)[kind]])
    sector = random.choice(sectors(image)[kind])
    with tempfile.TemporaryDirectory(prefix="power-cuts-") as name:
        again = used_again(kernel, whole.image, recorded.promised(whole.count), Path(name), sector)
    wanted = may_be_unread(image, sector)
    said = list(again.found)
    if wanted is not None and (again.refused or not again.unread <= wanted):
        said.append(f"not read: {', '.join(sorted(again.unread - wanted))}")
    what = "refused to mount" if again.refused else "EIO" if again.unread or again.errors else "not met"
    found.sectors[f"{kind}: {what}"] += 1
    if said:
        found.wrong.append(f"sector {sector} of {kind} unreadable: {'; '.join(said[:3])}")


def campaign(kernel: Kernel, given: argparse.Namespace, say: Say) -> Found:
    """Of one structure. The same seed makes the same cuts of recordings, which differ with the times in the guest."""
    found, random = Found(), Random(given.seed)
    for number in range(given.recordings):
        recorded = recording(kernel, given.seed + number)
        cut_all(found, recorded, _share(given.cuts, number, given.recordings), random)
        for each in range(_share(given.boots, number, given.recordings)):
            boot_one(found, kernel, recorded, random, mends=each % 2 == number % 2)
        for each in range(_share(given.sectors, number, given.recordings)):
            read_one(found, kernel, recorded, (FILES, TABLES)[each % 2], random)
        say(f"{number + 1} of {given.recordings}: {dict(found.cuts)}, {len(found.wrong)} found")
    return found


def _share(count: int, number: int, of: int) -> int:
    return count * (number + 1) // of - count * number // of


def _interval(count: int, of: int) -> str:
    low, high = wilson(count, of)
    return f"{100 * count / of if of else 0:.1f} % ({100 * low:.2f} to {100 * high:.2f})"


def of_cuts(found: dict[str, Found], which: str) -> Iterator[str]:
    """A line for each structure."""
    yield f"| structure | cuts | {' | '.join(OUTCOMES)} | damaged, wrong or lost |"
    yield f"|---|---:|{'---:|' * (len(OUTCOMES) + 1)}"
    for name, of in found.items():
        counts: Counter[str] = getattr(of, which)
        bad = sum(counts[outcome] for outcome in OUTCOMES[2:])
        cells = " | ".join(f"{counts[outcome]:,}" for outcome in OUTCOMES)
        yield f"| {name} | {counts.total():,} | {cells} | {_interval(bad, counts.total())} |"


def of_others(found: dict[str, Found]) -> Iterator[str]:
    yield "| structure | promises held against a cut | cut disks used again | unreadable sectors, by what holds them |"
    yield "|---|---:|---:|---|"
    for name, of in found.items():
        kinds = "; ".join(f"{kind} {count}" for kind, count in sorted(of.sectors.items()))
        yield f"| {name} | {of.promises:,} | {of.boots} | {kinds} |"


def _some(lines: Sequence[str]) -> Iterator[str]:
    yield from (line.replace("\n", " ")[:LONGEST] for line in lines[:SHOWN])
    if len(lines) > SHOWN:
        yield f"and {len(lines) - SHOWN:,} more"


def tables(found: dict[str, Found], given: argparse.Namespace) -> str:
    wrong = [f"- {name}: {line}" for name, of in found.items() for line in _some(of.wrong)]
    return "\n\n".join(
        (
            f"Commit {commit()}, seed {given.seed}, {given.recordings} recordings of {OPERATIONS} operations each; "
            f"{here()}.",
            "A disk that keeps what a flush has followed:",
            "\n".join(of_cuts(found, "cuts")),
            f"The same with a disk that lies: it has done nothing for the last 1 to {LIES} flushes:",
            "\n".join(of_cuts(found, "lying")),
            "\n".join(of_others(found)),
            "Found that must not be:\n\n" + "\n".join(wrong) if wrong else "Nothing was found that must not be.",
        )
    )


def options(words: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m tests.campaigns.powercuts",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "structures", metavar="STRUCTURE", nargs="*", default=list(trio.STRUCTURES), help="of Trio's, or a Linux guest"
    )
    parser.add_argument("--cuts", metavar="N", type=int, default=CUTS, help=f"a structure ({CUTS:,})")
    parser.add_argument("--recordings", metavar="N", type=int, default=RECORDINGS, help=f"a structure ({RECORDINGS})")
    parser.add_argument("--boots", metavar="N", type=int, default=BOOTS, help=f"of cut disks, a structure ({BOOTS})")
    parser.add_argument(
        "--sectors", metavar="N", type=int, default=SECTORS, help=f"unreadable, a structure ({SECTORS})"
    )
    parser.add_argument("--seed", metavar="N", type=int, default=SEED, help=f"of the first recording ({SEED})")
    parser.add_argument("--write", action="store_true", help=f"put the tables into {PAGE.relative_to(ROOT)}")
    return parser.parse_args(words)


def _is_linux(structure: str) -> bool:
    """Its file system promises no order: what is found there is a comparison."""
    return structure.startswith("linux-")


def main(words: Sequence[str]) -> int:
    given = options(words)
    found: dict[str, Found] = {}
    for structure in given.structures:
        began = time.monotonic()

        def say(line: str, name: str = structure, began: float = began) -> None:
            print(f"power cuts: {name}, {time.monotonic() - began:.0f} s: {line}", file=sys.stderr, flush=True)

        kernel = Kernel.linux(structure) if _is_linux(structure) else Kernel.trio(trio.built(structure))
        found[structure] = campaign(kernel, given, say)
    text = tables(found, given)
    print(text)
    if given.write:
        PAGE.write_text(written(PAGE.read_text(), "power cuts", text))
    return 1 if any(of.wrong for name, of in found.items() if not _is_linux(name)) else 0


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except KernometerError as error:
        sys.exit(f"power cuts: {error}")
