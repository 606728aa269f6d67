"""The tables of the literature: whole, in the format, and saying what the papers say."""

from __future__ import annotations

import json
import subprocess
from collections import Counter
from pathlib import Path

import jsonschema
import msgspec
import pytest

from kernometer.errors import ResultError, UsageError
from kernometer.results import papers, schema
from kernometer.results.model import Baseline, Cell, Paper, Publication, Published, Result, Stated
from kernometer.results.reader import parse
from kernometer.results.store import Store, read_file
from kernometer.stats.figures import figures
from kernometer.stats.printed import Holds, beside, checks, columns, in_our_unit
from kernometer.targets import build
from tests.support.results import make

ROOT = Path(__file__).resolve().parents[3]
PAPERS = ("chawla", "corbet-2007", "griffiths-2006", "loew-2016", "miao-2011", "minix-3.4")

#: Figures that each table prints, counted in the papers: rows times systems.
COUNTS = {
    ("miao-2011", "table 1"): 27 * 3,
    ("miao-2011", "table 2"): 5 * 2,
    ("miao-2011", "section 2.2"): 2 + 3,
    ("miao-2011", "section 2.3"): 4,
    ("minix-3.4", "table 1"): 27 * 3,
    ("loew-2016", "table 1"): 9 * 2,
    ("loew-2016", "table 2"): 9 * 2,
    ("griffiths-2006", "table 1"): 4,
    ("griffiths-2006", "table 2"): 5 * 3,
    ("griffiths-2006", "table 3"): 4,
    ("chawla", "table 1"): 10 + 2,
    ("chawla", "table 2"): 2 * 2,
    ("chawla", "section 3.2"): 1,
    ("chawla", "table 3"): 3 * 2 * 4,
    ("chawla", "table 4"): 2 * 2 * 4,
}


def paper(name: str) -> Publication:
    return papers.load(f"published/{name}").publication


def test_the_five_sources_and_minix_are_there() -> None:
    assert papers.names() == list(PAPERS)


@pytest.mark.parametrize("name", PAPERS)
def test_every_line_is_of_the_format_and_belongs_to_the_paper(name: str) -> None:
    """Expected: the schema takes each line, its system and unit are declared, its number is what was printed."""
    validator = jsonschema.Draft202012Validator(schema.schema())
    for line in (papers.FOLDER / f"{name}.ndjson").read_text().splitlines():
        validator.validate(json.loads(line))
    found = paper(name)
    systems = {one.system for one in found.paper.systems}
    cells = [(one.table, one.row, one.system) for one in found.figures]
    assert len(set(cells)) == len(cells)
    for one in found.figures:
        assert one.system in systems
        assert one.table in found.paper.tables
        assert not (one.ours or one.overhead_of) or (one.meant or one.unit) in found.paper.units
        assert one.value is None or float(one.printed.replace(",", "")) == one.value
    for stated in found.stated:
        for cell in (stated.over, stated.under):
            assert cell is None or "*" in cell.row or (cell.table, cell.row, cell.system) in cells


def test_every_figure_of_every_table_is_carried() -> None:
    """Broken: a row or a column was left out."""
    counts = Counter((name, one.table) for name in PAPERS for one in paper(name).figures)
    assert counts == COUNTS


def test_the_ratios_that_the_papers_state_come_out_of_their_rows() -> None:
    """Expected: what holds, what holds but for digits cut off, and what does not hold, are told apart."""
    held = {one.stated.printed: one.holds for one in checks(paper("miao-2011")) if one.holds is not Holds.NO_ROWS}
    assert held == {
        "182": Holds.ROUNDED,
        "68": Holds.ROUNDED,
        "36": Holds.TRUNCATED,
        "8.6": Holds.ROUNDED,
        "7.6": Holds.TRUNCATED,
        "7.58": Holds.ROUNDED,
        "95%": Holds.ROUNDED,
        "62%": Holds.ROUNDED,
        "73%": Holds.ROUNDED,
        "5%": Holds.ROUNDED,
        "6.8%": Holds.NOT,
    }
    assert [one.holds for one in checks(paper("chawla")) if one.stated.printed == "0.0413"] == [Holds.ROUNDED]
    of_loew = {(one.stated.printed, one.holds) for one in checks(paper("loew-2016")) if one.holds is not Holds.NO_ROWS}
    assert of_loew == {("510%", Holds.AMONG), ("5-10%", Holds.NOT)}
    assert {one.holds for one in checks(paper("corbet-2007"))} == {Holds.NO_ROWS}


