"""Imported results shown and compared; removal."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from kernometer.__main__ import main
from kernometer.errors import Status
from kernometer.results.store import Store
from tests.support.cli.storing import call, fill
from tests.support.results import OUTPUTS, make


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "store")


# import


def test_imported_results_are_shown_compared_and_drawn(store: Store, capsys: pytest.CaptureFixture[str]) -> None:
    """Expected: conditions and what lacks in `show`; the rows of one definition in `compare` with a session, the others
    named with their difference; two of a suite row by row; a figure; and no samples for who needs some."""
    said = call(store, capsys, "import", str(OUTPUTS / "lmbench.txt"), "--label", "old")
    assert "28 figures, " in said
    shown = call(store, capsys, "show", "old")
    assert "MHZ: 2300 MHz" in shown and "It lacks samples" in shown and "syscall/getppid" in shown
    fill(store, label="ours")
    beside = json.loads(call(store, capsys, "compare", "old", "ours", "--json"))
    assert [(row["row"], row["a"], row["verdict"]) for row in beside[0]["rows"]] == [("syscall/getppid", 142.0, None)]
    told = " ".join(call(store, capsys, "compare", "ours", "old").split())
    assert "not compared: Pipe latency differs from ctx/pipe-pair: one byte instead of a word" in told
    call(store, capsys, "import", str(OUTPUTS / "lmbench.txt"), "--label", "new")
    told = " ".join(call(store, capsys, "compare", "old", "new").split())
    assert "lmbench of new against lmbench of old: nothing can be decided" in told and "overlap" in told
    assert "no session" in call(store, capsys, "compare", "old", "new", "--gate", status=Status.USAGE)
    assert "1.741" in call(store, capsys, "figure", "griffiths-1", "old")
    assert "no samples" in call(store, capsys, "report", "old", status=Status.RESULT)
    call(store, capsys, "import", str(OUTPUTS / "hyperfine.json"), "--label", "whole")
    assert "no rows in common" in call(store, capsys, "compare", "old", "whole", status=Status.USAGE)


def test_sets_of_files_are_judged_and_the_sessions_of_the_same_labels_beside(
    store: Store, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """Expected: our comparison, and one of lmbench, whose row has our verdict of the same definition beside it.
    Broken: a refusal, since a label means both; or a verdict of files in a row."""
    text = "Simple syscall: {} microseconds\nSimple lseek: 1.0 microseconds\n"
    for place, figure in enumerate((1.0, 1.5, 1.01, 1.51), 1):
        (tmp_path / "one").write_text(text.format(figure))
        os.utime(tmp_path / "one", (place * 60, place * 60))
        side = ("new", "old")[place % 2]
        call(store, capsys, "import", str(tmp_path / "one"), "--label", side)
        fill(store, label=side, started=1_795_000_000.0 + 100 * place)
    own, lmbench = json.loads(call(store, capsys, "compare", "label:old", "label:new", "--json"))
    assert (own["a"], own["rows"][0]["row"], own["rows"][0]["verdict"]) == (
        "label:old",
        "syscall/getppid",
        "equivalent",
    )
    syscall, lseek = lmbench["rows"]
    assert (lmbench["method"], syscall["verdict"], lseek["verdict"]) == ("imported", "slower", "equivalent")
    assert any(note.startswith("the same definition has syscall/getppid: 1.000") for note in syscall["notes"])
    shown = call(store, capsys, "compare", "label:old", "label:new")
    assert "lmbench of label:new against lmbench of label:old: 1 slower" in " ".join(shown.split())


def test_what_an_import_leaves_out_is_said_at_once_and_kept(
    store: Store, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """Expected: two hosts are two results with a label each; lines that are not read, and failures, are named."""
    lmbench = (OUTPUTS / "lmbench.txt").read_text().replace("integer add: 0.22 nanoseconds", "tlb: 32 pages")
    (tmp_path / "two").write_text(lmbench + lmbench.replace("0.1420", "0.2840"))
    assert main(["--store", str(store.folder), "import", str(tmp_path / "two"), "--label", "old"]) == Status.DONE
    said = capsys.readouterr()
    assert said.err.count("not read: tlb: 32 pages") == 2 and "old-1: Linux 6.1.0-56-amd64" in said.out
    assert "left out: tlb: 32 pages" in call(store, capsys, "show", "old-2")
    [told] = json.loads(call(store, capsys, "compare", "old-1", "old-2", "--json"))
    assert [row["ratio"] for row in told["rows"] if row["row"] == "Simple syscall"] == [pytest.approx(2)]
    (tmp_path / "one").write_text(lmbench.replace("Simple read:", "Simple lseek:"))
    call(store, capsys, "import", str(tmp_path / "one"), "--label", "one")
    [compared] = json.loads(call(store, capsys, "compare", "old-1", "one", "--json"))
    assert "measured on lmbench of old-1 only, and left out: Simple read" in str(compared["remarks"])
    assert "measured on lmbench of one only, and left out: Simple lseek" in str(compared["remarks"])
    assert main(["--store", str(store.folder), "import", str(OUTPUTS / "hyperfine-parameters.json")]) == Status.DONE
    assert "2 of 4 commands failed" in capsys.readouterr().err
    assert "1 figures" in call(store, capsys, "import", str(OUTPUTS / "pyperf.json.gz"))


def test_what_cannot_be_imported_is_said(store: Store, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "x").write_text("nothing of the kind")
    assert "not the output of a known suite" in call(store, capsys, "import", str(tmp_path / "x"), status=Status.RESULT)
    assert "There is no result" in call(store, capsys, "import", str(tmp_path), status=Status.RESULT)
    simple = str(OUTPUTS / "perf-simple.txt")
    assert "--command" in call(store, capsys, "import", simple, status=Status.USAGE)
    assert "cannot be a label" in call(
        store, capsys, "import", simple, "--command", "perf bench sched pipe", "--label", "a/b", status=Status.USAGE
    )
    assert store.summaries() == []


# rm


def test_rm_removes_what_it_names_and_nothing_where_one_name_is_wrong(
    store: Store, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """Expected: all or nothing; a set only with --yes; no file outside the store, none that grows."""
    first, second, third = fill(store, label="a"), fill(store, label="a"), fill(store)
    (store.folder / "broken.ndjson").write_text("{")
    (tmp_path / "other.ndjson").write_bytes((store.folder / f"{first}.ndjson").read_bytes())
    for words in (["@last", "nobody"], ["@last", "label:a"], ["@last", str(tmp_path / "other.ndjson")]):
        status = Status.RESULT if words[1] == "nobody" else Status.USAGE
        assert call(store, capsys, "rm", *words, status=status)
    with store.create(make.session()) as growing:
        assert "being measured" in call(store, capsys, "rm", growing.path.stem, status=Status.USAGE)
        assert len(store.summaries()) == 5
    assert call(store, capsys, "rm", third, "broken.ndjson") == f"{third}: removed\nbroken: removed\n"
    call(store, capsys, "rm", "label:a", "--yes")
    assert [one.id for one in store.summaries()] == [growing.path.stem]
    assert (tmp_path / "other.ndjson").exists() and first != second
