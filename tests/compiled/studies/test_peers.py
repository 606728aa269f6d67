"""Other suites' outputs are read to the figure that they print, or not at all; and the pairs can be measured."""

from __future__ import annotations

import math
import shlex
from dataclasses import replace
from pathlib import Path

import pytest

from studies.peers import __main__ as peers
from studies.peers import reading
from studies.peers.measuring import Absent, Agreement, agreement, measure
from studies.peers.pairs import PAIRS, Pair, causes, witness
from studies.peers.reading import MIB, Reading, ReadingError
from studies.section import AGREEMENT, written
from tests.support.turns import in_turn

OUTPUTS = Path(__file__).parent / "outputs"
#: What the tools printed here, the reading, and the nanoseconds that it should find.
READ: list[tuple[str, Reading, float]] = [
    ("perf-syscall-basic", reading.perf_usecs, 495.802),
    ("perf-sched-pipe", reading.perf_usecs, 15622.7),
    ("perf-mem-memcpy", reading.perf_bytes(MIB), MIB * 1e9 / 5115890800.602056),
    ("perf-mem-memset", reading.perf_bytes(MIB), MIB * 1e9 / 7207434426.379749),
    ("stress-ng-switch", reading.stress_rate("switch"), 1e9 / 74700.42),
    ("stress-ng-eventfd", reading.stress_rate("eventfd"), 1e9 / 25096.21),
    ("stress-ng-fork", reading.stress_rate("fork"), 1e9 / 229.79),
    ("stress-ng-pthread", reading.stress_rate("pthread"), 1e9 / 1273.33),
    ("stress-ng-sigsegv", reading.stress_rate("sigsegv"), 1e9 / 39345.49),
    ("stress-ng-vdso", reading.stress_nanoseconds("vdso", "per call (excluding test overhead)"), 123.49),
    ("stress-ng-tsc", reading.stress_nanoseconds("tsc", "per time counter read"), 30.94),
    ("hackbench", reading.hackbench(200_000), 0.328e9 / 200_000),
    ("dd", reading.dd(1_000_000), 879.184),
    ("sysbench-memory-write", reading.sysbench_memory(MIB), 1e9 / 4556.93),
    ("sysbench-memory-read", reading.sysbench_memory(MIB), 1e9 / 5603.17),
    ("sysbench-fileio", reading.sysbench_reads, 1e9 / 419459.59),
    ("fio-read", reading.fio("read"), 862e6 / 196608),
    ("fio-write", reading.fio("write"), 1132e6 / 256),
    ("hyperfine", reading.hyperfine, 1592118.5),
    ("witness-fork", reading.witness, 39170.33),
]


@pytest.mark.parametrize(("name", "read", "expected"), READ, ids=[name for name, _, _ in READ])
def test_a_real_output_is_read(name: str, read: Reading, expected: float) -> None:
    assert read((OUTPUTS / f"{name}.txt").read_text()) == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize(("name", "read", "expected"), READ, ids=[name for name, _, _ in READ])
