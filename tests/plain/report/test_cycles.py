"""What is shown of the memory system: on the terminal, and for programs."""

from __future__ import annotations

import msgspec

from kernometer.explain.cycles import pairs
from kernometer.report.comparison import cycles as compared
from kernometer.report.session import memory
from kernometer.report.session.systems import subject
from kernometer.report.write.terminal import Block, Grid, Line, Wide
from kernometer.stats.figures import figures
from tests.support.explain.memory import modelled

A = modelled("a", {"syscall/getppid": {"instructions": 138, "syscalls": 1}, "proc/fork-exit": {"instructions": 20_000}})
B = modelled(
    "b",
    {
        "syscall/getppid": {"instructions": 398, "syscalls": 2, "cr3_writes": 2, "walks": 19},
        "proc/fork-exit": {"instructions": 21_000},
        "sig/raise": {"instructions": 2_000},
    },
)


def text(blocks: list[Block]) -> str:
    said = []
    for block in blocks:
        if isinstance(block, Line):
            said.append(block.text)
        elif isinstance(block, Grid):
            said += [" | ".join(map(str, row)) for row in block.rows]
        elif isinstance(block, Wide):
            said += [" | ".join(map(str, (name, *cells))) for name, cells in block.rows]
    return "\n".join(said)


def test_two_systems_are_compared_by_cycles_and_the_parts_are_named() -> None:
    """Expected: common rows, the one that differs most first, with what it takes more. Broken: rows of one side."""
    said = text(list(compared.blocks([A], [B])))
    assert "on a Skylake, modelled" in said
    lines = said.splitlines()
    assert lines[1].startswith("syscall/getppid | 165 | ")
    assert "+412 CR3 writes, +380 TLB" in lines[1]
    assert lines[2].startswith("proc/fork-exit | ")
    assert "sig/raise" not in said


def test_without_counts_or_with_another_processor_nothing_is_shown() -> None:
    """Expected: nothing. Broken: cycles of two processors beside each other."""
    assert list(compared.blocks([A], [modelled("c", {"syscall/getppid": {"instructions": 1}}, of="zen3")])) == []
    assert compared.document([A], []) is None


def test_a_document_has_both_sides_with_their_ends_and_parts() -> None:
    """Expected: value, least, most, parts, and the same with tags. Broken: a number without its interval."""
    told = compared.document([A], [B])
    assert told is not None
    row = told["rows"]["syscall/getppid"]
    assert told["processor"] == "Skylake"
    b = row["b"]["cycles"]
    assert set(b) == set(b["tagged"]) | {"tagged"} == {"value", "least", "most", "parts", "tagged"}
    assert b["parts"]["TLB"] > b["tagged"]["parts"].get("TLB", 0)
    assert row["a"]["memory"] == {"instructions": 138.0, "syscalls": 1.0}
    assert row["a"]["footprint"] == {"user_code_lines": 8, "kernel_data_pages": 3}


def test_the_footprint_is_shown_where_it_differs() -> None:
    """Expected: A's counts above B's, of the rows that differ in any. Broken: equal rows, or a side without its own."""
    assert memory.FOOTPRINT not in text(list(compared.blocks([A], [B])))
    first, *others = B.memories
    wider = msgspec.structs.replace(first, footprint={"user_code_lines": 1_200, "user_data_pages": 2})
    said = text(list(compared.blocks([A], [msgspec.structs.replace(B, memories=(wider, *others))])))
    assert "where it differs" in said
    assert "syscall/getppid | A\nB | 8\n1,200 | 3\n– | –\n2" in said
    assert "proc/fork-exit | A" not in said


def test_a_sessions_tables_have_cycles_counts_and_footprint() -> None:
    """Expected: each row once in each table, written as in a comparison. Broken: counts of other systems, heads without
    counts, or thousands with another separator."""
    subjects = [subject("A", "", [B], [figures(B)])]
    said = text(list(memory.blocks(B, subjects)))
    assert "One operation on a Skylake, modelled" in said
    assert memory.FOOTPRINT in said
    assert said.count("sig/raise | ") == 2
    [cycles] = (pair.b.cycles.value for pair in pairs([A], [B])[1] if pair.row == "proc/fork-exit")
    assert f"proc/fork-exit | {cycles:,.0f} | " in said
    assert memory.counts(subjects).columns[:3] == ("cycles", "cycles, tagged", "L1I misses")


def test_a_session_that_counted_none_has_none() -> None:
    """Expected: no table, no entry. Broken: an empty table in every session by time."""
    without = modelled("d", {})
    assert list(memory.blocks(without, [subject("A", "", [without], [{}])])) == []
