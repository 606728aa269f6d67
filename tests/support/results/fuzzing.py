"""Broken results, drawn from seeds: real files with bytes, lines and values changed; and what a reader makes of them.

Outputs of other suites are among them. Only a Result, a Publication, or one of the errors that the project documents
may come out. `chunk` is one unit of work: a seed gives the same inputs everywhere, so that a finding is repeated by its
seed.
"""

from __future__ import annotations

import json
import random
import resource
import tarfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import msgspec

from kernometer.errors import KernometerError, ResultError
from kernometer.results import papers
from kernometer.results.imported import publications
from kernometer.results.model import Calibration, Counting, Memory, Profile, ProfileLine, ProfileStack, Result, Tally
from kernometer.results.reader import Limits, parse
from kernometer.targets.stream import Splitter, between_markers
from tests.support.results import OUTPUTS, make

ROOT = Path(__file__).parents[3]
#: One unit of work.
CHUNK = 1000
#: Small, so that small inputs reach them.
TIGHT = Limits(line_bytes=6000, file_bytes=60_000, records=40, samples=400, sentences=5)
#: What a worker may have above what it has after its imports.
MORE_BYTES = 256 << 20
#: Of real records: longer ones have most of their numbers cut off, so that inputs stay small.
MOST_NUMBERS = 12
MOST_SESSIONS = 6
#: Of another suite's output.
MOST_LINES = 60
_STORES = (
    "studies/sources/store.tar.xz",
    "studies/debian-kernels/store.tar.xz",
    "studies/full-profile/store.tar.xz",
)

#: Records that the stores lack, or whose parts must agree.
MORE_KINDS = (
    Calibration(row="syscall/getppid", workload="syscall/getppid", batch=1000, seconds=0.1),
    Counting(
        row="syscall/getppid",
        workload="syscall/getppid",
        batch=1000,
        samples=(150, 151),
        iterations=2000,
        happened={"reads": 0.0},
    ),
    Memory(row="syscall/getppid", iterations=2, counts={"instructions": 8, "walks": 38}, empty={"instructions": 3}),
    Tally(row="syscall/getppid", counts={"messages": (1, 1)}),
    Profile(
        row="syscall/getppid",
        view="median",
        gross=7,
        counted=7,
        names=("syscall", "getppid"),
        lines=(ProfileLine(function=0, kernel=True, count=4), ProfileLine(function=1, count=3)),
        stacks=(ProfileStack(frames=(0, 1), count=3),),
    ),
)

Lines = list[bytes]
_ENCODER = msgspec.json.Encoder()


def _shortened(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _shortened(one) for key, one in value.items()}
    if isinstance(value, list):
        return [_shortened(one) for one in value[:MOST_NUMBERS]]
    return value


def _of_store(path: Path) -> Lines:
    """Real sessions, as one: the first two records of each kind that any of them has."""
    kinds: dict[str, list[bytes]] = {}
    with tarfile.open(path) as tar:
        for member in [each for each in tar if each.name.endswith(".ndjson")][:MOST_SESSIONS]:
            file = tar.extractfile(member)
            for line in file or ():
                record = _shortened(json.loads(line))
                known = kinds.setdefault(record["type"], [])
                if len(known) < (1 if record["type"] in ("session", "header") else 2):
                    known.append(json.dumps(record).encode())
    kinds.setdefault("end", []).extend(kinds.pop("end", []))  # the last line, whichever session's it is
    return [line for of in kinds.values() for line in of]


@cache
def corpus() -> tuple[Lines, ...]:
    """Whole files, as lines: ours, and other suites'."""
    return (*ours(), *_of_suites())


def ours() -> tuple[Lines, ...]:
    """One made up of every kind of record, real sessions, published tables."""
    records = make.records(id="20261121T073012Z-1f3a9c1f3a9c")
    made = make.data([*records[:-1], *MORE_KINDS, records[-1]]).splitlines()
    files = [path.read_bytes().splitlines() for path in sorted(papers.FOLDER.glob("*.ndjson"))[:2]]
    tables = [paper[:8] + paper[-4:] for paper in files]
    return (made, *(_of_store(ROOT / name) for name in _STORES), *tables)


def _of_suites() -> Iterator[Lines]:
    """Other suites' outputs. JSON on one line, where values can be changed."""
    for path in sorted(OUTPUTS.iterdir()):
        if path.suffix == ".json":
            yield [json.dumps(_shortened(json.loads(path.read_bytes()))).encode()]
        elif path.suffix == ".txt":
            yield path.read_bytes().splitlines()[:MOST_LINES]


