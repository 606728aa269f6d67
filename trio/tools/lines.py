"""Lines of Trio's code that run privileged in each structure: neither blank nor only comment, generated ones left out.

python3 lines.py                a table in Markdown: parts by structures
python3 lines.py README.md      puts it in the place of the one that is there
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

TRIO = Path(__file__).parents[1]
STRUCTURES = ("mono", "hybrid", "micro", "one-server")
_SERVERS = STRUCTURES[1:]
_PROCESSES = STRUCTURES[2:]
#: Part of the table to the patterns of its files, and the structures in which it runs in the kernel's mode.
PARTS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "the processor and the machine (`kernel/x86`)": (("kernel/x86/*",), STRUCTURES),
    "tasks, memory, timers (`kernel/core`)": (("kernel/core/*",), STRUCTURES),
    "Linux's system calls (`kernel/abi`)": (("kernel/abi/*", "interfaces/abi/*"), STRUCTURES),
    "the seam: in all": (
        (
            *("seam/port.h", "seam/text.*", "seam/queue.h", "seam/structure.*", "seam/kernel_port.c", "seam/copies.h"),
            *("seam/counters.h", "seam/numbers.h", "seam/freestanding.c"),
        ),
        STRUCTURES,
    ),
    "the seam: services in the kernel": (("seam/local.*", "seam/queues.c"), ("mono",)),
    "the seam: messages, grants, rights": (
        (
            *("seam/ipc.*", "seam/servers.h", "seam/message.h", "seam/clients.c", "seam/traps.c", "seam/ends.c"),
            "seam/grants.c",
        ),
        _SERVERS,
    ),
    "the seam: in a thread": (("seam/server.*", "seam/thread.c", "seam/queues.c"), ("hybrid",)),
    "the seam: for processes": (("seam/pages.c", "seam/load.c", "seam/rights.c", "seam/elf.h"), _PROCESSES),
    "services": (("services/*/*",), ("mono", "hybrid")),
    "drivers": (("drivers/*/*",), ("mono", "hybrid")),
}
#: What is linked into processes alone; what only a kernel that checks itself has.
NOT_PRIVILEGED = {"seam/process.c", "kernel/core/checked.c"}
_COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
_TABLE = re.compile(r"^\| part \|.*\n(?:\|.*\n)+", re.MULTILINE)


def lines(path: Path) -> int:
    """Of one file."""
    text = _COMMENT.sub("", path.read_text())
    return sum(1 for line in text.splitlines() if line.strip() and not line.strip().startswith("//"))


def counted() -> dict[str, int]:
    """Part to its lines."""
    return {part: sum(lines(path) for path in _privileged(patterns)) for part, (patterns, _) in PARTS.items()}


def _privileged(patterns: tuple[str, ...]) -> set[Path]:
    found = {path for pattern in patterns for path in TRIO.glob(pattern) if path.is_file()}
    return {path for path in found if path.relative_to(TRIO).as_posix() not in NOT_PRIVILEGED}


def in_no_part() -> list[str]:
    """Files of the kernel and of the seam that no line of the table counts."""
    known = {path for patterns, _ in PARTS.values() for pattern in patterns for path in TRIO.glob(pattern)}
    files = {path for folder in ("kernel", "seam") for path in TRIO.glob(f"{folder}/**/*.[chS]")}
    return sorted({path.relative_to(TRIO).as_posix() for path in files - known} - NOT_PRIVILEGED)


def table() -> str:
    """The table of README.md."""
    found = counted()
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
    text, count = _TABLE.subn(table() + "\n", path.read_text())
    if count != 1:
        print(f"{path}: {count} tables of lines", file=sys.stderr)
        return 1
    path.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
