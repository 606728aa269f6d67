"""`kernometer report`: are results found by their names, judged as they should be, and written where one said?"""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner
from click.testing import Result as Done
from msgspec import structs

from kernometer.__main__ import main
from kernometer.cli import kernometer
from kernometer.cli.report import name_systems
from kernometer.errors import Status
from kernometer.results.model import AnyRecord, Result
from kernometer.results.store import Store
from tests.support.report import factory


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "store")


def keep(store: Store, result: Result) -> None:
    """Stores it as a session that ran to its end."""
    records: list[AnyRecord] = [*result.workloads.values(), *result.runs, *result.failures]
    with store.create(result.session) as file:
        if result.header is not None:
            file.add(result.header)
        for record in records:
            file.add(record)


def report(store: Store, *words: str) -> Done:
    done = CliRunner().invoke(kernometer, ["--store", str(store.folder), "report", *words])
    if done.exception and not isinstance(done.exception, SystemExit):
        raise done.exception
    return done


def test_one_result_gives_its_figures(store: Store, tmp_path: Path) -> None:
    keep(store, factory.result("before"))
    done = report(store, "@last", "-o", str(tmp_path / "out.html"))
    assert f"The report is in {tmp_path / 'out.html'}." in done.output
    page = (tmp_path / "out.html").read_text(encoding="utf-8")
    assert "12 rows measured in 1 session, 1 failed." in page
    assert "table.compared" not in page.split("</style>")[1]


def test_two_labels_are_judged_as_sets_of_sessions(store: Store, tmp_path: Path) -> None:
    for number in range(6):
        label = ("before", "after")[number % 2]
        keep(store, factory.result(label, number=number, factor=1 + 0.2 * (number % 2)))
    done = report(store, "label:before", "label:after", "-o", str(tmp_path / "out.html"))
    sentence = "after against before: 12 slower, 0 faster, 0 equivalent (±2 %), 0 undecided, 1 failed"
    assert sentence in done.output
    assert sentence in (tmp_path / "out.html").read_text(encoding="utf-8").replace("\u00a0", " ")


def test_a_label_of_several_targets_is_as_many_systems(store: Store, tmp_path: Path) -> None:
    """Expected: what a matrix or an `ab` kept under one label is compared. Broken: their figures are averaged."""
    for number, target in enumerate(("local", "wrap:env") * 3):
        keep(store, factory.result("m", number=number, target=target, factor=1 + 0.2 * (number % 2)))
    done = report(store, "label:m", "-o", str(tmp_path / "out.html"))
    assert "wrap:env against local: 12 slower" in done.output


def test_the_sides_of_an_ab_are_judged_by_their_blocks(store: Store, tmp_path: Path) -> None:
    """Expected: the blocks are the unit. Broken: two stored sessions without history, all undecided."""
    for number, side in enumerate("AB"):
        keep(store, blocked(factory.result("", number=number, factor=1 + 0.2 * number, experiment="e", side=side)))
    a, b = (factory.session_id("", number) for number in (0, 1))
    done = report(store, a, b, "-o", str(tmp_path / "out.html"))
    assert "12 slower" in done.output
    assert "the unit is the block" in (tmp_path / "out.html").read_text(encoding="utf-8")


def test_sessions_of_this_host_show_its_own_spread(store: Store, tmp_path: Path) -> None:
    for number in range(4):
        keep(store, factory.result("", number=number))
    report(store, "@last", "-o", str(tmp_path / "out.html"))
    assert "Between the 4 sessions known of this host" in (tmp_path / "out.html").read_text(encoding="utf-8")


def test_an_unknown_result_and_a_bad_place_are_named(
    store: Store, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    keep(store, factory.result("before"))
    folder = str(store.folder)
    assert main(["--store", folder, "report", "nothing"]) == Status.RESULT
    assert "'nothing'" in capsys.readouterr().err
    assert main(["--store", folder, "report", "@last", "-o", str(tmp_path / "no" / "out.html")]) == Status.RESULT
    said = capsys.readouterr().err
    assert str(tmp_path / "no" / "out.html") in said
    assert "Name another file" in said
    assert main(["--store", folder, "report"]) == Status.USAGE


def blocked(result: Result) -> Result:
    """Every run in the block of its number."""
    return structs.replace(result, runs=tuple(structs.replace(run, block=run.run) for run in result.runs))


def test_systems_are_named_by_what_stays_true() -> None:
    """Expected: label, else target, time, id. Broken: `@last`, which means another session tomorrow."""
    a, b = factory.result("a"), factory.result("b", number=1)
    same = factory.result("a", number=1)
    twin = factory.result("a", number=2, started=same.session.started)
    assert list(name_systems([[a], [b]])) == ["a", "b"]
    guest = factory.result("a", number=2, target="qemu:linux-6.1")
    assert list(name_systems([[a], [guest]])) == ["local", "qemu:linux-6.1"]
    assert list(name_systems([[a], [same]])) == ["2026-11-21 10:00 UTC", "2026-11-21 11:00 UTC"]
    assert list(name_systems([[same], [twin]])) == [same.session.id, twin.session.id]
    assert next(iter(name_systems([[a, b], [same]]))).startswith("2026")
