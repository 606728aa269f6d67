"""The matrix as table, document and page: is every cell what was judged, and can everybody read it?"""

from __future__ import annotations

import io
import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
from msgspec import structs
from rich.console import Console

from kernometer.explain import factorial
from kernometer.explain.partitions import target
from kernometer.report.explanation import boundaries, switches
from kernometer.report.matrix.document import document
from kernometer.report.matrix.measures import MEASURES, counted_in, measured_in
from kernometer.report.matrix.page import render
from kernometer.report.matrix.terminal import blocks
from kernometer.report.matrix.view import ALONE, SIGNS, Cell, MatrixView, view
from kernometer.report.words.names import lines, short_names
from kernometer.report.write.html import breakable
from kernometer.report.write.terminal import Line, show
from kernometer.results.model import Failure, Result, Unsupported
from kernometer.stats.floors import layouts
from kernometer.stats.model import Verdict
from kernometer.stats.path import FLOORED
from kernometer.stats.series import Column, Series, series
from tests.support.explain.memory import SKYLAKE, modelled
from tests.support.explain.profiles import ROW, profiled
from tests.support.report import factory
from tests.support.report.factory import HOSTILE
from tests.support.report.html import ACTIVE, Elements
from tests.support.report.matrices import SYSTEMS, made
from tests.support.stats.simulate import header, path_result

ROOT = Path(__file__).parents[3]
STYLE = (ROOT / "src/kernometer/report/templates/matrix.css").read_text()
PAPER = (ROOT / "src/kernometer/report/templates/report.css").read_text()


def cells(of: MatrixView, row: str) -> list[str]:
    return [cell.sign for one in of.rows if one.row == row for cell in one.cells]


# What it says --------------------------------------------------------------------------------------------------------


def test_a_cell_is_the_change_against_the_baseline_or_why_there_is_none() -> None:
    """Expected: ratios where decided, signs elsewhere. Broken: an undecided difference is shown as a figure."""
    of = view(made(failed=3))
    assert cells(of, "syscall/getppid") == ["=", "1.144", "×"]
    assert cells(of, "syscall/stat") == ["?", "=", "×"]
    assert cells(of, "proc/fork-exit") == ["2.065", "2.071", "×"]
    assert [title for title, _rows in of.families] == ["System calls", "Context switches", "Processes"]
    assert of.failures == (("qemu:linux-7.0", "the guest panicked"),)
    assert (of.baseline, of.heads) == ("6.1", ("6.12", "6.16", "7.0"))


def curved(count: int = 3) -> Series:
    """A series with a curve along bytes: from 8 KiB on 1.5 times as much on the second system, 1.6 on the third."""
    chase = factory.definition("mem/chase", tuple(f"bytes={4096 << n}" for n in range(5)), curve="bytes")
    columns = []
    for n in range(count):
        counts = {
            info.row: round((1000 << at) * (1 + n * 0.1 + 0.4 * (n > 0) if at else 1))
            for at, info in enumerate(chase.rows)
        }
        counts["syscall/getppid"] = 367
        result = path_result(f"2026112{n}T0{n:02}", counts, image=f"image {n}", target=SYSTEMS[n])
        workloads = result.workloads | {chase.name: chase}
        runs = tuple(structs.replace(run, workload=run.row.partition("@")[0]) for run in result.runs)
        columns.append(Column(SYSTEMS[n], (structs.replace(result, workloads=workloads, runs=runs),)))
    return series(columns)


def test_a_curve_is_one_line_with_its_largest_decided_difference_and_its_points_beneath() -> None:
    """Expected: five points are a line a system, one change, and five rows in the page's folded table."""
    of = view(curved())
    assert [row.row for row in of.rows] == ["mem/chase@bytes=*", "syscall/getppid"]
    assert cells(of, "mem/chase@bytes=*") == ["1.500", "1.600"]
    [curve] = [row for row in of.rows if row.points]
    assert curve.cells[0].words == "1.500 slower at 8192; 4 slower, 1 equivalent"
    assert curve.figure == "1,000 instr … 16,000 instr"
    assert [point.row for point in curve.points][:2] == ["mem/chase@bytes=4096", "mem/chase@bytes=8192"]
    [change] = of.longer
    assert change.row == "mem/chase@bytes=* at 8192 (4 points)" and change.total == "1.600"
    assert len(view(curved(), points=True).rows) == 6
    out = io.StringIO()
    show(Console(file=out, width=80), blocks(of))
    assert "mem/chase@bytes=*" in out.getvalue() and "bytes=16384" not in out.getvalue()
    page = render(curved())
    assert "Every point of the curves" in page and page.count("mem/chase<wbr>@bytes=16384<") == 1
    told = json.loads(document(curved()))
    assert len(told["rows"]) == 6 and told["curves"][0]["parameter"] == "bytes"


