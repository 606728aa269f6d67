"""Lines: where they end, on a terminal and where programs read them."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from rich.table import Table
from rich.text import Text

from kernometer.cli.console import on
from kernometer.results.store import Store
from kernometer.text import wrapped
from tests.support.cli.looking import call, fill


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path)


SENTENCE = (
    "b against a: 50 slower, 12 faster, 36 equivalent (±2 %), half of the figures are known to ±27 % within 105 µs"
)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("width", range(40, 121))
def test_no_line_ends_between_a_number_and_its_unit(width: int) -> None:
    """Expected: `equivalent (±2 %)` on one line, every line within the width. Broken: a line that begins with `%)`."""
    found = wrapped(SENTENCE, width).split("\n")
    assert " ".join(found) == SENTENCE
    assert max(map(len, found)) <= width
    assert all(any(unit in line for line in found) for unit in ("(±2 %)", "±27 %", "105 µs"))


def test_lines_that_follow_an_indented_one_are_indented_further() -> None:
    assert wrapped("head\n  one two three\n\ntail", 9) == "head\n  one two\n    three\n\ntail"


def test_a_word_that_is_too_long_is_still_printed_whole() -> None:
    out = Terminal()
    on(out, color=False, columns=80).print(Text("x" * 300))
    assert out.getvalue().replace("\n", "") == "x" * 300


def test_a_pipe_gets_no_spaces_at_ends_of_lines() -> None:
    table = Table("name", "note", box=None)
    table.add_row("a", "long")
    table.add_row("b", "")
    piped = io.StringIO()
    on(piped, color=True, columns=80).print(table)
    assert [line for line in piped.getvalue().split("\n") if line != line.rstrip()] == []
    assert piped.getvalue().count("\n") == 3 and "\x1b" not in piped.getvalue()


@pytest.mark.parametrize("width", [60, 80, 120])
def test_a_session_is_shown_in_the_width_that_there_is(store: Store, width: int) -> None:
    """Expected: nothing beyond the width, no space at an end."""
    fill(store)
    lines = call(store, "show", "@last", width=width).output.split("\n")
    assert max(map(len, lines)) <= width
    assert [line for line in lines if line != line.rstrip()] == []
