"""Results of several stores in one: each once, the longer of two where one was cut off, nothing changed elsewhere."""

from __future__ import annotations

import random
from pathlib import Path
from typing import TYPE_CHECKING

from kernometer.results.model import End
from kernometer.results.store import Store, merge, results_in
from kernometer.results.writer import Kept
from tests.support.cli.storing import call, fill
from tests.support.results import make

if TYPE_CHECKING:
    import pytest


def kept(into: Store, source: Path) -> list[Kept | str]:
    return [one.kept or one.problem for one in merge(into.folder, results_in(source))]


def test_many_stores_become_one_whatever_their_order(tmp_path: Path) -> None:
    """Thirty sessions, each in one to three of four stores, sometimes cut off anywhere, sometimes under another name.
    Expected: each whole session once, with its bytes. Broken: one lost, twice, or the shorter of two."""
    source = random.Random(11)
    whole = Store(tmp_path / "whole")
    for _ in range(30):
        fill(whole)
    contents = {path.name: path.read_bytes() for path in results_in(whole.folder)}
    stores = [tmp_path / name for name in "abcd"]
    for folder in stores:
        folder.mkdir()
    for name, content in contents.items():
        holders = source.sample(stores, source.randint(1, 3))
        for place, folder in enumerate(holders):
            cut = source.randrange(content.index(b"\n") + 1, len(content)) if place else len(content)
            called = name if source.random() < 0.8 else f"copy of {name}"
            (folder / called).write_bytes(content[:cut])
    for order in (stores, stores[::-1]):
        into = Store(tmp_path / f"into {order[0].name}")
        for folder in (*order, order[0]):
            assert not [one for one in kept(into, folder) if isinstance(one, str)]
        assert {path.name: path.read_bytes() for path in results_in(into.folder)} == contents
        assert {one.id for one in into.summaries()} == {name.removesuffix(".ndjson") for name in contents}
        assert all(one.complete for one in into.summaries())


def test_what_became_of_each_is_said(tmp_path: Path) -> None:
    here, there = Store(tmp_path / "here"), Store(tmp_path / "there")
    name = fill(there) + ".ndjson"
    whole = (there.folder / name).read_bytes()
    assert kept(here, there.folder) == [Kept.NEW]
    assert kept(here, there.folder) == [Kept.THERE]
    (here.folder / name).write_bytes(whole[:-5])
    assert kept(here, there.folder) == [Kept.COMPLETED]
    (there.folder / name).write_bytes(whole.replace(b"quick", b"full!"))
    assert "another result" in str(kept(here, there.folder)[0])
    assert (here.folder / name).read_bytes() == whole


def test_what_is_no_result_or_is_being_measured_is_a_problem_and_stops_nothing(tmp_path: Path) -> None:
    here, there = Store(tmp_path / "here"), Store(tmp_path / "there")
    fill(there)
    for number, content in enumerate((b"", b"{}\n", b"\xff" * 100, b'{"type":"paper"}\n')):
        (there.folder / f"bad{number}.ndjson").write_bytes(content)
    (there.folder / "notes.txt").write_text("not asked for")
    outside = make.lines([make.session(id="../../20260101T000000Z-abcdef"), make.header(), End(complete=True)])
    (there.folder / "outside.ndjson").write_bytes(b"\n".join(outside))
    with there.create(make.session()) as growing:
        growing.add(make.header())
        growing.add(make.run())
        found = kept(here, there.folder)
    assert [one for one in found if isinstance(one, Kept)] == [Kept.NEW]
    assert len(found) == 7
    assert "It is being measured." in found
    assert sorted(path.name for path in tmp_path.iterdir()) == ["here", "there"]


def test_import_of_a_store(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Expected: one line, status 0; with a broken file its reason, status 5, and the others are there."""
    here, there = Store(tmp_path / "here"), Store(tmp_path / "there")
    names = {fill(there, label="x"), fill(there)}
    told = call(here, capsys, "import", str(there.folder))
    assert told == f"{there.folder}: 2 new, 0 there already, 0 completed\n"
    assert {one.id for one in here.summaries()} == names
    (there.folder / "broken.ndjson").write_bytes(b"no")
    names.add(fill(there))
    assert "broken.ndjson: not taken: This is not a result" in call(here, capsys, "import", str(there.folder), status=5)
    assert {one.id for one in here.summaries()} == names
    (tmp_path / "empty").mkdir()
    assert "There is no result" in call(here, capsys, "import", str(tmp_path / "empty"), status=5)
    assert "has labels of its own" in call(here, capsys, "import", str(there.folder), "--label", "y", status=2)