def test_what_is_not_the_output_is_an_error(name: str, read: Reading, expected: float) -> None:  # noqa: ARG001  # the table has it
    """Expected: ReadingError for nothing, a half, a figure twice, a 0. Broken: 0 ns, or the first number that fits."""
    text = (OUTPUTS / f"{name}.txt").read_text()
    for wrong in ("", "error: no such test\n", text + text, text[: len(text) // 4]):
        with pytest.raises(ReadingError):
            read(wrong)


def test_a_rate_of_nothing_is_an_error() -> None:
    with pytest.raises(ReadingError):
        reading.perf_usecs("       0.000000 usecs/op\n")
    with pytest.raises(ReadingError):
        reading.hyperfine('{"results": [{"times": [0.1], "exit_codes": [1]}]}')


def test_every_pair_says_what_it_is() -> None:
    """Expected: words for both columns, packages that setup installs, and one pair a row and command."""
    needed = (Path(__file__).parents[3] / "packaging/requirements" / "system.txt").read_text()
    assert len({(pair.rows, pair.theirs) for pair in PAIRS}) == len(PAIRS) >= 12
    for pair in PAIRS:
        assert pair.operation and pair.why
        assert pair.package == "coreutils" or f"| {pair.package} " in needed
    assert {row.partition("/")[0] for pair in PAIRS for row in pair.rows} >= {
        "syscall",
        "ctx",
        "proc",
        "mem",
        "fs",
        "ipc",
    }


def test_the_ratio_is_theirs_over_ours_by_blocks() -> None:
    """Known truth: theirs costs twice as much in every block, whatever the block. Broken: 0.5, or means of sides."""
    logs = [(math.log(cost), math.log(2 * cost)) for cost in (100.0, 300.0, 50.0)]
    found = agreement(PAIRS[0], logs)
    assert (found.ratio, found.low, found.high) == pytest.approx((2, 2, 2))
    assert found.theirs / found.ours == pytest.approx(2)


def test_a_missing_program_is_named_with_its_package(tmp_path: Path) -> None:
    pair = replace(PAIRS[0], theirs=("no-such-program",), package="no-such-package")
    (found,) = measure([pair], 2, 0.01, 1, tmp_path, print)
    assert isinstance(found, Absent)
    assert "no-such-program" in found.why and "no-such-package" in peers.line(found)


def test_a_program_that_fails_has_no_figure(tmp_path: Path) -> None:
    (found,) = measure([replace(PAIRS[0], theirs=("false",))], 2, 0.01, 1, tmp_path, print)
    assert isinstance(found, Absent) and "status 1" in found.why


def test_the_pages_take_the_tables_between_their_markers() -> None:
    places = (
        (peers.PAGE, ("studies/peers", "studies/peers --witness", "studies/peers --causes")),
        (AGREEMENT, ("studies/observer", "studies/agreement", "studies/deciders")),
    )
    for path, script in ((path, script) for path, scripts in places for script in scripts):
        page = written(path.read_text(), script, "| new |")
        assert page.count("| new |") == 1
        assert written(page, script, "| newer |").count("| new |") == 0
    with pytest.raises(ValueError, match="no place"):
        written("no markers", "studies/peers", "")


@pytest.mark.parametrize("tool", in_turn(["perf", "dd"], 0.05, always=["perf"]))
def test_two_pairs_are_measured(tool: str, tmp_path: Path) -> None:
    """Expected: both sides have a figure of the same size, within a factor of 100 on the busiest machine."""
    pair = next(pair for pair in PAIRS if pair.theirs[0] == tool)
    (found,) = measure([pair], 3, 0.02, 1, tmp_path, print)
    assert isinstance(found, Agreement), found.why
    assert 0.01 < found.ratio < 100
    assert found.low <= found.ratio <= found.high
    assert pair.operation in peers.line(found)


@pytest.mark.parametrize(
    "pair", in_turn(witness(), 0.03, always=witness()[:1]), ids=lambda pair: "-".join(pair.theirs[1:])
)
def test_the_witness_is_compiled_and_measures_the_same_operation(pair: Pair, tmp_path: Path) -> None:
    """Expected: a figure of the same size, within a factor of 100 on the busiest machine. Broken: another operation."""
    (found,) = measure([pair], 2, 0.02, 1, tmp_path, print)
    assert isinstance(found, Agreement), found.why
    assert 0.01 < found.ratio < 100


#: What is over soonest.
BRIEF = [pair for pair in causes() if pair.theirs[1].strip("-") in ("sigsegv", "p")]


@pytest.mark.parametrize("pair", in_turn(causes(), 0.06, always=BRIEF), ids=lambda pair: pair.theirs[1].strip("-"))
def test_a_cause_is_measured_on_both_sides(pair: Pair, tmp_path: Path) -> None:
    """Expected: a figure of the same size, within a factor of 100 on a busy machine, and what was added is named."""
    (found,) = measure([pair], 2, 0.02, 1, tmp_path, print)
    assert isinstance(found, Agreement), found.why
    assert 0.01 < found.ratio < 100
    assert shlex.join(pair.added) in peers.line(found)


def test_what_is_added_counts_for_our_side(tmp_path: Path) -> None:
    """Known truth: `echo` says 100 ns on their side, 300 more than the row on ours. Broken: what is added is lost."""
    said = Pair((), "-", ("echo", "witness: 100 ns"), reading.witness, "one", "why", added=("echo", "witness: 300 ns"))
    folders = [tmp_path / name for name in ("alone", "with-a-row")]
    for folder in folders:
        folder.mkdir()
    (found,) = measure([said], 2, 0.02, 1, folders[0], print)
    assert isinstance(found, Agreement)
    assert (found.ours, found.theirs) == pytest.approx((300, 100))
    (found,) = measure([replace(said, rows=("syscall/getppid",))], 2, 0.02, 1, folders[1], print)
    assert isinstance(found, Agreement) and found.ours > 300


def test_a_witness_that_does_not_compile_is_told_with_the_compilers_words(tmp_path: Path) -> None:
    pair = witness()[0]
    (found,) = measure([replace(pair, before=(*pair.before, "-Dmain=0"))], 2, 0.01, 1, tmp_path, print)
    assert isinstance(found, Absent)
    assert "exited with status 1" in found.why and "witness.c" in found.why
