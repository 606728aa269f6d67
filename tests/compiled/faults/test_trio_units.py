"""Faults in Trio without a guest: places, machine code, drawing, classification, and a campaign's file."""

from __future__ import annotations

import ctypes
import mmap
import struct
import subprocess
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from kernometer.errors import ResultError, TargetError
from kernometer.faults import campaign, kinds, records
from kernometer.faults.kinds import KINDS, Kind, Where, drawn
from kernometer.faults.linked import Image, link, physical
from kernometer.faults.outcomes import Findings, Outcome, Seen, findings, outcome, told, wrong
from kernometer.faults.places import CALL, JUMP, Code
from kernometer.faults.records import line, read
from kernometer.guests.inside import programs
from tests.support.faults import make

#: 0: push; 1: call copy_in; 6: call fs_read; b: jmp 15; 10: call inside; 15: ret, padding; 20: mov, ret, in a function.
TEXT = bytes.fromhex("53 e800000000 e800000000 e905000000 e80b000000 c3") + bytes(10) + bytes.fromhex("b801000000 c3")
CODE = Code(
    service="fs",
    text=TEXT,
    functions={0: "outer", 0x20: "inside"},
    instructions=(0, 1, 6, 0xB, 0x10, 0x15, 0x20, 0x25),
    targets=frozenset({0x15, 3}),
    calls={1: "copy_in", 6: "fs_read", 0x10: "inside"},
    holes=((2, 4), (7, 4)),
)
PLACES: dict[tuple[Kind, str], list[tuple[int, str]]] = {
    (kind, service): [(at, f"f+{at}") for at in range(5)] for kind in KINDS[:3] for service in ("serial", "vm", "fs")
}


# Places --------------------------------------------------------------------------------------------------------------


def test_a_call_is_put_over_an_instruction_where_nobody_jumps_into_it_and_no_function_ends() -> None:
    """Expected: 1 is left out (a jump to 3 leads into it); 0x25 (the code ends) too. Broken: a fault that strikes
    another function than it says."""
    assert list(CODE.anywhere()) == [6, 0xB, 0x10, 0x15, 0x20]


@pytest.mark.parametrize(
    ("kind", "offsets"),
    [("leak", (1, 6, 0x10)), ("wrong-data", (1,)), ("bad-message", (6,)), ("not-done", (1, 6, 0x10))],
)
def test_a_kind_stands_in_place_of_calls_that_it_fits(kind: Kind, offsets: tuple[int, ...]) -> None:
    assert kinds.places(kind, CODE) == offsets


def test_a_jump_to_another_function_is_a_call(tmp_path: Path) -> None:
    """Expected: the functions' last calls, of others and of their own, with the jump kept; a loop is none. Broken: a
    driver's handler, which hands its work on so, that gets no wrong answer."""
    source, made = tmp_path / "a.c", tmp_path / "a.o"
    source.write_text(
        "long outside(long); static __attribute__((noinline)) long own(long a) { long n = 0;"
        ' do { n += outside(a); __asm__ volatile(".skip 200"); } while (--a); return n; }'
        " long first(long a) { return outside(a + 1); } long second(long a) { return own(a + 2); }"
    )
    compiler = (*programs.static_compiler(), "-O2", "-c", "-fcf-protection=none", str(source), "-o", str(made))
    subprocess.run(compiler, check=True, timeout=60)
    found = campaign.disassembled("a", made)
    calls = {(found.function(at).split("+")[0], found.text[at], name) for at, name in found.calls.items()}
    assert calls == {("own", CALL, "outside"), ("first", JUMP, "outside"), ("second", JUMP, "own")}
    for at in found.calls:
        put = kinds.mutation(found, at, Where(0x1000, 0x5000, 0, {}))
        assert (put[0], int.from_bytes(put[1:], "little")) == (found.text[at], 0x4000 - at - 5)


def test_code_is_found_in_a_linked_text_whatever_the_linker_filled_in() -> None:
    """Expected: its place; none where it is twice, or where another byte differs. Broken: a fault at another place."""
    linked = bytearray(TEXT)
    linked[2:6] = b"\1\2\3\4"
    assert CODE.within(b"\x90" * 48 + linked + b"\xcc" * 5) == 48
    assert CODE.within(bytes(linked) * 2) is None
    linked[0] ^= 1
    assert CODE.within(bytes(linked)) is None


IMAGE = Image("fs", 0x400000, b"\x90" * 64 + TEXT, {"pages_take": (0x400000,), "pages_give": (0x400010, 0x400050)})


def test_a_faults_code_stands_behind_all_code_or_in_a_function_that_never_ran() -> None:
    """Expected: the first multiple of 16 on the last page where that has room; else a function that never ran."""
    assert IMAGE.room(()) == 0x400070
    full = Image("fs", 0x400000, bytes(4000), {"a": (0x400000,), "b": (0x400400,), "c": (0x400500,)})
    assert full.room({0x400410}) == 0x400000
    with pytest.raises(TargetError, match="no room"):
        full.room({0x400410, 0x400000})


