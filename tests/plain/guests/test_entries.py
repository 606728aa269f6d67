"""The names of entries into Linux."""

from __future__ import annotations

from kernometer.guests.plugins.entries import named


def test_entries_have_the_names_of_linux_s_calls_and_ours() -> None:
    """Expected: names by number, across the gap between 334 and 424; a number that has none is kept. Broken: a call is
    named like its neighbour."""
    counts = dict.fromkeys(("0", "59", "231", "262", "334", "424", "435", "439", "512", "518", "400"), (1, 2))
    assert [*named(counts)] == [
        *("read", "execve", "exit_group", "newfstatat", "rseq", "pidfd_send_signal", "clone3", "faccessat2"),
        *("fault, read", "fstat by newfstatat", "system call 400"),
    ]
