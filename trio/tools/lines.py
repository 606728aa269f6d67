"""Counts the lines that run privileged in each structure, without blank lines, comments and generated code;
and KiB of the kernels' code, with what is generated.

python3 lines.py                    a table in Markdown: parts by structures
python3 lines.py README.md          puts it in the place of the one that is there, whose last line, the code's, stays
python3 lines.py README.md BUILD    that line too, from the kernels in BUILD: trio-mono.elf … (GNU binutils' size)
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

TRIO = Path(__file__).parents[1]
STRUCTURES = ("mono", "hybrid", "micro", "one-server")
_DEFINITIONS = "Linux's definitions that these parts include (`interfaces/abi`)"
#: Part of the table to the patterns of its files, and the structures in which it runs in the kernel's mode.
PARTS: dict[str, tuple[str, tuple[str, ...]]] = {
    "the processor and the machine (`kernel/x86`)": ("kernel/x86/*", STRUCTURES),
    "tasks, memory, timers (`kernel/core`)": ("kernel/core/*", STRUCTURES),
    "Linux's system calls (`kernel/abi`)": ("kernel/abi/*", STRUCTURES),
    _DEFINITIONS: ("", STRUCTURES),
    "the seam: in all": (
        "seam/port.h seam/switches.h seam/text.* seam/queue.h seam/caller.h seam/structure.* seam/kernel_port.c"
        " seam/numbers.h seam/freestanding.c seam/lives.*",
        STRUCTURES,
    ),
    "the seam: services in the kernel": ("seam/local.* seam/queues.c seam/heap.c", ("mono",)),
    "the seam: messages, grants, rights": (
        "seam/ipc.* seam/queued.c seam/servers.h seam/message.h seam/clients.c seam/traps.c seam/ends.c seam/grants.c",
        STRUCTURES[1:],
    ),
    "the seam: in a thread": (
        "seam/server.* seam/decode.h seam/thread.c seam/queues.c seam/heap.c seam/kept.c",
        ("hybrid",),
    ),
    "the seam: for processes": ("seam/pages.c seam/rights.c", STRUCTURES[2:]),
    "services": ("services/**/* seam/tree.h", STRUCTURES[:2]),
    "drivers": ("drivers/*/*", STRUCTURES[:2]),
}
#: Linked only into processes, or only into a kernel with TRIO_CHECKED or a switch.
NOT_PRIVILEGED = {"seam/process.c", "seam/process_traps.h", "kernel/core/checked.c", "seam/window.c"}
_INCLUDED = re.compile(r'^#include "(abi/[a-z_]+\.h)"', re.MULTILINE)
_COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
_TABLE = re.compile(r"^\| part \|.*\n(?:\|.*\n)+", re.MULTILINE)
_CODE = re.compile(r"^\| KiB of code .*\n", re.MULTILINE)


def lines(path: Path) -> int:
    """Of one file."""
    text = _COMMENT.sub("", path.read_text())
    return sum(1 for line in text.splitlines() if line.strip() and not line.strip().startswith("//"))


def _kernel_and_seam() -> set[Path]:
    return {path for folder in ("kernel", "seam") for path in TRIO.glob(f"{folder}/**/*.[chS]")}


def files_of(part: str) -> set[Path]:
    """The files that its patterns name; of Linux's definitions only those that the kernel or the seam includes."""
    found = {path for pattern in PARTS[part][0].split() for path in TRIO.glob(pattern) if path.is_file()}
    left = list(_kernel_and_seam()) if part == _DEFINITIONS else []
    while left:
        named = {TRIO / "interfaces" / name for name in _INCLUDED.findall(left.pop().read_text())}
        new = {path for path in named - found if path.is_file()}
        found |= new
        left += new
    return {path for path in found if path.relative_to(TRIO).as_posix() not in NOT_PRIVILEGED}


def code_kib(kernel: Path) -> int:
    """Of an ELF file. Raises CalledProcessError: it is none, OSError: there are no binutils."""
    words = ("size", "-A", str(kernel))
    said = subprocess.run(words, capture_output=True, text=True, check=True, timeout=60).stdout
    match = re.search(r"^\.text\s+(\d+)", said, re.MULTILINE)
    return round(int(match[1]) / 1024) if match else 0


def code(build: Path) -> str:
    """The table's last line."""
    version = subprocess.run(("gcc", "-dumpversion"), capture_output=True, text=True, check=True, timeout=60).stdout
    kib = [str(code_kib(build / f"trio-{structure}.elf")) for structure in STRUCTURES]
    return f"| KiB of code with what is generated, gcc {version.split('.')[0].strip()} | {' | '.join(kib)} |\n"


def in_no_part() -> list[str]:
    """Files of the kernel and of the seam that no line of the table counts."""
    left = _kernel_and_seam().difference(*map(files_of, PARTS))
    return sorted({path.relative_to(TRIO).as_posix() for path in left} - NOT_PRIVILEGED)


def table() -> str:
    """The table of README.md."""
    found = {part: sum(map(lines, files_of(part))) for part in PARTS}
    rows = ["| part | " + " | ".join(STRUCTURES) + " |", "|---|" + "---:|" * len(STRUCTURES)]
    for part, (_, where) in PARTS.items():
        cells = (f"{found[part]:,}" if each in where else "–" for each in STRUCTURES)
        rows.append(f"| {part} | " + " | ".join(cells) + " |")
    sums = (sum(found[part] for part, (_, where) in PARTS.items() if each in where) for each in STRUCTURES)
    rows.append("| **privileged in all** | " + " | ".join(f"**{each:,}**" for each in sums) + " |")
    return "\n".join(rows)


def main(arguments: list[str]) -> int:
    """Exit status 1: the file has no such table, or a file is in no part."""
    if forgotten := in_no_part():
        print(f"lines.py: in no part: {', '.join(forgotten)}", file=sys.stderr)
        return 1
    if not arguments:
        sys.stdout.write(table() + "\n")
        return 0
    path = Path(arguments[0])
    before = path.read_text()
    last = code(Path(arguments[1])) if len(arguments) > 1 else "".join(_CODE.findall(before)[:1])
    text, count = _TABLE.subn(table() + "\n" + last, before)
    if count != 1:
        print(f"{path}: {count} tables of lines", file=sys.stderr)
        return 1
    path.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
