#!/usr/bin/env python3
"""How small a change of a Linux the gate finds, and how often it is wrong: pairs of builds for studies/bisect-linux.

usage: .venv/bin/python studies/linux_pairs.py TREE PAIRS     measures until there are so many
       .venv/bin/python studies/linux_pairs.py                prints the table

TREE has no changes, is built as docs/bisect.md says, and is the guest `good`. Each pair is that guest and one more
build of it, with something that moves code or data, and in every second one instructions more in the path of one row. A
pair follows from its number, so that another day goes on where this one ended.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

ROOT = Path(__file__).parents[1]
FOUND = ROOT / "studies/bisect-linux/pairs.ndjson"
KERNOMETER = str(ROOT / ".venv/bin/kernometer")
#: The most seconds of a build or a comparison.
LIMIT = 3600


@dataclass(frozen=True, slots=True)
class Place:
    """Where a row's operation passes."""

    row: str  #: on the command line
    file: str
    function: str  #: how its definition begins
    times: int = 1  #: an operation


PLACES = (
    Place("syscall/getppid@", "kernel/sys.c", "SYSCALL_DEFINE0(getppid)"),
    Place("syscall/open-close@", "fs/open.c", "static long do_sys_openat2("),
    Place("syscall/stat@", "fs/stat.c", "static int vfs_statx("),
    Place("ctx/pipe-pair@same-cpu", "fs/pipe.c", "pipe_read(struct kiocb", times=2),
    Place("proc/fork-exit@", "kernel/fork.c", "static int copy_files("),
)
ROWS = tuple(place.row for place in PLACES)
#: By name: of a count, the instructions that are planted.
PLANTED: Mapping[str, Callable[[float], float]] = {
    "1 %": lambda count: count / 100,
    "0.3 %": lambda count: count * 0.003,
    "40": lambda _: 40,
}
ORDER = ("", "1 %", "", "0.3 %", "", "40")
#: What every commit does to a kernel's layout: nothing, or code, data or work at the start, in one of these files.
MOVED = {
    "nothing": "",
    "code": '\nint __used km_idle(int a)\n{{\n\tasm volatile(".rept {n}; nop; .endr");\n\treturn a;\n}}\n',
    "data": "\nunsigned long km_data[{n}] = {{ 1 }};\n",
    "start": "\n#include <linux/init.h>\nstatic int __init km_start(void)\n{{\n"
    '\tasm volatile(".rept {n}; nop; .endr");\n\treturn 0;\n}}\nlate_initcall(km_start);\n',
}
FILES = ("fs/pipe.c", "fs/inode.c", "mm/util.c", "mm/slub.c", "kernel/exit.c", "kernel/sys.c", "lib/vsprintf.c")


def edits(
    number: int, counts: Mapping[str, float], sources: Mapping[str, str]
) -> tuple[dict[str, str], dict[str, Any]]:
    """The files of pair `number` that change, and what is planted. `counts`: of the unchanged kernel, by row."""
    random = Random(number)  # noqa: S311  # a pair, no secret
    place, moved, file = random.choice(PLACES), random.choice(tuple(MOVED)), random.choice(FILES)
    changed = {file: sources[file] + MOVED[moved].format(n=random.randint(1, 99))} if moved != "nothing" else {}
    planted = ORDER[number % len(ORDER)]
    nops = 0
    if planted:
        nops = max(1, round(PLANTED[planted](counts[place.row]) / place.times))
        head, found, tail = changed.get(place.file, sources[place.file]).partition(place.function)
        body, brace, rest = tail.partition("\n{\n")
        if not found or not brace:
            raise LookupError(f"{place.file} has no {place.function}")
        changed[place.file] = f'{head}{found}{body}{brace}\tasm volatile(".rept {nops}; nop; .endr");\n{rest}'
    return changed, {"pair": number, "planted": planted, "row": place.row, "more": nops * place.times, "moved": moved}


def called(*words: str, status: Iterable[int] = (0,)) -> str:
    done = subprocess.run(words, capture_output=True, text=True, timeout=LIMIT, check=False)
    if done.returncode not in status:
        raise SystemExit(f"{' '.join(words)}: {done.stderr[-500:]}")
    return done.stdout


def compared(a: str, b: str) -> dict[str, Any]:
    (made,) = json.loads(called(KERNOMETER, "ab", "--by", "path", "--gate", "--json", a, b, *ROWS, status=(0, 7)))
    return dict(made)


def measure(tree: Path, until: int) -> None:
    done = {each["pair"] for each in read()}
    files = {*FILES, *(place.file for place in PLACES)}
    sources = {file: (tree / file).read_text() for file in files}
    figures = compared("qemu:good", "qemu:good")["rows"]
    counts = {row: figure["a"]["value"] for row in ROWS for figure in figures if figure["row"] == row.removesuffix("@")}
    for number in sorted({*range(until)} - done):
        began = time.monotonic()
        changed, made = edits(number, counts, sources)
        try:
            for file, text in changed.items():
                (tree / file).write_text(text)
            called("make", "-s", "-C", str(tree), f"-j{os.environ.get('JOBS', os.cpu_count())}", "bzImage")
            called(KERNOMETER, "guest", "add", "linux", "--tree", str(tree), "--name", "pair")
        finally:
            for file in changed:
                (tree / file).write_text(sources[file])
        answer = compared("qemu:good", "qemu:pair")
        ratios = {row["row"]: row["ratio"] for row in answer["rows"]}
        made["alike"] = any("lie at the same addresses" in remark for remark in answer["remarks"])
        made["outcomes"] = {
            row["row"]: [row["before"], row["outcome"], ratios.get(row["row"])] for row in answer["gate"]["rows"]
        }
        made["seconds"] = round(time.monotonic() - began)
        with FOUND.open("a") as found:
            found.write(json.dumps(made) + "\n")


def read() -> list[dict[str, Any]]:
    return [json.loads(line) for line in FOUND.read_text().splitlines()] if FOUND.exists() else []


def table(pairs: Iterable[Mapping[str, Any]]) -> list[str]:
    """By what was planted, and whether the data of both builds lie at the same addresses: pairs, those in which the
    gate failed on the planted row, and rows without a change on which it failed, of all such rows."""
    lines = ["| planted | data | pairs | found | rows wrongly failed |", "|---|---|---:|---:|---:|"]
    kept = list(pairs)
    for planted in dict.fromkeys(ORDER):
        for alike in (True, False):
            of = [pair for pair in kept if (pair["planted"], pair["alike"]) == (planted, alike)]
            hit = [pair for pair in of if planted and pair["outcomes"][pair["row"].removesuffix("@")][1] == "worse"]
            idle = [
                outcome
                for pair in of
                for row, (_, outcome, _) in pair["outcomes"].items()
                if not planted or row != pair["row"].removesuffix("@")
            ]
            if of:
                wrong = sum(outcome == "worse" for outcome in idle)
                cells = (planted or "nothing", "in place" if alike else "moved", len(of), len(hit) if planted else "")
                lines.append(f"| {' | '.join(map(str, cells))} | {wrong} of {len(idle)} |")
    return lines


if __name__ == "__main__":
    if len(sys.argv) == 3:
        measure(Path(sys.argv[1]), int(sys.argv[2]))
    print("\n".join(table(read())))
