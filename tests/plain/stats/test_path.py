"""Counts: is equality equality, and is a layout no difference?"""

from __future__ import annotations

from typing import Any

import pytest

from kernometer.results.model import Result
from kernometer.stats.alternate import ab
from kernometer.stats.compare import compare
from kernometer.stats.floors import Layout, RowSpread
from kernometer.stats.model import Comparison, RowComparison, Verdict
from kernometer.stats.path import CYCLES_TOO, DEFAULT_LAYOUT_FLOOR, EXACT, FLOORED, NOT_CYCLES, kernel
from tests.support.explain.memory import modelled
from tests.support.stats.simulate import ROW, header, path_result

OTHER = "linux 6.12 sha256:2"


def floors(floor: float | None) -> tuple[Layout, ...]:
    """The one row's floor as measured on both builds; None: nobody measured it."""
    spread = RowSpread(1.0, 1.0 + (floor or 0.0), 9)
    images = ("linux 6.1 sha256:1", OTHER)
    probe = path_result("x", {}).probe
    known = tuple(Layout(image, "", "", probe, ("1", "2", "3"), {ROW: spread}) for image in images)
    return () if floor is None else known


def judged(a: int, b: int, *, other_build: bool = False, **arguments: Any) -> RowComparison:
    comparison = compared(a, b, other_build=other_build, **arguments)
    (row,) = comparison.rows
    return row


def compared(a: int, b: int, *, other_build: bool = False, **arguments: Any) -> Comparison:
    changes = {"image": OTHER} if other_build else {}
    return compare([path_result("a", {ROW: a})], [path_result("b", {ROW: b}, **changes)], history=None, **arguments)


def test_equal_counts_of_one_image_are_equivalent_exactly() -> None:
    row = judged(12_345, 12_345)
    assert (row.verdict, row.ratio) == (Verdict.EQUIVALENT, 1.0)
    assert (row.low, row.high, row.p, row.exact) == (None, None, None, True)


@pytest.mark.parametrize(
    ("count", "floor", "expected"),
    [
        (100_001, 0.0, Verdict.EQUIVALENT),  # one instruction, and no state is known that moves it: within delta
        (99_000, 0.002, Verdict.EQUIVALENT),
        (103_000, 0.05, Verdict.UNDECIDED),
        (97_000, 0.05, Verdict.UNDECIDED),
        (120_000, 0.05, Verdict.UNDECIDED),  # beyond all that was seen, and still the same kernel
        (80_000, None, Verdict.UNDECIDED),
    ],
)
def test_a_kernel_is_never_faster_than_itself(count: int, floor: float | None, expected: Verdict) -> None:
    """Expected: at most undecided, with its cause if one is known. Broken: another archive is taken for the kernel's
    doing."""
    row = judged(100_000, count, floors=floors(floor))
    assert row.verdict is expected
    assert row.ratio == count / 100_000
    assert "the same kernel counts differently" in row.notes


@pytest.mark.parametrize(
    ("count", "floor", "expected"),
    [
        (100_000, None, Verdict.EQUIVALENT),  # equal counts
        (100_500, None, Verdict.EQUIVALENT),  # 0.5 % with a floor of 1 % lies within 2 %
        (101_500, None, Verdict.SLOWER),  # above the floor, and its reach is beyond delta
        (95_000, None, Verdict.FASTER),
        (103_000, 0.05, Verdict.UNDECIDED),  # below a measured floor
        (97_100, 0.05, Verdict.UNDECIDED),
        (110_000, 0.05, Verdict.SLOWER),
        (100_001, 0.0, Verdict.EQUIVALENT),
        (102_100, 0.0, Verdict.SLOWER),
    ],
)
def test_two_builds_are_held_against_the_layout_floor(count: int, floor: float | None, expected: Verdict) -> None:
    row = judged(100_000, count, other_build=True, floors=floors(floor))
    assert row.verdict is expected
    assert ("not measured" in str(row.notes)) == (floor is None)
    assert row.smallest == (pytest.approx(floor) if expected is Verdict.UNDECIDED else None)
    assert row.floor == pytest.approx(0.01 if floor is None else floor)


def test_counts_that_differ_among_themselves_raise_the_floor() -> None:
    """Two sessions of A 4 % apart. Expected: 3 % between the builds is not decided, whatever floor was given."""
    a = [path_result("a1", {ROW: 100_000}), path_result("a2", {ROW: 104_000})]
    (row,) = compare(a, [path_result("b", {ROW: 103_000}, image=OTHER)], history=None, floors=floors(0.001)).rows
    assert row.verdict is Verdict.UNDECIDED
    assert row.smallest == pytest.approx(0.04)
    assert not row.exact and row.a is not None and not row.a.exact


def test_remark_says_by_which_rule() -> None:
    assert compared(1, 1).remarks[0] == EXACT
    assert compared(1, 1, other_build=True).remarks[0] == FLOORED
    assert compared(1, 1).method == "path"


def test_remark_on_cycles_fits_what_is_shown() -> None:
    """Expected: that instructions are not cycles where only they were counted; where both sides have the memory
    system's counts, of which of the two the verdicts are. Broken: "not cycles" above a table of cycles."""
    rows = {"syscall/getppid": {"instructions": 138}}
    with_cycles, also = (modelled(name, rows) for name in ("a", "b"))
    without = path_result("c", {"syscall/getppid": 138})
    assert compare([with_cycles], [also], history=None).remarks[-1] == CYCLES_TOO
    assert compare([with_cycles], [without], history=None).remarks[-1] == NOT_CYCLES


