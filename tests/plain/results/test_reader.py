"""Reading: what is whole is kept, what is not is said, and nothing else ever comes out."""

from __future__ import annotations

import json
import tracemalloc
from typing import TYPE_CHECKING

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernometer.errors import ResultError
from kernometer.results.reader import DamagedError, Limits, parse, parse_record
from tests.support.results import make
from tests.support.results.fuzzing import check_usable as check_result

if TYPE_CHECKING:
    from kernometer.results.model import Result

if TYPE_CHECKING:
    from collections.abc import Iterator

WHOLE = make.data(make.records(id="20261121T073012Z-1f3a9c1f3a9c"))
LINES = WHOLE.splitlines()
TIGHT = Limits(line_bytes=4000, file_bytes=60_000, records=40, samples=200, sentences=5)


def read(data: bytes, limits: Limits = TIGHT) -> Result | None:
    """A Result, or None for a ResultError; anything else fails the test that called."""
    try:
        return parse([data], limits)
    except ResultError as error:
        assert error.text
        assert error.next_step
        return None


def changed(record: int, **fields: object) -> bytes:
    """The whole file with some fields of one line replaced, as any program could."""
    lines = [json.loads(line) for line in LINES]
    lines[record] |= fields
    return "\n".join(map(json.dumps, lines)).encode()


def test_a_complete_file_comes_back_as_it_was_written() -> None:
    result = parse([WHOLE])
    assert result.damage == ()
    assert [result.session, result.header, *result.workloads.values(), *result.runs] == make_back()[:6]
    assert (result.failures[0].errno, result.unsupported[0].row) == ("EAGAIN", "ctx/yield")
    assert result.events[0].counts == {"instructions": 660}
    assert result.end is not None
    assert result.end.complete


def make_back() -> list[object]:
    return [parse_record(line) for line in LINES]


@pytest.mark.parametrize("size", [1, 7, 4096])
def test_the_size_of_the_pieces_does_not_matter(size: int) -> None:
    assert parse(WHOLE[i : i + size] for i in range(0, len(WHOLE), size)) == parse([WHOLE])


def test_a_file_cut_at_any_byte_keeps_every_whole_line() -> None:
    """Expected: all lines before the cut, and a sentence. Broken: an exception, or silence about the loss."""
    first = len(LINES[0])
    for cut in range(len(WHOLE) - 1):
        result = read(WHOLE[:cut])
        if cut < first:
            assert result is None
            continue
        assert result is not None
        assert result.damage
        whole = sum(len(line) + 1 for line in LINES[:3])
        kept = sum(cut >= whole + sum(len(line) + 1 for line in LINES[3 : 4 + i]) - 1 for i in range(3))
        assert len(result.runs) == kept
    last = read(WHOLE[:-1])
    assert last is not None  # only the last newline is missing: nothing is lost
    assert last.damage == ()


def test_a_missing_end_is_said() -> None:
    result = parse([make.data(make.records()[:-1])])
    assert "last line is missing" in result.damage[0]
    assert result.end is None


@pytest.mark.parametrize(
    ("line", "fields", "reason"),
    [
        (3, {"batch": 0}, "batch"),
        (3, {"ops": 0}, "ops"),
        (3, {"samples": []}, "samples"),
        (3, {"samples": [-1]}, "samples"),
        (3, {"samples": [2**63]}, "samples"),
        (3, {"samples": [1.5]}, "samples"),
        (3, {"seconds": 1e30}, "seconds"),
        (3, {"row": "x" * 301}, "row"),
        (3, {"involuntary": [[20, 1]]}, "at a missing sample"),
        (3, {"migrated": [20]}, "at a missing sample"),
        (3, {"loop_batch": 0}, "empty loop"),
        (3, {"type": "walk"}, "walk"),
        (4, {"run": 0}, "second time"),
        (6, {"type": "session"}, "format"),
        (2, {"unit": "furlong"}, "furlong"),
    ],
)
def test_a_bad_value_costs_its_own_line_only(line: int, fields: dict[str, object], reason: str) -> None:
    whole, result = parse([WHOLE]), parse([changed(line, **fields)])
    said = [sentence for sentence in result.damage if sentence.startswith(f"Line {line + 1} was left out")]
    assert len(said) == 1
    assert reason in said[0]
    lost_workload = line == 2
    assert len(result.runs) == (0 if lost_workload else len(whole.runs) - (line in (3, 4)))


@pytest.mark.parametrize("number", [b"NaN", b"Infinity", b"-Infinity", b"1e999", b"9" * 5000, b"null"])
def test_what_is_no_finite_number_is_damage(number: bytes) -> None:
    line = LINES[3].replace(b'"seconds":0.1', b'"seconds":' + number)
    assert line != LINES[3]
    with pytest.raises(DamagedError):
        parse_record(line)
    meter = LINES[3].replace(b'"steal_ns":0.0', b'"steal_ns":' + number)
    assert meter != LINES[3]
    with pytest.raises(DamagedError):
        parse_record(meter)


def test_fields_that_are_not_known_are_ignored() -> None:
    result = parse([changed(3, colour="green")])
    assert (len(result.runs), result.damage) == (3, ())


def test_a_newer_format_is_refused_by_its_writers_version() -> None:
    """Even where nothing else of the first line is as we know it, and where the version tries to drive a terminal."""
    newer = b'{"type":"session","format":7,"kernometer":"9.1\\u001b[2J","started":"noon"}\n'
    with pytest.raises(ResultError, match=r"format 7, written by Kernometer 9\.1\\x1b\[2J; this version reads up to 1"):
        parse([newer])
    with pytest.raises(ResultError, match=r"Kernometer 9\.1"):
        parse([changed(0, format=2, kernometer="9.1")])
    with pytest.raises(ResultError, match=r"the probe 9\.9"):
        parse([changed(1, format=2, probe={"version": "9.9"})])


