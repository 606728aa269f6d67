"""`kernometer faults` without a guest: what it refuses, and how it shows stored campaigns."""

from __future__ import annotations

import importlib
import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from kernometer.__main__ import main
from kernometer.errors import Status, UsageError
from kernometer.faults.outcomes import Findings, outcome
from kernometer.faults.records import Header, Record, line
from tests.support.faults import make

command = importlib.import_module("kernometer.cli.faults")  # the package has the command of that name


@pytest.fixture
def campaign(tmp_path: Path) -> Path:
    """Two structures: of one all faults are masked, of the other one struck and ended the machine."""
    path = tmp_path / "campaign.ndjson"
    micro: list[Header | Record] = [make.header("qemu:trio-micro"), *(make.record(number) for number in range(3))]
    mono: list[Header | Record] = [
        make.header("qemu:trio-mono"),
        make.record(0, "dead", ended="dead"),
        make.record(1, struck=0),
    ]
    path.write_bytes(b"".join([*map(line, micro), *map(line, mono)]))
    return path


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "structures are missing"),
        (("--on", "local"), "neither Trio nor Linux"),
        (("--on", "qemu:trio-micro", "-n", "0"), "not in the range"),
        (("--kinds", "wild"), "structures are missing"),
        (("nowhere.ndjson",), "does not exist"),
    ],
)
def test_bad_words_are_refused(capsys: pytest.CaptureFixture[str], words: tuple[str, ...], said: str) -> None:
    assert main(["faults", *words]) == Status.USAGE
    assert said in capsys.readouterr().err


def test_a_campaign_that_cannot_begin_leaves_no_file(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def refused(*_: object) -> Iterator[Header | Record]:
        raise UsageError("no place")
        yield

    monkeypatch.setattr(command, "_targets", lambda *_, **__: ["a guest"])
    monkeypatch.setattr(command, "_runs", refused)
    assert main(["--store", str(tmp_path), "faults", "--on", "qemu:trio-micro"]) == Status.USAGE
    assert "no place" in capsys.readouterr().err
    assert [*tmp_path.rglob("*")] == []


def test_a_file_of_another_sort_is_an_error(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "other"
    path.write_text("what\n")
    assert main(["faults", str(path)]) == Status.RESULT
    assert "line 1 is no record of faults" in capsys.readouterr().err


def test_the_table_tells_shares_with_intervals_and_leaves_out_what_never_struck(
    capsys: pytest.CaptureFixture[str], campaign: Path
) -> None:
    assert main(["faults", str(campaign)]) == Status.DONE
    told = " ".join(capsys.readouterr().out.split())
    assert "fail-stop, others, 3: masked 3 (43.9–100.0 %)" in told
    assert "1 of 2 faults struck. After 0 of them (0.0–79.3 %) all went on with all data." in told
    assert "fail-stop, others, 1: dead 1 (20.7–100.0 %)" in told


def test_of_wrong_answers_it_is_told_how_many_the_system_said_so(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """Expected: those of a driver after which the machine went on; neither another service's, nor of a kind that stops
    it, nor one without wrong data. Broken: a share of found answers that others make larger."""
    path = tmp_path / "campaign"
    lost, refused = Findings(ended="finished", lost=1), Findings(ended="finished", refused=2, errors=1)
    cases = [("serial", "not-done", lost), ("serial", "wrong-data", refused), ("fs", "not-done", lost)]
    cases += [("serial", "null-write", lost), ("serial", "not-done", Findings(ended="finished", errors=1))]
    lines = [line(make.header("qemu:trio-micro"))]
    for number, (service, kind, found) in enumerate(cases):
        one = make.record(number)
        fault = replace(one.fault, service=service, kind=kind)
        lines.append(line(replace(one, fault=fault, findings=found, outcome=outcome(found, found))))
    path.write_bytes(b"".join(lines))
    assert main(["faults", str(path)]) == Status.DONE
    told = " ".join(capsys.readouterr().out.split())
    assert "or were refused, 2 times; programs met an error in 1 of them (9.5–90.5 %)." in told
    assert main(["faults", "--json", str(path)]) == Status.DONE
    assert json.loads(capsys.readouterr().out)[0]["wrong_answers"] == {"faults": 2, "told": 1}


def test_json_has_the_same_figures_and_every_fault(capsys: pytest.CaptureFixture[str], campaign: Path) -> None:
    assert main(["faults", "--json", str(campaign)]) == Status.DONE
    micro, mono = json.loads(capsys.readouterr().out)
    assert (micro["header"]["target"], micro["not_struck"], mono["not_struck"]) == ("qemu:trio-micro", 0, 1)
    [group] = [one for one in mono["groups"] if one["group"] == "fs"]
    assert group["faults"] == group["outcomes"]["dead"]["count"] == 1
    assert len(mono["faults"]) == 2


def test_the_page_draws_a_bar_for_each_outcome_and_escapes_names(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path, page = tmp_path / "campaign", tmp_path / "out.html"
    path.write_bytes(line(make.header("<b>")) + line(make.record(0, "dead")) + line(make.record(1)))
    assert main(["faults", str(path), "--report", str(page)]) == Status.DONE
    assert capsys.readouterr().err == ""
    text = page.read_text()
    assert '<i class="dead" style="width:50.00%"></i>' in text
    assert "&lt;b&gt;" in text
    assert "<b>:" not in text