def test_a_curve_without_a_decided_point_has_a_sign() -> None:
    same = curved()
    level = {
        name: replace(one, rows=tuple(replace(row, verdict=Verdict.EQUIVALENT) for row in one.rows))
        for name, one in same.comparisons.items()
    }
    assert cells(view(replace(same, comparisons=level)), "mem/chase@bytes=*") == ["=", "="]
    first = next(iter(level))
    open_ = tuple(
        replace(row, verdict=Verdict.UNDECIDED if at == 1 else row.verdict) for at, row in enumerate(level[first].rows)
    )
    level[first] = replace(level[first], rows=open_)
    assert cells(view(replace(same, comparisons=level)), "mem/chase@bytes=*") == ["?", "="]


def test_longer_and_when() -> None:
    of = view(made())
    assert [(one.row, one.total) for one in of.longer] == [("proc/fork-exit", "2.077"), ("syscall/getppid", "1.147")]
    assert [(step.after, step.ratio, step.more) for step in of.longer[1].steps] == [("6.16", "1.144", "+53 instr")]
    assert [one.row for one in of.shorter] == ["ctx/pipe-pair@same-cpu"]


def test_a_row_of_one_system_alone_is_told_from_one_that_was_not_measured() -> None:
    """Expected: a dot where the system measured what the baseline did not, and a blank where it did not either.
    Broken: "not measured" of what was measured."""
    counts = {"a": {"x/y": 5}, "b": {"x/y": 5, "x/z": 7}, "c": {"x/y": 5}}
    results = {name: path_result(name, each, image=name, target=name) for name, each in counts.items()}
    of = view(series([Column(name, (result,)) for name, result in results.items()]))
    assert cells(of, "x/z") == [ALONE, ""]
    assert [cell.words for row in of.rows if row.row == "x/z" for cell in row.cells] == [
        "not measured on the baseline",
        "not measured on both",
    ]


def test_one_probe_is_one_build() -> None:
    """Expected: one source in two builds is not called one probe. Broken: musl's Linux and FreeBSD's libc by "one
    probe", with a warning above that the probes differ."""

    def told(*compilers: str) -> list[str]:
        probes = [{"source_digest": "0123456789abcdef0", "compiler": compiler} for compiler in compilers]
        results = [path_result(f"s{n}", {"a/b": 5}, image=f"{n}", header=header(probe=p)) for n, p in enumerate(probes)]
        of = view(series([Column(f"s{n}", (result,)) for n, result in enumerate(results)]))
        return [text for text in of.remarks if "one probe" in text]

    assert told("gcc", "gcc") == ["one probe on all systems: sources 0123456789abcdef"]
    assert told("gcc", "clang") == ["one probe on all systems, in 2 builds: sources 0123456789abcdef"]


def test_what_differs_besides_the_system_is_told_once() -> None:
    """Expected: the machine that differs, and not the kernel's own names. Broken: thirteen times the same warning."""
    columns = [
        Column(name, (path_result(name, {"a/b": 5}, image=name, target=name, machine=f"machine {n % 2}"),))
        for n, name in enumerate("abcd")
    ]
    assert view(series(columns)).warnings == ("machine: machine 0 on a; b: machine 1; d: machine 1",)


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (["qemu:linux-6.1", "qemu:linux-6.12"], ["6.1", "6.12"]),
        (["qemu:linux-6.1", "qemu:linux-6.1+mitigations=off"], ["6.1", "6.1+mitigations=off"]),
        (["local", "wrap:nice"], ["local", "wrap:nice"]),
        (["before", "after"], ["before", "after"]),
        (["one"], ["one"]),
        (["a-", "a-b"], ["a-", "a-b"]),
        (["wrap:taskset -c 1", "wrap:taskset -c 1 ./uml"], ["taskset -c 1", "taskset -c 1 ./uml"]),
        (["x\x1b-1", "x\x1b-2"], ["1", "2"]),
    ],
)
def test_heads_are_what_tells_systems_apart(names: list[str], expected: list[str]) -> None:
    assert short_names(names) == expected


