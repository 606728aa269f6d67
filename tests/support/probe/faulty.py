"""A probe whose calls fail by plan (faults/faults.c): how it is built, run, and judged.

A row may fail under faults, and must then say so. Where it gives a figure all the same, its record must have the shape,
and its run the successful calls, that it has without faults: a figure for work that did not happen is wrong.
"""

from __future__ import annotations

import errno
import json
import re
import subprocess
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kernometer.results.reader import DamagedError, parse_record

HERE = Path(__file__).parent / "faults"
PROBE = Path(__file__).parents[3] / "probe"
BUILD_SECONDS = 300
#: What faults.c replaces beside the calls of calls.h.
MORE = ("main", "clock_wall", "meter_sample_begin", "meter_sample_end", "_exit")
#: faults.c's faults that are no errno.
OWN_FAULTS = {1000: "short count", 1001: "killed child", 1002: "small pipe", 1003: "full pipe", 1004: "lost output"}
_CALL = re.compile(r"^(?:CALL\([^,]+, |CODE\(|OWN\()(\w+)", re.MULTILINE)
_END = re.compile(r"^#kernometer end (\d+)$", re.MULTILINE)


def build(folder: Path, flags: str = "-O2") -> tuple[Path, Path]:
    """The program that repeats, and the probe with faults; both static, by musl."""
    words = [f"BUILD={folder}", "CC=musl-gcc", f"CFLAGS={flags}"]
    calls = _CALL.findall((HERE / "calls.h").read_text())
    wraps = [f"-Wl,--wrap={name}" for name in (*calls, *MORE)]
    made = folder / "faults.o"
    for command in (
        ["musl-gcc", "-O2", "-std=gnu99", "-c", str(HERE / "faults.c"), "-o", str(made)],
        ["musl-gcc", "-O2", "-static", str(HERE / "repeat.c"), "-o", str(folder / "repeat")],
        [
            "make",
            "-s",
            "-C",
            str(PROBE),
            *words,
            f"LDFLAGS=-static {made} {' '.join(wraps)}",
            "-B",
            str(folder / "probe"),
        ],
    ):
        done = subprocess.run(command, capture_output=True, text=True, timeout=BUILD_SECONDS, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
    return folder / "repeat", folder / "probe"


@dataclass(frozen=True)
class Process:
    """A line of the ledger."""

    role: str  #: of a run; "-" elsewhere
    row: str
    injected: int
    planned: int
    faults: Mapping[str, int]  #: "read EINTR" → how many
    done: Mapping[str, tuple[int, int, int]]  #: call → successes in samples, in all, and bytes in samples

    @classmethod
    def read(cls, line: str) -> Process:
        _, role, row, injected, planned, *words = line.split()
        faults, done = {}, {}
        for word in words:
            name, _, value = word.partition("=")
            call, _, fault = name.partition(":")
            if fault:
                faults[f"{call} {fault_name(int(fault))}"] = int(value)
            else:
                inside, every, size = map(int, value.split("/"))
                done[call] = (inside, every, size)
        return cls(role, row, int(injected), int(planned), faults, done)


def fault_name(number: int) -> str:
    return OWN_FAULTS.get(number) or errno.errorcode.get(number, str(number))


@dataclass
class Call:
    """One call of the probe: what it printed, its ledger, and how it ended."""

    seed: int = 0
    status: int = 0
    left: tuple[str, ...] = ()
    output: list[str] = field(default_factory=list)
    ledger: list[Process] = field(default_factory=list)


def calls_in(lines: Iterable[str]) -> Iterator[Call]:
    """What repeat.c printed, a call at a time."""
    now = Call()
    for line in lines:
        if line.startswith("#ledger "):
            now.ledger.append(Process.read(line))
        elif line.startswith("#faults "):
            _, seed, status, *left = line.split()
            now.seed, now.status, now.left = int(seed), int(status), tuple(left)
            yield now
            now = Call()
        else:
            now.output.append(line.rstrip("\n"))


def shape(record: Mapping[str, Any]) -> tuple[Any, ...]:
    """What a record says that is not measured."""
    baseline = record.get("baseline") or {"batch": 0, "samples": []}
    named = ("batch", "bytes", "iterations", "stopped", "params")
    ops = faults_per_ops(record) if record["workload"] in OPS_ARE_FAULTS else record["ops"]
    samples = (len(record["samples"]), baseline["batch"], len(baseline["samples"]))
    return (*(str(record[name]) for name in named), ops, *samples)


#: Whose operations are the faults that set-up counted. A write of its file that was cut short leaves smaller pieces in
#: Linux's page cache, and so more faults, as truly as before.
OPS_ARE_FAULTS = frozenset({"mem/fault-file"})


def faults_per_ops(record: Mapping[str, Any]) -> float:
    """Faults that happened in the samples for each that the figure was divided by; 1 where they were not counted."""
    happened: float | None = record.get("happened", {}).get("faults")
    return 1 if happened is None else happened / (record["iterations"] * record["ops"])


@dataclass
class Reference:
    """Without faults: each row's shapes and counts, as far as they are the same each time."""

    shapes: dict[str, set[tuple[Any, ...]]] = field(default_factory=dict)
    counts: dict[str, dict[str, int]] = field(default_factory=dict)
    unsupported: set[str] = field(default_factory=set)

    @classmethod
    def of(cls, calls: Sequence[Call]) -> Reference:
        found = cls()
        for call in calls:
            for record in map(json.loads, (line for line in call.output if line.startswith("{"))):
                if record["type"] == "run":
                    found.shapes.setdefault(record["row"], set()).add(shape(record))
                elif record["type"] == "unsupported":
                    found.unsupported.add(record["row"])
            for process in call.ledger:
                if process.role == "time":
                    now = counts(process)
                    known = found.counts.setdefault(process.row, now)
                    found.counts[process.row] = {key: n for key, n in known.items() if now.get(key) == n}
        return found

    @property
    def rows(self) -> set[str]:
        return {*self.shapes, *self.unsupported}


#: Calls whose success is no part of a row's work: what they do not get, a record lacks or a warning says.
#: Whether a futex is waited for, and how often is yielded, depends on who is first.
VARY = frozenset({("ipc/shm-futex", "syscall"), ("ctx/yield", "sched_yield")})
METERS = ("getrusage", "pread")
MOVES = ("read", "write")  #: cut short, they take more calls for as many bytes
ASIDE = frozenset((
    "access", "calloc", "close", "fcntl", "fopen", "getrusage", "malloc", "opendir", "pread", "prctl", "readlink",
    "sched_setaffinity", "select", "setpgid", "signal", "statvfs", "waitpid",
))  # fmt: skip  # as a paragraph


def counts(process: Process) -> dict[str, int]:
    """The successes by which a run is judged: those within its samples."""
    found = {}
    for call, (inside, _, size) in process.done.items():
        if call not in ASIDE:
            found[call] = size if call in MOVES else inside
    return found


@dataclass
class Verdict:
    """What became of the rows of one call or of many."""

    outcomes: Counter[str] = field(default_factory=Counter)
    faults: Counter[str] = field(default_factory=Counter)
    injected: int = 0
    planned: int = 0
    metered: int = 0  #: of those injected: in calls of the meters, around each sample
    wrong: list[str] = field(default_factory=list)


def judge(call: Call, reference: Reference, verdict: Verdict) -> None:
    """Adds what one call with faults came to."""
    for process in call.ledger:
        verdict.injected += process.injected
        verdict.planned += process.planned
        verdict.metered += sum(n for fault, n in process.faults.items() if fault.partition(" ")[0] in METERS)
        verdict.faults.update(process.faults)
    for left in call.left:
        verdict.wrong.append(f"seed {call.seed}: left behind: {left}")
    whole = complete(call)
    verdict.outcomes["output whole" if whole else "output refused"] += 1
    told = set[str]()
    for line in call.output:
        if not line.startswith("{"):
            continue
        try:
            parse_record(line.encode())
            record = json.loads(line)
        except (DamagedError, ValueError) as error:
            if whole:
                verdict.wrong.append(f"seed {call.seed}: a damaged record in a whole output: {error}: {line[:200]}")
            continue
        if record["type"] in ("run", "error", "unsupported"):
            told.add(record["row"])
        if record["type"] == "error":
            verdict.outcomes["error"] += 1
            if "gave no result within" in record["text"]:
                verdict.wrong.append(f"seed {call.seed}: {record['row']}: hung")
        elif record["type"] == "unsupported" and record["row"] not in reference.unsupported:
            verdict.outcomes["unsupported"] += 1
        elif record["type"] == "run" and whole:
            judge_run(call, record, reference, verdict=verdict)
    if whole and call.status in (0, 1) and (missing := reference.rows - told):
        verdict.wrong.append(f"seed {call.seed}: a whole output lacks {len(missing)} rows: {sorted(missing)[0]}")


def judge_run(call: Call, record: Mapping[str, Any], reference: Reference, verdict: Verdict) -> None:
    row = record["row"]
    mine = [one for one in call.ledger if one.role == "time" and one.row == row]
    hit = sum(one.injected for one in mine)
    verdict.outcomes["figure, faults met" if hit else "figure, none met"] += 1
    if row.startswith("limit/"):  # a refused call is what they count
        return
    if shape(record) not in reference.shapes.get(row, ()):
        verdict.wrong.append(f"seed {call.seed}: {row}: its record has another shape: {shape(record)}")
    for one in mine:
        now = counts(one)
        wanted = {
            key: n for key, n in reference.counts.get(row, {}).items() if (row.partition("@")[0], key) not in VARY
        }
        less = {key: (now.get(key, 0), n) for key, n in wanted.items() if now.get(key, 0) < n}
        if less:
            verdict.wrong.append(f"seed {call.seed}: {row}: a figure for less work: {less}, faults {dict(one.faults)}")


def complete(call: Call) -> bool:
    """Whether a reader takes its output: both markers, and as many lines between them as the last one says."""
    if "#kernometer begin 1" not in call.output:
        return False
    records = 0
    for line in call.output[call.output.index("#kernometer begin 1") + 1 :]:
        records += line.startswith("{")
        if found := _END.match(line):
            return int(found[1]) == records
    return False
