"""A curve as one object: on the terminal, in JSON, and what stands for all of its points."""

from __future__ import annotations

import io
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from kernometer.report.comparison.terminal import print_comparison
from kernometer.report.comparison.view import named_view
from kernometer.report.session.absolute import view as figures_view
from kernometer.report.session.systems import gather
from kernometer.report.session.terminal import ASCII, BLOCKS, print_result, signs, spark
from kernometer.report.session.view import CurveView
from kernometer.report.words.curves import comparison_document, definitions, rows_document, x_text
from kernometer.results.model import Result
from kernometer.stats.compare import compare
from kernometer.stats.figures import figures
from kernometer.stats.model import Comparison, Flag, FlagCode, Verdict
from tests.support.report import factory


@pytest.fixture(scope="module")
def result() -> Result:
    return factory.curved(runs=3)


@pytest.fixture(scope="module")
def comparison() -> Comparison:
    """Above 64 KiB B costs 1.1 times as much; four sessions a side, in turn."""
    sides = [
        [factory.curved(name, runs=2, number=2 * index + odd, id=f"{name}{index}", factor=factor) for index in range(4)]
        for odd, (name, factor) in enumerate((("before", 1.0), ("after", 1.1)))
    ]
    return compare(*sides, history=None, name_a="before", name_b="after")


def shown(result: Result, **given: object) -> list[str]:
    out = io.StringIO()
    print_result(Console(file=out, width=80, highlight=False), result, figures(result), **given)  # type: ignore[arg-type]  # options of the test at hand
    return out.getvalue().splitlines()


def judged(comparison: Comparison, result: Result | None) -> list[str]:
    out = io.StringIO()
    workloads = definitions([result]) if result is not None else {}
    print_comparison(Console(file=out, width=80, highlight=False), named_view(comparison, workloads), everything=True)
    return out.getvalue().splitlines()


def test_a_curve_is_a_few_lines_with_its_ends_and_its_plot(result: Result) -> None:
    """Expected: name with *, points and range, plot, lowest and highest with their places, within 80 columns."""
    lines = shown(result)
    assert max(map(len, lines)) <= 80
    (at,) = (number for number, line in enumerate(lines) if line.startswith("mem/chase@bytes=*,stride=64"))
    group = [line.rstrip() for line in lines[at : at + 4]]
    assert group[0].split() == ["mem/chase@bytes=*,stride=64", "call", "↓", "3"]
    plot, *points = group[1].split()
    assert plot.startswith("▁▁▁▁") and plot.endswith("█") and len(plot) == 12
    assert points == ["12", "points,", "4096", "…", "8388608"]
    assert group[2].startswith("  lowest, at ") and " 1.5" in group[2] and group[2].endswith("%")
    assert group[3].startswith("  highest, at 8388608 ") and " ns" in group[3]
    assert not any(line.startswith("mem/chase@bytes=4096") for line in lines)


@pytest.mark.parametrize(("width", "lines_above"), [(72, 2), (120, 1)])
def test_where_there_is_room_plot_and_points_share_a_line(result: Result, width: int, lines_above: int) -> None:
    """Expected: the values stand beside lowest and highest either way. Broken: one line too high or too low."""
    out = io.StringIO()
    print_result(Console(file=out, width=width, highlight=False), result, figures(result))
    lines = [line.rstrip() for line in out.getvalue().splitlines()]
    assert max(map(len, lines)) <= width
    (at,) = (number for number, line in enumerate(lines) if line.startswith("mem/chase@bytes=*,stride=64"))
    assert "12 points" in lines[at + 1] and ("▁" in lines[at + 1]) == (lines_above == 1)
    for line, word in zip(lines[at + 1 + lines_above :], ("lowest", "highest"), strict=False):
        assert word in line and " ns " in line


def test_the_ends_of_a_curve_are_never_cut(result: Result) -> None:
    """Expected: two runs that disagree have an interval of a billion per cent, and the places can still be read."""
    wild = {
        row: replace(one, value_high=(one.value or 1) * 1e7, per="a long unit") for row, one in figures(result).items()
    }
    out = io.StringIO()
    print_result(Console(file=out, width=80, highlight=False), result, wild)
    assert "  12 points, 4096 … 8388608 " in out.getvalue() and "  highest, at 8388608 " in out.getvalue()
    assert max(map(len, out.getvalue().splitlines())) <= 80


def test_points_are_rows_where_asked_for(result: Result) -> None:
    """Expected: --points, and naming every point, give rows; naming some of a curve's points gives these."""
    everything = shown(result, points=True)
    assert sum(line.startswith("mem/chase@") for line in everything) == 24
    named = [row for row in figures(result) if row.endswith("stride=64")]
    lines = shown(result, named=named)
    assert sum(line.startswith("mem/chase@bytes=") and line[16].isdigit() for line in lines) == 12
    assert any(line.startswith("mem/chase@bytes=*,stride=16") for line in lines)
    assert any(line.startswith("mem/chase@bytes=*,stride=64") for line in shown(result, named=named[:1]))


def test_flags_of_the_points_are_gathered_with_their_number(result: Result) -> None:
    flags = (Flag(FlagCode.UNSTABLE, "5 %"),)
    two = ("mem/chase@bytes=4096,stride=16", "mem/chase@bytes=8192,stride=16")
    found = {row: replace(figure, flags=flags if row in two else ()) for row, figure in figures(result).items()}
    out = io.StringIO()
    print_result(Console(file=out, width=80, highlight=False), result, found)
    (line,) = (line for line in out.getvalue().splitlines() if line.startswith("mem/chase@bytes=*,stride=16"))
    assert line.rstrip().endswith("  u")
    assert "u unstable (2 rows)" in out.getvalue()