def test_heads_break_after_separators_and_fit() -> None:
    assert lines("6.1+mitigations=off", 8, 4) == ["6.1+", "mitigati", "ons=off"]
    assert lines("6.12", 7, 4) == ["6.12"]
    assert lines("x" * 40, 7, 3) == ["x" * 7, "x" * 6 + "…", "x" * 5]
    ends = [lines(f"taskset -c 1 studies/uml-and-gvisor/{name}", 7, 4)[-1] for name in ("uml", "gvisor")]
    assert ends == ["uml", "gvisor"]
    assert lines("", 7, 3) == [""]


# The terminal --------------------------------------------------------------------------------------------------------


def printed(of: Series, width: int = 80) -> str:
    console = Console(file=io.StringIO(), width=width, markup=False, highlight=False, color_system=None)
    show(console, blocks(view(of)))
    stream = console.file
    assert isinstance(stream, io.StringIO)
    return stream.getvalue()


def test_many_systems_are_groups_of_columns_that_fit_the_terminal() -> None:
    """Expected: 80 columns, every system once, every row in each group. Broken: lines that wrap, or lost columns."""
    text = printed(made(14))
    assert max(map(len, text.splitlines())) <= 80
    heads = [word for line in text.splitlines() if re.fullmatch(r"[\s\d.]+", line) for word in line.split()]
    assert [head for head in heads if head.startswith("8.")] == [f"8.{n}" for n in range(4, 14)]
    table = text.split("Ratio of cost")[0].split("\n\n", 1)[1]
    assert table.count("syscall/getppid") == table.count("System calls") > 1
    assert "\x1b" not in text


def test_the_terminal_names_failures_and_signs() -> None:
    text = printed(made(failed=2))
    assert "qemu:linux-6.16: the guest panicked" in text
    assert re.search(r"^syscall/getppid +367 instr +=", text, flags=re.MULTILINE)
    assert "\nproc/fork-exit 2.077\n  6.12 2.065: +165,000 instr\n" in text


def test_a_curves_lowest_and_highest_figure_are_both_whole() -> None:
    """Broken: `1,000 instr … …`."""
    text = printed(curved())
    assert "1,000 instr …" in text and "16,000 instr" in text and "… …" not in text


def test_a_step_is_a_line_and_names_its_sum_once() -> None:
    a, b = profiled("a", {"entry": 100, "copy": 400}), profiled("b", {"entry": 100, "copy": 700, "fresh": 12})
    text = printed(series([Column("a", (a,)), Column("b", (b,))]), 200)
    assert "\n  b 1.633: +312 instr; +300 in copy, +12 in fresh (new)\n" in text


def test_rows_that_a_system_lacks_are_told_once_with_the_reason() -> None:
    """Expected: one line for all rows of one reason, and in each of the page's cells a link to it. Broken: ten lines of
    nothing, since what many rows share is left out of each; a column of words that is cut."""
    rows = {f"fs/row-{n}": 1000 + n for n in range(6)}
    lacking = tuple(Unsupported(row=f"fs/row-{n}", reason="the kernel has no minix") for n in range(5))
    a = path_result("a", rows, image="a")
    b = path_result("b", {"fs/row-5": 1005}, image="b", unsupported=lacking)
    of = series([Column("a", (a,)), Column("b", (b,))])
    assert "fs/row-0 and 4 more rows: unsupported on b: the kernel has no minix" in printed(of)
    page = render(of)
    assert page.count("the kernel has no minix") == page.count('id="note-1"') == 1
    assert page.count('<a href="#note-1">1</a>') == 5


# The document --------------------------------------------------------------------------------------------------------


