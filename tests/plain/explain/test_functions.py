"""Which functions a figure is made of, and which make a difference: do they sum to it?"""

from __future__ import annotations

import pytest
from msgspec import structs, to_builtins

from kernometer.explain.cycles import Modelled, modelled
from kernometer.explain.functions import (
    BASELINE,
    BRACKET,
    INTERRUPTS,
    MOVED,
    REPEATED,
    Function,
    breakdowns,
    charged,
    decided,
    difference,
    differences,
)
from kernometer.report.profile.functions import blocks, sentence_of
from kernometer.results.model import KERNEL, Memory, ProfileCharge, ProfilePage, Result
from kernometer.results.processor import find
from kernometer.results.reader import DamagedError, parse_record
from kernometer.stats.compare import compare
from kernometer.stats.figures import figures
from tests.support.explain.profiles import ROW, A, B, profiled


def test_functions_and_named_lines_sum_to_the_figure() -> None:
    """Expected: with interrupts and what faulted apart. Broken: a bracket that is counted or forgotten."""
    result = profiled("a", A, repeated=3, interrupted=20, ops=4)
    found = breakdowns(result)[ROW]
    assert found.named == {INTERRUPTS: 20, REPEATED: -3, BRACKET: -7}
    assert next(iter(found.functions)) == Function("copy", True)
    figure = figures(result)[ROW].value
    assert figure is not None
    assert found.total == figure * found.ops


def test_what_is_charged_to_functions_sums_to_the_rows_count() -> None:
    """Expected: means of the row's iterations, less its bracket or its baseline, and what the second guest counted
    otherwise as a line. Broken: sums, a count of other misses, or a rest that nobody sees."""
    result = profiled("a", A)
    charges = (
        ProfileCharge(function=0, kernel=True, counts={"walks": 6, "large_walks": 2, "l1i_misses": 9}),
        ProfileCharge(function=3, counts={"walks": 3}),
        ProfileCharge(function=1, kernel=True, counts={"l1i_misses": 1}),
    )
    profile = structs.replace(
        result.profiles[0],
        charges=charges,
        footprints={KERNEL: {"kernel_code_lines": 5}, "0": {"user_code_lines": 2}},
    )
    memory = Memory(row=ROW, iterations=4, counts={"walks": 9, "large_walks": 2}, empty={"walks": 1})
    result = structs.replace(result, profiles=(profile,), memories=(memory,))
    found = breakdowns(result)[ROW]
    walks = charged(result, found, "page walks")
    assert walks is not None
    assert walks.functions == {Function("entry", True): 2.0, Function("call (probe)", False): 0.75}
    assert walks.named == {BRACKET: -1}
    assert walks.total == modelled_row(result).shown()["page walks"] == 1.75
    assert found.footprints == {KERNEL: {"kernel_code_lines": 5}, "probe": {"user_code_lines": 2}}
    assert "kernel 5 and 0, 0; probe 2 and 0, 0." in " ".join(text for text in map(str, blocks(found, everything=True)))
    more = structs.replace(memory, counts={"walks": 13}, baseline={"walks": 6}, baseline_iterations=2)
    other = charged(structs.replace(result, memories=(more,)), found, "page walks")
    assert other is not None
    assert other.named == {MOVED: 0.5, BASELINE: -3}
    assert charged(structs.replace(result, memories=()), found, "page walks") is None


