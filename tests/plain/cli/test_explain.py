"""`kernometer explain`: what it must find from the published rows alone, and how it is called."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from kernometer.__main__ import main
from kernometer.cli import kernometer
from kernometer.errors import Status, UsageError
from kernometer.results.model import AnyRecord, End
from kernometer.results.store import Store
from kernometer.results.writer import new_session_id
from tests.support.explain.memory import modelled
from tests.support.results import OUTPUTS, make

MINIX = ("published/minix-3.4:linux", "published/minix-3.4:minix3")
MIAO = ("published/miao-2011:linux", "published/miao-2011:minix3")
CHAWLA = ("published/chawla:linux", "published/chawla:freebsd")
LOEW = ("published/loew-2016:freebsd", "published/loew-2016:minix3")
CORBET = ("published/corbet-2007:linux", "published/corbet-2007:minix3")


def call(folder: Path, *words: str) -> Result:
    done = CliRunner().invoke(kernometer, ["--store", str(folder), "explain", *words], env={"COLUMNS": "80"})
    if done.exception and not isinstance(done.exception, SystemExit):
        raise done.exception
    assert done.exit_code == Status.DONE
    return done


def explained(folder: Path, *words: str) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(call(folder, *words, "--json").output)
    return document


#: Who, what, in which column, how sure, and numbers of its evidence.
PUBLISHED = [
    (MIAO, "fork-suspected", MIAO[1], "hypothesis", ("182 times", "8.63 times")),
    (MIAO, "emulated-floating-point", MIAO[1], "likely", ("68.4 times", "36.6 times", "115 times", "0.988 times")),
    (MIAO, "clock-of-60-hz", MIAO[1], "likely", ("10 ticks", "3 of the loops have no time")),
    (MIAO, "loop-removed", MIAO[0], "shown", ("5.69 cycles", "30.5 times")),
    (MIAO, "script-waits", MIAO[1], "likely", ("3.99 times one",)),
    (MINIX, "calls-longer", MINIX[1], "likely", ("6.77 times", "15.3 times")),
    (MINIX, "clock-by-call", MINIX[1], "shown", ("1.4 null calls", "0.262")),
    (CHAWLA, "call-remembered", CHAWLA[0], "likely", ("19.2 cycles", "191 cycles")),
    (CHAWLA, "clock-in-figure", CHAWLA[1], "likely", ("744 ns",)),
    (CHAWLA, "signal-without-switch", CHAWLA[0], "hypothesis", ("240 ns", "6.63 times")),
    (LOEW, "more-processes-faster", LOEW[0], "shown", ("0.127",)),
    (LOEW, "passes-are-hops", LOEW[1], "likely", ("2.30 ms a pass",)),
    (
        ("published/griffiths-2006:a64-64",),
        "unit-misprinted",
        "published/griffiths-2006:a64-64",
        "likely",
        ("60 cycles",),
    ),
    (("published/griffiths-2006:sempron",), "unit-misprinted", "published/griffiths-2006:sempron", "likely", ("210",)),
    (("published/griffiths-2006:ppc",), "unit-misprinted", "published/griffiths-2006:ppc", "likely", ("240 cycles",)),
]


@pytest.mark.parametrize(
    ("names", "rule", "system", "confidence", "numbers"),
    PUBLISHED,
    ids=[f"{case[1]} in {case[2][10:]}" for case in PUBLISHED],
)
def test_what_published_rows_alone_show_is_found(
    tmp_path: Path, names: tuple[str, ...], rule: str, system: str, confidence: str, numbers: tuple[str, ...]
) -> None:
    """Expected: the finding, in its column and no other, with its figures. Broken: a paper's rows are believed."""
    [one] = [one for one in explained(tmp_path, *names)["findings"] if one["rule"] == rule]
    assert (one["system"], one["confidence"]) == (system, confidence)
    told = " ".join(each["text"] for each in one["evidence"])
    for number in numbers:
        assert number in told
    assert one["refute"]
    assert one["outcome"] == ""  # no paper has the row that would refute it


@pytest.mark.parametrize(("names", "families"), [(LOEW, {"fs", "ctx"}), (CORBET, {"stated"}), (MIAO, {"fs", "sh"})])
def test_what_published_rows_cannot_tell_is_undecided(
    tmp_path: Path, names: tuple[str, ...], families: set[str]
) -> None:
    """Expected: Loew's and Corbet's ratios have no cause, and the output names what is lacking. Broken: a guess."""
    document = explained(tmp_path, *names)
    assert {one["family"] for one in document["undecided"]} == families
    if names is not MIAO:
        assert not [one for one in document["findings"] if one["kind"] == "cause"]
    shown = call(tmp_path, *names).output
    assert ("cannot tell without" if names is not CORBET else "nothing about the cause can be decided") in " ".join(
        shown.split()
    )


def test_the_order_of_the_two_does_not_matter_to_what_is_found(tmp_path: Path) -> None:
    there, back = explained(tmp_path, *MIAO), explained(tmp_path, *reversed(MIAO))
    assert {(one["rule"], one["system"]) for one in there["findings"]} == {
        (one["rule"], one["system"]) for one in back["findings"]
    }


def fill(folder: Path, label: str, by: str, rows: dict[str, int]) -> None:
    with Store(folder).create(make.session(label=label, by=by, image="i" if by == "path" else "")) as file:
        file.add(make.header(by=by))
        for row, cost in rows.items():
            file.add(make.workload(row.partition("@")[0], rows=()))
            file.add(
                make.run(
                    0,
                    row=row,
                    workload=row.partition("@")[0],
                    batch=1,
                    samples=(cost,) * 20,
                    clock_cost=(),
                    loop_cost=(),
                    loop_batch=0,
                )
            )
        file.add(End(complete=True))


