"""A session's records: what a target may say, and what is the front end's own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from kernometer.__main__ import main
from kernometer.campaign.plan import EFFORTS, Plan
from kernometer.campaign.session import measure, records
from kernometer.errors import Status, TargetError
from kernometer.results.model import AnyRecord, By, Calibration, Events, Failure, Unsupported
from kernometer.results.reader import parse, parse_record
from kernometer.results.store import Store
from kernometer.targets.base import Deadline, Job, Place, Program
from tests.support.results import make

ROW = "syscall/getppid"


class Says:
    """A target that prints these lines whatever it is asked."""

    name = "says"
    by: tuple[By, ...] = ("time",)
    programs: tuple[Program, ...] = ("probe",)
    quick_start = True
    profiles = False
    counts_memory = False

    def __init__(self, *lines: bytes) -> None:
        self.lines = lines

    def machine(self, by: By) -> str:  # noqa: ARG002  # the protocol's signature
        return ""

    def place(self, by: By) -> Place:  # noqa: ARG002  # the protocol's signature
        return Place()

    def describe(self, job: Job) -> tuple[str, ...]:
        return (self.name, *job.arguments)

    def run(self, job: Job, until: Deadline) -> Iterator[bytes]:  # noqa: ARG002  # the protocol's signature
        yield from self.lines

    def close(self) -> None:
        """Nothing to let go of."""


PLAN = Plan("time", "quick", (ROW,), (ROW,), EFFORTS["quick"], 7, unsupported=("ctx/yield",))


def said(*lines: bytes, job: Job | None = None) -> list[object]:
    return [record for record, _line in records(Says(*lines), job or PLAN.job(), Deadline.after(1))]


class Holds(Says):
    """One whose lines come in the opposite order of their turns, as of guests side by side."""

    def run(self, job: Job, until: Deadline) -> Iterator[bytes]:
        for line in reversed(self.lines):
            assert job.hear is not None
            job.hear(line)
        yield from super().run(job, until)


@pytest.mark.parametrize(("kind", "order"), [(Says, [0, 1]), (Holds, [1, 0])])
def test_who_listens_hears_each_record_once_when_it_comes(kind: type[Says], order: list[int]) -> None:
    """Expected: before its turn where a slow row holds it back. Broken: progress says 3 of 573 when 45 are done, or
    counts a row twice."""
    heard: list[AnyRecord] = []
    lines = make.lines([make.run(number) for number in range(2)])
    turns = [record for record, _ in records(kind(*lines), PLAN.job(), Deadline.after(1), heard.append)]
    assert [turns.index(record) for record in heard] == order


def test_a_targets_own_records_pass() -> None:
    found = said(b'{"type":"unsupported","row":"syscall/getppid","reason":"no"}')
    assert found == [Unsupported(row="syscall/getppid", reason="no")]


def test_lines_are_kept_as_the_probe_printed_them(tmp_path: Path) -> None:
    """A newer probe's field, its way to write a number. Expected: its bytes. Broken: what we know of them."""
    lines = (
        *make.lines([make.header(), make.workload()]),
        make.lines([make.run()])[0].replace(b"{", b'{ "new":1e2, ', 1),
    )
    kept = measure(PLAN, Says(*lines), Store(tmp_path), "", lambda _record: None).path.read_bytes()
    assert kept.splitlines()[1:-1] == list(lines)
    assert [run.row for run in parse([kept]).runs] == [ROW]


def test_further_runs_are_of_the_same_session(tmp_path: Path) -> None:
    """Two rounds of two runs are asked for after the first. Expected: six runs by number, one header, and each round
    asked for what it needs. Broken: a second header, which damages the file, or runs that replace the first ones."""
    asked: list[Job] = []

    class Continues(Says):
        def run(self, job: Job, until: Deadline) -> Iterator[bytes]:  # noqa: ARG002  # the protocol's signature
            asked.append(job)
            first = int(job.arguments[job.arguments.index("--first-run") + 1]) if len(asked) > 1 else 0
            yield from make.lines([make.header(), make.workload(), make.run(first), make.run(first + 1)])

    wanted = [{ROW: 2}, {ROW: 2}, {}]
    made = measure(PLAN, Continues(), Store(tmp_path), "", lambda _record: None, lambda _result: wanted.pop(0))
    assert [run.run for run in made.result.runs] == [0, 1, 2, 3, 4, 5]
    assert (made.result.damage, len(made.path.read_bytes().splitlines())) == ((), 10)
    words = " ".join(asked[2].arguments)
    assert "--continue --first-run 4" in words and "--runs 2 --budget 0" in words and words.endswith(f"{ROW}@")


