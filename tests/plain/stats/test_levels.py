"""Levels: are rows with several kinds of iteration found in real counts, no others, and not compared by a median?"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from kernometer.results.model import Result
from kernometer.stats.compare import compare
from kernometer.stats.figures import figures
from kernometer.stats.floors import layouts
from kernometer.stats.levels import APART, LEAST_ITERATIONS, LEAST_SHARE, levels, middle_mean
from kernometer.stats.model import RowComparison, RowFigure, Verdict
from kernometer.stats.path import DEFAULT_MEANS_FLOOR, MEANS
from tests.support.stats.simulate import ROW, path_result

#: Net counts of real kernels' iterations, each with how often it occurred.
COUNTED: dict[str, dict[str, list[tuple[float, int]]]] = json.loads(
    (Path(__file__).parent / "traces" / "levels.json").read_text()
)
OTHER = "linux 6.12 sha256:2"


def counted(system: str, row: str) -> list[float]:
    return [cost for cost, times in COUNTED[system][row] for _ in range(times)]


#: Every row of COUNTED that has levels: count and share in per cent.
WITH_LEVELS = {
    ("OpenBSD 7.8", "fs/read@bufsize=1024,blocks=2000"): [(1700, 50), (7876, 25), (14256, 25)],
    ("OpenBSD 7.8", "fs/write@bufsize=1024,blocks=2000"): [(2005, 50), (8183, 25), (14563, 25)],
    ("OpenBSD 7.8", "fs/copy@bufsize=1024,blocks=2000"): [(3672, 50), (16410, 25), (27663, 25)],
    ("FreeBSD 13.0", "proc/thread"): [(13926, 57), (16100, 19), (35537, 18)],
    ("Linux 6.1", "ctx/pipe-pair@same-cpu"): [(10395, 77), (12817, 22)],
    ("Linux 6.1", "ctx/signal-pair@same-cpu"): [(13467, 71), (15498, 29)],
    ("Linux 6.1", "ctx/yield@same-cpu"): [(4185, 52), (12339, 21), (13245, 26)],
    ("Linux 7.3", "ipc/posix-mq@same-cpu"): [(13482, 70), (14850, 28)],
}


@pytest.mark.parametrize(("system", "row"), [(system, row) for system, rows in COUNTED.items() for row in rows])
def test_real_rows_with_several_kinds_of_iteration_are_found_and_no_others(system: str, row: str) -> None:
    """Broken: OpenBSD's read, half of which takes 4 to 8 times as long, is exact; or a first iteration is a level."""
    if row.startswith("ctx/ring@"):  # a hop takes 128 instructions more or less, and 3 of 25 rounds agree
        assert len(levels(counted(system, row))) == 7
        return
    found = [(round(one.cost), round(100 * one.share)) for one in levels(counted(system, row))]
    assert found == WITH_LEVELS.get((system, row), [])


def test_a_lower_median_may_be_no_level_at_all() -> None:
    """OpenBSD's write: 149 of 300 iterations take 2,005 instructions, and the 150th is an accident of 2,830."""
    writes = counted("OpenBSD 7.8", "fs/write@bufsize=1024,blocks=2000")
    assert sorted(writes)[149] == 2830
    assert 2830 not in [one.cost for one in levels(writes)]
    assert middle_mean(writes) == pytest.approx(6498, rel=0.01)


