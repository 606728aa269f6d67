"""lmbench's summaries (`make see`), as mails and logs have them: a table a topic, a line a run of lmbench.

A figure has the name that lmbench's results file gives it, if the summary only rounds it; so one is compared with the
other. Cells stand below a line of dashes, whose ends are theirs; an empty cell was not measured.
"""

from __future__ import annotations

import re
from collections import Counter
from itertools import pairwise

from kernometer.results.suites.output import Figure, Output

BEGIN = re.compile(r"^ *L M B E N C H +([\d. ]*?) *S U M M A R Y|^Processor, Processes - times in microseconds", re.M)
_LOCAL = " using localhost"
_RINGS = ((2, 0), (2, 16), (2, 64), (8, 16), (8, 64), (16, 16), (16, 64))
_CTX = tuple(f"size={size}k: {n} processes" for n, size in _RINGS)
_WHOLE, _REAL = ("bit", "add", "mul", "div", "mod"), ("add", "mul", "div", "bogomflops")
#: By the beginning of a table's title: its unit, and its columns after host, system and clock.
TABLES: dict[str, tuple[str, tuple[str, ...]]] = {
    "Processor, Processes": (
        "microseconds",
        (
            *("Simple syscall", "null I/O", "Simple stat", "Simple open/close", "select TCP"),
            *("Signal handler installation", "Signal handler overhead"),
            *("Process fork+exit", "Process fork+execve", "Process fork+/bin/sh -c"),
        ),
    ),
    "Context switching": ("microseconds", _CTX),
    "*Local* Communication latencies": (
        "microseconds",
        (
            *(_CTX[0], "Pipe latency", "AF_UNIX sock stream latency", "UDP latency" + _LOCAL),
            *("RPC/udp latency" + _LOCAL, "TCP latency" + _LOCAL, "RPC/tcp latency" + _LOCAL),
            "TCP/IP connection cost to localhost",
        ),
    ),
    "File & VM system latencies": (
        "microseconds",
        (
            *("0K file, create", "0K file, delete", "10K file, create", "10K file, delete"),
            *("Mmap latency", "Protection fault", "Page fault", "Select on 100 fd's"),
        ),
    ),
    "*Local* Communication bandwidths": (
        "MB/sec",
        (
            *("Pipe bandwidth", "AF_UNIX sock stream bandwidth", "TCP bandwidth", "file reread", "mmap reread"),
            *("bcopy (libc)", "bcopy (hand)", "memory read", "memory write"),
        ),
    ),
    "Memory latencies": ("nanoseconds", ("L1 latency", "L2 latency", "main memory latency", "random memory latency")),
    "Basic integer operations": ("nanoseconds", tuple(f"integer {what}" for what in _WHOLE)),
    "Basic uint64 operations": ("nanoseconds", tuple(f"int64 {what}" for what in _WHOLE)),
    "Basic float operations": ("nanoseconds", tuple(f"float {what}" for what in _REAL)),
    "Basic double operations": ("nanoseconds", tuple(f"double {what}" for what in _REAL)),
}
#: Tables whose last column lmbench 2 lacks.
_SHORTER = ("File & VM system latencies", "Memory latencies")
#: A column that is no figure: what the summary guesses of the others.
_GUESSES = "Guesses"
_DASHES = re.compile(r"-{3,}(?: +-{3,}){2,} *")
_CELL = re.compile(r"(-?\d{1,12}(?:\.\d{0,12})?)([KM]?)")
_FACTOR = {"": 1.0, "K": 1e3, "M": 1e6}
#: Of the first table: host, system and description, and the clock.
_BASIC = "Basic system parameters"


def read(text: str) -> list[Output]:
    """A run for each line of the tables; of lines with one host and system the first, second, … of each table."""
    begin = BEGIN.search(text)
    version = (begin[1] or "").replace(" ", "") if begin else ""
    runs: dict[tuple[str, str, int], Output] = {}
    title, heads, ends, unread = "", "", list[int](), list[str]()
    seen: Counter[tuple[str, str]] = Counter()
    for line in (line.expandtabs().rstrip() for line in text.splitlines()):
        if line.startswith((_BASIC, *TABLES)) or (ends and not line):
            title, heads, ends, seen = line, "", [], Counter()
        elif not ends and _DASHES.fullmatch(line):
            ends = [dashes.end() for dashes in re.finditer("-+", line)]
        elif not ends:
            heads += line
        elif re.search(r"\d", line):
            cells = _cells(line, ends)
            if not cells or not title:
                unread.append(f"{title or 'a table that is not known'}: {line}")
                continue
            host, system, *rest = cells
            seen[host, system] += 1
            run = runs.setdefault((host, system, seen[host, system]), Output("lmbench", version))
            run.column = f"{host} {system}"
            run.conditions |= {"NODENAME": host, "SYSNAME": system}
            _add(run, title, heads, rest)
    for run in runs.values():
        run.notes.append("From a summary: rounded, and without the time of the measurement.")
    first = next(iter(runs.values()), Output("lmbench", version))
    first.left_out += unread
    return list(runs.values()) or [first]


def _cells(line: str, ends: list[int]) -> list[str]:
    """The cells of a line, each of which ends with its dashes or before; [] if a word crosses such an end, since a cell
    may be empty, and a system's name has several words."""
    if any(len(line[end - 1 : end + 1].replace(" ", "")) > 1 for end in ends[:-1]):
        return []
    return [line[begin:end].strip() for begin, end in pairwise((0, *ends[:-1], None))]


def _add(run: Output, title: str, heads: str, cells: list[str]) -> None:
    """The figures of one line, or its description."""
    if title.startswith(_BASIC):
        run.conditions |= dict(zip(("MACHINE", "MHZ"), cells, strict=False))
        return
    begin = next(begin for begin in TABLES if title.startswith(begin))
    unit, names = TABLES[begin]
    cells = cells["Mhz" in heads : len(cells) - (_GUESSES in heads)]
    if len(cells) != len(names) and not (begin in _SHORTER and len(cells) == len(names) - 1):
        run.left_out.append(f"{title}: {' '.join(cells)}")
        return
    known = {figure.row for figure in run.figures}
    for name, cell in zip(names, cells, strict=False):
        if name in known:  # two tables have the ring of two processes
            continue
        if match := _CELL.fullmatch(cell):
            value = float(match[1]) * _FACTOR[match[2]]
            run.figures.append(Figure(name, f"{value:.12g}", unit, f"printed as {cell}" if match[2] else ""))
        elif cell:
            run.left_out.append(f"{title}: {name}: {cell}")
