"""Rules on costs that are made up: each speaks where it must, and is silent where it must."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest

from kernometer.explain.diagnosis import Confidence, Diagnosis, Finding, diagnose
from kernometer.explain.systems import Interval, Shown, System
from kernometer.report.explanation.diagnosis import rules
from kernometer.stats.model import RowComparison, Verdict

CASES: dict[str, dict[str, Any]] = tomllib.loads((Path(__file__).parent / "rule_cases.toml").read_text())


def system(name: str, rows: dict[str, float], *, path: bool = False, hertz: float | None = None) -> System:
    unit = "instructions" if path else "ns"
    costs = {row: Interval(cost, cost, cost, unit) if cost else None for row, cost in rows.items()}
    shown = {row: Shown(cost, unit) for row, cost in rows.items()}
    return System(name, "path" if path else "time", costs, shown, hertz, frozenset(rows))


def found(of: Diagnosis, rule: str, name: str = "x") -> Finding | None:
    return next((one for one in of.findings if (one.rule.name, one.system) == (rule, name)), None)


def of_case(rule: str, *, silent: bool) -> Diagnosis:
    case = CASES[rule]
    rows = case["silent"]["x"] if silent else case["x"]
    x = system("x", rows, path=case.get("path", False), hertz=case.get("hertz"))
    y = system("y", case["y"], path=case.get("path", False)) if "y" in case else None
    return diagnose(rules(), x, y)


def test_every_rule_has_its_two_cases() -> None:
    assert [rule.name for rule in rules().rule] == [*CASES]


@pytest.mark.parametrize("rule", CASES)
def test_a_rule_speaks_where_it_must(rule: str) -> None:
    """Expected: the finding, with a number and the rows of it. Broken: a cause that is there is missed."""
    one = found(of_case(rule, silent=False), rule)
    assert one is not None
    assert one.confidence >= Confidence.HYPOTHESIS
    assert one.evidence
    assert all(each.rows for each in one.evidence)


@pytest.mark.parametrize("rule", CASES)
def test_a_rule_is_silent_where_it_must(rule: str) -> None:
    """Broken: a cause is told that is not there."""
    assert found(of_case(rule, silent=True), rule) is None


def test_two_equal_systems_have_no_cause() -> None:
    """Expected: what holds of both is a trait, no cause. Broken: a finding between two equal kernels."""
    for case in CASES.values():
        rows = case["x"]
        of = diagnose(rules(), system("x", rows), system("y", rows))
        assert not [one for one in of.findings if one.kind == "cause"]
        assert not of.undecided


def test_the_row_that_would_refute_a_hypothesis_decides_it() -> None:
    """Expected: refuted by a flat fork-rss, shown by a steep one. Broken: a hypothesis stays one."""
    case = CASES["fork-suspected"]
    for name, rule, confidence in (
        ("fork-shares", "fork-suspected", Confidence.REFUTED),
        ("fork-copies", "fork-copies", Confidence.SHOWN),
    ):
        x, y = system("x", case["x"] | CASES[name]["x"]), system("y", case["y"])
        one = found(diagnose(rules(), x, y), rule)
        assert one is not None
        assert one.confidence is confidence
    assert found(diagnose(rules(), x, y), "fork-suspected") is None  # fork-copies says it better
    soft = CASES["emulated-floating-point"]["x"]
    for cost, confidence in ((32000, Confidence.SHOWN), (3e6, Confidence.REFUTED), (90000, Confidence.LIKELY)):
        one = found(diagnose(rules(), system("x", soft | {"cpu/arith-double-soft": cost})), "emulated-floating-point")
        assert one is not None
        assert one.confidence is confidence
        assert one.outcome is not None
        assert one.outcome.words == "arith-double-soft costs {} times arith-double"  # with its number in the output


def test_a_fork_that_is_shorter_is_not_suspected() -> None:
    """Linux beside MINIX. Expected: nothing of a fork that is shorter, if less so than calls. Broken: it copies."""
    x = system("x", {"proc/fork-exit": 175e3, "syscall/mix": 1871}, path=True)
    y = system("y", {"proc/fork-exit": 339e3, "syscall/mix": 17020}, path=True)
    assert not diagnose(rules(), x, y).findings


def test_rows_that_nothing_explains_are_undecided_with_what_is_lacking() -> None:
    """Expected: the rows, which rules could speak and what they lack. Broken: silence reads as equality."""
    x = system("x", {"fs/create-read@files=10,reads=10": 90.0, "syscall/getppid": 200.0})
    y = system("y", {"fs/create-read@files=10,reads=10": 10.0, "syscall/getppid": 190.0})
    [one] = diagnose(rules(), x, y).undecided
    assert (one.family, one.rows) == ("fs", (("fs/create-read@files=10,reads=10", 1 / 9),))
    assert "no-page-cache" in dict(one.lacking)
    assert one.excluded == ("calls-intercepted",)


def judged(row: str, ratio: float, low: float, high: float, verdict: Verdict) -> RowComparison:
    return RowComparison(row, row, verdict, ratio=ratio, low=low, high=high)


def test_a_ratio_that_the_comparison_does_not_decide_is_no_evidence() -> None:
    """Expected: the whole interval must be beyond the bound, in both directions. Broken: noise between two sessions of
    one kernel is called a cause.
    """
    case = CASES["entry-longer"]
    x, y = system("x", case["x"]), system("y", case["y"])
    unsure = {row: judged(row, 0.7, 0.4, 1.2, Verdict.UNDECIDED) for row in case["x"]}
    assert found(diagnose(rules(), x, y), "entry-longer") is not None
    assert found(diagnose(rules(), x, y, unsure), "entry-longer") is None
    sure = {"syscall/getppid": judged("syscall/getppid", 0.71, 0.7, 0.72, Verdict.FASTER)}
    assert found(diagnose(rules(), x, y, sure), "entry-longer") is not None
    assert found(diagnose(rules(), y, x, sure), "entry-longer") is None  # then B would be the slower one
