"""From words to rows, from a profile to an effort that fits."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kernometer.campaign.plan import BUDGETS, EFFORTS, ROW_SECONDS, Plan, definitions, plan_of
from kernometer.errors import UsageError
from kernometer.results.rows import Row
from kernometer.targets.base import Call


def rows(*words: str, profile: str = "quick") -> set[str]:
    return {row.row for one in definitions("time", profile, words) for row in one.rows}


def test_name_means_all_rows_of_the_profile_and_an_at_sign_means_one() -> None:
    """A row without parameters bears its workload's name. Broken: the hot row asked for, the cold one measured too."""
    assert rows("syscall/getppid") == {"syscall/getppid", "syscall/getppid@cold"}
    assert rows(Row("syscall/getppid").argument) == {"syscall/getppid"}
    assert rows(Row("syscall/getppid@cold").argument) == {"syscall/getppid@cold"}


def test_pattern_means_rows_of_the_profile() -> None:
    assert {row.partition("/")[0] for row in rows("sig/*", "clock/*")} == {"sig", "clock"}
    assert rows("ctx/ring*") < rows("ctx/ring*", profile="full")


@pytest.mark.parametrize("word", ["sycall/getppid", "ctx/pipe-pair@same", "nothing*", "", "@", "syscall"])
def test_word_that_means_nothing_is_refused_with_what_was_meant(word: str) -> None:
    with pytest.raises(UsageError) as caught:
        definitions("time", "quick", (word,))
    assert "kernometer workloads" in caught.value.next_step


def test_trios_unit_costs_are_a_registry_of_their_own() -> None:
    """Expected: its rows under their names, none of the probe's, and an error names the list that may have the word."""
    plan = plan_of(None, "path", "quick", ("trio/trap", "trio/fault"), 1, "probe-trio")
    assert plan.rows == ("trio/trap", "trio/fault@cow=0", "trio/fault@cow=1")
    assert plan.job().program == "probe-trio"
    with pytest.raises(UsageError, match="'syscall/getppid' among the unit costs") as caught:
        plan_of(None, "path", "quick", ("syscall/getppid",), 1, "probe-trio")
    assert "kernometer workloads --unit-costs" in caught.value.next_step
    with pytest.raises(UsageError) as caught:
        plan_of(None, "path", "quick", ("trio/trap",), 1)
    assert "kernometer workloads --unit-costs" in caught.value.next_step


def test_row_of_the_full_profile_may_be_named_without_the_profile() -> None:
    full_only = min(rows(profile="full") - rows())
    assert rows(full_only) == {full_only}


@pytest.mark.parametrize("profile", ["quick", "full"])
def test_a_whole_profile_has_its_time(profile: str) -> None:
    """Expected: the runs that are made in any case take less than half of it. Broken: full's runs are half an hour."""
    plan = plan_of(None, "time", profile, (), 1)
    assert len(plan.rows) > 60
    assert plan.effort == replace(EFFORTS[profile], budget=BUDGETS[profile])
    assert plan.effort.seconds * plan.units < BUDGETS[profile] / 2


@pytest.mark.parametrize("profile", ["quick", "full"])
def test_one_row_is_not_given_the_time_of_all(profile: str) -> None:
    plan = plan_of(None, "time", profile, ("syscall/lseek@",), 1)
    assert plan.effort == replace(EFFORTS[profile], budget=ROW_SECONDS)


def test_what_the_user_says_is_done() -> None:
    """Expected: so many runs and no more."""
    plan = plan_of(None, "time", "quick", (), 1, seconds=3.0, runs=2)
    assert (plan.effort.seconds, plan.effort.runs, plan.effort.budget) == (3.0, 2, 0)
    assert plan.effort.samples == EFFORTS["quick"].samples


def test_silence_is_limited_by_what_a_run_may_take() -> None:
    """Expected: five minutes beyond the sampling. A user's command says nothing until its last execution: there the
    session's own limit stands. Broken: an hour of nothing, or a command of a minute that is given up."""
    row = plan_of(None, "time", "quick", ("syscall/getppid@",), 1)
    assert 300 <= row.job().silence < 320 < row.patience
    assert replace(row, effort=replace(row.effort, seconds=3600.0)).job().silence > 10 * 3600
    command = Plan("time", "quick", (), (), EFFORTS["quick"], 1, ("sleep", "100"))
    assert command.job().silence == command.patience
    hanging = replace(row, effort=replace(row.effort, row_timeout=7.0))
    assert hanging.job().silence == 7.0
    assert hanging.patience == row.patience + 7.0 * len(row.rows)


def test_patience_grows_with_the_rows_by_path() -> None:
    """Expected: twenty seconds a row at least, since a row takes two where others compute. Broken: ten minutes for all,
    which a full profile with a modelled processor needs on a busy machine."""
    plan = plan_of(None, "path", "full", ("proc/*",), 1)
    assert plan.patience > 600 + 20 * len(plan.rows) >= 900
    assert plan.job().silence <= 320


def test_by_path_has_only_rows_with_a_plan() -> None:
    plan = plan_of(None, "path", "quick", (), 1)
    assert "ctx/pipe-pair@same-cpu" in plan.rows
    assert not any("other-cpu" in row or "uncached" in row for row in plan.rows)
    assert "--seconds" not in plan.arguments()


def test_a_plan_needs_disks_for_the_rows_that_it_measures_and_for_no_others() -> None:
    """Expected: both kinds by path; none by time, where such rows are unsupported. Broken: a guest that is measured by
    time loads drivers for nothing, or by path no guest is asked for a disk."""
    assert plan_of(None, "path", "quick", (), 1).job().needs == {"ext4", "minix"}
    assert plan_of(None, "path", "quick", ("fs/read@bufsize=1024,blocks=2000,ext4",), 1).job().needs == {"ext4"}
    assert plan_of(None, "path", "quick", ("syscall/getppid",), 1).job().needs == frozenset()
    assert plan_of(None, "time", "quick", ("fs/read",), 1).job().needs == frozenset()


def test_by_path_a_rows_call_is_the_same_in_every_plan() -> None:
    """Expected: equal words and needs, whatever else is asked for and however. Broken: a count that its company moves:
    a longer command line lies elsewhere on the stack."""
    row = "fs/read@bufsize=1024,blocks=2000,ext4"
    plans = (("quick", ()), ("full", ()), ("quick", (row,)), ("quick", ("syscall/getppid", "fs/*")))
    found = [plan_of(None, "path", profile, words, 1).job() for profile, words in plans]
    calls = {call for job in found for call in job.calls if call.row == row}
    assert calls == {Call(row, ("--by", "path", "--seed", "1", "--continue", row), frozenset({"ext4"}))}
    (alone,) = (call for call in found[0].calls if call.row == "syscall/getppid")
    assert alone.arguments[-1] == "syscall/getppid@"  # without its cold row
    assert plan_of(None, "time", "quick", (row, "syscall/getppid"), 1).job().calls == ()
