"""A comparison on the terminal: the sentence first, nothing silent, and it fits 80 columns."""

from __future__ import annotations

import io
from dataclasses import replace

import pytest
from rich.console import Console

from kernometer.report.comparison.terminal import print_comparison
from kernometer.report.comparison.view import named_view
from kernometer.stats.figures import figures
from kernometer.stats.model import Comparison, Difference, RowComparison, Verdict
from tests.support.report import factory

ROWS = (
    RowComparison(row="w/equal", workload="w/equal", verdict=Verdict.EQUIVALENT, ratio=1.001, low=0.99, high=1.01),
    RowComparison(row="w/slow", workload="w/slow", verdict=Verdict.SLOWER, ratio=1.5, low=1.4, high=1.6),
    RowComparison(
        row="w/open", workload="w/open", verdict=Verdict.UNDECIDED, ratio=1.1, low=0.9, high=1.3, smallest=0.23,
        sessions_missing=12, notes=("only this row",),
    ),
    RowComparison(row="w/broken", workload="w/broken", verdict=Verdict.FAILED, notes=("failed on B: fork: EAGAIN",)),
)  # fmt: skip  # a row a line
COMPARISON = Comparison(
    "A",
    "B",
    "compare",
    0.02,
    ROWS,
    differs=(Difference("probe compiler", "gcc 12", "clang 14"),),
    remarks=("a remark",),
)


def shown(comparison: Comparison, width: int = 80, *, whole: bool = False) -> list[str]:
    out = io.StringIO()
    console = Console(file=out, width=width, markup=False, highlight=False)
    print_comparison(console, named_view(comparison, {}), everything=whole)
    return out.getvalue().splitlines()


def test_first_line_is_the_sentence_and_every_difference_is_named() -> None:
    lines = shown(replace(COMPARISON, method="ab"))
    assert lines[0] == "B against A: 1 slower, 0 faster, 1 equivalent (±2 %), 1 undecided, 1 failed"
    assert any("probe compiler: gcc 12 | clang 14" in line for line in lines)
    assert "a remark" in lines


def test_the_first_line_of_stored_results_says_that_their_probes_differ() -> None:
    """Expected: how, before any count of verdicts, also where nothing can be decided. Broken: glibc's exec is taken for
    the kernel's. The flags' words are too long for it, and an `ab` was told which compilers to compare."""
    flags = Difference("probe flags", "cc -O2 -static", "musl-gcc -O2 -static -idirafter /usr/include " + "x" * 40)
    differs = (Difference("kernel release", "6.1", "6.12"), flags, Difference("probe libc", "glibc 2.36", "musl 1.2.3"))
    found = replace(COMPARISON, differs=differs)
    told = "B against A, by different probes (flags; libc: glibc 2.36 | musl 1.2.3): "
    assert shown(found, 200)[0].startswith(told + "1 slower")
    open_row = replace(ROWS[2], low=None, high=None)
    assert shown(replace(found, rows=(open_row,)), 200)[0].startswith(told + "nothing can be decided")
    assert shown(replace(found, method="ab"), 200)[0].startswith("B against A: 1 slower")


def test_rows_stand_by_effect_and_an_undecided_one_says_what_it_takes() -> None:
    lines = shown(COMPARISON)
    order = [line.split()[0] for line in lines if line.startswith("w/") and ":" not in line]
    assert order == ["w/slow", "w/open", "w/equal", "w/broken"]
    (open_row,) = (number for number, line in enumerate(lines) if line.startswith("w/open "))
    assert "sees 23 %, +12 sessions" in lines[open_row + 1]
    assert "w/broken: failed on B: fork: EAGAIN" in lines
    assert "w/open: only this row" in lines


def test_ratio_of_counts_is_exact_and_has_its_floor() -> None:
    """Expected: exact, with the floor where there is one. Broken: no interval, as if nothing were known."""
    row = RowComparison("w/counted", "w", Verdict.SLOWER, ratio=1.02, exact=True)
    lines = shown(replace(COMPARISON, method="path", rows=(row, replace(row, row="w/held", floor=0.01))))
    assert [line.split()[1:] for line in lines if line.startswith("w/")] == [
        ["–", "–", "1.020", "exact", "slower"],
        ["–", "–", "1.020", "exact", "1.0", "%", "slower"],
    ]
    assert not any("95 %" in line for line in lines)


def test_note_that_many_rows_share_is_said_once() -> None:
    many = tuple(replace(ROWS[2], row=f"w/{number}", notes=("the history is short",)) for number in range(9))
    assert shown(replace(COMPARISON, rows=many), whole=True).count("the history is short") == 1


def test_sides_are_a_and_b_whatever_their_names_share() -> None:
    """Expected: two heads that differ. Broken: `local:gcc -…` twice."""
    lines = shown(replace(COMPARISON, a="local:gcc -O0", b="local:gcc -O2"))
    assert "A: local:gcc -O0; B: local:gcc -O2" in lines
    assert any(line.split()[:4] == ["row", "A", "B", "ratio"] for line in lines)


def test_many_rows_are_the_first_and_the_largest_and_all_where_asked_for() -> None:
    """Expected: of 105 rows those people ask for, what failed, and the dozen decided ones that differ most."""
    rows = [replace(ROWS[1], row=f"w/{n:03}", ratio=1.5 + n / 100) for n in range(100)]
    many = replace(COMPARISON, rows=(*rows, replace(ROWS[0], row="sig/catch"), ROWS[3], *ROWS[2:3]))
    lines = [line.split()[0] for line in shown(many) if line.startswith(("w/", "sig/")) and ":" not in line]
    assert lines == [*(f"w/{n:03}" for n in range(99, 87, -1)), "sig/catch", "w/broken"]
    assert "--all shows all of them" in " ".join(" ".join(shown(many)).split())
    assert sum(line.startswith("w/") and ":" not in line for line in shown(many, whole=True)) == 102