def test_what_is_charged_to_pages_sums_to_the_rows_count_and_says_whose_they_are() -> None:
    """Expected: the sum and the named lines that functions have; the stack of a program, of the kernel's half the
    program's page that it is, of text in all spaces the program, in one line what only other iterations asked for.
    Broken: a mask that is a number of lines, other iterations' pages lost, or the bracket's walks the operation's."""
    result = profiled("a", A)
    touched = (
        ProfilePage(address="0x7ff000", frame="5", stack=True, function=3,
                    lines={"user_data": "f", "kernel_data": "10"}, counts={"walks": 4}),
        ProfilePage(space=-1, address="0xffff800000005000", frame="5", function=1,
                    lines={"kernel_data": "8000000000000001"}, counts={"large_walks": 4}),
        ProfilePage(space=-1, address="0xffffffff80000000", frame="6", lines={"kernel_code": "1"}),
        ProfilePage(space=-1, address="0xffffffffff600000", frame="7", function=3, lines={"user_code": "1"}),
        ProfilePage(space=7, counts={"walks": 3}),
    )  # fmt: skip  # a page a line
    charges = (ProfileCharge(function=0, kernel=True, counts={"walks": 7, "large_walks": 4}),)
    memory = Memory(row=ROW, iterations=4, counts={"walks": 7, "large_walks": 4}, empty={"walks": 1})
    profile = structs.replace(result.profiles[0], pages=touched, charges=charges)
    result = structs.replace(result, profiles=(profile,), memories=(memory,))
    found = breakdowns(result)[ROW]
    walks, by_function = (charged(result, found, "page walks", by_page=by_page) for by_page in (True, False))
    assert walks is not None and by_function is not None
    assert (walks.named, walks.total) == (by_function.named, by_function.total) == ({BRACKET: -1}, 1.75)
    assert walks.functions == {
        Function("0x7ff000 probe stack, 5 lines, call", False): 1,
        Function("0xffff800000005000 data, 2 lines, probe 0x7ff000", True): 1,
        Function("space 7 pages of other iterations", False): 0.75,
        Function("0xffffffff80000000 code, 1 line, entry", True): 0,
        Function("0xffffffffff600000 probe code, 1 line, call", False): 0,
    }
    assert walks.spaces == {"probe stack": 1, "kernel data": 1, "space 7 pages of other iterations": 0.75}
    shown = " ".join(text for text in map(str, blocks(walks, everything=False)))
    assert "Pages: probe stack 1.0, kernel data 1.0, space 7" in shown
    assert "0xffffffffff600000" not in shown  # what costs nothing, without --all


def modelled_row(result: Result) -> Modelled:
    """Of its only memory record, for the default processor."""
    session = structs.replace(result.session, processor=to_builtins(find("skylake")))
    return modelled([structs.replace(result, session=session)])[1][ROW]


def test_changes_sum_to_the_difference_of_the_figures() -> None:
    """Expected: new and vanished functions said, nothing else. Broken: a function that is equal on both is named."""
    a, b = profiled("a", A, repeated=1), profiled("b", B, repeated=2)
    found = difference(breakdowns(a)[ROW], breakdowns(b)[ROW])
    assert found is not None
    assert found.more == sum(one.more for one in found.changes) == 261
    assert [(one.name, one.more, one.state) for one in found.changes] == [
        ("copy", 300, ""),
        ("gone", -50, "gone"),
        ("fresh", 12, "new"),
        (REPEATED, -1, ""),
    ]
    assert sentence_of(found) == "+261: +300 in copy, −50 in gone (gone), +12 in fresh (new), −1 in 1 other"


def test_counts_are_of_one_operation() -> None:
    found = difference(breakdowns(profiled("a", A, ops=4))[ROW], breakdowns(profiled("b", B, ops=4))[ROW])
    assert found is not None
    assert (found.more, found.changes[0].more) == (262 / 4, 75)


@pytest.mark.parametrize("other", [profiled("b", B, ops=2), structs.replace(profiled("b", B), profiles=())])
def test_profiles_that_cannot_be_compared_are_left_out(other: Result) -> None:
    a = profiled("a", A)
    assert differences((a,), (other,), (ROW,)) == {}


def test_only_rows_that_differ_are_told() -> None:
    """Expected: none for equal kernels, and the row for others. Broken: a difference below the floor is explained."""
    a, b, same = profiled("a", A), profiled("b", B), profiled("c", A)
    assert decided(compare((a,), (b,), history=None)) == (ROW,)
    assert [*differences((a,), (b,), (ROW,))] == [ROW]
    assert decided(compare((a,), (same,), history=None)) == ()


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("counted", 581),
        ("gross", 1),
        ("names", ["only"]),
        ("repeated", 1),
        ("lines", [{"function": 9, "count": 580}]),
        ("charges", [{"function": 9, "counts": {}}]),
        ("pages", [{"function": 9}]),
    ],
)
def test_a_profile_that_contradicts_itself_is_damage(field: str, value: object) -> None:
    """Expected: the reader leaves it out. Broken: a table whose lines do not sum to its title."""
    import msgspec

    record = msgspec.to_builtins(profiled("a", A).profiles[0])
    parse_record(msgspec.json.encode(record))
    with pytest.raises(DamagedError):
        parse_record(msgspec.json.encode(record | {field: value}))