def test_counts_and_times_of_one_system_are_explained_together(tmp_path: Path) -> None:
    """Expected: equal paths and unequal times: the hardware's. No ratio of times and counts, no cause."""
    rows = [f"syscall/{name}{cold}" for name in ("getpid", "getpgid", "write-null") for cold in ("", "@cold")]
    fill(tmp_path, "counts", "path", dict.fromkeys(rows, 500))
    fill(tmp_path, "times", "time", {row: 300_000 if "cold" in row else 100_000 for row in rows})
    document = explained(tmp_path, "counts", "times")
    [one] = document["findings"]
    assert (one["rule"], one["system"]) == ("calls-cached", "counts")
    assert "3 times a repeated one" in " ".join(each["text"] for each in one["evidence"])
    assert not document["undecided"]
    assert "only rules about one side" in document["remarks"][0]


def test_two_labels_are_judged_and_a_measured_result_is_held_against_a_paper(tmp_path: Path) -> None:
    """Expected: ratios as `compare` judges them; beside a paper, what else differs."""
    rows = {
        "syscall/getppid": 100_000,
        "syscall/lseek": 110_000,
        "syscall/write-null": 130_000,
        "syscall/read-zero": 150_000,
    }
    for extra in (0, 1, 2):
        fill(tmp_path, "plain", "time", {row: cost + extra for row, cost in rows.items()})
        fill(tmp_path, "traced", "time", {row: cost + 900_000 + extra for row, cost in rows.items()})
    [one] = explained(tmp_path, "label:plain", "label:traced")["findings"]
    assert (one["rule"], one["system"]) == ("calls-intercepted", "label:traced")
    assert not explained(tmp_path, "label:plain")["findings"]
    remarks = explained(tmp_path, "plain", MIAO[1])["remarks"]
    assert any("also differ in machine, year (2011)" in remark for remark in remarks)


def test_an_imported_result_is_explained(tmp_path: Path) -> None:
    """Expected: rows of other suites under the names of ours."""
    report = OUTPUTS / "unixbench.txt"
    assert main(["--store", str(tmp_path), "import", str(report), "--label", "bench"]) == Status.DONE
    document = explained(tmp_path, "bench", MIAO[1])
    assert "emulated-floating-point" in {one["rule"] for one in document["findings"] if one["system"] == MIAO[1]}
    assert {one["system"] for one in document["findings"] if one["kind"] == "cause"} == {MIAO[1]}


def test_two_sessions_by_path_are_explained_in_cycles(tmp_path: Path) -> None:
    """Expected: the parts of the mean and of each row, in terminal, document and page; without counts of a memory
    system no page. Broken: a page of nothing, or cycles that --json lacks."""
    rows = {"a": {"instructions": 1_000, "syscalls": 1}, "b": {"instructions": 1_000, "syscalls": 1, "walks": 50}}
    for label, counts in rows.items():
        made = modelled(new_session_id(), {"syscall/getppid": counts}, label=label)
        with Store(tmp_path).create(made.session) as file:
            records: list[AnyRecord] = [*made.workloads.values(), *made.runs, *made.memories, End(complete=True)]
            for record in records:
                file.add(record)
    shown = " ".join(call(tmp_path, "a", "b", "--report", str(tmp_path / "costs.html")).output.split())
    assert "In cycles of a Skylake, modelled: b takes " in shown and "TLB 100 % (+1,000)" in shown
    assert explained(tmp_path, "a", "b")["modelled"]["rows"]["syscall/getppid"]["b"]["memory"]["walks"] == 50
    page = (tmp_path / "costs.html").read_text()
    assert page.count('class="fall"') == 2 and "Prices" not in page
    with pytest.raises(UsageError, match="two sides by path"):
        call(tmp_path, "a", "--report", str(tmp_path / "none.html"))


def test_output_fits_the_terminal_and_names_what_would_refute_each(tmp_path: Path) -> None:
    shown = call(tmp_path, *MIAO).output
    assert max(map(len, shown.splitlines())) <= 80
    assert shown.count("refuted if:") == 7
    assert "A: published/miao-2011:linux; B: published/miao-2011:minix3" in shown


@pytest.mark.parametrize(
    ("words", "status", "said"),
    [
        (("published/miao-2011",), Status.USAGE, "Name one: published/miao-2011:linux"),
        ((MIAO[0], MIAO[0]), Status.USAGE, "are the same result"),
        (("published/miao",), Status.RESULT, "Did you mean published/miao-2011"),
        (("nothing", MIAO[0]), Status.RESULT, "No result"),
        ((), Status.USAGE, "Missing argument 'A'"),
    ],
)
def test_what_cannot_be_explained_is_refused_with_the_next_step(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], words: tuple[str, ...], status: Status, said: str
) -> None:
    assert main(["--store", str(tmp_path), "explain", *words]) == status
    assert said in " ".join(capsys.readouterr().err.split())


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("qemu:trio-micro", "qemu:trio-hybrid"), "services in the kernel"),
        (("qemu:trio-mono", "qemu:trio-mono+with=fork-copies"), "services in the kernel"),
        (("qemu:trio-mono",), "alone has no result"),
        (("@last", "@1", "syscall/stat"), "for targets to be measured"),
    ],
)
def test_what_cannot_be_measured_is_refused_before(words: tuple[str, ...], said: str, tmp_path: Path) -> None:
    """Expected: an error with what to give. Broken: minutes of measuring, and then the error."""
    with pytest.raises(UsageError, match=said):
        CliRunner().invoke(
            kernometer, ["--store", str(tmp_path), "explain", *words], standalone_mode=False, catch_exceptions=False
        )