def test_too_few_sessions_are_one_sentence_and_what_moved_most() -> None:
    """Expected: no verdict and no "+44871 sessions" on 40 rows that have no interval. Broken: 40 times undecided."""
    rows = [
        RowComparison(f"w/{n:02}", "w", Verdict.UNDECIDED, ratio=1 + n / 100, sessions_missing=44871, notes=("why",))
        for n in range(40)
    ]
    lines = shown(replace(COMPARISON, rows=tuple(rows), differs=(), remarks=()))
    assert lines[0].startswith("B against A: nothing can be decided with one session on a side")
    assert [line.split()[0] for line in lines if line.startswith("w/")] == [f"w/{n}" for n in range(39, 27, -1)]
    table = [line for line in lines if line.startswith(("w/", " "))]
    assert [len(line.split()) for line in table] == [4] * 12, "row, A, B, ratio"
    assert not any(word in line for line in lines for word in ("undecided", "44871", "why"))


@pytest.mark.parametrize(
    ("method", "says"),
    [("ab", "only one side had a quiet core"), ("path", "0 slower"), ("compare", "one session on a side")],
)
def test_what_cannot_be_decided_is_said_with_its_own_reason(method: str, says: str) -> None:
    """Expected: `ab` asks for a quiet core, and counts have floors in the place of intervals. Broken: all three told to
    measure in turn by `ab`, which one of them is."""
    row = RowComparison("w/a", "w", Verdict.UNDECIDED, ratio=1.1, notes=("no quiet core for A",))
    line = replace(COMPARISON, method=method, rows=(row,), differs=()).sentence
    assert says in line
    assert ("kernometer ab" in line) == (method == "compare")


def test_no_word_is_cut_at_60_columns() -> None:
    """Expected: B's figure below A's and the interval below its ratio. Broken: `equival…`, `unde…`."""
    figure = figures(factory.result(runs=3, samples=12))["syscall/work-0"]
    long = replace(ROWS[2], row="syscall/work-0@message=65536,total=1048576,other-cpu", a=figure, b=figure)
    lines = shown(replace(COMPARISON, rows=(*ROWS, long)), width=60)
    assert max(map(len, lines)) <= 60
    assert not any("…" in line for line in lines)


def test_lines_fit_80_columns_and_escapes_are_not_obeyed() -> None:
    hostile = replace(ROWS[3], row="w/\x1b[2J" + "x" * 200, notes=("\x1b]0;owned\x07" + "y" * 500,))
    lines = shown(replace(COMPARISON, rows=(*ROWS, hostile), a="\x1b[31mA" * 20))
    assert max(map(len, lines)) <= 80
    assert not any("\x1b" in line or "\x07" in line for line in lines)


LINE = "console=ttyS0 quiet nokaslr norandmaps rdinit=/init panic=-1 audit=0"


def test_only_what_was_not_asked_for_is_named_in_three_lines() -> None:
    """Expected: three that both sides know, how many more, and where. Broken: thirty lines before three rows."""
    asked = Difference("target", "local", "ssh:box", asked=True)
    unknown = [Difference(f"host fact {n}", "on", "not known") for n in range(28)]
    known = [Difference(f"probe {n}", "gcc", "clang") for n in "abcd"]
    lines = shown(replace(COMPARISON, differs=(asked, *unknown, *known)))
    start = lines.index("warning: the two sides differ in more than what is compared:")
    assert lines[start + 1 : start + 5] == [
        *(f"  probe {n}: gcc | clang" for n in "abc"),
        "  and in 29 more; --all names them",
    ]
    everything = "\n".join(shown(replace(COMPARISON, differs=(asked, *unknown, *known)), whole=True))
    assert "target: local | ssh:box" in everything and "host fact 27" in everything


def test_what_was_asked_for_alone_is_no_warning() -> None:
    found = replace(COMPARISON, differs=(Difference("target", "qemu:a", "qemu:b", asked=True),))
    assert not any("warning" in line or "qemu:a" in line for line in shown(found))


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        (LINE, f"{LINE} mitigations=off", "… audit=0 | … audit=0 mitigations=off"),
        (f"one {LINE}", f"two {LINE}", "one console=ttyS0 … | two console=ttyS0 …"),
        (LINE.replace("quiet", "debug"), LINE, "console=ttyS0 debug nokaslr … | console=ttyS0 quiet nokaslr …"),
        ("gcc 12", "clang 14", "gcc 12 | clang 14"),
        (LINE, "not known", f"{LINE} | not known"),
    ],
)
def test_a_long_text_is_shown_where_it_differs(a: str, b: str, expected: str) -> None:
    """Expected: the words that differ, whole, with a word beside them. Broken: two equal beginnings and "…"."""
    lines = " ".join(shown(replace(COMPARISON, differs=(Difference("kernel command line", a, b),))))
    assert f"kernel command line: {expected} " in " ".join(lines.split())


def test_conditions_stand_above_the_rows() -> None:
    lines = shown(replace(COMPARISON, conditions=("by path on the emulated processor X",)))
    assert lines.index("by path on the emulated processor X") < next(
        n for n, line in enumerate(lines) if line.startswith("row")
    )
