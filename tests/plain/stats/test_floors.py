"""Layout floors: which sessions make one, whose is used, and how far may it be trusted?"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from kernometer.results.model import Result
from kernometer.stats.compare import compare
from kernometer.stats.figures import figures
from kernometer.stats.floors import REACH, Layout, RowSpread, floors_for, layouts, with_floors
from kernometer.stats.model import Verdict
from tests.support.stats.simulate import ROW, header, path_result, upper_bound

OLD, NEW, THIRD = ("linux 6.1 sha256:1", "linux 6.12 sha256:2", "linux 7.0 sha256:3")
BOARD = "qemu 7.2 microvm"


def rotated(counts: list[int], image: str = OLD, **changes: Any) -> list[Result]:
    """A session on a machine of its own for each count."""
    of: dict[str, Any] = {"image": image, "board": BOARD} | changes
    return [
        path_result(f"{image} {number}", {ROW: count}, machine=f"{BOARD}; seed {number}", **of)
        for number, count in enumerate(counts)
    ]


def floors(known: list[Result], *compared: Result) -> float | None:
    return floors_for(compared, layouts(known)).rows.get(ROW)


def test_a_floor_is_the_spread_over_rotated_machines() -> None:
    (layout,) = layouts(rotated([1000, 1004, 990]))
    assert layout.rows[ROW] == RowSpread(990, 1004, 3)
    assert layout.rows[ROW].floor == pytest.approx((1004 / 990) ** REACH[3] - 1)
    assert (layout.image, len(layout.machines)) == (OLD, 3)


def test_two_machines_are_none() -> None:
    """Expected: no floor. Broken: two that happen to agree are taken for a floor of nothing."""
    assert layouts(rotated([1000, 1000])) == ()
    again = rotated([1000, 1000, 1000])
    same = [path_result(f"again {number}", {ROW: 1000}, machine="one", board=BOARD) for number in range(3)]
    assert layouts(same) == ()
    assert len(layouts(again)) == 1


@pytest.mark.parametrize(
    "odd",
    [
        {"image": NEW},
        {"command_line": "mitigations=off"},
        {"board": "qemu 10 pc"},
        {"state": "booted"},
        {"state": ""},
        {"seed": 7},
        {"path_definition": 2},
        {"header": header(probe={"source_digest": "another"})},
        {"experiment": "e"},
        {"board": ""},
        {"end": None},
    ],
    ids=lambda odd: next(iter(odd)),
)
def test_what_is_not_the_same_but_for_the_layout_takes_no_part(odd: dict[str, Any]) -> None:
    """Expected: three machines, and the odd one out. Broken: what differs for a reason is taken for layout."""
    known = [*rotated([1000, 1000, 1000]), path_result("odd", {ROW: 2000}, machine="odd", **{"board": BOARD} | odd)]
    (layout,) = layouts(known)
    assert layout.rows[ROW].floor == 0


def test_what_else_was_asked_for_is_no_matter() -> None:
    """Expected: one floor of sessions of all profiles, since each row begins from its own state."""
    more = path_result("more", {"ctx/yield": 5, ROW: 2000}, machine="more", board=BOARD, profile="full")
    assert [layout.rows[ROW].floor for layout in layouts([*rotated([1000, 1000, 1000]), more])] == [2 ** REACH[4] - 1]


def test_sessions_whose_rows_shared_a_guest_make_no_floor() -> None:
    assert layouts(rotated([1000, 1100, 1000], state="")) == ()


def test_the_larger_floor_of_the_two_kernels_counts() -> None:
    old, new = rotated([1000, 1010, 1000]), rotated([1000, 1030, 1000], NEW)
    assert floors([*old, *new], old[0], new[0]) == pytest.approx(1.03 ** REACH[3] - 1)
    assert floors_for((old[0], new[0]), layouts([*old, *new])).lacking == frozenset()


def test_other_kernels_stand_in_for_one_without_and_it_is_said() -> None:
    """Expected: the largest of the others, and who lacks one. Broken: a kernel that nobody rotated has no floor."""
    known = [*rotated([1000, 1010, 1000]), *rotated([1000, 1040, 1000], THIRD)]
    new = path_result("new", {ROW: 1020}, image=NEW, machine="m", board=BOARD)
    found = floors_for((known[0], new), layouts(known))
    assert found.rows[ROW] == pytest.approx(1.04 ** REACH[3] - 1)
    assert (found.lacking, found.others) == (frozenset({NEW}), 2)
    comparison = compare([known[0]], [new], history=None, floors=layouts(known), name_b="6.12")
    assert comparison.rows[0].verdict is Verdict.UNDECIDED
    assert comparison.rows[0].floor == found.rows[ROW]
    assert "layout floors: the largest of 2 other kernels' stands in for 6.12" in comparison.remarks


def test_floors_of_another_board_are_not_asked() -> None:
    known = rotated([1000, 1100, 1000], board="pc")
    mine = path_result("m", {ROW: 1}, image=NEW, board=BOARD)
    assert floors(known, mine) is None


def test_floors_of_another_definition_are_not_asked() -> None:
    """Expected: none, for the row and for its comparison. Broken: how far iterations moved, for instructions."""
    known = rotated([1000, 1100, 1000])
    mine = path_result("m", {ROW: 1}, board=BOARD, path_definition=2)
    assert floors(known, mine) is None
    assert with_floors(figures(mine), mine, layouts(known))[ROW].floor is None


def test_floors_of_another_probe_only_stand_in() -> None:
    other = rotated([1000, 1100, 1000], header=header(probe={"source_digest": "another"}))
    mine = rotated([1000, 1001, 1000])
    assert floors([*other, *mine], mine[0]) == pytest.approx(1.001 ** REACH[3] - 1)
    assert floors(other, mine[0]) == pytest.approx(1.1 ** REACH[3] - 1)


def test_a_kernel_on_rotated_machines_is_held_against_its_floor() -> None:
    """Expected: equivalent within the floor, undecided beyond delta. Broken: a seed makes it slower."""
    known = rotated([1000, 1004, 990] * 3)
    (row,) = compare([known[0]], [known[1]], history=None, floors=layouts(known)).rows
    assert row.verdict is Verdict.EQUIVALENT
    assert row.floor == pytest.approx(1004 / 990 - 1)
    known = rotated([1000, 1040, 1000])
    (row,) = compare([known[0]], [known[1]], history=None, floors=layouts(known)).rows
    assert row.verdict is Verdict.UNDECIDED


@pytest.mark.parametrize("rotations", [3, 4, 5, 6, 7, 8, 9, 17])
def test_layout_alone_is_decided_in_5_of_100_however_few_machines_were_measured(rotations: int) -> None:
    """Two kernels whose counts spread alike, with 2 % of standard deviation. Expected: the floor of one of them is a
    bound that 5 of 100 differences exceed. Broken: three machines show too little, and 29 exceed it."""
    rng = np.random.default_rng(rotations)
    trials = 20_000
    logs = rng.normal(0, 0.02, (trials, 2, rotations))
    away = np.abs(logs[:, 0, 0] - logs[:, 1, 0])
    of_one, of_other = (
        np.log1p([RowSpread(math.exp(low), math.exp(high), rotations).floor for low, high in ends])
        for ends in (np.stack([one.min(axis=1), one.max(axis=1)], axis=1) for one in (logs[:, 0], logs[:, 1]))
    )
    assert float(np.mean(away > of_one)) <= upper_bound(0.05, trials)
    assert float(np.mean(away > np.maximum(of_one, of_other))) <= upper_bound(0.025, trials)
    if rotations in REACH:  # and not by being far too wide
        assert float(np.mean(away > of_one)) > 0.8 * 0.05


def test_the_simulated_rule_is_the_one_in_use() -> None:
    """The simulation above compares logs: so does `compare`."""
    spread = RowSpread(1000, 1050, 9)
    known = [Layout(image, "", BOARD, ("d1", "cc 12", "-O2"), (), {ROW: spread}) for image in (OLD, NEW)]
    a = path_result("a", {ROW: 100_000}, board=BOARD)
    for count, expected in ((104_999, Verdict.UNDECIDED), (105_001, Verdict.SLOWER), (95_239, Verdict.UNDECIDED)):
        b = path_result("b", {ROW: count}, board=BOARD, image=NEW)
        assert compare([a], [b], history=None, floors=known).rows[0].verdict is expected
    smaller = [replace(one, rows={ROW: RowSpread(1000, 1000, 9)}) for one in known]
    b = path_result("b", {ROW: 102_001}, board=BOARD, image=NEW)
    assert compare([a], [b], history=None, floors=smaller).rows[0].verdict is Verdict.SLOWER


def test_a_figure_bears_the_floor_of_its_own_kernel_and_probe() -> None:
    """Expected: the spread over this kernel's other states; nothing where only another kernel's is known. Broken: a
    figure that is called exact, and no word of how far the guest's state moves it."""
    result = rotated([1000])[0]
    own, others = layouts(rotated([1000, 1004, 990])), layouts(rotated([1000, 1100, 990], NEW))
    assert with_floors(figures(result), result, (*own, *others))[ROW].floor == own[0].rows[ROW].floor
    assert with_floors(figures(result), result, others)[ROW].floor is None
