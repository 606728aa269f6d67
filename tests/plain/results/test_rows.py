"""A row's name: what it is made of, and which words and patterns mean it."""

from __future__ import annotations

import pytest

from kernometer.results.rows import Row


def test_a_name_has_a_family_a_workload_and_a_point() -> None:
    row = Row("ctx/ring@procs=8,token=0,same-cpu")
    assert (row.family, row.workload, row.point) == ("ctx", "ctx/ring", "procs=8,token=0,same-cpu")
    assert Row("a/b@procs=8,same-cpu").parameters == {"procs": "8", "same-cpu": ""}
    assert (Row("syscall/getppid").point, Row("syscall/getppid").parameters) == ("", {})


def test_a_star_stays_within_one_value_or_not() -> None:
    """Expected: the same row on another disk is another row. Broken: one line that jumps between two disks."""
    assert Row("fs/x@bytes=512").values("fs/x@bytes=*") == ("512",)
    assert Row("fs/x@bytes=512,ext4").values("fs/x@bytes=*") is None
    assert Row("fs/x@bytes=512,ext4").is_like("fs/x@bytes=*")


def test_a_name_keeps_everything_but_the_value() -> None:
    assert Row("mem/chase@bytes=4096,stride=64").along("bytes") == "mem/chase@bytes=*,stride=64"
    assert Row("mem/chase@bytes_more=1,bytes=2").along("bytes") == "mem/chase@bytes_more=1,bytes=*"
    assert Row("mem/chase").along("bytes") == "mem/chase"


@pytest.mark.parametrize("name", ["syscall/getppid", "syscall/getppid@cold"])
def test_its_argument_means_a_row_alone(name: str) -> None:
    assert Row.of_argument(Row(name).argument) == Row(name)
    assert [
        other for other in ("syscall/getppid", "syscall/getppid@cold") if Row(other).is_named(Row(name).argument)
    ] == [name]


@pytest.mark.parametrize("word", ["ctx/x@cold", "ctx/x", "ctx/*", "*@cold", "*", "ctx/?", "ctx/x@", "ctx", "[c]tx/*"])
def test_words_mean_rows_as_they_do_to_the_probe(word: str) -> None:
    """Expected: the name, its workload, or a pattern whose only sign is the star. Broken: the probe refuses it."""
    assert Row("ctx/x@cold").is_named(word) is (word in ("ctx/x@cold", "ctx/x", "ctx/*", "*@cold", "*"))


def test_a_users_command_may_contain_an_at_sign() -> None:
    row = Row("cmd/mail a@b/c@time=user")
    assert (row.command, row.workload, row.point) == ("mail a@b/c", "cmd/mail a@b/c", "time=user")
    assert Row("syscall/getppid@cold").command == ""


def test_unit_costs_are_no_workloads_of_the_probe() -> None:
    assert [name for name in ("trio/trap", "mach/call@bytes=0", "syscall/mix") if Row(name).is_unit_cost] == [
        "trio/trap",
        "mach/call@bytes=0",
    ]