@pytest.mark.parametrize(
    "printed",
    ["66%", "75%", "less than half", "five times", "15%", "5-10%", "8.3%", "6-7%", "5%-10%"],
)
def test_what_the_text_names_without_rows_is_carried(printed: str) -> None:
    assert printed in {one.printed for one in paper("miao-2011").stated}


def test_the_demanded_notes_stand_at_their_figures() -> None:
    """Expected: what cannot be read as printed says so at the place."""
    quoted = [one for one in paper("miao-2011").figures if one.printed in ("81", "95")]
    assert len(quoted) == 2
    assert all("MkLinux" in one.note for one in quoted)
    assert all("a dash lost" in one.note for one in paper("loew-2016").stated if one.printed == "510%")
    assert all("µs" in one.note for one in paper("griffiths-2006").figures if one.table == "table 3")
    assert {one.note for one in paper("miao-2011").figures if "Excel" in one.row} == {"printed so: Execl"}
    assert {one.printed for one in paper("loew-2016").stated} >= {"8%", "28%", "5-10%"}
    assert {one.printed for one in paper("corbet-2007").stated} >= {"140 times", "1.4", "5-10%"}


def test_sizes_compilers_and_what_is_left_out_are_carried() -> None:
    """Broken: a reader takes a file for the whole paper."""
    assert [one.value for one in paper("miao-2011").stated if one.unit == "lines"] == [4000]
    assert [one.value for one in paper("loew-2016").stated if one.unit == "lines"] == [12000]
    assert "a few percentage points" in {one.printed for one in paper("griffiths-2006").stated}
    assert {one.printed for one in paper("chawla").figures} >= {"GCC 4.2.4", "Kernel 2.6.24-19", "Kernel 7.1"}
    assert all(paper(name).paper.left_out for name in PAPERS)
    assert any("Ultrix and Mach" in one for one in paper("miao-2011").paper.left_out)


def test_an_overhead_is_held_against_what_was_measured_beside_a_row() -> None:
    """Expected: K's O of pipes against the overhead of our round trip, a cost. Broken: no row of ours."""
    workload = "ctx/pipe-pair"
    row = f"{workload}@same-cpu"
    run = make.run(row=row, baseline=Baseline(batch=10, samples=(20_000,)))
    result = Result(session=make.session(), header=None, workloads={workload: make.workload(workload)}, runs=(run,))
    found = beside(paper("chawla"), "linux", figures(result), first=True)
    overhead = {(one.published, one.a, round(float(one.b), -2)) for one in found if "overhead" in one.published}
    assert {one.row for one in found if "overhead" in one.published} == {f"{row}, its overhead"}
    assert overhead == {
        ("table 4: pipe, overhead, gettimeofday", 2190, 2000),
        ("table 4: pipe, overhead, rdtsc", 2.01 * 1000, 2000),
    }


def test_rows_of_ours_exist() -> None:
    """Broken: a row was renamed, or the data name one that nobody made."""
    done = subprocess.run(
        [build.probe(), "--list", "--json", "--profile", "full"], capture_output=True, check=True, timeout=60
    )
    known = {
        row["row"]
        for line in done.stdout.splitlines()
        if line.startswith(b'{"type":"workload"')
        for row in json.loads(line)["rows"]
    }
    named = {row for name in PAPERS for one in paper(name).figures for row in (*one.ours, *one.overhead_of)}
    assert len(named) > 40
    assert named - known == set()


def test_columns_are_compared_in_both_directions_of_better() -> None:
    """Expected: a rate 182 times as high is a cost 182 times as low; "None" gives no ratio."""
    pairs = {one.row: one for one in columns(paper("miao-2011"), "linux", paper("miao-2011"), "minix3")}
    assert round(pairs["table 1: Process Creation"].ratio or 0, 1) == 182.1
    assert round(pairs["table 2: 1000 iterations"].ratio or 0, 2) == 7.67
    assert pairs["table 2: 1 iterations"].ratio is None
    assert len(pairs) == 32


