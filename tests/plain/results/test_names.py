"""RESULT on the command line: which files a name means."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from kernometer.errors import ResultError
from kernometer.results.store import Store
from tests.support.results import make
from tests.support.results.stored import fill


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "store")


@pytest.fixture
def three(store: Store) -> tuple[Store, list[Path]]:
    """Oldest first; the outer two share a label."""
    given = [("20260101T000000Z-aaaaaa", "old"), ("20260102T000000Z-bbbbbb", "new"), ("20260102T000001Z-cccccc", "old")]
    paths = [
        fill(store, make.session(id=one, label=label, started=float(number)))
        for number, (one, label) in enumerate(given)
    ]
    return store, paths


@pytest.mark.parametrize(
    ("name", "place"),
    [
        ("@last", 2),
        ("@0", 2),
        ("@1", 1),
        ("@2", 0),
        ("20260101T000000Z-aaaaaa", 0),
        ("20260101", 0),
        ("20260102T000001", 2),
        ("old", 2),
        ("new", 1),
        ("label:new", 1),
    ],
)
def test_names_of_one_result(three: tuple[Store, list[Path]], name: str, place: int) -> None:
    store, paths = three
    assert store.resolve(name) == paths[place]
    assert store.load(name).session.id == paths[place].stem


def test_a_target_is_told_from_a_result_that_is_not_there(store: Store) -> None:
    for name, command in (("qemu:trio-mono", "kernometer run --on qemu:trio-mono"), ("nothing", "kernometer run")):
        with pytest.raises(ResultError) as refused:
            store.resolve(name)
        assert f"'{command}' measures" in refused.value.next_step
    with pytest.raises(ResultError) as refused:
        store.resolve_set("label:nothing")
    assert "--on" not in refused.value.next_step


def test_a_set_is_named_by_its_label(three: tuple[Store, list[Path]]) -> None:
    store, paths = three
    assert store.resolve_set("label:old") == (paths[2], paths[0])
    assert store.resolve_set("old") == (paths[2],)
    assert [result.session.id for result in store.load_set("label:old")] == [paths[2].stem, paths[0].stem]


def test_a_set_may_be_of_one_target(store: Store) -> None:
    """Expected: the label's sessions of that target. Broken: a matrix's sets can be compared with nothing."""
    labels = [("m", "local"), ("m", "qemu:a"), ("m", "qemu:a"), ("a@b", "local"), ("x", "ssh:me@host")]
    paths = [
        fill(store, make.session(label=label, target=target, started=float(number)))
        for number, (label, target) in enumerate(labels)
    ]
    assert store.resolve_set("label:m@qemu:a") == (paths[2], paths[1])
    assert store.resolve_set("label:a@b") == (paths[3],)
    assert store.resolve_set("label:x@ssh:me@host") == (paths[4],)
    with pytest.raises(ResultError, match="on the target 'ssh:none'"):
        store.resolve_set("label:m@ssh:none")


def test_a_path_is_a_name(three: tuple[Store, list[Path]], monkeypatch: pytest.MonkeyPatch) -> None:
    store, paths = three
    assert store.resolve(str(paths[0])) == paths[0]
    assert store.resolve(paths[1].name) == paths[1]
    monkeypatch.chdir(store.folder)
    shutil.copy(paths[0], "plain")
    assert store.resolve("plain") == Path("plain")


@pytest.mark.parametrize(
    "name",
    ["", "20260102", "2026", "@3", "@-1", "@x", "nothing", "label:", "label:nothing", "/nowhere.ndjson", "%", "\x1b"],
)
def test_names_of_none_or_several_are_refused_with_a_next_step(three: tuple[Store, list[Path]], name: str) -> None:
    with pytest.raises(ResultError) as caught:
        three[0].resolve(name)
    assert caught.value.next_step
    assert "\x1b" not in caught.value.text


def test_an_empty_store_says_what_to_do(store: Store) -> None:
    assert store.summaries() == []
    with pytest.raises(ResultError) as caught:
        store.resolve("@last")
    assert "kernometer run" in caught.value.next_step
    assert not store.folder.exists()


@pytest.mark.parametrize("path", ["/", "/dev/zero", "/proc/self/mem"])
def test_paths_that_are_no_files_of_ours(store: Store, path: str) -> None:
    with pytest.raises(ResultError, match=path):
        store.load(path)


def test_filters(three: tuple[Store, list[Path]]) -> None:
    store, paths = three
    fill(store, make.session(target="qemu:linux-6.1", by="path", started=9.0))
    assert [one.path for one in store.summaries(label="old")] == [paths[2], paths[0]]
    assert [one.target for one in store.summaries(by="path")] == ["qemu:linux-6.1"]
    assert [one.path for one in store.summaries(target="local", newest=1)] == [paths[2]]
