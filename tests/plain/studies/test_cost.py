"""The script behind docs/cost.md: its tables are of the sessions it is given, and its page has a place for them."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from kernometer.results.model import AnyRecord, End, Failure, Run
from kernometer.results.store import read_file
from studies import cost
from studies.section import written
from tests.support.results import make

ROWS = ("mem/touch@pages=1", "mem/touch@pages=4", "syscall/getppid")


def runs(row: str, spread: float, seconds: float) -> list[Run]:
    steps = [math.exp(spread * (number % 2)) for number in range(4)]
    return [
        make.run(number, row, samples=(round(150_000 * step),) * 20, loop_cost=(), seconds=seconds, baseline=None)
        for number, step in enumerate(steps)
    ]


def session(folder: Path, name: str, seconds: float) -> str:
    """A result file of three rows: one of them quiet, one slow, one wild."""
    records: list[AnyRecord] = [
        make.session(profile=name, id=name),
        make.header(),
        make.workload("mem/touch"),
        make.workload(),
        *runs(ROWS[0], 0.001, 0.1),
        *runs(ROWS[1], 0.001, 31.0),
        *runs(ROWS[2], 0.5, 0.1),
        Failure(row="proc/execl", text="fork: EAGAIN", run=0),
        End(complete=True, seconds=seconds),
    ]
    path = folder / f"{name}.ndjson"
    path.write_bytes(make.data(records))
    return str(path)


def test_tables_name_the_time_the_slowest_and_what_bounds_them(tmp_path: Path) -> None:
    """Expected: two runs where runs agree, the slow row first among the slow, the wild one first among the wild."""
    quick, full = (read_file(Path(session(tmp_path, name, 40.0))) for name in ("quick", "full"))
    text = cost.report(quick, full, each_row=False)
    assert "| full | 3 | 4 | 40 s | 2 | 2 | 2 | 1 | 0 |" in text
    parts = text.split("### ")
    assert parts[2].splitlines()[4].startswith(f"| `{ROWS[1]}` | 2.1 min |")
    assert parts[3].splitlines()[4].startswith(f"| `{ROWS[2]}` |")
    assert "the spread of its runs" in parts[3].splitlines()[4]
    assert "| `mem/touch` | 2 |" in parts[4] and "(62 s)" in parts[4]
    assert f"| `{ROWS[0]}` | 1 | 0.1 s | 0.2 s | 0.2 s | 0.2 s |" in cost.report(quick, full, each_row=True)


def test_the_page_has_a_place_for_them() -> None:
    page = written(cost.PAGE.read_text(), "studies/cost.py", "| new |")
    assert page.count("| new |") == 1


def test_one_session_alone_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        cost.main(("--quick", "x"))
    assert "belong together" in capsys.readouterr().err
