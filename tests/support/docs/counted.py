"""Figures by path on pages. They are exact, so a row has one figure everywhere, which can be counted anew; another one
stands in a section that says when it was counted, and at which revision: "2026-11-25 at `a31a2117`".
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass

#: What the figures below are a function of, beside the sources: tools as tests/support/trio/counts.py tells them, what
#: is in the guest, whose size moves a fork by ten instructions, and Linux's release.
TOOLS = "gcc 12, musl, QEMU 7.2"
BUSYBOX = "BusyBox v1.35.0 (Debian 1:1.35.0-4+deb12u1+b1) multi-call binary."
LINUX = "6.1.0-57-amd64"
#: Guests, and instructions of one operation on each, net: what `kernometer structures` prints.
GUESTS = ("linux-6.1", "trio-mono", "trio-hybrid", "trio-micro")
COUNTED: dict[str, tuple[int, ...]] = {
    "syscall/getppid": (367, 132, 398, 409),
    "syscall/read-zero": (708, 250, 719, 773),
    "syscall/stat": (2_515, 630, 1_509, 1_652),
    "syscall/open-close": (4_570, 919, 1_868, 1_973),
    "ctx/pipe-pair@same-cpu": (10_379, 1_679, 4_812, 5_443),
    "ipc/pipe-throughput": (2_434, 627, 1_566, 1_688),
    "proc/fork-exit": (141_483, 17_776, 24_985, 27_814),
    "proc/execl": (172_682, 29_902, 55_608, 64_397),
    "sig/raise": (4_467, 1_890, 4_251, 4_532),
    "mem/fault-cow": (2_861, 284, 601, 699),
    "fs/read@bufsize=1024,blocks=2000": (1_428, 313, 781, 842),
    "fs/create-delete@bytes=0": (13_329, 2_238, 3_954, 4_291),
}
#: The same in cycles of the modelled processor, and those of trio-micro with tags in the TLB.
CYCLES: dict[str, tuple[int, ...]] = {
    "syscall/getppid": (284, 165, 371, 1_133, 774),
    "syscall/read-zero": (551, 257, 546, 1_544, 1_127),
    "syscall/stat": (2_850, 467, 1_071, 2_255, 1_867),
    "syscall/open-close": (5_342, 696, 1_531, 3_143, 2_512),
    "ctx/pipe-pair@same-cpu": (10_590, 2_166, 4_652, 7_845, 6_706),
    "ipc/pipe-throughput": (1_979, 565, 1_184, 2_988, 2_241),
    "proc/fork-exit": (193_222, 23_173, 32_566, 46_142, 42_764),
    "proc/execl": (205_070, 33_507, 51_742, 89_327, 84_497),
    "sig/raise": (5_703, 3_799, 6_038, 10_349, 9_181),
    "mem/fault-cow": (4_578, 1_735, 2_074, 2_715, 2_461),
    "fs/read@bufsize=1024,blocks=2000": (1_384, 393, 693, 1_736, 1_246),
    "fs/create-delete@bytes=0": (14_934, 1_706, 2_731, 5_418, 4_651),
}
#: Linux 6.12 (6.12.117+deb12-amd64), which README compares.
OTHERS = {"proc/fork-exit": (164_667,)}
#: What is so near to a row's count and is not one is taken for an older one; farther off may be anything.
NEAR = 0.3

#: A table of cycles begins so, and ends at an empty line.
_CYCLES = re.compile(r"Cycles of one operation")
_HEADING = re.compile(r"(#+) ")
_DATED = re.compile(r"\b\d{4}-\d\d-\d\d at\s`([0-9a-f]{8})`")
_ROW = re.compile(r"(?:^|(?<=[\s|`]))[a-z]+/[a-z-]+(?:@[\w=,-]+)?")
#: A whole number of three digits or more that is no difference, share, setting or part of a word.
_FIGURE = re.compile(r"(?<![\w.,+\-−±/=@])(\d{1,3}(?:,\d{3})+|\d{3,})(?![\w.]|,\d| ?[%×])")
#: A line with an interval or a unit of time has no count.
_BY_TIME = re.compile(r"±|\[\d|\([\d.]+ to |\d (?:ns|µs|ms|s|min)\b")
#: What stands beside a row's figure: a level, the mean of them, the kernel's part.
_BESIDE = re.compile(r"[\d,]+ +(?:in \d+ %|mean|kernel part)")
_OF_A_GUEST = re.compile(r"\s|(?:trio|linux|hybrid|one)-\w|\|")


@dataclass(frozen=True, slots=True)
class Strayed:
    """A figure near the counts of its row, and none of them."""

    line: int
    row: str
    figure: int
    known: tuple[int, ...]

    def __str__(self) -> str:
        guests = (*GUESTS, "with tags")
        counts = ", ".join(f"{guest} {count:,}" for guest, count in zip(guests, self.known, strict=False))
        return f"line {self.line}: {self.row} {self.figure:,}; counted: {counts}"


def sections(page: str) -> Iterator[tuple[int, list[str], bool]]:
    """The number of its first line, its lines, and whether it or one that it is part of says a date and a revision."""
    lines = page.splitlines()
    fenced, starts = False, [0]
    for at, line in enumerate(lines):
        fenced ^= line.startswith("```")
        if not fenced and at > 0 and _HEADING.match(line):
            starts.append(at)
    dated: dict[int, bool] = {}
    for at, end in zip(starts, [*starts[1:], len(lines)], strict=True):
        heading = _HEADING.match(lines[at])
        depth = len(heading[1]) if heading else 1
        dated = {above: said for above, said in dated.items() if above < depth}
        dated[depth] = _DATED.search("\n".join(lines[at:end])) is not None
        yield at + 1, lines[at:end], any(dated.values())


def strayed(page: str) -> Iterator[Strayed]:
    """Figures that are neither counted nor dated. A row's figures stand on the line that begins with it, or on the
    lines below that are of guests."""
    for first, lines, is_dated in sections(page):
        row, table = "", COUNTED
        for number, line in enumerate(lines if not is_dated else (), first):
            if _CYCLES.match(line):
                table = CYCLES
            elif not line or line.startswith("```"):
                table = COUNTED
            named = _ROW.findall(line)
            if named or not _OF_A_GUEST.match(line):
                row = named[0] if named and named[0] in COUNTED else ""
            counts = table.get(row, ())
            is_counts = counts and not line.startswith(("$ ", "> ")) and not _BY_TIME.search(line)
            for text in _FIGURE.findall(_BESIDE.sub("", line)) if is_counts else ():
                figure = int(text.replace(",", ""))
                others = OTHERS.get(row, ()) if table is COUNTED else ()
                if figure not in (*counts, *others) and any(abs(figure / count - 1) < NEAR for count in counts):
                    yield Strayed(number, row, figure, counts)


def revisions(page: str) -> list[str]:
    """At which something was counted."""
    return _DATED.findall(page)


def busybox() -> str:
    """Which one guests are given here."""
    done = subprocess.run(["busybox"], capture_output=True, text=True, check=False, timeout=60)
    return done.stdout.partition("\n")[0]
