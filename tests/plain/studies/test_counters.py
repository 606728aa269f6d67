"""studies/counters.py, on results that were made up: nobody has had a machine with counters yet."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kernometer.results.model import AnyRecord, Counting, Run
from studies.counters import main
from tests.support.results import make

ROW = "syscall/getppid"
KERNEL = {"release": "6.1.0-56-amd64", "version": "#1 SMP Debian 6.1.192-2"}


def counted(user: float, kernel: float, batch: int, **given: Any) -> list[AnyRecord]:
    """The counting run and a timed one of a row whose operation takes so many instructions."""
    hardware = {"instructions_user": user, "instructions_kernel": kernel, "cycles_user": 1.0}
    run = make.run(batch=batch, **given)
    counting = Counting(
        row=run.row, workload=run.workload, batch=batch, samples=(1,), iterations=batch, hardware=hardware
    )
    return [counting, run]


def path_run(instructions: int, bracket: int = 11, **given: Any) -> Run:
    """A run by path, with a timer tick in one of its iterations."""
    samples = (instructions + bracket,) * 20 + (instructions + 5000,)
    return make.run(batch=1, samples=samples, loop_cost=(bracket,) * 22, loop_batch=1, **given)


def store(folder: Path, path: list[AnyRecord], time: list[AnyRecord], **time_header: Any) -> tuple[str, ...]:
    """The words that name two sessions of one kernel."""
    words = []
    defined = (make.workload(), make.workload("ipc/pair"), make.workload("mem/less", figure_less_baseline=True))
    for by, runs, header in (("path", path, {}), ("time", time, time_header)):
        session = make.session(by=by, machine="QEMU 7.2.22 microvm" if by == "path" else "")
        records = [session, make.header(**{"by": by, "uname": KERNEL, **header}), *defined, *runs, make.records()[-1]]
        file = folder / f"{by}.ndjson"
        file.write_bytes(make.data(records))
        words.append(str(file))
    return tuple(words)


def test_a_known_ratio_is_found(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Expected: 367 counted by path, 340 by the processor, 1.08. Broken: gross counts, or a tick in the figure."""
    words = store(
        tmp_path,
        [path_run(367), path_run(734, ops=2.0, row="ipc/pair", workload="ipc/pair")],
        [*counted(40, 300, 500), *counted(80, 600, 1, ops=2.0, row="ipc/pair", workload="ipc/pair")],
    )
    assert main(words) == 0
    out = capsys.readouterr().out.splitlines()
    assert out[2] == "| `syscall/getppid` | 367 | 340 | 40 | 300 | 1.08 | 500 |"
    assert out[3] == "| `ipc/pair` | 367 | 340 | 40 | 300 | 1.08 | 1 |"
    said = (
        "Linux 6.1.0-56-amd64. By path: QEMU 7.2.22 microvm. Hardware: A CPU, less what switching the counters counts."
    )
    assert out[-1] == said


def test_a_row_with_a_baseline_taken_off_is_left_out(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Expected: no line, for the counters did not see the baseline. Broken: a ratio of two different things."""
    words = store(
        tmp_path,
        [path_run(367), path_run(50, row="mem/less", workload="mem/less")],
        [*counted(40, 300, 500), *counted(40, 300, 500, row="mem/less", workload="mem/less")],
    )
    assert main(words) == 0
    assert "mem/less" not in capsys.readouterr().out


@pytest.mark.parametrize(
    ("header", "said"),
    [
        ({"counters": "perf_event_open (instructions_user): ENOENT"}, "no hardware counters: perf_event_open (instr"),
        ({"uname": {**KERNEL, "release": "6.18.0"}}, "These are two kernels: 6.1.0-56-amd64"),
        ({"probe": {"source_digest": "another"}}, "different probes"),
    ],
)
def test_what_cannot_be_set_side_by_side_is_refused(
    header: dict[str, Any], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = store(tmp_path, [path_run(367)], counted(40, 300, 500), **header)
    assert main(words) != 0
    shown = capsys.readouterr()
    assert said in shown.err
    assert shown.out == ""


def test_sessions_in_the_wrong_order_or_without_counts_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, time = store(tmp_path, [path_run(367)], [make.run()])
    assert main((time, path)) != 0
    assert "is by time, not by path" in capsys.readouterr().err
    assert main((path, time)) != 0
    assert "no row in common" in capsys.readouterr().err