def test_where_a_structure_has_the_code_calls_lead_as_the_linker_made_them() -> None:
    """Expected: the callee by the linked call, and of functions that domains have each the one behind the service."""
    one = link(CODE, [IMAGE])
    assert one.text == 0x400040
    where = one.where(0x10, ())
    assert where.callee == 0x400040 + 0x20
    assert where.functions == {"pages_take": 0x400000, "pages_give": 0x400050}
    with pytest.raises(TargetError, match="other sources"):
        link(CODE, [])


def test_the_pages_of_a_program_are_found_by_its_page_tables_and_its_bytes() -> None:
    """Expected: of two spaces the one whose first page has the program's code. Broken: a fault in another process."""
    memory = bytearray(16 * 4096)
    for root, page in ((4, 12), (8, 13)):
        for level, index in enumerate((0, 0, 2, 0)):  # 0x400000
            below = root + level + 1 if level < 3 else page
            struct.pack_into("<Q", memory, (root + level) * 4096 + 8 * index, below * 4096 | 1)
    struct.pack_into("<QQ", memory, 0x200, 4 * 4096, 8 * 4096)
    memory[13 * 4096 : 13 * 4096 + len(IMAGE.text)] = IMAGE.text
    assert physical(IMAGE, memoryview(memory), (0x200, 64)) == {0x400000: 13 * 4096}
    with pytest.raises(TargetError, match="no fs in its memory"):
        physical(IMAGE, memoryview(memory), (0x200, 8))


# Kinds ---------------------------------------------------------------------------------------------------------------


@pytest.fixture
def run() -> Callable[..., int]:
    """Runs a fault's code here: its callee and pages_take are the functions that are given as machine code."""
    memory = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    base = ctypes.addressof(ctypes.c_char.from_buffer(memory))

    def call(kind: Kind, value: int, offset: int, callee: str, *arguments: object) -> int:
        where = Where(base, base, base + 1024, dict.fromkeys(kinds.NEEDED, base + 2048))
        made = kinds.machine_code(kind, value, CODE, offset, where)
        assert len(made) <= kinds.ROOM
        for at, code in ((0, made), (1024, bytes.fromhex(callee)), (2048, b"\x31\xff\x31\xf6\x31\xc0\xc3")):
            memory[at : at + len(code)] = code
        function = ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_void_p] * len(arguments))(base)
        return int(function(*arguments))

    return call


#: The sum of the first two words; the eighth word, which is on the stack.
SUM, EIGHTH = "488d0437 c3", "488b442410 c3"


def test_wrong_answers_are_of_the_callee(run: Callable[..., int]) -> None:
    assert run("not-done", 0, 6, SUM, 40, 2) == 0
    assert run("wrong-value", 4, 6, SUM, 40, 2) == 42 ^ 16
    assert run("wrong-value", 4, 6, EIGHTH, 1, 2, 3, 4, 5, 6, 7, 8) == 8 ^ 16
    assert run("bad-message", 3, 6, SUM, 40, 2) == (40 ^ 8) + 2
    assert run("bad-message", 259, 6, SUM, 40, 2) == 40 + (2 ^ 1 << 259 % 31)


def test_a_leak_changes_no_argument(run: Callable[..., int]) -> None:
    """Expected: pages_take, which changes registers, is not seen by the callee; use after free without a page too."""
    assert run("leak", 0, 6, SUM, 40, 2) == 42
    assert run("use-after-free", 7, 6, SUM, 40, 2) == 42


@pytest.mark.parametrize(("size", "wrong"), [(64, 1), (5, 0)])
def test_wrong_data_is_one_bit_of_a_copy_that_is_long_enough(run: Callable[..., int], size: int, wrong: int) -> None:
    to = ctypes.create_string_buffer(64)
    assert run("wrong-data", 5 + 256 * 3, 1, "31c0c3", to, 0, 0, 0, size) == 0
    assert to.raw == bytes(5) + bytes((8 * wrong,)) + bytes(58)
    assert run("wrong-data", 5, 1, "b8ffffffff 4898 c3", to, 0, 0, 0, size) == -1


# Drawing -------------------------------------------------------------------------------------------------------------


def test_a_seed_draws_the_same_faults_and_a_longer_campaign_begins_with_them() -> None:
    first = drawn(PLACES, ["serial"], 10, 7, 300)
    assert drawn(PLACES, ["serial"], 40, 7, 300)[:10] == first
    assert drawn(PLACES, ["serial"], 10, 8, 300) != first


def test_drivers_and_others_have_half_of_the_faults_each_and_kinds_take_turns() -> None:
    faults = drawn(PLACES, ["serial"], 60, 1, 300)
    assert sum(one.service == "serial" for one in faults) == 30
    assert {kind: sum(one.kind == kind for one in faults) for kind in KINDS[:3]} == dict.fromkeys(KINDS[:3], 20)
    assert {one.operation <= 150 for one in faults} == {True}