def test_the_document_has_every_figure() -> None:
    given = json.loads(document(made(failed=3)))
    assert [system["name"] for system in given["systems"]] == list(SYSTEMS)
    assert given["systems"][3]["failure"] == "the guest panicked" and given["systems"][3]["sessions"] == []
    (row,) = [one for one in given["rows"] if one["row"] == "syscall/getppid"]
    assert (row["value"], row["unit"], row["family"]) == (367, "instructions", "syscall")
    cell = row["cells"]["qemu:linux-6.16"]
    assert (cell["verdict"], cell["value"], cell["ratio"]) == ("slower", 420, 420 / 367)
    assert row["cells"]["qemu:linux-7.0"]["verdict"] == "failed"
    change = next(one for one in given["changes"] if one["row"] == "syscall/getppid")
    assert [(step["before"], step["after"]) for step in change["steps"]] == [("qemu:linux-6.12", "qemu:linux-6.16")]


def test_a_step_in_the_document_says_which_functions_make_it() -> None:
    """Expected: their differences sum to the step's. Broken: a step whose cause the page names and the document not."""
    a, b = profiled("a", {"entry": 100, "copy": 400}), profiled("b", {"entry": 100, "copy": 700, "fresh": 12})
    (change,) = json.loads(document(series([Column("a", (a,)), Column("b", (b,))])))["changes"]
    (step,) = change["steps"]
    assert (step["functions"]["row"], step["functions"]["more"]) == ("syscall/getppid", 312)
    assert [(one["function"], one["more"]) for one in step["functions"]["functions"]] == [("copy", 300), ("fresh", 12)]


# The page ------------------------------------------------------------------------------------------------------------


def test_colours_go_by_the_logarithm_both_ways_alike() -> None:
    """Expected: as much slower is as dark as as much faster. Broken: half the cost is paler than twice the cost."""
    for ratio, number in ((1.02, 1), (1.05, 2), (1.1, 3), (1.3, 4), (1.9, 5), (2.0, 6), (500.0, 6)):
        assert Cell("slower", "", "", (), ratio).colour == f"s{number}"
        assert Cell("faster", "", "", (), 1 / (ratio * 1.0001)).colour == f"f{number}"
    assert [Cell(kind, "", "", (), 1.5).colour for kind in ("undecided", "not there")] == ["undecided", "not_there"]


def colours(style: str) -> list[dict[str, str]]:
    """The variables of each :root: light, dark, paper."""
    return [
        dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6})", block)) for block in re.findall(r":root \{(.*?)\}", style, re.S)
    ]