def _place(r: random.Random, lines: Lines) -> int:
    return r.randrange(len(lines))


def _bits(r: random.Random, lines: Lines) -> None:
    i = _place(r, lines)
    line = bytearray(lines[i] or b" ")
    for _ in range(r.choice((1, 1, 2, 8))):
        line[r.randrange(len(line))] ^= 1 << r.randrange(8)
    lines[i] = bytes(line)


def _bytes(r: random.Random, lines: Lines) -> None:
    i = _place(r, lines)
    at, piece = r.randrange(len(lines[i]) + 1), r.choice(PIECES)
    lines[i] = lines[i][:at] + piece + lines[i][at + r.choice((0, 0, 1, len(piece))) :]


def _cut(r: random.Random, lines: Lines) -> None:
    i = _place(r, lines)
    lines[i] = lines[i][: r.randrange(len(lines[i]) + 1)]
    if r.random() < 0.5:
        del lines[i + 1 :]


def _order(r: random.Random, lines: Lines) -> None:
    for _ in range(r.choice((1, 2, 5))):
        i, j = _place(r, lines), _place(r, lines)
        lines[i], lines[j] = lines[j], lines[i]


def _doubled(r: random.Random, lines: Lines) -> None:
    i = _place(r, lines)
    lines[i:i] = [lines[_place(r, lines)]] * r.choice((1, 2, 50))


def _removed(r: random.Random, lines: Lines) -> None:
    del lines[_place(r, lines)]
    if not lines:
        lines.append(b"")


def _spliced(r: random.Random, lines: Lines) -> None:
    lines[_place(r, lines) :] = r.choice(corpus())[r.randrange(4) :] or [b""]


def _long(r: random.Random, lines: Lines) -> None:
    lines.insert(
        _place(r, lines), r.choice((b"[", b'{"type":"run","row":"', b"9", b"\xff", b" ", b'"')) * r.randrange(9000)
    )


def _nested(r: random.Random, lines: Lines) -> None:
    i, deep = _place(r, lines), r.choice((3, 50, 1100))
    opened, closed = r.choice(((b"[", b"]"), (b'{"a":', b"}")))
    lines[i] = lines[i].replace(
        b":", b":" + opened * deep + b"1" + (closed * deep if r.random() < 0.7 else b"") + b",", 1
    )


def _values(r: random.Random, lines: Lines) -> None:
    """Valid JSON, another value in one of its places."""
    i = _place(r, lines)
    try:
        record = json.loads(lines[i])
    except (ValueError, RecursionError):
        return
    if not isinstance(record, dict):
        return
    at: Any = record
    while True:
        keys = list(at) if isinstance(at, dict) else list(range(len(at)))
        if not keys:
            break
        key = r.choice(keys)
        if isinstance(at[key], dict | list) and at[key] and r.random() < 0.6:
            at = at[key]
            continue
        _change(r, at, key)
        break
    lines[i] = json.dumps(record).encode()


def _change(r: random.Random, at: Any, key: Any) -> None:
    what = r.randrange(5)
    if what == 0:
        del at[key]
    elif what == 1 and isinstance(at, list):
        at[key:key] = [at[key]] * r.choice((1, 3, 500))
    elif what == 2 and isinstance(at, dict):
        at[r.choice(("type", "row", "samples", "x" * 400, "\x00"))] = r.choice(VALUES)
    else:
        at[key] = r.choice(VALUES)


PIECES = (
    b"NaN", b"Infinity", b"-1", b"1e999", b"9" * 400, b"\xff\xfe", b"\x00", b"\\ud800", b"\n", b"\r\n", b'"', b"{",
    b"]", b",", b"null", b"true", b"18446744073709551616", b"-9223372036854775809", b"\xc0\x80", b"\\u0000", b"1.5",
)  # fmt: skip  # a table
VALUES: tuple[Any, ...] = (
    None, True, False, 0, -1, 1, 2**31, 2**63 - 1, 2**63, 2**64, -(2**63), 10**30, 0.5, 1e18, 1.1e18, -1e300,
    float("nan"), float("inf"), "", "x", "x" * 301, "\x1b[2J", "\u202e", "\x00", [], [[]], [0], {}, {"": {}},
    [[0, 0]], [[10**6, 1]], "time", "path", "run", "session",
)  # fmt: skip  # a table
MUTATIONS: tuple[Callable[[random.Random, Lines], None], ...] = (
    _bits, _bytes, _cut, _order, _doubled, _removed, _spliced, _long, _nested, _values, _values, _values,
)  # fmt: skip  # a table