def test_what_makes_another_kernel() -> None:
    """Expected: board, kernel image, command line and the probe's build are part of it; memory and seed are not."""
    plain = path_result("a", {ROW: 1})

    def changed(**changes: Any) -> Result:
        fields = {f: getattr(plain.session, f) for f in plain.session.__struct_fields__}
        return Result(**{**result_fields(plain), "session": type(plain.session)(**{**fields, **changes})})

    assert kernel(changed(label="x", id="y")) == kernel(plain)
    assert kernel(changed(board="b", machine="b; 1 MiB")) == kernel(changed(board="b", machine="b; 2 MiB"))
    assert kernel(changed(command_line="x")) != kernel(plain)
    assert kernel(changed(machine="qemu 10")) != kernel(plain)
    assert kernel(changed(image=OTHER)) != kernel(plain)
    assert kernel(changed(image="")) is None
    for part in ("source_digest", "libc", "linkage"):
        other = header(probe={**header().probe, part: "another"})
        assert kernel(path_result("a", {ROW: 1}, header=other)) != kernel(plain)
    assert kernel(path_result("a", {ROW: 1}, header=None)) is None


def result_fields(of: Result) -> dict[str, Any]:
    return {f: getattr(of, f) for f in of.__struct_fields__}


def test_one_image_booted_otherwise_is_another_kernel() -> None:
    """Expected: decided above the floor; the words of the command line stand among what differs. Broken: what a
    mitigation costs is never decided."""
    a = path_result("a", {ROW: 359}, command_line="quiet nokaslr")
    b = path_result("b", {ROW: 328}, command_line="quiet nokaslr mitigations=off")
    found = compare([a], [b], history=None)
    assert found.rows[0].verdict is Verdict.FASTER
    assert "kernel command line" in [each.what for each in found.differs]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"state": ""}, "rows shared a guest"),
        ({"state": "booted"}, "some were restored and some booted"),
        ({"state": "typed"}, "its console got its input at other moments"),
        ({"seed": 2}, "the probe's seeds differ"),
        ({"machine": "b; 1 MiB"}, "memory, seed or history differ"),
    ],
)
def test_what_may_move_the_counts_of_one_kernel_is_named(changes: dict[str, Any], words: str) -> None:
    a, b = path_result("a", {ROW: 359}, board="b"), path_result("b", {ROW: 360}, **{"board": "b"} | changes)
    (row,) = compare([a], [b], history=None).rows
    assert [words in note for note in row.notes if note.startswith("the same kernel counts differently: ")] == [True]


def test_unknown_kernel_is_never_the_same_image() -> None:
    """Expected: without a header nothing is known to be equal: the floor applies. Broken: None == None."""
    a, b = (path_result(name, {ROW: 100_000 + i}, header=None) for i, name in enumerate("ab"))
    assert compare([a], [b], history=None).remarks[0] == FLOORED


def test_ab_by_path_compares_counts() -> None:
    (row,) = ab(path_result("a", {ROW: 100}), path_result("b", {ROW: 110}, image=OTHER)).rows
    assert row.verdict is Verdict.SLOWER


def test_nothing_by_path_is_undecided() -> None:
    row = judged(0, 100)
    assert (row.verdict, row.ratio) == (Verdict.UNDECIDED, None)


def test_default_floor_is_below_delta() -> None:
    """Expected: otherwise no row of two builds could ever be called equivalent."""
    assert DEFAULT_LAYOUT_FLOOR < 0.02


MAX = "QEMU 7.2.22 tcg icount; microvm; -cpu max,-erms; 1 CPU; 2048 MiB; seed 1"


def conditions(**of_b: Any) -> tuple[str, ...]:
    a = path_result("a", {ROW: 5}, machine=MAX, command_line="quiet")
    b = path_result("b", {ROW: 5}, **({"machine": MAX, "command_line": "quiet"} | of_b))
    return compare([a], [b], history=None).conditions


def test_every_verdict_by_path_names_the_processor() -> None:
    """Expected: the model that chose the kernels' code. Broken: a verdict that another one turns round, unsaid."""
    (same,) = conditions()
    assert "on the emulated processor max,-erms:" in same
    (two,) = conditions(machine=MAX.replace("max,-erms", "Nehalem"))
    assert "on the emulated processor max,-erms (A) and Nehalem (B):" in two


@pytest.mark.parametrize("word", ["mitigations=off", "nopti", "spectre_v2=off", "mds=off"])
def test_mitigations_that_differ_are_said_not_to_be_seen_in_counts(word: str) -> None:
    """Expected: what a count does not show, which processor needs them, and by time. Broken: "22 equivalent"."""
    _, told = conditions(command_line=f"quiet {word}")
    assert f"mitigations differ (default | {word})" in told
    assert "max,-erms hardly affected" in told and "+cpu=Skylake-Client" in told and "by time" in told
    assert len(conditions(command_line="quiet audit=0")) == 1


def test_a_processor_that_is_affected_is_not_called_unaffected() -> None:
    machine = MAX.replace("max,-erms", "Skylake-Client")
    a = path_result("a", {ROW: 5}, machine=machine, command_line="quiet")
    b = path_result("b", {ROW: 5}, machine=machine, command_line="quiet mitigations=off")
    _, told = compare([a], [b], history=None).conditions
    assert "hardly affected" not in told and "counts one instruction; to see it, measure by time" in told