def luminance(colour: str) -> float:
    """Relative luminance, WCAG 2.1."""
    channels = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [value / 12.92 if value <= 0.04045 else ((value + 0.055) / 1.055) ** 2.4 for value in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(a: str, b: str) -> float:
    dark, light = sorted((luminance(a), luminance(b)))
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("scheme", [0, 1, 2], ids=["light", "dark", "print"])
def test_the_figure_in_every_colour_can_be_read(scheme: int) -> None:
    """Expected: a contrast of 4.5 (WCAG AA) at least, and steps that stand out the more from the paper."""
    of, page = colours(STYLE)[scheme], colours(PAPER)[scheme]
    for name in (*(f"{side}{n}" for side in "sf" for n in range(1, 7)), "undecided"):
        assert contrast(of[f"heat-{name}"], of[f"on-{name}"]) >= 4.5, name
    for side in "sf":
        away = [contrast(of[f"heat-{side}{n}"], page["paper"]) for n in range(1, 7)]
        assert away == sorted(away)
    assert contrast(page["muted"], page["paper"]) >= 4.5
    assert contrast(page["failed"], page["paper"]) >= 4.5


def test_the_heat_map_has_every_operation_and_every_sign_in_its_colour() -> None:
    """Expected: one table of all families, a cell a system. Broken: a figure whose colour says another."""
    page = render(made(13, failed=12))
    of = view(made(13, failed=12))
    table = page.split('<table class="heat"')[1].split("</table>")[0]
    assert table.count("<tr>") == len(of.rows) + 1 and page.count('<table class="heat"') == 1
    for title, rows in of.families:
        assert table.count(f"<span>{title}</span>") == 1
        for row in rows:
            shown = re.findall(
                r'<td class="heat-(\w+)">([^<]*)</td>', table.split(f">{breakable(row.row)}<")[1].split("</tr>")[0]
            )
            assert shown == [(cell.colour, cell.sign) for cell in row.cells]


def test_the_page_loads_nothing_and_runs_nothing() -> None:
    page = render(made(failed=2))
    elements = Elements(page)
    assert not {tag for tag, _attributes in elements.found} & ACTIVE
    assert not re.search(r"(?:src|href)=\"(?!#|data:,)", page)
    assert "default-src 'none'" in page
    assert "heat-failed" in page


def test_the_page_has_the_table_the_steps_and_the_failure() -> None:
    page = render(made(failed=3))
    assert "<b>6.16: 1.144</b> +53 instr" in page
    assert "the guest panicked" in page
    assert "1.144 slower" in page
    assert "On 6.16 2 of 4 operations cost more than on 6.1, and 1 cost less." in page


def test_what_all_cells_of_a_row_note_stands_once_beside_its_figure() -> None:
    """Expected: its floor once a row. Broken: eleven times `exact (floor 0 %)`, in columns too wide for the page."""
    of = view(made(failed=3))
    assert {row.note for row in of.rows} == {("exact (floor 1.0 %)",)}
    assert render(made(failed=3)).count("exact (floor 1.0\xa0%)") == len(of.rows)


def test_machines_without_a_split_are_no_section_of_the_page() -> None:
    """Expected: one guest on a second machine is a column. Broken: the page begins with what was not measured."""
    assert "Kernels by machines" not in render(made(3, names=(*SYSTEMS[:2], "qemu:linux-6.1+machine=pc")))


def test_the_page_counts_against_the_baseline_wherever_that_stands() -> None:
    """Broken: 0 of 4 cost more, since the last is counted against the first system, which is another one."""
    of = series(made().columns, baseline=SYSTEMS[1])
    assert [row.cells[-1].kind for row in view(of).rows].count("slower") == 1
    assert "On 7.0 1 of 4 operations cost more than on 6.12, and 0 cost less." in render(of)
    assert "each compared with 7.0" in render(series(made().columns, baseline=SYSTEMS[3]))


def test_hostile_names_are_text() -> None:
    names = tuple(f"{HOSTILE} {n}" for n in range(4))
    page = render(made(names=names))
    elements = Elements(page)
    assert not {tag for tag, _attributes in elements.found} & ACTIVE
    assert not any(name.startswith("on") for _tag, attributes in elements.found for name in attributes)
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", page)


def test_a_matrix_of_thirteen_kernels_stays_below_a_megabyte_and_a_half() -> None:
    rows = {f"fs/row-{n}@bufsize=1024,blocks=2000": 1000 + n for n in range(90)}
    columns = [
        Column(f"qemu:linux-6.{n}", (path_result(str(n), {row: c + 7 * n for row, c in rows.items()}, image=str(n)),))
        for n in range(13)
    ]
    assert len(render(series(columns)).encode()) < 1_500_000


def test_verdicts_have_signs_or_figures() -> None:
    """Expected: one for each. Broken: a new verdict is a blank cell."""
    assert {*SIGNS, Verdict.SLOWER, Verdict.FASTER} == set(Verdict)


def test_conditions_of_all_comparisons_are_told_once() -> None:
    """Expected: the processor, once for three systems, and in the document. Broken: not at all, or three times."""
    machine = "QEMU 7.2.22 tcg icount; microvm; -cpu max,-erms; 1 CPU"
    columns = [
        Column(name, (path_result(name, {"a/b": 5}, image=name, target=name, machine=machine),)) for name in "abc"
    ]
    (told,) = view(series(columns)).conditions
    assert "max,-erms" in told
    assert json.loads(document(series(columns)))["conditions"] == [told]


# In another measure --------------------------------------------------------------------------------------------------


def in_cycles(**changes: str) -> Series:
    """Three systems, of which the third was not counted. `changes`: another processor, by the system's number."""
    base = {"syscall/getppid": {"instructions": 100, "walks": 1}, "proc/fork-exit": {"instructions": 1_000}}
    rows = [
        base | {"proc/spawn": {"instructions": 1}},
        {"syscall/getppid": {"instructions": 100, "walks": 9}, "proc/fork-exit": {"instructions": 1_010}},
    ]
    sessions = [modelled(f"2026112{n}T0", of_rows, of=changes.get(str(n), "skylake"), image=f"image {n}",
                         target=SYSTEMS[n]) for n, of_rows in enumerate(rows)]  # fmt: skip  # a line a system
    sessions[1] = structs.replace(sessions[1], failures=(Failure(row="proc/spawn", text="it died"),))
    sessions.append(path_result("20261122T0", dict.fromkeys(base, 100), image="image 2", target=SYSTEMS[2]))
    return series([Column(name, (session,)) for name, session in zip(SYSTEMS[:3], sessions, strict=True)])


def test_a_matrix_in_cycles_has_the_ratios_of_the_cycles() -> None:
    """Expected: ratios of what is modelled, = within δ, blank where nothing was counted. Broken: the ratios of
    instructions below the head of cycles, or a system without counts as one that takes none."""
    matrix = in_cycles()
    of = measured_in(matrix, "cycles")
    assert of is not None
    costs = SKYLAKE.costs
    ratio = (40 + 9 * costs["walk"].cycles) / (40 + costs["walk"].cycles)
    assert costs["instruction"].cycles == 0.4
    shown = view(of)
    assert cells(shown, "syscall/getppid") == [f"{ratio:.3f}", ""]
    assert cells(shown, "proc/fork-exit") == ["=", ""]
    assert shown.conditions == ("Cycles of one operation on a Skylake, modelled",)
    assert cells(view(matrix), "syscall/getppid") == ["=", "="]
    assert cells(shown, "proc/spawn") == ["×", ""]
    assert (of.changes, shown.rows[0].figure) == ((), f"{40 + costs['walk'].cycles:.0f}")


def test_cycles_are_judged_by_the_floor_of_their_placement_where_it_was_measured() -> None:
    """Two kernels that differ by 1, 4 and 30 % of cycles; the first one's move by 2 % over machines (its floor of three
    is wider). Expected: nothing, undecided, and longer; without floors, or with those of another processor, δ alone.
    Broken: 4 % decided, which another seed makes of the same kernel."""
    counts = {"a/near": 10_100, "a/far": 10_400, "a/longer": 13_000}

    def session(at: int, moved: int, machine: str, of: str = "skylake") -> Result:
        rows = {row: {"instructions": (count if at else 10_000) + moved} for row, count in counts.items()}
        return modelled(f"2026112{at}T{machine}", rows, of=of, image=f"image {at}", target=SYSTEMS[at],
                        machine=machine, board="board", state="saved")  # fmt: skip  # one call

    def kinds(of: str, most: int = 200) -> list[str]:
        rotated = [session(0, moved, f"m{moved}", of) for moved in (0, 10, most)]
        columns = [Column(SYSTEMS[at], (session(at, 0, "m0"),)) for at in (0, 1)]
        told = measured_in(series(columns, floors=layouts(rotated)), "cycles")
        assert told is not None
        other = f"layout floors: another kernel's stands in for {SYSTEMS[1]}"
        assert told.comparisons[SYSTEMS[1]].remarks == ((FLOORED, other) if of == "skylake" else ())
        return [row.verdict.value for row in told.comparisons[SYSTEMS[1]].rows]

    assert kinds("skylake") == ["undecided", "undecided", "slower"]
    assert kinds("skylake", most=11) == ["equivalent", "slower", "slower"]
    assert kinds("zen3") == ["equivalent", "slower", "slower"]


def test_a_matrix_in_lines_has_the_footprint_without_pages() -> None:
    """Expected: 8 lines on both. Broken: the three pages among them."""
    of = measured_in(in_cycles(), "lines")
    assert of is not None
    assert [row.figure for row in view(of).rows] == ["8", "8", "8"]
    assert cells(view(of), "syscall/getppid") == ["=", ""]


def test_a_matrix_in_the_kernels_instructions_leaves_out_the_programs() -> None:
    """A monolithic kernel and one of servers, of two C libraries. Expected: the ratio of what kernel and servers
    execute. Broken: the libraries' part of it, servers as programs, or a row without kernel that divides by nothing."""
    rows = [
        {ROW: {"instructions": 140, "user": 40}, "cpu/hanoi": {"instructions": 100, "user": 100}},
        {
            ROW: {"instructions": 900, "user": 700, "server_instructions": 100},
            "cpu/hanoi": {"instructions": 100, "user": 100, "server_instructions": 0},
        },
    ]
    sessions = [modelled(f"2026112{n}T0", of, image=f"image {n}", target=SYSTEMS[n]) for n, of in enumerate(rows)]
    of = measured_in(series([Column(name, (s,)) for name, s in zip(SYSTEMS[:2], sessions, strict=True)]), "kernel")
    assert of is not None
    assert cells(view(of), ROW) == ["3.000"]
    assert cells(view(of), "cpu/hanoi") == [""]


def test_switches_and_boundaries_have_their_effects_in_cycles_without_and_with_tags() -> None:
    """Kernels that differ in walks alone. Expected: what these walks cost, nothing in instructions, nothing with tags;
    the words say which. Broken: instructions below the head of cycles, or walks that tags save."""
    walks = {"mono": 1, "mono+apart=fs": 4, "mono+with=scattered": 11}
    columns = [
        Column(target(kernel), (modelled(f"2026112{n}T0", {ROW: {"instructions": 100, "walks": count}},
                                         target=target(kernel), image=f"image {n}"),))
        for n, (kernel, count) in enumerate(walks.items())
    ]  # fmt: skip  # a line a system
    matrix, walk = series(columns), SKYLAKE.costs["walk"].cycles
    for measure, cost in ((None, 0.0), ("cycles", walk), ("cycles-tagged", 0.0)):
        counted = counted_in(matrix, measure)
        assert counted is not None
        effects, prices = factorial.of_results(matrix.results, counted), boundaries.of_columns(matrix, counted)
        assert effects is not None and prices is not None
        assert effects.rows[0].switches["scattered"].mean == pytest.approx(10 * cost)
        assert prices.rows[0].cuts == pytest.approx({"fs": 3 * cost})
        assert [*prices.rows[0].figures] == [*walks]
        title, *_ = switches.blocks(effects)
        assert isinstance(title, Line) and f"in {counted.what}: scattered" in title.text
        assert f"More {counted.what} than in mono" in boundaries.view(prices).cuts.words
        told = json.loads(document(matrix, counted))
        assert told["boundaries"]["what"] == told["factorial"]["what"] == counted.what
        assert (f"More {counted.what} than in mono" in render(matrix, counted)) and "{what}" not in render(matrix)
    assert counted_in(made(), "cycles") is None


def test_another_processors_counts_have_no_part_in_an_effect() -> None:
    """Expected: no figure of the kernel that was counted on another processor. Broken: the processors' difference is
    the switch's."""
    matrix = in_cycles(**{"1": "zen3"})
    counted = counted_in(matrix, "cycles")
    assert counted is not None
    assert [bool(counted.rows(result)) for column in matrix.columns for result in column.results] == [
        True,
        False,
        False,
    ]


def test_page_and_document_have_every_measure() -> None:
    """Expected: a heat map more for each, the counts of each system that counted. Broken: none, or a processor's
    beside another's."""
    page, told = render(in_cycles()), json.loads(document(in_cycles()))
    assert page.count('<table class="heat"') == 1 + len(MEASURES)
    assert told["processor"] == "Skylake"
    [row] = [row for row in told["rows"] if row["row"] == "syscall/getppid"]
    assert set(row["modelled"]) == {*SYSTEMS[:2]}
    assert row["modelled"][SYSTEMS[1]]["memory"] == {"instructions": 100, "walks": 9}
    other = json.loads(document(in_cycles(**{"1": "zen3"})))
    assert set(other["rows"][0]["modelled"]) == {SYSTEMS[0]}
    assert json.loads(document(made()))["processor"] is None
    assert render(made()).count('<table class="heat"') == 1