def test_where_nothing_can_be_struck_nothing_is_drawn() -> None:
    assert drawn({("leak", "fs"): []}, [], 5, 1, 300) == ()


# Outcomes ------------------------------------------------------------------------------------------------------------

USUAL = Findings(ended="finished", slowest_ns=10_000_000)


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, "masked"),
        ({"slowest_ns": 49_000_000}, "masked"),
        ({"slowest_ns": 51_000_000}, "delayed"),
        ({"services": ("fs",)}, "delayed"),
        ({"errors": 1, "services": ("fs",)}, "error"),
        ({"steps_failed": ("unmounted",)}, "error"),
        ({"errors": 1, "lost": 1}, "lost"),
        ({"wrong": 1}, "lost"),
        ({"strange": 1}, "lost"),
        ({"fsck": 4}, "error"),
        ({"damage": 1, "errors": 1}, "lost"),
        ({"refused": 1}, "error"),
        ({"ended": "hung", "lost": 1}, "hung"),
        ({"ended": "dead"}, "dead"),
    ],
)
def test_an_outcome_is_the_worst_that_was_seen(changes: dict[str, object], expected: Outcome) -> None:
    assert outcome(msgspec.structs.replace(USUAL, **changes), USUAL) == expected


def test_files_in_memory_are_judged_where_the_guest_could_list_them() -> None:
    """Expected: a kept file that another has replaced is lost; without a list nothing is. Broken: a file system that
    answers EIO counts as one that lost all."""
    path = "/tmp/w7/a/s0"  # noqa: S108  # in the guest
    kept = {"event": "kept", "file": 1, "version": 0, "path": path}
    lines = [{"event": "start", "seed": 7}, kept, {"event": "file", "path": path, "content": "eA=="}]

    def lost(status: int) -> int:
        listed = {"event": "listed", "status": status, "directory": "/tmp"}  # noqa: S108  # as above
        told = b"".join(msgspec.json.encode(one) + b"\n" for one in (*lines, listed))
        return findings(Seen(told, "trio: fs ends: a fault\n", "finished", 1, 0, b"")).lost

    assert (lost(0), lost(1)) == (1, 0)


def test_services_that_end_and_begin_anew_are_named_with_their_pauses() -> None:
    console = "trio: fs ends: page fault\r\na line\r\ntrio: fs has begun anew, after 50123 ns\r\n"
    shown = findings(Seen(b"", console, "finished", 1, 0, b""))
    assert (shown.services, shown.pauses_ns) == (("fs",), (50123,))


def test_what_the_checksums_refuse_is_counted_and_told() -> None:
    """Expected: as often as the service says so itself, of which only the end is kept. Broken: a driver's wrong answer
    that counts as one that nobody found."""
    said = "trio: checksum: sector {} is not what was written ({} such answers)\r\n"
    shown = findings(Seen(b"", "lines before\r\n" + said.format(7, 41) + said.format(9, 42), "finished", 1, 0, b""))
    assert (shown.refused, told(shown), wrong(shown, shown)) == (42, True, False)
    silent = msgspec.structs.replace(USUAL, lost=1)
    assert (told(silent), wrong(silent, USUAL)) == (False, True)


# The file ------------------------------------------------------------------------------------------------------------


def test_files_are_put_together_by_target_and_a_fault_counts_once(tmp_path: Path) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    one.write_bytes(line(make.header("qemu:trio-micro")) + line(make.record(0)) + line(make.record(1, struck=0)))
    two.write_bytes(line(make.header("qemu:trio-micro")) + line(make.record(1, struck=0)) + line(make.record(2)))
    [both] = read([one, two])
    assert [record.number for record in both.records] == [0, 1, 2]
    assert len(both.struck) == 2


@pytest.mark.parametrize(
    "content",
    [
        b"what\n",
        line(make.record(0)),
        line(make.header("a")).replace(b'"format":1', b'"format":2'),
        line(make.header("a")) + b"{" + b" " * records.MOST_LINE + b"}\n" + line(make.record(0)),
        line(make.header("a")) + line(make.header("a", operations=9)),
    ],
)
def test_another_file_is_an_error(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "file"
    path.write_bytes(content)
    with pytest.raises(ResultError):
        read([path])


def test_an_interrupted_campaign_is_read_up_to_its_last_whole_line(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(line(make.header("a")) + line(make.record(0)) + line(make.record(1))[:-20])
    [one] = read([path])
    assert len(one.records) == 1


def test_the_largest_file_and_the_longest_line_are_limited(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"0" * records.MOST_LINE)
    with pytest.raises(ResultError, match="line 1 is too long"):
        read([path])
    path.write_bytes(b"\n" * 2000)
    monkeypatch.setattr(records, "MOST_FILE", 1999)
    with pytest.raises(ResultError, match="more than 1,999 bytes"):
        read([path])
