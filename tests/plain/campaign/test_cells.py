"""Many targets at once or in turn: does each have its sessions, once, whatever becomes of the others?"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from kernometer.campaign.cells import Listen, Outcome, finished, measure_cells
from kernometer.campaign.here import Here
from kernometer.campaign.plan import EFFORTS, Plan
from kernometer.cli.matrix import stored
from kernometer.errors import ResultError, StoppedError, TargetError, UsageError
from kernometer.results.model import AnyRecord, By, Run
from kernometer.results.store import Store, read_file
from kernometer.targets.base import Deadline, Job, Place, Program
from tests.support.results import make

ROW = "syscall/getppid"
#: Seconds; no wait of these tests comes near it unless something hangs.
PATIENCE = 60.0


def lines(by: By) -> list[bytes]:
    return make.lines([make.header(by=by), make.workload(), make.run(0, ROW), make.run(1, ROW)])


def plan(by: By = "path") -> Plan:
    return Plan(by, "quick", (ROW,), (ROW,), EFFORTS["quick"], 7)


@dataclass
class Fake:
    """A target that says two runs; `before` is called with the deadline before the second."""

    name: str
    before: Callable[[Deadline], None] = lambda _until: None
    place_error: TargetError | None = None
    jobs: list[Job] = field(default_factory=list)
    by: tuple[By, ...] = ("time", "path")
    programs: tuple[Program, ...] = ("probe",)
    quick_start: bool = False
    profiles: bool = False
    counts_memory: bool = False
    host: str = ""

    def machine(self, by: By) -> str:  # noqa: ARG002  # the protocol's signature
        return ""

    def place(self, by: By) -> Place:
        if self.place_error is not None:
            raise self.place_error
        return Place(machine="m", image=self.name, host_id=self.host if by == "time" else "", here=False)

    def describe(self, job: Job) -> tuple[str, ...]:  # noqa: ARG002  # the protocol's own
        return ("run", self.name)

    def run(self, job: Job, until: Deadline) -> Iterator[bytes]:
        self.jobs.append(job)
        *first, last = lines(job.by)
        yield from first
        self.before(until)
        yield last

    def close(self) -> None:
        pass


def dies(_until: Deadline) -> None:
    raise TargetError("it died", "", "panic")


def hangs(until: Deadline) -> None:
    """As a silent guest: nothing comes until the deadline has passed."""
    given_up = time.monotonic() + PATIENCE
    while not until.passed:
        assert time.monotonic() < given_up
        time.sleep(0.01)
    assert until.left() == 0
    raise TargetError("it was not done when its time was up")


def nothing(_record: AnyRecord) -> None:
    pass


def measured(
    of: Plan,
    targets: Sequence[Fake],
    store: Store,
    *,
    listen: Listen = nothing,
    rounds: int = 1,
    again: bool = False,
) -> list[Outcome]:
    here = Here(targets, store, "m", listen, jobs=2)
    names = [target.name for target in targets]
    return measure_cells(of, names, here, "m", rounds, finished(store, "m", of) if again else None)


def test_as_many_run_at_once_as_were_asked_for(tmp_path: Path) -> None:
    """Expected: two wait for each other and both go on. Broken: one after the other, and the barrier is never met."""
    barrier = threading.Barrier(2)

    def meets(_until: Deadline) -> None:
        barrier.wait(PATIENCE)

    together = [Fake(name, meets) for name in "abcd"]
    heard: list[AnyRecord] = []
    outcomes = measured(plan(), together, Store(tmp_path), listen=heard.append)
    assert [outcome.target for outcome in outcomes] == ["a", "b", "c", "d"]
    assert all(outcome.error is None and len(outcome.paths) == 1 for outcome in outcomes)
    results = [read_file(outcome.paths[0]) for outcome in outcomes]
    assert all(one.end is not None and one.end.complete and len(one.runs) == 2 for one in results)
    assert [one.session.image for one in sorted(results, key=lambda one: one.session.started)] == ["a", "b", "c", "d"]
    assert sum(isinstance(record, Run) for record in heard) == 8


def test_one_that_fails_is_an_outcome_and_the_others_go_on(tmp_path: Path) -> None:
    """Expected: the reason, what it had measured, and the others whole. Broken: all is lost with the first."""
    targets = [Fake("a"), Fake("b", dies), Fake("c", place_error=TargetError("c: nobody there")), Fake("d")]
    outcomes = measured(plan(), targets, Store(tmp_path))
    assert [outcome.why for outcome in outcomes] == ["", "it died", "nobody there", ""]
    cut = read_file(outcomes[1].paths[0])
    assert cut.end is not None and not cut.end.complete and cut.end.reason == "it died"
    assert len(cut.runs) == 1
    assert outcomes[2].paths == ()
    assert read_file(outcomes[3].paths[0]).end is not None


def test_ctrl_c_ends_all_and_keeps_what_was_measured(tmp_path: Path) -> None:
    """Expected: StoppedError at once, sessions that say 'interrupted', no thread left. Broken: it waits for a guest."""

    def interrupt(record: AnyRecord) -> None:
        if isinstance(record, Run):
            raise KeyboardInterrupt

    before = threading.active_count()
    with pytest.raises(StoppedError, match="is kept") as caught:
        measured(plan(), [Fake("a", hangs), Fake("b", hangs)], Store(tmp_path), listen=interrupt)
    assert "'m'" in caught.value.next_step
    assert threading.active_count() == before
    kept = [read_file(one.path) for one in Store(tmp_path).summaries(label="m")]
    assert [one.end.reason for one in kept if one.end is not None] == ["interrupted"] * len(kept)
    assert kept


def test_a_mistake_of_ours_is_no_outcome(tmp_path: Path) -> None:
    """Expected: it is raised, and the others are ended. Broken: a bug is shown as a guest's failure, or waited out."""

    def bug(_until: Deadline) -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        measured(plan(), [Fake("a", bug), Fake("b", hangs)], Store(tmp_path))


