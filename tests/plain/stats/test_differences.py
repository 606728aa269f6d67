"""Is every difference between two results named, and what agrees shown as such?"""

from __future__ import annotations

from typing import Any

import pytest

from kernometer.results.model import COMPARABLE, Result
from kernometer.stats.differences import TEXT_LIMIT, differences
from tests.support.stats.simulate import ROW, header, of_costs

#: What COMPARABLE names of the probe.
PROBE = ("version", "source_digest", "compiler", "flags", "libc", "linkage")


def differing(a: list[Result], b: list[Result]) -> dict[str, tuple[str, str]]:
    return {one.what: (one.a, one.b) for one in differences(a, b)[1]}


def of(name: str, **changes: Any) -> Result:
    return of_costs(name, {ROW: [100.0]}, **changes)


def test_equal_results_differ_in_nothing() -> None:
    same, differ = differences([of("a")], [of("b")])
    assert differ == ()
    assert {"by", "cpu model", "probe compiler", "clock", "page", "kernel release"} <= {one.what for one in same}
    assert all(one.a == one.b for one in same)


def test_each_comparable_fact_is_named_where_it_differs() -> None:
    """Expected: hardware, compiler, probe, clock: every path of COMPARABLE in the header is looked at."""
    changed = header(
        format=2,
        probe={
            "version": "9",
            "source_digest": "d9",
            "compiler": "clang 99",
            "flags": "-O0",
            "libc": "l9",
            "linkage": "dynamic",
        },
        cpu={"model": "another CPU", "online": 64},
        clock="rdtsc",
        page=16384,
    )
    found = differing([of("a")], [of("b", header=changed, machine="qemu 7.2")])
    assert len(found) == len(COMPARABLE) - 2  # but for `by` and the definition by path, which are refused
    assert found["probe compiler"] == ("cc 12", "clang 99")
    assert found["cpu online"] == ("2", "64")
    assert found["machine"] == ("not known", "qemu 7.2")


def test_kernel_and_host_facts_are_named_too() -> None:
    a = of("a", host={"facts": {"governor": "performance", "smt": True, "load": 0.1, "thp": {"enabled": "always"}}})
    b = of(
        "b",
        header=header(uname={"nodename": "host", "sysname": "Linux", "release": "7.0", "machine": "x86_64"}),
        host={"facts": {"governor": "powersave", "smt": True, "load": 3.0, "thp": {"enabled": "never"}}},
    )
    found = differing([a], [b])
    assert found["host governor"] == ("performance", "powersave")
    assert found["host thp enabled"] == ("always", "never")
    assert found["kernel release"] == ("6.1.0", "7.0")
    assert "host load" not in found
    assert "host smt" not in found


def test_side_that_varies_within_itself_differs() -> None:
    """Expected: two compilers on one side are a difference, even if the other side has the same two."""
    clang = header(probe={"version": "0.1", "source_digest": "d1", "compiler": "clang", "flags": "-O2"})
    found = differing([of("a"), of("b", header=clang)], [of("c"), of("d", header=clang)])
    assert found["probe compiler"] == ("cc 12; clang", "cc 12; clang")


def test_result_without_a_header_is_not_known() -> None:
    assert differing([of("a")], [of("b", header=None)])["cpu model"] == ("a CPU", "not known")


def test_text_of_a_machine_is_cut() -> None:
    found = differing([of("a")], [of("b", host={"facts": {"x" * 5000: "y" * 5000, "deep": {"a": {"b": {"c": [1]}}}}})])
    assert all(len(what) <= TEXT_LIMIT and len(b) <= TEXT_LIMIT for what, (_, b) in found.items())
    assert found["host deep a b"] == ("not known", '{"c":[1]}')


def test_texts_that_differ_late_differ() -> None:
    """Expected: command lines that differ in their last word of 1,900 characters. Broken: cut, they are the same."""
    words = "word " * 380
    found = differing([of("a", command_line=words + "nopti")], [of("b", command_line=words + "pti=on")])
    assert found["kernel command line"] == (words + "nopti", words + "pti=on")


@pytest.mark.parametrize(
    ("targets", "asked"),
    [
        (("qemu:a", "qemu:b"), {"target", "kernel release", "kernel build"}),
        (("local:-O0", "local:-O2"), {"target", "kernel release", "kernel build", "probe flags"}),
        (("local", "ssh:box"), {"target", "kernel release", "kernel build", "machine"}),
        (("local", "local"), {"kernel build"}),  # what the release says already
    ],
)
def test_what_the_names_of_targets_choose_was_asked_for(targets: tuple[str, str], asked: set[str]) -> None:
    """Expected: all else was not, among it the CPU. Broken: a warning of what is compared, or none of what is not."""
    machine = "host box: x86_64" if "ssh:box" in targets else ""
    changed = header(
        probe={"version": "0.1", "source_digest": "d1", "compiler": "cc 12", "flags": "-O0"},
        cpu={"model": "another CPU", "online": 2},
        uname={"nodename": "host", "sysname": "Linux", "release": "7.0", "version": "#2", "machine": "x86_64"},
    )
    _, differ = differences([of("a", target=targets[0])], [of("b", target=targets[1], machine=machine, header=changed)])
    assert {one.what for one in differ if one.asked} == asked
    assert "cpu model" in {one.what for one in differ if not one.asked}
