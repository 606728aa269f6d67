"""Files of other suites: is a file the unit, does their order in time count, is nothing decided without grounds?"""

from __future__ import annotations

from itertools import count

import numpy as np
import pytest

from kernometer.errors import ResultError
from kernometer.results.model import Paper, Publication, Published, Scale, System
from kernometer.stats.compare import compare
from kernometer.stats.imported import beside, compare_imported
from kernometer.stats.intervals import welch
from kernometer.stats.model import Comparison, RowComparison, Verdict
from tests.support.stats.rates import false_alarms
from tests.support.stats.simulate import of_costs, upper_bound

NUMBERS = count()
ROWS = [f"w/{number}" for number in range(400)]
UNITS = {
    "ns": Scale(unit="ns", factor=1.0),
    "MB/s": Scale(unit="B/s", factor=1e6),
    "cycles": Scale(unit="cycles", factor=1.0),
}


def file(
    place: float, figures: dict[str, float], *, unit: str = "ns", seconds: float = 60.0, **more: object
) -> Publication:
    """Measured in the minute of that number; 0: it does not tell."""
    samples = more.pop("samples", ())
    paper = Paper(
        format=1,
        name=f"file-{next(NUMBERS)}",
        title="a suite",
        authors=(),
        where=f"file {place:g}",
        systems=(System(system="measured", name=""),),
        units=UNITS,
        suite="suite",
        started=place * 60,
        seconds=seconds,
        **more,  # type: ignore[arg-type]  # by name
    )
    better = "lower" if unit in ("ns", "cycles") else "higher" if unit else ""
    rows = (
        Published(
            table="t",
            row=row,
            system="measured",
            printed=f"{value:g}",
            value=value,
            unit=unit,
            better=better,  # type: ignore[arg-type]  # one of three
            samples=samples,  # type: ignore[arg-type]  # lists of lists
        )
        for row, value in figures.items()
    )
    return Publication(paper=paper, figures=tuple(rows))


def files(order: str, a: float, b: float, spread: float = 0.01, rows: tuple[str, ...] = ("x",)) -> Comparison:
    """A file a letter, one after another; files spread by so much."""
    rng = np.random.default_rng(len(order))
    sides: dict[str, list[Publication]] = {"A": [], "B": []}
    for place, side in enumerate(order, 1):
        level = {"A": a, "B": b}[side]
        figures = {row: float(level * np.exp(spread * rng.standard_normal())) for row in rows}
        sides[side].append(file(place, figures))
    [made] = compare_imported(sides, 0.02)
    return made


def only(comparison: Comparison) -> RowComparison:
    [row] = comparison.rows
    return row


def test_files_measured_in_turn_are_units() -> None:
    """Expected: three a side decide 10 %. Broken: no verdict, though the samples allow one."""
    row = only(files("ABABAB", 100, 110))
    assert (row.verdict, row.units_a, row.units_b) == (Verdict.SLOWER, 3, 3)
    assert only(files("ABBAAB", 100, 100, 0.001)).verdict is Verdict.EQUIVALENT


@pytest.mark.parametrize(("order", "units"), [("AAABBB", (1, 1)), ("ABBA", (2, 1)), ("AB", (1, 1))])
def test_files_in_a_row_may_be_of_one_boot(order: str, units: tuple[int, int]) -> None:
    """Expected: one unit, undecided even at a factor of 2. Broken: three files of one boot as three units."""
    row = only(made := files(order, 100, 200))
    assert (row.verdict, row.units_a, row.units_b) == (Verdict.UNDECIDED, *units)
    assert made.undecidable and "measured in turn" in made.sentence
    assert (row.sessions_missing or 0) >= 1 and "files a side or more" in str(made.conditions)


def test_processes_of_one_file_tell_only_how_many_files_are_missing() -> None:
    """Expected: more where they spread more. Broken: none, or a verdict."""
    missing = []
    for spread in (0.001, 0.1):
        samples = tuple((100 * (1 + spread * (-1) ** at),) for at in range(10))
        sides = {name: [file(place, {"x": 100.0}, samples=samples)] for place, name in enumerate("AB", 1)}
        [made] = compare_imported(sides, 0.02)
        assert only(made).verdict is Verdict.UNDECIDED
        shown = only(made).a
        assert shown is not None and len(shown.runs) == 10
        missing.append(only(made).sessions_missing or 0)
    assert missing[0] == 1 < missing[1]


