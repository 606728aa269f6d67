"""What structure costs in cycles: factors, parts and ends of what was counted."""

from __future__ import annotations

import pytest

from kernometer.explain.cycles import cycles
from kernometer.explain.structure_factors import in_cycles
from kernometer.results.model import Result
from tests.support.explain.memory import SKYLAKE, modelled

CALL = {"instructions": 138, "syscalls": 1}
SERVED = {"instructions": 398, "syscalls": 2, "cr3_writes": 2, "walks": 19, "dtlb_misses": 19, "tagged_dtlb_misses": 1}
LINUX = {"instructions": 367, "syscalls": 1, "l1i_misses": 30}
ROW = "syscall/getppid"


def systems(**changes: str) -> dict[str, list[Result]]:
    rows = {"linux": LINUX, "mono": CALL, "hybrid": CALL | {"instructions": 390}, "micro": SERVED}
    return {
        name: [modelled(name, {ROW: counts}, of=changes.get(name, "skylake"))]
        for name, counts in rows.items()
        if changes.get(name) != ""
    }


def test_factors_are_of_the_cycles_and_parts_of_the_difference() -> None:
    """Expected: micro over mono, without and with tags; shares that sum to 1. Broken: instructions' ratio."""
    of = in_cycles(systems(), [ROW])
    assert of and of.structure and of.structure_tagged and of.written and of.domains and of.spaces
    mono, micro = cycles(CALL, SKYLAKE), cycles(SERVED, SKYLAKE)
    assert of.structure.mean == pytest.approx(micro.value / mono.value)
    assert of.structure_tagged.mean == pytest.approx(cycles(SERVED, SKYLAKE, tagged=True).value / mono.value)
    assert of.domains.mean * of.spaces.mean == pytest.approx(of.structure.mean)
    assert sum(of.structure_parts.values()) == pytest.approx(1)
    assert next(iter(of.structure_parts)) == "TLB"
    assert next(iter(of.written_parts)) == "instruction cache"


def test_ends_are_of_all_costs_at_one_end() -> None:
    """Expected: the ratio at least and at most costs, in order. Broken: one system's least over another's most."""
    of = in_cycles(systems(), [ROW])
    mono, micro = cycles(CALL, SKYLAKE), cycles(SERVED, SKYLAKE)
    ratios = (micro.least / mono.least, micro.value / mono.value, micro.most / mono.most)
    assert of and of.structure_ends == pytest.approx((min(ratios), max(ratios)))


def test_a_missing_system_takes_its_factors_and_no_others() -> None:
    """Expected: no factor of Linux, all of Trio. Broken: none, or one of nothing."""
    of = in_cycles(systems(linux=""), [ROW])
    assert of and of.structure and of.written is None and of.written_parts == {}


def test_two_processors_have_no_common_answer() -> None:
    """Expected: none. Broken: cycles of one beside cycles of the other."""
    assert in_cycles(systems(micro="zen3"), [ROW]) is None
    assert in_cycles({}, [ROW]) is None
