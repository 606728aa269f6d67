"""Published tables and figures on the command line."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from kernometer.__main__ import main
from kernometer.cli import kernometer
from kernometer.errors import Status
from kernometer.results.store import Store
from tests.support.results import make

LINUX, MINIX = "published/miao-2011:linux", "published/miao-2011:minix3"


def call(folder: Path, *words: str) -> Result:
    done = CliRunner().invoke(kernometer, ["--store", str(folder), *words], env={"COLUMNS": "160"})
    if done.exception and not isinstance(done.exception, SystemExit):
        raise done.exception
    return done


def refusal(folder: Path, capsys: pytest.CaptureFixture[str], *words: str) -> str:
    """What a call that is wrong is answered with."""
    assert main(["--store", str(folder), *words]) in (Status.USAGE, Status.RESULT)
    return capsys.readouterr().err


def fill(folder: Path, row: str = "proc/fork-exit", **session: object) -> None:
    with Store(folder).create(make.session(**session)) as file:
        file.add(make.header())
        file.add(make.workload(row, rows=()))
        for number in range(3):
            file.add(make.run(number, row=row))


def test_all_are_named_and_one_is_shown_whatever_the_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for words in (["show", "published"], ["list", "--published"]):
        assert "published/loew-2016" in call(tmp_path, *words).output
    shown = call(tmp_path, "show", "published/miao-2011").output
    assert "4479 lps" in shown
    assert "does not hold" in shown
    assert len(json.loads(call(tmp_path, "list", "--published", "--json").output)) == 6


def test_one_system_and_some_rows_are_shown(tmp_path: Path) -> None:
    told = json.loads(call(tmp_path, "show", LINUX, "Arith*", "--json").output)
    assert {one["system"] for one in told["figures"]} == {"linux"}
    assert len(told["figures"]) == 6
    assert [one["holds"] for one in told["stated"] if one["printed"] == "36"] == ["holds, its further digits cut off"]


def test_two_systems_are_compared_without_a_verdict(tmp_path: Path) -> None:
    """Expected: the ratio, and that nothing is decided. Broken: a word of judgement on two printed numbers."""
    shown = call(tmp_path, "compare", LINUX, MINIX).output
    assert "182.1" in shown
    assert "no interval and no verdict" in shown
    assert not {"slower,", "faster,", "undecided", "equivalent"} & set(shown.split())
    [told] = json.loads(call(tmp_path, "compare", LINUX, MINIX, "--json").output)
    assert {row["verdict"] for row in told["rows"]} == {None}
    assert {row["low"] for row in told["rows"]} == {None}


def test_a_published_system_is_held_against_a_measured_result(tmp_path: Path) -> None:
    """Expected: both in our unit, what differs is said, no verdict; turned round where the sides are."""
    fill(tmp_path)
    shown = call(tmp_path, "compare", MINIX, "@last").output
    assert "40.7 ms" in shown
    assert "differ in machine" in shown
    assert "no verdict" in shown
    [there] = json.loads(call(tmp_path, "compare", MINIX, "@last", "--json").output)
    [back] = json.loads(call(tmp_path, "compare", "@last", MINIX, "--json").output)
    assert there["rows"][0]["ratio"] == pytest.approx(1 / back["rows"][0]["ratio"])
    assert there["rows"][0]["a"] == pytest.approx(1e9 / 24.6)


def test_instructions_are_compared_with_instructions_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Expected: MINIX's counts beside those of a session by path. Broken: a count beside a time."""
    minix = "published/minix-3.4:minix3"
    fill(tmp_path)
    assert "measured times, and published/minix-3.4:minix3 counts instructions" in refusal(
        tmp_path, capsys, "compare", minix, "@last"
    )
    with Store(tmp_path).create(make.session(by="path", started=1_795_000_100.0)) as file:
        file.add(make.header(by="path"))
        file.add(make.workload("proc/fork-exit", rows=()))
        file.add(make.run(row="proc/fork-exit", samples=(31_754_007,) * 20, batch=1000))
    assert "counts instructions, and" in refusal(tmp_path, capsys, "compare", MINIX, "@last")
    [there] = json.loads(call(tmp_path, "compare", minix, "@last", "--json").output)
    [row] = there["rows"]
    assert (row["row"], row["a"], row["unit"]) == ("proc/fork-exit", 338_896, "instructions")
    assert 0.05 < row["ratio"] < 0.15


@pytest.mark.parametrize(
    ("words", "answer"),
    [
        (["compare", "published/miao-2011", "@last"], "several systems"),
        (["compare", LINUX, "published/loew-2016:freebsd"], "no rows in common"),
        (["compare", LINUX, MINIX, "--report", "x.html"], "no samples"),
        (["compare", LINUX, "@last"], "have no row in common"),
        (["compare", "@last", "@1", LINUX], "a separate call"),
        (["report", "published/miao-2011"], "no samples"),
        (["export", "--csv", LINUX], "no samples"),
        (["show", LINUX, "nothing"], "no row 'nothing'"),
        (["figure"], "Which figure?"),
        (["figure", "miao-3"], "Of which result?"),
        (["figure", "miao-3", LINUX, "-o", "x.gif"], "no known suffix"),
        (["figure", "miao-3", LINUX], "two results"),
        (["figure", "griffiths-1", "@last"], "'mem/latency@bytes=*,stride=*'"),
        (["figure", "griffiths-1", "published/griffiths-2006"], "no figures"),
    ],
)
def test_what_cannot_be_done_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], words: list[str], answer: str
) -> None:
    fill(tmp_path, row="syscall/other", started=1.0)
    fill(tmp_path, row="syscall/another", started=2.0)
    assert answer in refusal(tmp_path, capsys, *words)


def test_figures_are_listed_printed_and_written(tmp_path: Path) -> None:
    assert "griffiths-5" in call(tmp_path, "figure", "--list").output
    assert "0.5492" in call(tmp_path, "figure", "miao-3", "published/miao-2011").output
    out = tmp_path / "bars.csv"
    call(tmp_path, "figure", "miao-7", LINUX, MINIX, "-o", str(out))
    assert len(list(csv.DictReader(out.open()))) == 6
    call(tmp_path, "figure", "loew-1", "published/loew-2016", "-o", str(tmp_path / "grid.svg"))
    assert "20.56" in (tmp_path / "grid.svg").read_text()


def test_a_published_system_and_a_measured_one_stand_in_one_figure(tmp_path: Path) -> None:
    with Store(tmp_path).create(make.session(label="mine")) as file:
        file.add(make.header())
        for row in ("a/a", "sh/script-1", "sh/script-8", "sh/script-16"):
            file.add(make.workload(row, rows=()))
            file.add(make.run(0, row=row))
    shown = call(tmp_path, "figure", "miao-4", LINUX, "mine").output
    assert "mine" in shown
    assert "Fedora" in shown
