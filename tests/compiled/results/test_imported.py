"""Results of other suites: read as they say, held against the right rows, whatever bytes the file has."""

from __future__ import annotations

import random
import subprocess
from pathlib import Path

import msgspec
import pytest

from kernometer.errors import KernometerError, ResultError, UsageError
from kernometer.results import papers
from kernometer.results.compressed import chunks
from kernometer.results.imported import MAX_BYTES, publications
from kernometer.results.model import Publication
from kernometer.results.store import Store
from kernometer.stats.printed import columns, in_our_unit
from kernometer.targets import build
from tests.support.results import OUTPUTS

SIMPLE = "perf bench --format=simple sched pipe -l 20000"
FILES = (
    *("lmbench.txt", "unixbench.txt", "perf-bench.txt", "perf-bench-many.txt", "perf-simple.txt", "hyperfine.json"),
    *("lmbench-alone.txt", "fio.json", "sel4bench.txt"),
    *("hyperfine-parameters.json", "pyperf.json", "pyperf.json.gz", "pytest-benchmark.json", "google-benchmark.json"),
)


def publication(data: bytes, name: str, label: str = "", command: str = "") -> Publication:
    """Of a file with one run."""
    [found] = publications(data, name, label, command)
    return found


def contents(name: str) -> bytes:
    return b"".join(chunks(OUTPUTS / name, MAX_BYTES))


def read(name: str) -> Publication:
    command = SIMPLE if name == "perf-simple.txt" else ""
    return publication(contents(name), name, "old", command)


def nanoseconds(found: Publication, row: str) -> float | None:
    [one] = [one for one in found.figures if one.row == row]
    return in_our_unit(found.paper, one, "ns")


@pytest.mark.parametrize(
    ("name", "title", "row", "ns", "ours"),
    [
        ("lmbench.txt", "lmbench 3.0", "Simple syscall", 142, ["syscall/getppid"]),
        ("lmbench.txt", "lmbench 3.0", "integer add", 0.22, []),
        (
            "lmbench.txt",
            "lmbench 3.0",
            "Memory load latency, stride=64: 512 bytes",
            1.74,
            ["mem/latency@bytes=512,stride=64"],
        ),
        ("lmbench.txt", "lmbench 3.0", "size=0k: 8 processes", 2100, []),
        ("lmbench.txt", "lmbench 3.0", "mappings: 1048576 bytes", 21_000, []),
        ("unixbench.txt", "UnixBench 5.1.3", "Process Creation", 1e9 / 7612.3, ["proc/fork-exit"]),
        ("unixbench.txt", "UnixBench 5.1.3", "Process Creation (2 parallel copies)", 1e9 / 12_000, []),
        ("unixbench.txt", "UnixBench 5.1.3", "Shell Scripts (8 concurrent)", 60e9 / 812.3, []),
        ("perf-bench.txt", "perf bench", "syscall/basic", 102, ["syscall/getppid"]),
        ("perf-simple.txt", "perf bench", "sched/pipe", 0.126e9 / 20_000, []),
        ("hyperfine.json", "hyperfine", "true", 998_068, []),
        ("pyperf.json", "pyperf 2.10.0", "nop", 8.2720, []),
    ],
)
def test_a_figure_is_what_the_suite_says(name: str, title: str, row: str, ns: float, ours: list[str]) -> None:
    """Expected: the row's value in ns by the suite's own unit, and our row where the definition is the same."""
    found = read(name)
    assert (found.paper.title, found.paper.suite in title, found.paper.label) == (title, True, "old")
    assert nanoseconds(found, row) == pytest.approx(ns, rel=1e-4)
    assert [list(one.ours) for one in found.figures if one.row == row] == [ours]
    assert found.paper.lacks


def test_conditions_and_differences_are_told() -> None:
    lmbench, report, pyperf = read("lmbench.txt"), read("unixbench.txt"), read("pyperf.json")
    assert lmbench.paper.systems[0].name == "Linux 6.1.0-56-amd64 x86_64"
    assert lmbench.paper.conditions["MHZ"] == "2300 MHz, 0.4348 nanosec clock"
    assert report.paper.machine.startswith("A CPU") and "Debian" in report.paper.systems[0].name
    assert pyperf.paper.conditions["python_version"].startswith("3.11")
    differs = {one.row: one.differs for found in (lmbench, report) for one in found.figures if one.differs}
    assert not [one for one in lmbench.figures if one.ours and one.differs]
    for row, near in (("Pipe latency", "ctx/pipe-pair"), ("Shell Scripts (8 concurrent)", "sh/script-8")):
        assert differs[row].startswith(near)
    assert [one.better for one in lmbench.figures if one.row == "Pipe bandwidth"] == ["higher"]
    assert (lmbench.paper.left_out, report.paper.left_out) == ((), ())


def test_rows_of_ours_exist() -> None:
    """Broken: the table names a row that nobody has."""
    done = subprocess.run([build.probe(), "--list", "--profile", "full"], capture_output=True, check=True, timeout=60)
    named = {row for name in FILES for one in read(name).figures for row in one.ours}
    assert len(named) > 12
    assert named - set(done.stdout.decode().split()) == set()


