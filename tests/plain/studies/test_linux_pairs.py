"""studies/linux_pairs.py: what it plants, on sources that were made up, and how it counts."""

from __future__ import annotations

import re

import pytest

from studies import linux_pairs
from studies.linux_pairs import FILES, ORDER, PLACES, edits, table

SOURCES = dict.fromkeys(FILES, "int other;\n") | {
    place.file: f"int before;\n{place.function}int a)\n{{\n\treturn a;\n}}\n" for place in PLACES
}
COUNTS = dict.fromkeys((place.row for place in PLACES), 10_000.0)


@pytest.mark.parametrize(("planted", "more"), [("", 0), ("1 %", 100), ("0.3 %", 30), ("40", 40)])
def test_a_pair_has_so_many_instructions_more_in_its_rows_function(planted: str, more: int) -> None:
    """Expected: at the function's beginning, and the same again for the same number. Broken: what is planted is not in
    the row's path, and the gate is blamed."""
    for number in range(60):
        changed, made = edits(number, COUNTS, SOURCES)
        assert (changed, made) == edits(number, COUNTS, SOURCES)
        if made["planted"] != planted:
            continue
        (place,) = (each for each in PLACES if each.row == made["row"])
        head = re.escape(f"{place.function}int a)\n{{\n")
        nops = re.findall(
            head + r'\tasm volatile\("\.rept (\d+); nop; \.endr"\);\n\treturn a', "".join(changed.values())
        )
        assert [int(each) * place.times for each in nops] == ([more] if planted else [])
        assert made["more"] == more
        assert all(text != SOURCES[file] for file, text in changed.items())


def test_half_of_the_pairs_have_nothing_planted() -> None:
    assert ORDER.count("") * 2 == len(ORDER)


def test_the_table_counts_found_rows_and_those_that_failed_wrongly() -> None:
    """Expected: a planted row that fails is found, another row that fails is wrong. Broken: either counts as both."""
    of = {"pair": 0, "row": "proc/fork-exit@", "alike": True}
    outcomes = {"proc/fork-exit": ["worse", "worse", 1.1], "syscall/getppid": [None, "same", 1.0]}
    wrong = {"proc/fork-exit": [None, "same", 1.0], "syscall/getppid": [None, "worse", 1.1]}
    pairs = [of | {"planted": planted, "outcomes": each} for planted in ("1 %", "") for each in (outcomes, wrong)]
    assert table(pairs)[2:] == ["| nothing | in place | 2 |  | 2 of 4 |", "| 1 % | in place | 2 | 1 | 1 of 2 |"]
    assert linux_pairs.FOUND.parent.is_dir()
