"""list --history with a source tree, as a page, and as data for another chart: from files and from the index."""

from __future__ import annotations

import json
import subprocess
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from msgspec import structs

from kernometer.errors import ResultError
from kernometer.results.model import Result
from kernometer.results.store import Store
from kernometer.stats.changes import past
from kernometer.stats.figures import figures
from kernometer.stats.model import RowFigure
from tests.support.cli.storing import call, keep
from tests.support.explain.profiles import ROW, A, B, profiled
from tests.support.stats.simulate import path_result, sessions


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "store")


@pytest.fixture
def hashes(tmp_path: Path) -> list[str]:
    """The commits of a source tree, oldest first."""
    git = ("git", "-c", "user.name=A", "-c", "user.email=a@b", "-C", str(tmp_path / "tree"))
    subprocess.run(("git", "init", "-q", str(tmp_path / "tree")), check=True, timeout=60)
    for number in range(4):
        subprocess.run((*git, "commit", "-q", "--allow-empty", "-m", f"step {number}"), check=True, timeout=60)
    log = subprocess.run(
        (*git, "log", "--reverse", "--format=%H"), check=True, timeout=60, capture_output=True, text=True
    )
    return log.stdout.split()


def test_sessions_in_the_order_of_a_source_tree(
    store: Store, tmp_path: Path, hashes: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """Expected: a bisection's sessions, measured in any order, are in that of the commits, on the terminal, on the page
    and in data.js; one that names none is counted. Broken: the change lies at the commit that was measured last."""
    for at, (commit, count) in enumerate([(3, 139), (0, 138), (2, 139), (1, 138)]):
        keep(store, path_result("s", {ROW: count}, started=1_795_000_000.0 + at, label=hashes[commit]))
    keep(store, path_result("s", {ROW: 500}, started=1_795_000_000.0))
    files = ("--report", str(tmp_path / "since.html"), "--benchmark-action", str(tmp_path / "data.js"))
    told = call(store, capsys, "list", "--history", "--tree", str(tmp_path / "tree"), *files)
    assert "1 of 1 rows changed" in told and f"{hashes[1][:12]}..{hashes[2][:12]} step 2" in " ".join(told.split())
    page = (tmp_path / "since.html").read_text()
    assert f"{hashes[2][:12]} step 2" in page and "over commits" in page and "500" not in page
    data = json.loads((tmp_path / "data.js").read_text().partition(" = ")[2])
    assert [(one["commit"]["id"], one["benches"][0]["value"]) for one in data["entries"]["Kernometer"]] == [
        *zip(hashes, (138, 138, 139, 139), strict=True)
    ]
    files = ("--tree", str(tmp_path / "tree"), "--benchmark-action", str(tmp_path / "new.json"))
    call(store, capsys, "list", "--history", *files)
    (bench,) = json.loads((tmp_path / "new.json").read_text())
    assert (bench["name"], bench["unit"], bench["value"]) == (f"{ROW} (qemu:linux by path)", "instructions", 139)


def test_a_tree_that_no_session_names_is_refused(
    store: Store, tmp_path: Path, hashes: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    keep(store, path_result("s", {ROW: 100}, label="before"))
    assert len(hashes) == 4
    told = call(store, capsys, "list", "--history", "--tree", str(tmp_path / "tree"), status=2)
    assert "0 of 1 sessions name a commit" in told and "run --label HASH" in told


def test_the_page_names_the_functions_that_make_a_change(
    store: Store, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Expected: where the sessions before and after have profiles of the row."""
    for number, counts in enumerate((A, A, B)):
        made = profiled("s", counts)
        keep(store, structs.replace(made, session=structs.replace(made.session, started=1_795_000_000.0 + number)))
    call(store, capsys, "list", "--history", "--report", str(tmp_path / "since.html"))
    page = (tmp_path / "since.html").read_text()
    assert "+300 in copy" in page and "fresh" in page


def test_the_table_shows_a_rows_largest_changes_and_counts_the_others(
    store: Store, capsys: pytest.CaptureFixture[str]
) -> None:
    """Eight changes, the first two the smallest. Expected: the six largest in their order, and where the others are.
    Broken: 25,000 lines of a thousand commits, of which nobody sees the beginning."""
    counts = [1000, 1001, 1002, 1012, 1022, 1032, 1042, 1052, 1062]
    for number, count in enumerate(counts):
        keep(store, path_result("s", {ROW: count}, started=1_795_000_000.0 + 86_400 * number))
    told = call(store, capsys, "list", "--history")
    assert [told.count(f" {count:,} instr") for count in counts] == [0, 0, 1, 1, 1, 1, 1, 1, 1]
    assert "and 2 smaller changes" in told and "list --history ROW shows every session" in told
    told = call(store, capsys, "list", "--history", ROW)
    assert [told.count(f" {count:,} instr") for count in counts] == [1] * 9
    assert "smaller" not in told and "shows every" not in told


@pytest.mark.parametrize("many", [2, 1000], ids=["several processes", "one process"])
def test_the_page_is_the_same_from_files_and_from_the_index(
    store: Store, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, many: int
) -> None:
    """By time (with a step) and by path, one file damaged. Expected: the same page and document to the byte, whether
    files are read, by how many processes so ever, or the index. Broken: a history depends on what was asked before."""
    monkeypatch.setattr("kernometer.processes.MANY", many)
    monkeypatch.setattr("os.sched_getaffinity", lambda _process: {0, 1})
    source = np.random.default_rng(5)
    for made in (
        *sessions("a", 12, source, between=0.01, rows=(ROW, "syscall/stat"), gap=7200.0),
        *sessions("b", 12, source, between=0.01, rows=(ROW, "syscall/stat"), gap=7200.0, first=1e6, cost=120.0),
        *(path_result("s", {ROW: 100 + number // 2}, started=2e6 + number) for number in range(4)),
    ):
        keep(store, made)
    (store.folder / "noise.ndjson").write_bytes(b"no result")
    pages = []
    for number in range(2):
        page = tmp_path / f"{number}.html"
        call(store, capsys, "list", "--history", "--report", str(page))
        pages.append((page.read_bytes(), call(store, capsys, "list", "--history", "--json")))
    assert pages[0] == pages[1]
    assert b"3 of 3 rows changed" in pages[0][0]
    for result in map(store.read, store.folder.glob("*Z-*.ndjson")):
        assert past(result).entry.figures == bare(result)


def bare(result: Result) -> dict[str, RowFigure]:
    """The figures that the session's own table shows, less what a history leaves out."""
    return {
        row: replace(figure, runs=(), flags=(), conditions={}, counting=None) for row, figure in figures(result).items()
    }


def test_the_second_time_no_session_is_read(
    store: Store, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Expected: the same words from the index. Broken: a thousand sessions are a minute each time."""
    for number in range(3):
        keep(store, path_result("s", {ROW: 100 + number}, started=1_795_000_000.0 + number))
    first = call(store, capsys, "list", "--history", ROW)

    def unread(path: Path) -> None:
        raise ResultError(f"{path} was read", "")

    monkeypatch.setattr("kernometer.results.store.read_file", unread)
    assert call(store, capsys, "list", "--history", ROW) == first