def test_a_command_names_what_the_simple_format_does_not() -> None:
    data = (OUTPUTS / "perf-simple.txt").read_bytes()
    with pytest.raises(UsageError, match="without a name"):
        publication(data, "x")
    with pytest.raises(UsageError, match="names no benchmark"):
        publication(data, "x", command="perf bench")
    assert nanoseconds(publication(data, "x", command="perf bench sched pipe"), "sched/pipe") == pytest.approx(126)
    of_all = b"# Running syscall/basic benchmark...\n2.082\n\n# Running mem/memcpy benchmark...\n5115890800.602\n"
    found = publication(of_all, "x")
    assert nanoseconds(found, "syscall/basic") == pytest.approx(208.2)
    assert [one.unit for one in found.figures if one.row == "mem/memcpy"] == ["B/sec"]


@pytest.mark.parametrize("name", FILES)
def test_a_file_that_was_cut_off_is_refused_or_says_so(name: str) -> None:
    """Expected: wherever it ends, an error, or a result that says that its end is missing, or is whole in what it has.
    Broken: a traceback, or half a report that passes for a whole one."""
    data = contents(name)
    whole = len(read(name).figures)
    for end in range(0, len(data), 23):
        try:
            found = publication(data[:end], name, command=SIMPLE if name == "perf-simple.txt" else "")
        except KernometerError:
            continue
        if name in ("lmbench.txt", "unixbench.txt") and len(found.figures) < whole:
            assert any("cut off" in one for one in found.paper.left_out) or b"Index Score" in data[:end]
        assert ".json" not in name


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\x00" * 4096,
        b"[lmbench3.0 results for x]\n" + b'"stride=16\n' + b"9" * 400 + b" 1\n",
        b"[lmbench3.0]\n\x1b]0;gone\x07\x1b[2J: 1.0 microseconds\n",
        b"[lmbench3.0]\n" + b"a" * (1 << 20) + b": 1 microseconds\nSimple read: 1e5 microseconds\n",
        b"BYTE UNIX Benchmarks (Version 5)\n" + b"x" + b" " * (1 << 20) + b"1.0",
        b"# Running a/b benchmark\n" + b"1" * (1 << 20),
        b"# Running a/b benchmark\n" + b"\n" * (1 << 20) + b"nan",
        b"{" * 100_000,
        b'{"results":[{"command":"x","median":1e999}]}',
        b'{"results":[{"command":"x","median":-1}]}',
        b'{"benchmarks":[{"runs":[{"values":["x"]}]}]}',
        b'{"benchmarks":[{"runs":[{"values":[]}]}],"metadata":{"name":{"a":1}}}',
        b"1" * (1 << 20),
    ],
    ids=range(14),
)
def test_hostile_bytes_are_an_error_or_a_valid_result(data: bytes, tmp_path: Path) -> None:
    """Expected: an error with a next step, or a result that can be stored, read again and shown without harm. Broken: a
    traceback, a hang, an escape sequence kept."""
    try:
        [found] = publications(data, "x\x1b")
    except KernometerError as error:
        assert error.next_step
        return
    kept = papers.of_file(Store(tmp_path).keep(found))
    assert kept == found
    assert all(one.row.isprintable() for one in found.figures)


def test_bytes_changed_at_random_never_escape() -> None:
    draw = random.Random(14)
    for name in FILES:
        data = bytearray(contents(name))
        for _ in range(50):
            changed = bytearray(data)
            for _ in range(draw.randrange(1, 9)):
                changed[draw.randrange(len(changed))] = draw.randrange(256)
            try:
                found = publications(bytes(changed), name, command=SIMPLE if name == "perf-simple.txt" else "")
            except KernometerError:
                continue
            assert msgspec.json.decode(msgspec.json.encode(found), type=tuple[Publication, ...]) == found


def test_a_file_beyond_the_limit_is_refused() -> None:
    with pytest.raises(ResultError, match="16 MiB"):
        publication(b" " * (MAX_BYTES + 1), "x")


def test_an_imported_result_is_listed_found_and_read_again(tmp_path: Path) -> None:
    store = Store(tmp_path)
    path = store.keep(read("lmbench.txt"))
    [listed] = store.summaries(label="old")
    assert (listed.path, listed.target, listed.rows, listed.complete) == (path, "lmbench", 28, True)
    for name in ("old", "@last", path.stem, str(path)):
        column = store.column(name)
        assert column is not None and len(column.publication.figures) == 28
    with pytest.raises(ResultError, match="no samples"):
        store.load("old")
    store.keep(read("lmbench.txt"))
    with pytest.raises(UsageError, match="2 results without samples"):
        store.column("label:old")


@pytest.mark.parametrize("change", [b"{", b'{"type":"paper"', b'{"type":"paper","format":1}', b""])
def test_a_damaged_one_is_listed_as_such(tmp_path: Path, change: bytes) -> None:
    store = Store(tmp_path)
    path = store.keep(read("lmbench.txt"))
    lines = path.read_bytes().splitlines()
    path.write_bytes(b"\n".join([change, *lines[1:]]) if change != b"{" else b"\n".join([lines[0], change]))
    [listed] = store.summaries()
    assert listed.problem


def test_two_results_of_a_suite_are_compared_row_by_row() -> None:
    before = read("lmbench.txt")
    after = publication((OUTPUTS / "lmbench.txt").read_bytes().replace(b"0.1420", b"0.2840"), "x")
    pairs = {one.row: one.ratio for one in columns(before, "measured", after, "measured")}
    assert pairs["one run of lmbench: Simple syscall"] == pytest.approx(2)
    assert len(pairs) == 28
    few, many = (
        publication(b"0.126\n", "x", command=f"perf bench sched pipe -l {count}") for count in (20_000, 40_000)
    )
    [pair] = columns(few, "measured", many, "measured")
    assert pair.ratio == pytest.approx(0.5)
