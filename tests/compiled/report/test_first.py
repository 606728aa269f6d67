"""What a reader is told first: what was measured, whether it can be trusted, and the rows that people ask for."""

from __future__ import annotations

import io
import json
import subprocess

import pytest
from msgspec import structs
from rich.console import Console

from kernometer.explain.structure_factors import ROWS
from kernometer.report.session.first import FEW, FIRST, lead, trust
from kernometer.report.session.systems import gather
from kernometer.report.session.terminal import print_result
from kernometer.results.model import Result, Workload
from kernometer.stats.figures import figures
from kernometer.targets import build
from tests.support.report import factory
from tests.support.results import make


@pytest.fixture(scope="module")
def many() -> Result:
    """105 rows, among them those that people ask for first."""
    definitions = {}
    for place, row in enumerate(FIRST, 900):
        name, _, parameters = row.partition("@")
        definitions[name] = factory.definition(name, (parameters,), place)
    base = factory.result("", workloads=46, runs=3, samples=6)
    runs = tuple(factory.quiet_run(row, run, 6, 100.0, seed=1) for run in range(3) for row in FIRST)
    return structs.replace(base, workloads=base.workloads | definitions, runs=(*base.runs, *runs))


def shown(result: Result, width: int = 80, *, whole: bool = False) -> list[str]:
    out = io.StringIO()
    print_result(Console(file=out, width=width, highlight=False), result, figures(result), everything=whole)
    return out.getvalue().splitlines()


def test_the_first_rows_are_the_registrys() -> None:
    """Expected: each is a row of the quick profile. Broken: one that was renamed is missing from every first screen."""
    done = subprocess.run([build.probe(), "--list", "--json"], capture_output=True, check=True, timeout=60)
    listed = [json.loads(line) for line in done.stdout.splitlines() if b'"workload"' in line]
    quick = {info["row"] for one in listed for info in one["rows"] if "quick" in info["profiles"]}
    assert set(FIRST) <= quick and len(FIRST) == 12
    assert {row.removesuffix("@") for row in ROWS} <= quick and len(ROWS) == 12


def test_many_rows_are_a_screen_in_the_order_of_the_readers_questions(many: Result) -> None:
    """Expected: what was measured, whether to trust it, the dozen, how to see all, in 30 lines. Broken: 300 lines."""
    lines = shown(many)
    assert len(lines) <= 30
    text = "\n".join(lines)
    places = [
        text.index(part) for part in ("104 rows measured in 1 session", "Other work hardly disturbed the runs", "row  ")
    ]
    assert places == sorted(places)
    named = [line.split()[0].rstrip(",") for line in lines if "/" in line.split(" ")[0]]
    assert all(row.startswith(name) for name, row in zip(named, FIRST, strict=True))
    assert f"kernometer show {many.session.id} --all" in text
    assert "failed: proc/execl" in text


def test_all_rows_are_shown_where_they_are_asked_for_or_few(many: Result) -> None:
    assert sum("/work-" in line for line in shown(many, width=200, whole=True)) == 92
    few = factory.result("", workloads=FEW // 2, runs=3, samples=6)
    assert sum("/work-" in line for line in shown(few, width=200)) == FEW
    assert "people ask for first" not in "\n".join(shown(few))


def test_lines_fit_60_columns_and_no_word_is_cut(many: Result) -> None:
    """Expected: names break after `@` and `,`. Broken: `disturb/ed`."""
    units = structs.replace(
        many, workloads=many.workloads | {"cpu/work-5": make.workload("cpu/work-5", per="calculation")}
    )
    for lines in (shown(many, width=60), shown(units, width=60, whole=True)):
        assert max(map(len, lines)) <= 60
        assert not any("…" in line for line in lines)


def test_whether_to_trust_it_is_one_sentence() -> None:
    quiet = factory.result("")
    one = trust(gather([("", [quiet])]))
    assert one.startswith("Other work hardly disturbed the runs; half of the figures are known to ±")
    assert one.count(". ") == 0 and one.endswith(".")
    cut = trust(gather([("", [quiet, structs.replace(quiet, end=None)])]))
    assert cut.startswith("1 of 2 sessions: not complete: cut off, or still being measured; ")
    taken = make.run(meter={"steal_ns": 3e8, "wall_ns": 1e9}, involuntary=())
    stolen = structs.replace(quiet, runs=(*quiet.runs, *[taken] * 3))
    assert trust(gather([("", [stolen])])).startswith("A noisy machine: the hypervisor took the CPU for")


def test_of_other_work_the_runs_tell_or_else_what_was_seen_before_them() -> None:
    """`check` saw other work. Expected: where quiet runs tell of none it is not named; where no run tells anything, it
    is, and nothing is said to have "hardly disturbed". Broken: both at once."""
    seen = {"findings": [{"name": "other work", "value": "2.00 CPUs", "severity": "disturbs"}]}
    quiet = factory.result("")
    quiet = structs.replace(quiet, session=structs.replace(quiet.session, host=seen))
    mute = structs.replace(quiet, runs=tuple(structs.replace(run, meter={}, loop_every=0) for run in quiet.runs))
    for result, told in ((quiet, "hardly disturbed"), (mute, "2.00 CPUs")):
        text = "\n".join(shown(result, whole=True))
        assert [one for one in ("hardly disturbed", "2.00 CPUs") if one in text] == [told]


def test_nothing_measured_is_nothing_to_trust() -> None:
    empty = Result(session=make.session(by="path"), header=None, workloads=dict[str, Workload](), runs=())
    assert (lead(gather([("", [empty])])), trust(gather([("", [empty])]))[:12]) == (
        "0 rows measured in 1 session.",
        "Not complete",
    )
