"""Levels and the kernel's part stand beside their figure: in every table, on the pages, and for programs."""

from __future__ import annotations

import io
import json

import msgspec
import pytest
from rich.console import Console

from kernometer.report.comparison.terminal import print_comparison
from kernometer.report.comparison.view import named_view
from kernometer.report.matrix.document import document as matrix_document
from kernometer.report.matrix.page import render as render_matrix
from kernometer.report.matrix.terminal import blocks
from kernometer.report.matrix.view import view
from kernometer.report.page import build, render
from kernometer.report.session.terminal import document, print_result
from kernometer.report.write.terminal import show
from kernometer.results.model import Events, Memory, Result
from kernometer.stats.compare import compare
from kernometer.stats.figures import figures
from kernometer.stats.series import Column, series
from tests.support.stats.simulate import path_result

READ, EXEC, CALL = "fs/read", "proc/execl", "syscall/getppid"
BRACKET = 7  # of path_result


def result(name: str, upper: int, user: int, image: str) -> Result:
    """A row with levels, one that is half the user's, and one that is the kernel's."""
    counts = {READ: [1700] * 100 + [upper] * 100, EXEC: [675_051] * 20, CALL: [300] * 20}
    made = path_result(name, counts, image=image)
    each = {READ: (50, 1_000), EXEC: (user, 675_051 - user), CALL: (20, 280)}
    events = tuple(
        Events(row=row, regions=10, counts={"user": 10 * (of[0] + BRACKET), "kernel": 10 * of[1]},
               empty={"user": 2 * BRACKET}, empty_regions=2)
        for row, of in each.items()
    )  # fmt: skip  # as in a file
    return msgspec.structs.replace(made, events=events)


A, B = result("a", 14_256, 3_000, "a sha256:1"), result("b", 28_512, 339_912, "b sha256:2")


def printed(show: object) -> str:
    out = io.StringIO()
    console = Console(file=out, width=80, markup=False, highlight=False)
    show(console)  # type: ignore[operator]  # one of the printing functions below
    assert max(len(line.rstrip()) for line in out.getvalue().splitlines()) <= 80
    return out.getvalue()


def test_the_table_says_levels_where_it_said_exact() -> None:
    """Broken: 1,700 instructions, exact, of a row whose other half takes 8 times as many."""
    text = printed(lambda console: print_result(console, A, figures(A), everything=True))
    lines = [" ".join(line.split()) for line in text.splitlines()]
    first = next(number for number, line in enumerate(lines) if line.startswith(READ))
    assert "1,700 instr 2 levels" in lines[first]
    assert lines[first + 1 : first + 4] == ["1,700 in 50 %", "14,256 in 50 %", "7,978 mean"]
    assert "levels: kinds of iteration" in text
    assert "kernel part" not in text  # the user's part of each row is below a tenth


def test_the_table_shows_the_kernels_part_of_a_figure_that_is_half_the_users() -> None:
    text = printed(lambda console: print_result(console, B, figures(B), everything=True))
    assert "335,139 kernel part" in " ".join(text.split())
    assert (figures(B)[CALL].kernel_part, figures(B)[CALL].much_user) == (280, False)


def test_a_comparison_shows_both_levels_and_both_kernels_parts() -> None:
    comparison = compare([A], [B], history=None)
    text = printed(lambda console: print_comparison(console, named_view(comparison, {}), everything=True))
    assert "1,700 in 50 %" in text
    assert "28,512 in 50 %" in text
    assert "of means" in text
    assert f"{READ}: the iterations have levels, so the means are compared" in text.replace("\n", " ")
    assert "672,051 kernel part" in text  # also of the side whose user part is small
    assert "kernel part 0.499" in text


@pytest.mark.parametrize(("bits", "marker", "kernel"), [(64, 10, 280), (64, 16, 274), (32, 16, 280), (32, 40, 280)])
def test_a_probe_of_32_bits_has_a_longer_marker(bits: int, marker: int, kernel: int) -> None:
    """The figure leaves out the bracket alone, and the region the marker's instructions too. Expected: the kernel's 280
    of a call, whatever else ran in an empty region. Broken: six of them are the user's, as on Fiwix."""
    header = B.header
    assert header is not None
    region, empty = 20 + BRACKET + min(marker, 16), BRACKET + marker
    made = msgspec.structs.replace(
        B,
        header=msgspec.structs.replace(header, probe=header.probe | {"pointer_bits": bits}),
        events=(Events(row=CALL, regions=1, counts={"user": region}, empty={"user": empty}, empty_regions=1),),
    )
    assert figures(made)[CALL].kernel_part == kernel


def test_what_servers_execute_in_user_mode_is_the_systems() -> None:
    """Expected: of a call's 20 instructions in user mode the 8 of a server are in its kernel part. Broken: a
    microkernel's part of a fork is its kernel's tenth."""
    counts = {"instructions": 600, "server_instructions": 16}
    made = msgspec.structs.replace(B, memories=(Memory(row=CALL, iterations=2, counts=counts),))
    assert figures(made)[CALL].kernel_part == 288


def test_a_matrix_marks_ratios_of_means() -> None:
    made = series([Column("a", (A,)), Column("b", (B,))])
    text = printed(lambda console: show(console, blocks(view(made))))
    assert "2 levels" in text
    assert "m: of means, as iterations have levels." in " ".join(text.split())
    (row,) = (row for row in view(made).rows if row.row == READ)
    assert row.cells[0].sign.endswith("m")
    (told,) = (row for row in json.loads(matrix_document(made))["rows"] if row["row"] == READ)
    assert [level["cost"] for level in told["levels"]] == [1700, 14_256]
    assert told["cells"]["b"]["by_mean"] is True
    assert "m: of means" in render_matrix(made)


def test_the_page_shows_them() -> None:
    comparison = compare([A], [B], history=None, name_a="a", name_b="b")
    page = render(build({"a": [A], "b": [B]}, [comparison]))
    assert "14,256 in 50 %" in page
    assert "335,139 kernel part" in page
    assert "kernel part 0.499" in page


def test_the_document_has_them() -> None:
    (row,) = (row for row in document(B, figures(B))["rows"] if row["row"] == EXEC)
    assert row["kernel_part"] == pytest.approx(675_051 - 339_912)
    assert row["mean"] == 675_051
