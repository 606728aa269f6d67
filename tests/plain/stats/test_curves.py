"""Curves: which rows are one, in which order, and what is said of all their points together."""

from __future__ import annotations

from kernometer.stats.curves import Curve, curves, extremes, gathered, largest, shown_point, tally
from kernometer.stats.figures import figures
from kernometer.stats.model import RowComparison, Verdict
from tests.support.report import factory
from tests.support.results import make

WORKLOADS = {
    "mem/chase": make.workload("mem/chase", curve="bytes", params=("bytes", "stride")),
    "ctx/ring": make.workload("ctx/ring", curve="procs"),
    "syscall/getppid": make.workload(),
}


def rows(*names: str) -> dict[str, str]:
    return {name: f"of {name}" for name in names}


CHASE = rows(
    "mem/chase@bytes=16384,stride=64",
    "syscall/getppid",
    "mem/chase@bytes=4096,stride=64",
    "mem/chase@bytes=4096,stride=16",
    "mem/chase@bytes=65536,stride=64",
    "mem/chase@bytes=8192,stride=16",
)


def compared(*verdicts: tuple[Verdict, float | None]) -> Curve[RowComparison]:
    """A curve along bytes with these verdicts and ratios."""
    made = {
        f"mem/chase@bytes={1024 << index},stride=64": RowComparison(f"r{index}", "mem/chase", verdict, ratio)
        for index, (verdict, ratio) in enumerate(verdicts)
    }
    (curve,) = curves(made, WORKLOADS)
    return curve


def test_rows_that_differ_in_the_one_parameter_are_a_curve_in_its_order() -> None:
    """Expected: 4096 before 16384 before 65536, whatever the order of the rows. Broken: the drawn line goes back."""
    (curve,) = curves(CHASE, WORKLOADS)
    assert curve.name == "mem/chase@bytes=*,stride=64"
    assert (curve.workload, curve.parameter, curve.fixed) == ("mem/chase", "bytes", (("stride", "64"),))
    assert [point.x for point in curve.points] == [4096, 16384, 65536]
    assert [point.item for point in curve.points] == [CHASE[row] for row in curve.rows]


def test_two_points_draw_no_curve_and_placements_are_curves_of_their_own() -> None:
    ring = [f"ctx/ring@procs={procs},{place}" for procs in (2, 4, 8) for place in ("same-cpu", "other-cpu")]
    found = curves(rows(*ring, "ctx/ring@procs=16,same-cpu@cold"), WORKLOADS)
    assert [curve.name for curve in found] == ["ctx/ring@procs=*,same-cpu", "ctx/ring@procs=*,other-cpu"]
    assert curves(rows(*ring[:4]), WORKLOADS) == ()


def test_what_is_no_number_or_undefined_stays_a_row() -> None:
    """Expected: a file from elsewhere may hold any name. Broken: reading it raises."""
    odd = rows(
        *(f"ctx/ring@procs={value}" for value in ("x", "nan", "inf", "", "1e999")),
        *(f"no/such@procs={value}" for value in range(5)),
        *(f"syscall/getppid@procs={value}" for value in range(5)),
        "ctx/ring",
        "ctx/ring@procs",
    )
    assert curves(odd, WORKLOADS) == ()
    assert gathered(odd, WORKLOADS) == tuple(odd)


def test_a_curve_stands_once_at_the_place_of_its_first_row() -> None:
    first, *others = gathered(CHASE, WORKLOADS)
    assert isinstance(first, Curve) and first.name == "mem/chase@bytes=*,stride=64"
    assert others == ["syscall/getppid", "mem/chase@bytes=4096,stride=16", "mem/chase@bytes=8192,stride=16"]


def test_the_largest_decided_difference_is_that_of_the_ratio_furthest_from_1() -> None:
    """Expected: 0.5 is further than 1.8, and an undecided 9 does not count."""
    curve = compared((Verdict.SLOWER, 1.8), (Verdict.FASTER, 0.5), (Verdict.UNDECIDED, 9.0), (Verdict.FAILED, None))
    found, shown = largest(curve), shown_point(curve)
    assert found is not None and found.ratio == 0.5
    assert shown is not None and (shown.item, shown.x) == (found, 2048)
    assert tally(curve) == {Verdict.SLOWER: 1, Verdict.FASTER: 1, Verdict.UNDECIDED: 1, Verdict.FAILED: 1}
    assert list(tally(curve)) == [Verdict.SLOWER, Verdict.FASTER, Verdict.UNDECIDED, Verdict.FAILED]


def test_without_a_decided_point_there_is_none_and_an_open_one_stands_for_the_curve() -> None:
    curve = compared((Verdict.EQUIVALENT, 1.01), (Verdict.UNDECIDED, 0.9), (Verdict.UNDECIDED, 1.05))
    assert largest(curve) is None
    shown = shown_point(curve)
    assert shown is not None and shown.item.ratio == 0.9
    assert shown_point(compared(*[(Verdict.FAILED, None)] * 3)) is None
    broken = compared((Verdict.SLOWER, 0.0), (Verdict.SLOWER, float("inf")), (Verdict.EQUIVALENT, 1.0))
    assert largest(broken) is None


def test_extremes_are_the_points_of_the_least_and_the_largest_value() -> None:
    given = factory.curved(runs=2)
    found = figures(given)
    curve = next(one for one in curves(found, given.workloads) if one.name == "mem/chase@bytes=*,stride=64")
    ends = extremes(curve)
    assert ends is not None
    assert ends[0].value is not None and ends[1].value is not None and ends[0].value < ends[1].value
    assert ends[1].row == "mem/chase@bytes=8388608,stride=64"