def test_by_time_all_take_turns_in_an_order_of_each_rounds_own(tmp_path: Path) -> None:
    """Expected: each once a round, orders that differ, the same again from the same seed. Broken: A B C, always."""
    turns: list[str] = []

    def target(name: str) -> Fake:
        return Fake(name, lambda _until: turns.append(name))

    def orders(folder: str) -> list[list[str]]:
        turns.clear()
        targets = [target(name) for name in "abc"]
        outcomes = measured(plan("time"), targets, Store(tmp_path / folder), rounds=6)
        assert [len(outcome.paths) for outcome in outcomes] == [6, 6, 6]
        seeds = {read_file(path).session.seed for outcome in outcomes for path in outcome.paths}
        assert len(seeds) == 6
        return [turns[start : start + 3] for start in range(0, 18, 3)]

    first = orders("first")
    assert all(sorted(order) == ["a", "b", "c"] for order in first)
    assert len({tuple(order) for order in first}) > 1
    assert orders("second") == first


def test_by_time_one_that_fails_takes_no_further_part(tmp_path: Path) -> None:
    broken = Fake("b", dies)
    outcomes = measured(plan("time"), [Fake("a"), broken], Store(tmp_path), rounds=3)
    assert [len(outcome.paths) for outcome in outcomes] == [3, 1]
    assert (outcomes[1].why, len(broken.jobs)) == ("it died", 1)


def test_by_time_nobody_else_measures_meanwhile(tmp_path: Path) -> None:
    store = Store(tmp_path)
    with store.measuring("time"), pytest.raises(ResultError, match="Another session"):
        measured(plan("time"), [Fake("a")], store)


def test_by_path_what_is_finished_is_not_measured_again(tmp_path: Path) -> None:
    """Expected: the one that was cut off, once more; the whole one's session as it is. Broken: all again, or none."""
    store, whole, cut = Store(tmp_path), Fake("a"), Fake("b", dies)
    first = measured(plan(), [whole, cut], store)
    cut.before = lambda _until: None
    second = measured(plan(), [whole, cut, Fake("c")], store, again=True)
    assert [len(one.jobs) for one in (whole, cut)] == [1, 2]
    assert second[0].paths == first[0].paths
    assert [len(one.paths) for one in second] == [1, 1, 1] and not any(one.error for one in second)
    assert second[1].paths != first[1].paths
    columns = stored(store, ("label:m",), ())
    assert [(one.name, len(one.results), one.failure) for one in columns] == [("a", 1, ""), ("b", 1, ""), ("c", 1, "")]


def test_by_time_the_rounds_that_lack_are_measured(tmp_path: Path) -> None:
    """Expected: three of each in all. Those of another host count for nothing: it is another system."""
    store, a, b = Store(tmp_path), Fake("a"), Fake("b")
    measured(plan("time"), [a, b], store, rounds=2)
    for path in [one.path for one in store.summaries(target="b")][:1]:
        path.unlink()
    outcomes = measured(plan("time"), [a, b], store, rounds=3, again=True)
    assert [len(one.paths) for one in outcomes] == [3, 3]
    assert (len(a.jobs), len(b.jobs)) == (3, 4)
    elsewhere = Fake("a", host="another")
    assert len(measured(plan("time"), [elsewhere], store, rounds=3, again=True)[0].paths) == 3
    assert len(elsewhere.jobs) == 3


def test_a_campaign_is_not_resumed_with_another_plan(tmp_path: Path) -> None:
    """Expected: an error that says which session, and in what it differs. Broken: columns of different rows."""
    store = Store(tmp_path)
    measured(plan(), [Fake("a")], store)
    other = replace(plan(), rows=(ROW, "syscall/stat"))
    with pytest.raises(UsageError, match="was measured without syscall/stat"):
        measured(other, [Fake("a")], store, again=True)
    with pytest.raises(UsageError, match="by path"):
        measured(plan("time"), [Fake("a")], store, again=True)