def test_a_rate_in_our_time_and_a_typographical_slip_in_its_meaning() -> None:
    of_miao = paper("miao-2011")
    rows = {(one.row, one.system): one for one in of_miao.figures}
    fork = rows["Process Creation", "linux"]
    assert in_our_unit(of_miao.paper, fork, "ns") == pytest.approx(1e9 / 4479)
    assert in_our_unit(of_miao.paper, rows["Shell scripts (1 concurrent)", "linux"], "1/s") == pytest.approx(
        1452.8 / 60
    )
    assert in_our_unit(of_miao.paper, fork, "B/s") is None


def made(*stated: Stated) -> Publication:
    cells = {("a", "x"): 3.0, ("a", "y"): 2.0, ("b", "x"): 10.0, ("b", "y"): 4.0, ("c", "x"): 0.0, ("c", "y"): 1.0}
    figures = tuple(
        Published(table="t", row=row, system=system, printed=str(value), value=value, better="lower")
        for (row, system), value in cells.items()
    )
    return Publication(
        paper=Paper(format=1, name="made", title="", authors=(), systems=()), figures=figures, stated=stated
    )


@pytest.mark.parametrize(
    ("row", "form", "printed", "holds"),
    [
        ("a", "times", "1.5", Holds.ROUNDED),
        ("a", "times", "1.50", Holds.ROUNDED),
        ("a", "times", "1", Holds.TRUNCATED),
        ("a", "times", "1.4", Holds.NOT),
        ("a", "percent more", "50%", Holds.ROUNDED),
        ("a", "percent of", "150%", Holds.ROUNDED),
        ("b", "percent less", "-150%", Holds.ROUNDED),
        ("*", "times", "2.0", Holds.AMONG),
        ("*", "times", "3.0", Holds.NOT),
        ("none", "times", "3.0", Holds.NO_ROWS),
    ],
)
def test_a_stated_number_is_held_to_its_digits(row: str, form: str, printed: str, holds: Holds) -> None:
    given = {
        "place": "",
        "what": "",
        "printed": printed,
        "value": float(printed.strip("%")),
        "form": form,
        "over": {"table": "t", "row": row, "system": "x"},
        "under": {"table": "t", "row": row, "system": "y"},
    }
    [check] = checks(made(msgspec.convert(given, Stated)))
    assert check.holds is holds
    assert isinstance(check.stated.over, Cell)


def test_names_that_mean_nothing_are_answered_with_what_there_is() -> None:
    with pytest.raises(ResultError, match="no published table 'mao-2011'") as refused:
        papers.load("published/mao-2011")
    assert "miao-2011" in refused.value.next_step
    with pytest.raises(UsageError, match="no system 'windows'") as unknown:
        papers.load("published/miao-2011:windows")
    assert "linux" in unknown.value.next_step


@pytest.mark.parametrize("lines", [[b""], [b"{}"], [b'{"type":"end","complete":true}'], []])
def test_a_damaged_table_is_refused_whole(lines: list[bytes]) -> None:
    """Expected: it is ours, so a bad line is an error. Broken: a figure less, and nobody sees it."""
    with pytest.raises(ResultError):
        papers.parse(lines)
    good = (papers.FOLDER / "miao-2011.ndjson").read_bytes().splitlines()
    with pytest.raises(ResultError, match="Line 101"):
        papers.parse([*good[:100], b"{", *good[100:]])


def test_who_needs_samples_refuses_a_published_table(tmp_path: Path) -> None:
    with pytest.raises(ResultError, match="no samples"):
        Store(tmp_path).load_set("published/miao-2011:linux")
    with pytest.raises(ResultError, match="published/miao-2011"):
        try:
            read_file(papers.FOLDER / "miao-2011.ndjson")
        except ResultError as error:
            raise ResultError(error.text + error.next_step) from error


def test_a_published_line_in_a_session_is_damage_and_the_rest_is_kept() -> None:
    line = (papers.FOLDER / "miao-2011.ndjson").read_bytes().splitlines()[1]
    records = make.lines(make.records())
    result = parse([b"\n".join([records[0], line, *records[1:]])])
    assert len(result.runs) == 3
    assert [text for text in result.damage if "published table" in text]