@pytest.mark.parametrize(
    ("places", "why"),
    [
        ((1, 2, 0, 4), "1 of 4 files do not tell"),
        ((1, 2, 2, 4), "overlap"),
        ((1, 1.5, 3, 4), "file 1 and file 1.5 overlap"),
    ],
)
def test_without_an_order_in_time_nothing_is_decided(places: tuple[float, ...], why: str) -> None:
    """Expected: the reason. Broken: copies of files, whose times are those of copying, count as measured in turn."""
    sides = {"A": [file(places[0], {"x": 1}), file(places[2], {"x": 1.01})]}
    sides["B"] = [file(places[1], {"x": 2}), file(places[3], {"x": 2.01})]
    [made] = compare_imported(sides, 0.02)
    assert only(made).verdict is Verdict.UNDECIDED and only(made).ratio == pytest.approx(2, rel=0.01)
    assert why in str(made.conditions)


def test_a_file_is_not_compared_with_itself() -> None:
    same = file(1, {"x": 1})
    with pytest.raises(ResultError, match="named twice"):
        compare_imported({"A": [same], "B": [same]}, 0.02)
    with pytest.raises(ResultError, match="no row in common"):
        compare_imported({"A": [same], "B": [file(2, {"y": 1})]}, 0.02)


def test_a_rate_that_falls_is_slower_and_what_is_no_figure_is_said() -> None:
    """Expected: by the direction of each unit; nothing of a row that is below 0 or has no direction."""
    for unit, verdict in (("MB/s", Verdict.FASTER), ("cycles", Verdict.SLOWER)):
        sides: dict[str, list[Publication]] = {"A": [], "B": []}
        for place, level in enumerate((100, 120, 101, 121), 1):
            figures = file(place, {"x": level, "y": -0.1}, unit=unit)
            fact = file(0, {"z": 5}, unit="").figures
            sides["AB"[place % 2 == 0]].append(Publication(paper=figures.paper, figures=(*figures.figures, *fact)))
        [made] = compare_imported(sides, 0.02)
        assert {row.row: row.verdict for row in made.rows} == {"x": verdict, "y": Verdict.UNDECIDED}
        assert "below the clock's resolution" in str(made.rows[1].notes)
        assert "neither direction is better: z" in str(made.remarks)
        scale = 1e6 if unit == "MB/s" else 1
        assert made.rows[0].a is not None and made.rows[0].a.value == pytest.approx(100.5 * scale, rel=1e-3)


def test_what_differs_between_files_is_named_and_dates_are_not() -> None:
    """Expected: the compiler. Broken: nothing, or every date."""
    sides = {
        side: [file(place, {"x": 1}, conditions={"compiler": f"gcc {place}", "date": str(place)})]
        for place, side in enumerate("AB", 1)
    }
    [made] = compare_imported(sides, 0.02)
    assert [(each.what, each.a, each.b) for each in made.differs] == [("compiler", "gcc 1", "gcc 2")]


def test_a_row_of_ours_with_the_same_definition_stands_beside() -> None:
    imported = files("AB", 100, 200)
    own = compare([of_costs("a", {"ours/x": [1.0]})], [of_costs("b", {"ours/x": [1.5]})], history=None)
    of_file = file(1, {"x": 1})
    figures = tuple(Published(table="t", row="x", system="m", printed="1", ours=("ours/x",)) for _ in of_file.figures)
    told = only(beside(imported, own, [Publication(paper=of_file.paper, figures=figures)]))
    assert "the same definition has ours/x: undecided" in told.notes


def simulated(order: str, between: float, within: float, rng: np.random.Generator) -> dict[str, list[Publication]]:
    """A/A: files spread by `between`, the ten processes of a file by `within`, in each of the rows."""
    sides: dict[str, list[Publication]] = {"A": [], "B": []}
    for place, side in enumerate(order, 1):
        level = 100 * np.exp(between * rng.standard_normal(len(ROWS)))
        medians = np.median(level * np.exp(within * rng.standard_normal((10, len(ROWS)))), axis=0)
        sides[side].append(file(place, dict(zip(ROWS, map(float, medians), strict=True))))
    return sides


@pytest.mark.parametrize("order", ["ABAB", "ABABAB", "ABABABABAB"])
def test_equal_sides_of_files_differ_in_at_most_one_of_twenty(order: str) -> None:
    """A/A, 1 % between files, 0.5 % between the processes of one. Broken: processes as units."""
    [made] = compare_imported(simulated(order, 0.01, 0.005, np.random.default_rng(3)), 0.02)
    assert false_alarms(made) <= upper_bound(0.05, len(ROWS))


def test_processes_as_units_would_be_wrong_in_seven_of_ten() -> None:
    """Why one file a side decides nothing: the same A/A, by Welch's t of ten processes a side."""
    rng = np.random.default_rng(4)
    a, b = (0.01 * rng.standard_normal((2000, 1)) + 0.005 * rng.standard_normal((2000, 10)) for _side in range(2))
    assert 0.65 < float(np.mean(welch(a, b).p() < 0.05)) < 0.85