@pytest.mark.parametrize(
    "line",
    [
        b'{"type":"end","complete":true}',
        b'{"type":"session","format":1,"id":"x","label":"","target":"local","by":"time","profile":"quick",'
        b'"started":0,"kernometer":"0"}',
        b'{"type":"paper","format":1,"name":"x","title":"","authors":[],"systems":[]}',
        b'{"type":"run"}',
        b"not json",
        b'{"type":"unsupported","row":"a","reason":"no","new":"\xff"}',
    ],
)
def test_what_is_none_of_its_records_is_an_error_that_shows_it(line: bytes) -> None:
    """Expected: TargetError with the line. Broken: a guest or a host ends the session's file early, or renames it."""
    with pytest.raises(TargetError, match="not a record") as caught:
        said(line)
    assert caught.value.last_output


def test_a_number_that_the_systems_c_library_prints_wrongly_costs_its_row() -> None:
    """dietlibc prints 1e19 as "10000000000000000000.". Expected: that row failed, as the file says, and the others are
    whole. Broken: the session ends at the first of a hundred rows that has such a number."""
    whole = make.lines([make.run(0)])[0]
    hurt = whole.replace(b'"ops":', b'"ops":10000000000000000000.,"was":', 1)
    assert hurt != whole
    [(failed, line)] = records(Says(hurt), PLAN.job(), Deadline.after(1))
    assert isinstance(failed, Failure) and failed.row == ROW and "cannot be read" in failed.text
    assert parse_record(line) == failed
    with pytest.raises(TargetError, match="not a record"):
        said(hurt.replace(ROW.encode(), b"clock/monotonic"))


@pytest.mark.parametrize(
    "record",
    [
        make.run(0, "clock/monotonic"),
        Failure(row="clock/monotonic", text="no"),
        Unsupported(row="clock/monotonic", reason="no"),
        Events(row="clock/monotonic", regions=1, counts={}),
        make.header(by="path"),
    ],
)
def test_another_jobs_record_is_the_targets_error(record: AnyRecord, tmp_path: Path) -> None:
    """A guest that always runs its own three workloads. Expected: what was not asked for, and where the rest is kept.
    Broken: a complete session of other rows, with status 0."""
    lines = make.lines([make.header(), make.workload(), make.run(0), record])
    with pytest.raises(TargetError, match="another job's results") as caught:
        measure(PLAN, Says(*lines), Store(tmp_path), "", lambda _record: None)
    assert "kernometer show" in caught.value.text
    [kept] = tmp_path.glob("*.ndjson")
    end = parse([kept.read_bytes()]).end
    assert end is not None and not end.complete


def test_a_row_that_never_came_is_the_targets_error() -> None:
    """Expected: the row's name. Broken: a complete session that lacks it. A calibration alone is no result."""
    lines = make.lines([make.header(), make.workload(), Calibration(row=ROW, workload=ROW, batch=1)])
    with pytest.raises(TargetError, match=f"ended without a record of {ROW}"):
        said(*lines)
    assert len(said(*lines, job=PLAN.job(only="calibrate"))) == 3


@pytest.mark.parametrize(
    "record", [make.run(0), Failure(row=ROW, text="fork: EAGAIN"), Unsupported(row=ROW, reason="no")]
)
def test_a_row_that_is_not_supported_here_may_come_elsewhere(record: AnyRecord) -> None:
    """The list of rows may be this host's, which has one CPU, say. Expected: the other kernel's answer passes."""
    assert len(said(*make.lines([record, make.run(0, "ctx/yield")]))) == 2


def test_a_command_has_rows_of_its_own() -> None:
    plan = Plan("time", "quick", (), (), EFFORTS["quick"], 7, ("true",))
    assert said(*make.lines([make.run(0, "cmd/true@time=real")]), job=plan.job())
    with pytest.raises(TargetError, match="not asked for"):
        said(*make.lines([make.run(0)]), job=plan.job())


class Started(Says):
    """A target whose probe lists a workload, and measures one run of it; it keeps what it was started with."""

    def __init__(self) -> None:
        super().__init__()
        self.started: list[tuple[str, ...]] = []

    def run(self, job: Job, until: Deadline) -> Iterator[bytes]:  # noqa: ARG002  # the protocol's signature
        self.started.append(job.arguments)
        yield from make.lines([make.workload()])
        if "--list" not in job.arguments:
            yield from make.lines([make.header(), make.run()])


def test_the_probe_lists_its_rows_once_a_session(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Expected: `run` starts the probe twice, first for its list. Broken: a second list, for the names, the plan or the
    table; on a guest each takes a boot."""
    target = Started()
    monkeypatch.setattr("kernometer.cli.run.target_of", lambda _spec: target)
    monkeypatch.setattr("kernometer.campaign.plan.lister", lambda _program: target)
    assert main(["--store", str(tmp_path), "run", ROW]) == Status.DONE
    assert ["--list" in arguments for arguments in target.started] == [True, False]
