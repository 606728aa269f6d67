"""What a guest is given for the programs that its rows run; and those rows in a guest, booted for real."""

from __future__ import annotations

import json
from typing import Any

import pytest

from kernometer.campaign.plan import plan_of
from kernometer.errors import BuildError, MissingError, TargetError
from kernometer.guests import store
from kernometer.guests.inside import programs, tools
from kernometer.targets.base import Deadline
from kernometer.targets.qemu import QemuTarget

#: Beyond any machine: a boot takes six seconds on an idle one.
BOOT_SECONDS = 500
#: Instructions that a row by path may take in all, its set-up apart.
MOST_INSTRUCTIONS = 2e8
Record = dict[str, Any]


def test_a_guest_whose_rows_run_no_program_is_given_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Expected: no file and no word, so that its bytes and its counts stay. Broken: a compiler in every guest."""
    monkeypatch.setattr(tools, "toolchain", lambda: pytest.fail("a toolchain was made"))
    assert tools.provide({"ext4", "display"}) == programs.Provided()


def test_a_compiler_is_given_to_rows_that_need_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tools, "toolchain", lambda: {"bin/tcc": b"tcc"})
    assert tools.provide({"tcc"}) == programs.Provided({"bin/tcc": b"tcc"})


@pytest.mark.parametrize(
    "error", [MissingError("No gcc here.", "Install it."), TargetError("No apt."), BuildError("No.")]
)
def test_a_compiler_that_cannot_be_made_is_a_reason(monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    """Expected: words for the probe, and the other rows are measured. Broken: no guest without a compiler."""

    def fail() -> None:
        raise error

    monkeypatch.setattr(tools, "toolchain", fail)
    given = tools.provide({"tcc"})
    assert given.files == {}
    assert given.arguments[0] == "--no-program"
    assert given.arguments[1].startswith("tcc=No")


def test_a_host_without_busybox_is_a_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(programs, "busybox", lambda: b"")
    ((option, words),) = [tools.provide({"busybox"}).arguments]
    assert option == "--no-program"
    assert words.startswith("busybox=There is no static busybox")
    assert "apt-get install" in words


@pytest.fixture(scope="module")
def two_boots(linux_6_1: store.Guest) -> tuple[list[bytes], list[bytes]]:
    """Every row of scripts, of programs and of users by path, twice."""
    job = plan_of(None, "path", "full", ("sh/*", "load/*", "proc/fork-exit-loops"), 1).job()
    target = QemuTarget.from_spec(linux_6_1.name)
    first, second = (list(target.run(job, Deadline.after(BOOT_SECONDS))) for _ in range(2))
    return first, second


@pytest.mark.guest
@pytest.mark.slow(minutes=0.28)
def test_programs_in_a_guest_cost_the_same_twice(two_boots: tuple[list[bytes], list[bytes]]) -> None:
    """Expected: equal bytes, a figure of every row that is by path, none above its limit. Broken: a time, a process
    number or a path of the host's in what a program does."""
    first, second = two_boots
    records: list[Record] = [json.loads(line) for line in first]
    assert [each for each in records if each["type"] == "error"] == []
    runs = {each["row"]: each for each in records if each["type"] == "run"}
    assert {"sh/script-busybox-1", "sh/script-busybox-16", "sh/cc-tcc", "sh/dc-busybox"} < runs.keys()
    assert {"load/multiuser@users=1", "load/multiuser@users=4", "proc/fork-exit-loops@loops=100"} < runs.keys()
    assert {row for row, run in runs.items() if sum(run["samples"]) > MOST_INSTRUCTIONS} == set()
    assert all("path" in each["reason"] for each in records if each["type"] == "unsupported")
    assert first == second
