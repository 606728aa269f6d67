"""The language of explain/rules.toml."""

from __future__ import annotations

import pytest

from kernometer.explain.expression import Holds, LanguageError, condition, expression, holds, value
from kernometer.explain.systems import Interval, Pair, System

ROWS = {"a/b@n=0": 10.0, "a/b@n=4": 18.0, "a/b@n=8": 26.0, "c/d": 2.0, "e/f": None}


def pair(hertz: float | None = 1e9) -> Pair:
    costs = {row: None if cost is None else Interval(cost, cost, cost, "ns") for row, cost in ROWS.items()}
    counts = {"c/d": Interval(5, 6, 7, "instructions")}
    return Pair(System("x", "time", costs, {}, hertz), System("y", "path", counts, {}))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1 + 2 * 3 - 8 / 4", 5.0),
        ("(1 + 2) * 3", 9.0),
        ("X[a/b@n=4] / X[c/d]", 9.0),
        ("X[not/there | c/d] * 2", 4.0),
        ("slope(X[a/b@n=*])", 2.0),
        ("most(X[a/b@n=*]) - least(X[a/b@n=*])", 16.0),
        ("spread(X[a/b@n=*])", 2.6),
        ("spread(X[c/d], X[a/b@n=0], X[a/b@n=4])", 9.0),
        ("missing(X[e/f])", 1.0),
        ("missing(X[a/b@n=*])", 0.0),
        ("cycles(X[c/d])", 2.0),
        ("off(ticks(X[a/b@n=8], 100000000))", 0.4),
        ("off(ticks(X[c/d], 100000000))", 0.8),  # less than a tick is no whole number of them
        ("X[e/f]", None),
        ("X[e/f] / X[c/d]", None),
        ("Y[c/d] / X[c/d]", None),  # instructions over nanoseconds
        ("Y[c/d] - X[c/d]", None),
        ("cycles(Y[c/d])", None),
        ("X[c/d] / (X[c/d] - X[c/d])", None),
        ("slope(X[c/d])", None),
    ],
)
def test_values(text: str, expected: float | None) -> None:
    found = value(expression(text), pair())
    assert (found and found.value) == (expected and pytest.approx(expected))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Y[c/d] >= 5", Holds.YES),
        ("Y[c/d] >= 6", Holds.BARELY),
        ("Y[c/d] >= 7", Holds.NO),
        ("Y[c/d] >= 8", Holds.NO),
        ("Y[c/d] <= 7", Holds.YES),
        ("Y[c/d] <= 6", Holds.BARELY),
        ("X[not/there] >= 1", Holds.UNKNOWN),
        ("X[c/d] >= Y[c/d]", Holds.UNKNOWN),
    ],
)
def test_a_condition_holds_over_an_interval_or_in_its_middle(text: str, expected: Holds) -> None:
    assert holds(condition(text), pair()) is expected


def test_cycles_need_a_stated_clock_rate() -> None:
    assert holds(condition("cycles(X[c/d]) >= 1"), pair(hertz=None)) is Holds.UNKNOWN


@pytest.mark.parametrize(
    "text",
    [
        "",
        "X[a/b]",
        "X[a/b] >= ",
        ">= 2",
        "Z[a/b] >= 1",
        "X[a/b >= 1",
        "median(X[a/b]) >= 1",
        "(1 >= 2",
        "1 >= 2 3",
        "1 >= X",
        "X[a/b] > 1",
        "1 <= X[a/b] <= 2",
        "most(X[a/b], 2) >= 1",
        "exit() >= 1",
    ],
)
def test_what_is_no_condition_is_refused_with_its_place(text: str) -> None:
    with pytest.raises(LanguageError):
        condition(text)