def mutant(r: random.Random) -> tuple[str, bytes]:
    """A broken file, and the name of what was done to it first."""
    lines = list(r.choice(corpus()))
    first = r.choice(MUTATIONS)
    first(r, lines)
    while r.random() < 0.3:
        r.choice(MUTATIONS)(r, lines)
    return first.__name__.strip("_"), b"\n".join(lines)


def check_usable(result: Result) -> None:
    """What any reader of a Result relies on."""
    for run in result.runs:
        assert run.workload in result.workloads
        assert run.samples
        assert run.batch >= 1
        assert run.ops > 0
        assert min(run.samples) >= 0
    assert len({(run.row, run.run, run.block) for run in result.runs}) == len(result.runs)
    assert all(sentence.isprintable() and len(sentence) < 600 for sentence in result.damage)
    assert len(result.damage) <= TIGHT.sentences + 4


def read(data: bytes) -> str:
    """How the three readers take it: a word for the outcome. Raises what none of them may raise."""
    try:
        result = parse([data[: len(data) // 2], data[len(data) // 2 :]], TIGHT)
        check_usable(result)
        outcome = "read with damage" if result.damage else "read whole"
    except ResultError as error:
        assert error.text
        assert error.text.isprintable()
        outcome = "refused"
    if data.startswith(b'{"type":"paper"'):
        try:
            papers.parse(data.splitlines())
            outcome = "published table read"
        except ResultError:
            outcome = "published table refused"
    return outcome if outcome != "refused" else imported(data)


def imported(data: bytes) -> str:
    """The same as another suite's output: whatever is made of it can be stored, and is read again as it was."""
    try:
        found = publications(data, "x", command="perf bench sched pipe" if data[:1].isdigit() else "")
    except KernometerError as error:
        assert error.next_step
        return "refused"
    for one in found:
        assert papers.parse([_ENCODER.encode(record) for record in (one.paper, *one.figures)]) == one
    return "imported"


def stream(data: bytes, r: random.Random) -> str:
    """The same bytes as a probe's output, whose end marker is sometimes right."""
    count = sum(line.startswith(b"{") for line in data.splitlines()) + r.choice((0, 0, 1, -1))
    whole = b"#kernometer begin 1\r\n" + data + b"\n#kernometer end %d\n" % max(count, 0)
    splitter = Splitter("the probe", 50_000)
    try:
        lines = [*splitter.feed(whole), *splitter.rest()]
        return "stream read" if [*between_markers(iter(lines), "the probe")] else "stream empty"
    except KernometerError:
        return "stream refused"


@dataclass
class Found:
    """Of one chunk or of many."""

    outcomes: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)
    peak_bytes: int = 0  #: of the worker, above what it had before

    def add(self, other: Found) -> None:
        self.outcomes += other.outcomes
        self.wrong += other.wrong
        self.peak_bytes = max(self.peak_bytes, other.peak_bytes)


def resident() -> int:
    """The most that this process has had in memory, bytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10


_start = 0


def limited() -> None:
    """Of a worker, at its start: memory is bounded from here on."""
    global _start  # of this process
    corpus()
    read(b"")
    _start = resident()
    size = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (size + MORE_BYTES, size + MORE_BYTES))


def chunk(seed: int, inputs: int = CHUNK) -> Found:
    """So many inputs of this seed. Any exception that is not documented is `wrong`, MemoryError too."""
    found, r = Found(), random.Random(seed)
    for number, (kind, data) in enumerate(mutants(r, inputs)):
        try:
            found.outcomes[f"{kind}: {read(data)}"] += 1
            if number % 8 == 0:
                found.outcomes[stream(data, r)] += 1
        except Exception as error:  # whatever it is, it is a finding
            found.wrong.append(f"seed {seed}, input {number} ({kind}): {type(error).__name__}: {error}: {data[:300]!r}")
    found.peak_bytes = resident() - _start if _start else 0
    return found


def mutants(r: random.Random, inputs: int) -> Iterator[tuple[str, bytes]]:
    """Each from a generator of its own, so that how one is read does not change the next."""
    for _ in range(inputs):
        yield mutant(random.Random(r.getrandbits(64)))


def campaign(seeds: Sequence[int], workers: int) -> Iterator[Found]:
    """In as many processes, each with bounded memory. One that crashes ends the campaign with BrokenProcessPool."""
    from concurrent.futures import ProcessPoolExecutor  # not for one chunk
    from multiprocessing import get_context

    with ProcessPoolExecutor(workers, get_context("spawn"), limited) as pool:
        yield from pool.map(chunk, seeds, chunksize=1)
