"""Is every slow test in one share, and none much longer than another? Has a commit the same tests whenever they run?
Which tests may run at the same time?"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import hypothesis.core
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.conftest import DISTRIBUTION, MEASURING, deal, group, is_named, together
from tests.support.checkout import day_of_commit
from tests.support.trio.partitions import BRIEFLY_IN_TURN

pytest_plugins = ["pytester"]
ROOT = Path(__file__).parents[3]
weights = st.dictionaries(st.from_regex(r"[ab]::[cd]\[[0-9]+\]", fullmatch=True), st.floats(0.1, 30), max_size=40)


@given(weights, st.integers(1, 9))
def test_every_slow_test_is_in_exactly_one_share(minutes: dict[str, float], shares: int) -> None:
    """Expected: a partition. Broken: a test that no share has, or that two have."""
    dealt = deal(minutes, shares)
    assert len(dealt) == shares
    assert sorted(name for hand in dealt for name in hand) == sorted(minutes)


@given(weights.filter(bool), st.integers(1, 9))
def test_shares_differ_by_at_most_an_equal_share_or_the_longest_test(minutes: dict[str, float], shares: int) -> None:
    """Expected: the share with the most minutes has one bundle more than the one with the fewest. Broken: a file that
    is kept together takes a share of its own and more."""
    totals = [sum(minutes[name] for name in hand) for hand in deal(minutes, shares)]
    longest = max(sum(minutes.values()) / shares, max(minutes.values()))
    assert max(totals) - min(totals) <= longest + 1e-9


def test_tests_that_share_fixtures_are_in_one_share() -> None:
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


#: 2026-11-27 23:30 UTC: in Berlin the next day.
COMMITTED = 1795822200
DAY = COMMITTED // 86400


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A repository with one commit, written by someone long before it was committed."""
    dates = {"GIT_AUTHOR_DATE": "2020-01-01T00:00:00Z", "GIT_COMMITTER_DATE": f"{COMMITTED} +0100"}
    who = {f"GIT_{whose}_{what}": "x" for whose in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    for words in (["init", "--quiet"], ["commit", "--quiet", "--allow-empty", "--message", "x"]):
        subprocess.run(["git", *words], cwd=tmp_path, check=True, env={**os.environ, **who, **dates}, timeout=60)
    return tmp_path


def test_the_seed_is_the_utc_day_of_the_commit(checkout: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Expected: one commit has one seed, wherever and whenever. Broken, as it was: the clock's day; or the author's,
    which is older than what it was rebased upon; or that of the reader's time zone."""
    monkeypatch.setenv("TZ", "Europe/Berlin")
    monkeypatch.setattr("time.time", lambda: 0.0)
    assert day_of_commit(checkout) == DAY
    linked = checkout / "linked"
    subprocess.run(["git", "worktree", "add", "--quiet", "--detach", linked], cwd=checkout, check=True, timeout=60)
    assert day_of_commit(linked) == DAY


def test_what_is_no_checkout_has_no_commit(checkout: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Expected: None. Broken: the commit of the repository into which an archive was unpacked, or a traceback."""
    (checkout / "unpacked").mkdir()
    assert day_of_commit(checkout / "unpacked") is None
    monkeypatch.setenv("PATH", "")
    assert day_of_commit(checkout) is None


@pytest.mark.parametrize(("day", "seed"), [(20_784, 20_784), (None, 0)])
def test_one_seed_is_that_of_shares_fuzzers_and_hypothesis(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, day: int | None, seed: int
) -> None:
    """Expected: said at the head, and every random input follows from it. Broken: a test that is red once."""
    monkeypatch.setattr("tests.conftest.day_of_commit", lambda: day)
    pytester.makeini("[pytest]\nmarkers =\n    slow")
    pytester.makepyfile(
        f"""
        import hypothesis.core
        def test_seeds(commits_seed):
            assert (commits_seed, hypothesis.core.global_force_seed) == ({seed}, {seed})
        """
    )
    force = hypothesis.core.global_force_seed
    try:
        result = pytester.runpytest_inprocess("-p", "tests.conftest", "--slow-share", "7")
    finally:
        hypothesis.core.global_force_seed = force
    result.assert_outcomes(passed=1)
    again = f"seed {seed} (by the commit's day; again: make test KM_TEST_SEED={seed})"
    result.stdout.fnmatch_lines(f"slow tests: share {seed % 7} of 7, {again}")


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


@pytest.mark.parametrize(
    ("share", "passed", "processes"),
    [
        *((0, 1, "0"), (1, 8, "0"), (7, 2, "0"), (7, 2, "2")),
        *(pytest.param(*each, marks=pytest.mark.slow(minutes=0.05)) for each in ((0, 1, "2"), (1, 8, "2"))),
    ],
)
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


@pytest.mark.parametrize("each", DISTRIBUTION)
def test_what_is_tried_on_other_systems_is_there(each: str) -> None:
    """Expected: a file, and a function of it. Broken: renamed, and no longer tried anywhere else."""
    name, _, function = each.partition("::")
    assert f"def {function or 'test_'}" in (ROOT / name).read_text()


def test_trio_is_tried_elsewhere_as_mono_and_as_micro() -> None:
    assert "tests/guest/trio/test_checksum.py" in DISTRIBUTION
    assert "mono" in BRIEFLY_IN_TURN
    assert "micro" in BRIEFLY_IN_TURN
