"""Does the interface compiler hold its limits to the word?"""

from __future__ import annotations

from pathlib import Path

import pytest

import idl_parse

#: Linux passes six.
REGISTERS = 6


def parsed(folder: Path, *members: str) -> idl_parse.Interface:
    path = folder / "x.idl"
    path.write_text("\n".join(["service x {", *(f"\t{member}" for member in members), "}", ""]))
    return idl_parse.parse(path)


def many(count: int, kind: str = "u64") -> str:
    return ", ".join(f"v{at}: {kind}" for at in range(count))


@pytest.mark.parametrize(("fits", "over"), [(12, 13)])
def test_a_message_has_twelve_words(tmp_path: Path, fits: int, over: int) -> None:
    """Expected: the twelfth is the last. Broken: a member that fits is refused, or a word is cut off."""
    [member] = parsed(tmp_path, f"1: call full({many(fits)});").members
    assert member.words == fits
    with pytest.raises(idl_parse.Wrong, match="12 words"):
        parsed(tmp_path, f"1: call over({many(over)});")
    [member] = parsed(tmp_path, f"1: call grants({many(fits // 2, 'grant read')});").members
    assert member.words == fits
    with pytest.raises(idl_parse.Wrong, match="12 words"):
        parsed(tmp_path, f"1: call grants({many(fits // 2, 'grant read')}, more: u32);")


def test_eight_values_come_back(tmp_path: Path) -> None:
    [member] = parsed(tmp_path, f"1: call full() -> ({many(8)});").members
    assert len(member.outs) == 8
    with pytest.raises(idl_parse.Wrong, match="8 values"):
        parsed(tmp_path, f"1: call over() -> ({many(9)});")


@pytest.mark.parametrize("last", range(REGISTERS))
def test_registers_are_counted_to_the_last_that_is_used(tmp_path: Path, last: int) -> None:
    """Expected: all up to it are part of the message. Broken: the last is left out, and a call sees what lay there."""
    made = parsed(tmp_path, "1: client f(v: u64);", f"linux 7 f = f(a{last});")
    assert made.linux[0].registers == last + 1


def test_a_call_without_arguments_uses_no_register(tmp_path: Path) -> None:
    assert parsed(tmp_path, "1: client f();", "linux 7 f = f();").linux[0].registers == 0


def test_a_register_that_does_not_exist_is_refused(tmp_path: Path) -> None:
    with pytest.raises(idl_parse.Wrong):
        parsed(tmp_path, "1: client f(v: u64);", f"linux 7 f = f(a{REGISTERS});")


@pytest.mark.parametrize(("grants", "by_registers"), [(0, True), (1, True), (2, True), (3, False)])
def test_a_call_of_two_grants_is_made_of_registers_and_one_of_three_is_not(
    tmp_path: Path, grants: int, by_registers: bool
) -> None:
    """A service holds two grants of its client at once (seam/grants.c)."""
    words = ", ".join(f"a{at}[8]" for at in range(grants))
    made = parsed(tmp_path, f"1: client f({many(grants, 'grant read')});", f"linux 7 f = f({words});")
    assert made.linux[0].is_registers == by_registers