def test_a_curve_without_values_says_so(result: Result) -> None:
    """Expected: below resolution is no value, no height and no error."""
    found = {
        row: replace(figure, value=None, value_low=None, value_high=None) for row, figure in figures(result).items()
    }
    out = io.StringIO()
    print_result(Console(file=out, width=80, highlight=False), result, found)
    assert "  ????????????" in out.getvalue()
    assert "lowest" not in out.getvalue()


def test_the_plot_is_plain_where_the_stream_cannot_write_blocks() -> None:
    assert [signs(name) for name in ("utf-8", "UTF-16", "ascii", "latin-1", "no such", None)] == [
        BLOCKS, BLOCKS, ASCII, ASCII, ASCII, ASCII
    ]  # fmt: skip  # in the order of the names


def test_the_plot_is_logarithmic_and_noise_is_no_mountain() -> None:
    assert spark([1, 2, 4, 8, 16, 32, 64, 128], BLOCKS) == BLOCKS
    assert spark([100, 101, 99], BLOCKS) == "▁▁▁"
    assert spark([1, None, 0, float("inf"), 2], ASCII) == "_???#"
    assert spark([], BLOCKS) == ""
    assert len(spark([*range(1, 200)], BLOCKS)) == 48 and spark([*range(1, 200)], BLOCKS)[-1] == "█"


@given(st.lists(st.none() | st.floats(allow_nan=False, min_value=0), max_size=60), st.integers(8, 60))
def test_every_plot_has_a_sign_a_point_and_fits(values: list[float | None], width: int) -> None:
    plot = spark(values, BLOCKS, width)
    assert len(plot) == min(len(values), width) and set(plot) <= {*BLOCKS, "?"}


def test_values_of_a_parameter_are_written_as_in_the_rows_name() -> None:
    assert [x_text(x) for x in (4096.0, 0.5, 67108864.0, 0.0, -1.0)] == ["4096", "0.5", "67108864", "0", "-1"]


def test_the_json_of_a_result_names_the_rows_of_its_curves(result: Result) -> None:
    first, second = rows_document(figures(result), result.workloads)
    assert first["name"] == "mem/chase@bytes=*,stride=16" and second["fixed"] == {"stride": "64"}
    assert (second["workload"], second["parameter"]) == ("mem/chase", "bytes")
    assert second["points"][0] == {"x": 4096.0, "row": "mem/chase@bytes=4096,stride=64"}
    assert len(second["points"]) == 12


def test_a_compared_curve_is_one_line_with_its_tally_and_largest_difference(
    comparison: Comparison, result: Result
) -> None:
    """Expected: 7 of 12 points are slower, and the figures are those of the point where it is most."""
    lines = judged(comparison, result)
    assert max(map(len, lines)) <= 80
    assert "14 slower" in lines[0], "the first line counts rows"
    (at,) = (number for number, line in enumerate(lines) if line.startswith("mem/chase@bytes=*,stride=64"))
    assert lines[at].rstrip().endswith("7 slower") and lines[at + 1].rstrip().endswith("5 equivalent")
    most = max((row for row in comparison.rows if row.row.endswith("stride=64")), key=lambda row: row.ratio or 0)
    assert f"{most.ratio:.3f} [{most.low:.3f}, {most.high:.3f}]" in lines[at]
    assert f"at {most.row.split('=')[1].split(',')[0]} " in lines[at + 1]
    assert any("largest decided difference" in line for line in lines)
    assert sum(line.startswith("mem/chase@") and ":" not in line for line in judged(comparison, None)) == 24


def test_a_curve_of_which_nothing_is_decided_says_how_far_its_ratios_reach(
    comparison: Comparison, result: Result
) -> None:
    rows = tuple(
        replace(
            row,
            verdict=Verdict.UNDECIDED,
            smallest=0.1 + 0.01 * index,
            minutes_missing=3.0 + index,
            notes=("why", "own"),
        )
        if row.row.endswith("stride=16")
        else row
        for index, row in enumerate(comparison.rows)
    )
    lines = judged(replace(comparison, rows=rows), result)
    (at,) = (number for number, line in enumerate(lines) if line.startswith("mem/chase@bytes=*,stride=16"))
    assert " … " in lines[at] and lines[at].rstrip().endswith("12 undecided")
    worst = max(index for index, row in enumerate(rows) if row.row.endswith("stride=16"))
    assert f"sees {10 + worst} %, +{3 + worst} min" in lines[at + 1], "the worst of its points"
    few = tuple(replace(row, notes=()) if row.row > "mem/chase@bytes=2" else row for row in rows)
    told = [line for line in judged(replace(comparison, rows=few), result) if "own" in line]
    assert len(told) <= 1, "a note that its points share is said once"


def test_the_json_of_a_comparison_has_tally_and_largest_difference(comparison: Comparison, result: Result) -> None:
    first, second = comparison_document(comparison, definitions([result]))
    assert second["verdicts"] == {"slower": 7, "equivalent": 5}
    assert second["largest"]["row"] in [point["row"] for point in second["points"]]
    assert {row.row for row in comparison.rows} > {point["row"] for point in first["points"]}
    level = tuple(replace(row, verdict=Verdict.EQUIVALENT) for row in comparison.rows)
    assert comparison_document(replace(comparison, rows=level), definitions([result]))[0]["largest"] is None


def test_a_curve_stands_where_its_first_row_did(result: Result) -> None:
    workloads = figures_view(gather([("one", [result])])).workloads
    names = [one.name if isinstance(one, CurveView) else one.row for of in workloads for one in of.lines]
    assert len(names) == 14
    assert [name for name in names if name.startswith("mem/chase")] == [
        "mem/chase@bytes=*,stride=16", "mem/chase@bytes=*,stride=64"
    ]  # fmt: skip  # the names