def test_format_zero_never_was() -> None:
    assert read(changed(0, format=0)) is None


def test_a_repeated_header_and_definition_are_no_damage_and_rows_add_up() -> None:
    """The probe is called once a block: it says who it is each time."""
    row = make.workload().rows[0]
    again = make.workload(rows=(row, msgspec.structs.replace(row, row="x", id=4)))
    records = make.records()
    result = parse([make.data([*records[:6], make.header(seed=9), again, records[-1]])])
    assert result.damage == ()
    assert [row.row for row in result.workloads["syscall/getppid"].rows] == ["syscall/getppid", "x"]


def test_two_files_in_one_are_told_apart() -> None:
    result = parse([WHOLE + make.data(make.records())])
    assert len(result.runs) == 3
    assert len(result.damage) == len(LINES)


def test_the_limits_hold_and_say_so() -> None:
    def sentences(data: bytes) -> str:
        return " ".join(parse([data], TIGHT).damage)

    head = b"\n".join(LINES[:3]) + b"\n"
    assert "over 4,000 bytes" in sentences(head + b"[" * 5000 + b"\n")
    assert "over 4,000 bytes" in sentences(head + b"[" * 5000)
    assert "It is over 60,000 bytes" in sentences(head + b"\n" * 70_000)
    assert "more than 40 lines" in sentences(head + b"{}\n" * 50)
    assert "And 27 more of this kind" in sentences(head + b"{}\n" * 32)
    many = [make.run(number) for number in range(10)]
    result = parse([head + make.data([*many])], TIGHT)
    assert sum(len(run.samples) for run in result.runs) <= 200
    assert "over the limit of 200 samples" in result.damage[1]


@pytest.mark.parametrize(
    ("data", "why"),
    [(b"", "it is empty"), (b"x" * 70_000, "it is over 60,000 bytes"), (b"x" * 5000, "over 4,000 bytes")],
)
def test_a_file_without_a_line_says_why(data: bytes, why: str) -> None:
    """Expected: that it is too large. Broken: a file of 600 MB is called empty."""
    with pytest.raises(ResultError, match=why):
        parse([data], TIGHT)


def test_a_line_without_end_takes_no_memory() -> None:
    """Expected: about a chunk. Broken: the whole of an endless line is gathered before it is refused."""

    def endless() -> Iterator[bytes]:
        yield LINES[0] + b"\n"
        for _ in range(400):
            yield b"[" * (1 << 18)

    tracemalloc.start()
    try:
        result = parse(endless(), Limits(line_bytes=1 << 19, file_bytes=1 << 30))
        assert tracemalloc.get_traced_memory()[1] < 8 << 20
    finally:
        tracemalloc.stop()
    assert "Line 2 was left out" in result.damage[1]


def test_deep_nesting_is_damage() -> None:
    with pytest.raises(DamagedError):
        parse_record(b'{"type":"header","cpu":' + b"[" * 100_000)


@given(st.binary(max_size=2000))
@settings(max_examples=400, deadline=None)
def test_arbitrary_bytes(data: bytes) -> None:
    read(data)
    read(LINES[0] + b"\n" + data)


@given(st.lists(st.tuples(st.integers(0, len(WHOLE) - 1), st.binary(max_size=4)), min_size=1, max_size=5))
@settings(max_examples=600, deadline=None)
def test_a_complete_file_with_bytes_replaced(changes: list[tuple[int, bytes]]) -> None:
    with_bytes_replaced(changes)


@pytest.mark.slow(minutes=0.06)
@given(st.lists(st.tuples(st.integers(0, len(WHOLE) - 1), st.binary(max_size=4)), min_size=1, max_size=5))
@settings(max_examples=1500, deadline=None)
def test_a_complete_file_with_bytes_replaced_many_times(changes: list[tuple[int, bytes]]) -> None:
    with_bytes_replaced(changes)


def with_bytes_replaced(changes: list[tuple[int, bytes]]) -> None:
    data = bytearray(WHOLE)
    for place, piece in changes:
        data[place : place + len(piece) + 1] = piece
    check_usable(read(bytes(data)))


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=8,
)


@given(st.integers(0, len(LINES) - 1), st.data())
@settings(max_examples=300, deadline=None)
def test_a_complete_file_with_any_value_in_any_field(line: int, data: st.DataObject) -> None:
    with_any_value(line, data)


@pytest.mark.slow(minutes=0.13)
@given(st.integers(0, len(LINES) - 1), st.data())
@settings(max_examples=1500, deadline=None)
def test_a_complete_file_with_any_of_many_values_in_any_field(line: int, data: st.DataObject) -> None:
    with_any_value(line, data)


def with_any_value(line: int, data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(sorted(json.loads(LINES[line]))))
    check_usable(read(changed(line, **{name: data.draw(JSON)})))


@given(st.lists(st.sampled_from(LINES), max_size=20))
@settings(max_examples=300, deadline=None)
def test_lines_in_any_order_and_number(lines: list[bytes]) -> None:
    check_usable(read(b"\n".join(lines)))


def check_usable(result: Result | None) -> None:
    """What any reader of a Result relies on; a refusal is fine too."""
    if result is not None:
        check_result(result)