@pytest.mark.parametrize(
    ("costs", "why"),
    [
        ([100.0] * 200, "one level"),
        ([100.0] * 185 + [200.0] * 15, f"less than {LEAST_SHARE:.0%} of the iterations"),
        ([100.0] * 18 + [200.0] * 2, "two of twenty"),
        ([100.0] * 5 + [200.0] * 5, f"fewer than {LEAST_ITERATIONS} iterations"),
        ([100.0] * 100 + [104.0] * 100, f"less than {APART:.0%} apart"),
        ([100.0, *np.linspace(100, 150, 300)], "one broad kind"),
        ([-5.0] * 100 + [5.0] * 100, "nothing above the baseline"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_jitter_ticks_and_accidents_are_no_levels(costs: list[float], why: str) -> None:
    assert levels(costs) == (), why


def test_the_mean_follows_the_share_without_a_jump() -> None:
    """Expected: 1 % more iterations on the upper level move the mean by 1 % of the distance, also where the level
    begins to be one. Broken: two kernels just above and below that share differ by ten times as much."""
    means = [middle_mean([100.0] * (1000 - n) + [200.0] * n) for n in range(50, 500, 10)]
    steps = np.diff(means)
    assert float(steps.max()) == pytest.approx(100 * 0.01 / 0.9)
    assert float(steps.min()) == pytest.approx(100 * 0.01 / 0.9)


def test_ticks_and_the_start_do_not_move_the_mean() -> None:
    assert middle_mean([100.0] * 58 + [5000.0, 200.0]) == 100


def mixed(*kinds: tuple[int, int]) -> Sequence[int]:
    """So many iterations of each count."""
    return [count for count, times in kinds for _ in range(times)]


def judged(a: Sequence[int], b: Sequence[int], known: Sequence[Result] = (), *, image: str = OTHER) -> RowComparison:
    sides = [path_result("a", {ROW: a}, board="b")], [path_result("b", {ROW: b}, image=image, board="b")]
    (row,) = compare(*sides, history=None, floors=layouts(known)).rows
    return row


HALF = mixed((1000, 100), (3000, 100))


def test_a_figure_says_its_levels() -> None:
    figure = figures(path_result("a", {ROW: HALF}))[ROW]
    assert [(one.cost, one.share) for one in figure.levels] == [(1000, 0.5), (3000, 0.5)]
    assert (figure.cost, figure.mean) == (1000, 2000)


def test_an_upper_level_that_doubles_is_seen() -> None:
    """Expected: slower by the means. Broken: equal lower medians, so exactly equivalent."""
    row = judged(HALF, mixed((1000, 100), (6000, 100)))
    assert (row.verdict, row.ratio, row.by_mean) == (Verdict.SLOWER, 1.75, True)
    assert MEANS in row.notes
    assert row.floor == DEFAULT_MEANS_FLOOR


def test_a_median_that_jumps_to_the_other_level_is_no_difference() -> None:
    """51 against 49 of 100: the lower medians are 1,000 and 3,000. Expected: undecided, since nobody knows how far
    layout moves the shares. Broken: three times slower."""
    row = judged(mixed((1000, 102), (3000, 98)), mixed((1000, 98), (3000, 102)))
    assert row.verdict is Verdict.UNDECIDED
    assert row.ratio == pytest.approx(1.02, abs=0.005)
    assert "layout floor not measured, taken as 10 %" in row.notes


def rotated(image: str, shares: Sequence[int]) -> list[Result]:
    made = []
    for machine, upper in enumerate(shares):
        counts = {ROW: mixed((1000, 200 - upper), (3000, upper))}
        made.append(path_result(f"{image}{machine}", counts, image=image, machine=str(machine), board="b"))
    return made


def test_a_floor_of_a_row_with_levels_is_that_of_its_means() -> None:
    """Expected: what the shares do to the mean. Broken: medians that stay on one level, and a floor of nothing."""
    known = [*rotated("linux 6.1 sha256:1", [80, 84, 88] * 3), *rotated(OTHER, [80] * 9)]
    inside = judged(mixed((1000, 120), (3000, 80)), mixed((1000, 114), (3000, 86)), known)
    assert (inside.verdict, "below the layout floor" in inside.notes) == (Verdict.UNDECIDED, True)
    beyond = judged(mixed((1000, 120), (3000, 80)), mixed((1000, 100), (3000, 100)), known)
    assert beyond.verdict is Verdict.SLOWER
    assert inside.floor == beyond.floor == pytest.approx(0.049, abs=0.002)


def test_equal_means_of_unlike_levels_are_undecided() -> None:
    known = [*rotated("linux 6.1 sha256:1", [100] * 9), *rotated(OTHER, [100] * 9)]
    row = judged(HALF, mixed((1500, 100), (2500, 100)), known)
    assert (row.ratio, row.verdict) == (1, Verdict.UNDECIDED)
    assert "equal means of unlike levels" in row.notes
    assert judged(HALF, HALF, known).verdict is Verdict.EQUIVALENT


def test_one_kernel_with_levels_equals_itself() -> None:
    row = judged(HALF, HALF, image="linux 6.1 sha256:1")
    assert (row.verdict, row.ratio, row.notes[0]) == (Verdict.EQUIVALENT, 1, "equal counts")


def test_levels_on_one_side_only_are_compared_by_means_too() -> None:
    row = judged([1000] * 200, HALF)
    assert (row.by_mean, row.ratio, row.verdict) == (True, 2.0, Verdict.SLOWER)


def test_rows_without_levels_are_compared_as_ever() -> None:
    row = judged([1000] * 199 + [9000], [1030] * 150 + [1031] * 50)
    assert (row.by_mean, row.ratio) == (False, 1.03)
    assert isinstance(row.a, RowFigure)
    assert row.a.levels == ()
