"""Cycles by counts and costs: each count once, by its own cost, and nothing else."""

from __future__ import annotations

import math

import msgspec
import pytest

from kernometer.explain.cycles import KINDS, SHOWN, by_difference, cycles, mean_parts, modelled, pairs, processor_of
from kernometer.results.model import Memory
from tests.support.explain.memory import SKYLAKE
from tests.support.explain.memory import modelled as counted

COSTS = SKYLAKE.costs


def test_each_count_costs_what_the_file_says() -> None:
    """Expected: the sum, and each part by itself. Broken: a count under two parts, or under none."""
    of = cycles({"instructions": 100, "syscalls": 2, "l1i_misses": 3, "walks": 5, "dtlb_misses": 7}, SKYLAKE)
    assert of.parts == pytest.approx(
        {
            "instructions": 100 * COSTS["instruction"].cycles,
            "system calls": 2 * COSTS["system_call"].cycles,
            "instruction cache": 3 * COSTS["l2_code"].cycles,
            "TLB": 5 * COSTS["walk"].cycles + 7 * COSTS["stlb"].cycles,
        }
    )
    assert of.value == pytest.approx(sum(of.parts.values()))
    assert of.least <= of.value <= of.most


def test_tags_take_other_counts_of_the_tlb_and_another_cost_of_a_switch() -> None:
    """Expected: only what tags change. Broken: walks of both, or the flushing write's cost."""
    counts = {"walks": 19, "itlb_misses": 9, "tagged_walks": 0, "tagged_itlb_misses": 1, "cr3_writes": 2}
    untagged, tagged = (cycles(counts, SKYLAKE, tagged=tags) for tags in (False, True))
    assert untagged.parts["TLB"] == pytest.approx(19 * COSTS["walk"].cycles + 9 * COSTS["stlb"].cycles)
    assert tagged.parts["TLB"] == pytest.approx(COSTS["stlb"].cycles)
    assert untagged.parts["CR3 writes"] == 2 * COSTS["cr3_write"].cycles
    assert tagged.parts["CR3 writes"] == 2 * COSTS["tagged_cr3_write"].cycles


def test_the_ends_are_in_order_for_an_operation_that_does_less_than_its_baseline() -> None:
    """Expected: least below most. Broken: ends that a negative count exchanges."""
    of = cycles({"instructions": -10}, SKYLAKE)
    assert of.least < of.value < of.most < 0


def test_every_count_that_is_shown_is_one_that_costs() -> None:
    """Expected: all heads of tables are of counts with a cost. Broken: a count of another name, always 0."""
    for name in (name for names in SHOWN.values() for name in names):
        if "string" not in name or name.startswith("l2"):
            with_it = cycles({name: 1}, SKYLAKE).value + cycles({name: 1}, SKYLAKE, tagged=True).value
            assert name in ("l1d_store_misses",) or with_it > 0, name


def test_counts_are_of_one_operation_less_the_bracket_or_the_baseline() -> None:
    """Expected: the mean less one bracket; where there is a baseline less its mean. Broken: sums, or both."""
    result = counted("one", {"syscall/getppid": {"instructions": 138, "syscalls": 1}})
    assert modelled([result])[1]["syscall/getppid"].counts == {"instructions": 138.0, "syscalls": 1.0}
    based = msgspec.structs.replace(
        result,
        memories=(
            Memory(
                row="sig/catch",
                iterations=2,
                counts={"instructions": 300},
                empty={"instructions": 25},
                baseline={"instructions": 120},
                baseline_iterations=3,
            ),
        ),
    )
    assert modelled([based])[1]["sig/catch"].counts == {"instructions": 110.0}


def test_a_processor_of_another_form_is_not_priced() -> None:
    """Expected: none, for a session that counted none, lacks a cost, or was damaged. Broken: a KeyError in a table."""
    result = counted("one", {"syscall/getppid": {"instructions": 138}})
    assert processor_of(result) == SKYLAKE
    known = msgspec.to_builtins(SKYLAKE)
    fewer = known | {"costs": {kind: known["costs"][kind] for kind in list(KINDS)[1:]}}
    for other in ({}, {"name": 1}, known | {"more": 1}, fewer):
        session = msgspec.structs.replace(result.session, processor=other)
        assert processor_of(msgspec.structs.replace(result, session=session)) is None


def test_a_session_from_before_a_kind_of_miss_was_told_apart_keeps_its_cycles() -> None:
    """Expected: the costs that there were, for all that was counted. Broken: no cycles, and no word why."""
    known = msgspec.to_builtins(SKYLAKE)
    older = known | {"costs": {kind: cost for kind, cost in known["costs"].items() if "stream" not in kind}}
    for streams in ({}, {"l1d_stream_misses": 1}):
        result = counted("one", {"syscall/getppid": {"instructions": 138, "l1d_load_misses": 2, **streams}})
        before = msgspec.structs.replace(result, session=msgspec.structs.replace(result.session, processor=older))
        processor, rows = modelled([before])
        if streams:
            assert (processor, rows) == (None, {})
        else:
            expected = 138 * COSTS["instruction"].cycles + 2 * COSTS["l2_load"].cycles
            assert rows["syscall/getppid"].cycles.value == pytest.approx(expected)


def test_of_several_sessions_the_newest_processor_and_the_newer_row_count() -> None:
    """Expected: rows of both sessions of one processor, none of the other's. Broken: the first session alone, or counts
    of two processors beside each other."""
    old = counted("old", {"syscall/getppid": {"instructions": 1}, "sig/raise": {"instructions": 2}}, started=1.0)
    other = counted("other", {"sig/catch": {"instructions": 3}}, started=2.0, of="zen3")
    new = counted("new", {"syscall/getppid": {"instructions": 4}}, started=3.0)
    processor, rows = modelled([new, other, old])
    assert processor == SKYLAKE
    assert {row: each.counts["instructions"] for row, each in rows.items()} == {"syscall/getppid": 4, "sig/raise": 2}
    assert pairs([new], [other]) == (None, ())
    assert [pair.row for pair in pairs([new, old], [new])[1]] == ["syscall/getppid"]


def test_the_parts_of_the_geometric_mean_sum_to_it() -> None:
    """Expected: the mean of the logarithms, each row's divided as its difference is; equal rows count too. Broken:
    parts of the sum of cycles, in which the longest row decides alone."""
    a = {
        "syscall/getppid": {"instructions": 100},
        "proc/fork-exit": {"instructions": 100_000},
        "sig/raise": {"reps": 1},
    }
    b = {row: counts | {"walks": 10, "syscalls": 1} for row, counts in a.items()} | {"sig/raise": {"reps": 1}}
    both = by_difference(pairs([counted("a", a)], [counted("b", b)])[1])
    assert [pair.row for pair in both] == ["syscall/getppid", "proc/fork-exit", "sig/raise"]
    parts = mean_parts(both)
    assert sum(parts.values()) == pytest.approx(sum(math.log(pair.ratio) for pair in both) / 3)
    walks, call = 10 * COSTS["walk"].cycles, COSTS["system_call"].cycles
    assert parts["TLB"] / parts["system calls"] == pytest.approx(walks / call)
    assert next(iter(parts)) == "TLB"
