"""Is every slow test run once in as many days as there are shares, and no share much longer than another? Which tests
may run at the same time?"""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.conftest import MEASURING, deal, group, is_named, together

pytest_plugins = ["pytester"]
ROOT = Path(__file__).parents[2]
weights = st.dictionaries(st.from_regex(r"[ab]::[cd]\[[0-9]+\]", fullmatch=True), st.floats(0.1, 30), max_size=40)


@given(weights, st.integers(1, 9))
def test_every_slow_test_is_in_exactly_one_share(minutes: dict[str, float], shares: int) -> None:
    """Expected: a partition. Broken: a test that no day runs, or that two do."""
    dealt = deal(minutes, shares)
    assert len(dealt) == shares
    assert sorted(name for hand in dealt for name in hand) == sorted(minutes)


@given(weights.filter(bool), st.integers(1, 9))
def test_shares_differ_by_at_most_an_equal_share_or_the_longest_test(minutes: dict[str, float], shares: int) -> None:
    """Expected: the day with the most minutes has one bundle more than the one with the fewest. Broken: a file that is
    kept together takes a day of its own and more."""
    totals = [sum(minutes[name] for name in hand) for hand in deal(minutes, shares)]
    longest = max(sum(minutes.values()) / shares, max(minutes.values()))
    assert max(totals) - min(totals) <= longest + 1e-9


def test_tests_that_share_fixtures_are_run_on_the_same_day() -> None:
    """A file, unless it is too long; then a function, unless that is."""
    minutes = {
        "a::b[0]": 1.0,
        "a::b[1]": 1.0,
        "a::c": 1.0,
        "d::e[0]": 4.0,
        "d::e[1]": 4.0,
        "d::f[0]": 1.0,
        "d::f[1]": 1.0,
    }
    assert together(minutes, 3.0) == [["a::b[0]", "a::b[1]", "a::c"], ["d::e[0]"], ["d::e[1]"], ["d::f[0]", "d::f[1]"]]


def test_the_same_seed_deals_the_same_hands() -> None:
    """Expected: a run can be repeated. Broken: the order of collection decides."""
    minutes = {f"test_{number}": float(number % 5) for number in range(30)}
    backwards = dict(reversed(minutes.items()))
    assert deal(minutes, 7) == deal(backwards, 7)


def test_a_test_that_is_named_is_run() -> None:
    assert is_named("tests/a.py::test_b[x]", ["tests/a.py::test_b"])
    assert is_named("tests/a.py::test_b[x]", ["tests/a.py::test_b[x]"])
    assert not is_named("tests/a.py::test_b[x]", ["tests/a.py", "tests/a.py::test_c"])


def test_no_two_tests_that_measure_this_machine_run_at_the_same_time() -> None:
    """Expected: one group for all of them, a group for each other file. Broken: one disturbs the other."""
    assert all((ROOT / name).exists() for name in MEASURING)
    assert (
        len({group(f"{name}::test_x" if name.endswith(".py") else f"{name}test_x.py::test_x") for name in MEASURING})
        == 1
    )
    assert (
        group("tests/test_a.py::test_b[c::d]") == group("tests/test_a.py::test_c") != group("tests/test_b.py::test_b")
    )


@pytest.mark.parametrize("processes", ["0", "2"])
@pytest.mark.parametrize(("share", "passed"), [(0, 1), (1, 8), (7, 2)])
def test_the_summary_counts_what_was_left_out(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, share: int, passed: int, processes: str
) -> None:
    """Expected: seven slow tests and a quick one: none, all, or one of the slow ones run; the rest is deselected.
    Broken: with several processes, each deals by itself."""
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    pytester.makeini("[pytest]\nmarkers =\n    slow\naddopts = -p tests.conftest")
    pytester.makepyfile(
        """
        import pytest
        def test_quick(): pass
        @pytest.mark.slow(minutes=2)
        @pytest.mark.parametrize("n", range(7))
        def test_slow(n): pass
        """
    )
    result = pytester.runpytest_subprocess("--slow-share", str(share), "--slow-seed", "3", "-n", processes)
    result.assert_outcomes(passed=passed, deselected=8 - passed if processes == "0" else 0)
    result.stdout.fnmatch_lines("slow tests: *")
