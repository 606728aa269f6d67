"""What init is told: words of equal cost whatever they are, and none that it cannot hold."""

from __future__ import annotations

import pytest

from kernometer.errors import UsageError
from kernometer.guests.inside.programs import MAX_BYTES, MAX_WORDS, UNIT, encoded


@pytest.mark.parametrize(
    ("words", "size"), [((), UNIT), (("a",), UNIT), (("x" * (UNIT - 1),), UNIT), (("x" * UNIT,), 2 * UNIT)]
)
def test_commands_are_padded_to_a_fixed_size(words: tuple[str, ...], size: int) -> None:
    """Expected: a unit, or more of them. Broken: init reads for longer where a name is longer, and counts move."""
    assert len(encoded(words)) == size


def test_words_end_with_a_nul_and_what_follows_is_nothing_else() -> None:
    assert encoded(("/bin/probe", "--by", "a b", "ä")).rstrip(b"\0") == "/bin/probe\0--by\0a b\0ä".encode()


@pytest.mark.parametrize("words", [("x" * MAX_BYTES,), ("x",) * (MAX_WORDS + 1), ("a\0b",), ("a", "", "b")])
def test_a_command_that_init_cannot_hold_is_refused(words: tuple[str, ...]) -> None:
    """Expected: UsageError before any boot. Broken: init cuts it, and the probe measures something else."""
    with pytest.raises(UsageError, match="does not fit"):
        encoded(words)


def test_the_longest_command_is_not_refused() -> None:
    assert len(encoded(("x" * (MAX_BYTES - 1),))) == MAX_BYTES
