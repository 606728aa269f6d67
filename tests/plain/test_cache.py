"""What is kept in the cache: made once, whole or not at all, by however many at a time."""

from __future__ import annotations

import fcntl
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event
from typing import NoReturn

import pytest

from kernometer.cache import kept
from kernometer.errors import BuildError, ResultError


def a_folder(scratch: Path, text: str) -> Path:
    (scratch / "made").mkdir()
    (scratch / "made" / "text").write_text(text)
    return scratch / "made"


def test_it_is_made_once_and_nothing_else_is_left(tmp_path: Path) -> None:
    final = tmp_path / "cache" / "it"
    assert kept(final, lambda scratch: a_folder(scratch, "first")) == final
    assert kept(final, lambda scratch: a_folder(scratch, "second")) == final
    assert (final / "text").read_text() == "first"
    assert list(final.parent.iterdir()) == [final]


def test_of_two_at_once_the_second_waits_for_the_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Expected: it is made once, and no lock is left. Broken: both make it, which takes minutes for a kernel."""
    begun, waited_for = Event(), Event()

    def slow(scratch: Path) -> Path:
        begun.set()
        assert waited_for.wait(600)
        return a_folder(scratch, "first")

    monkeypatch.setattr(time, "sleep", lambda _seconds: waited_for.set())
    with ThreadPoolExecutor(1) as other:
        first = other.submit(kept, tmp_path / "it", slow)
        assert begun.wait(600)
        try:
            kept(tmp_path / "it", lambda scratch: a_folder(scratch, "second"))
        finally:
            waited_for.set()
        assert (first.result() / "text").read_text() == "first"
    assert list(tmp_path.iterdir()) == [tmp_path / "it"]


def test_who_is_slower_takes_what_is_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Expected: the faster one's, and no error, where there are no locks. Broken: a folder that cannot be renamed onto
    one that is full."""

    def no_locks(_file: object, _how: int) -> NoReturn:
        raise OSError

    monkeypatch.setattr(fcntl, "flock", no_locks)

    def slow(scratch: Path) -> Path:
        kept(tmp_path / "it", lambda other: a_folder(other, "faster"))
        return a_folder(scratch, "slower")

    assert (kept(tmp_path / "it", slow) / "text").read_text() == "faster"
    assert list(tmp_path.iterdir()) == [tmp_path / "it"]


def test_what_fails_leaves_nothing(tmp_path: Path) -> None:
    def broken(scratch: Path) -> Path:
        a_folder(scratch, "half")
        raise BuildError("no")

    with pytest.raises(BuildError, match="no"):
        kept(tmp_path / "it", broken)
    assert list(tmp_path.iterdir()) == []


def test_a_cache_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ResultError, match="file/below cannot be written") as caught:
        kept(tmp_path / "file" / "below" / "it", lambda scratch: a_folder(scratch, ""), ResultError)
    assert "XDG_CACHE_HOME" in caught.value.next_step
