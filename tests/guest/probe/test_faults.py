"""What the probe does when its calls fail: a share of `make campaign-probe`, and each fault that it once took for
success or waited for in vain.

`run` has one fault: WHO (driver, a run's role, or "child": of the driver or of a run), the call, its errno or one of
faults.c's numbers, and in which execution of the call by such a process.
"""

from __future__ import annotations

import errno
import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kernometer.guests.kernels import trio
from kernometer.results.reader import parse_record
from tests.campaigns.probe import BY_PATH, BY_TIME, on_this_machine, on_trio
from tests.support.probe.faulty import Call, Process, Reference, Verdict, build, calls_in, complete, judge, shape
from tests.support.probe.running import LIMIT_SECONDS, of_type
from tests.support.trio.boot import Kernel
from tests.support.turns import in_turn

LOST = 1004

Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="session")
def programs(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    return build(tmp_path_factory.mktemp("faulty"), "-O0")  # in half the time


@pytest.fixture
def run(programs: tuple[Path, Path], tmp_path: Path) -> Run:
    """Measures rows by path with one fault; nothing may be left in the folder."""

    def measure(fault: str, *rows: str) -> subprocess.CompletedProcess[str]:
        with Path(os.devnull).open("w") as ledger:
            plan = {"KM_FAULTS": f"{ledger.fileno()} 1 0 0", "KM_FAULT": fault}
            done = subprocess.run(
                [programs[1], *BY_PATH, "--dir", tmp_path, *rows], env={**os.environ, **plan},
                pass_fds=(ledger.fileno(),), capture_output=True, text=True, timeout=LIMIT_SECONDS, check=False,
            )  # fmt: skip  # as a command line
        assert list(tmp_path.iterdir()) == []
        return done

    return measure


def error_of(done: subprocess.CompletedProcess[str], row: str) -> dict[str, Any]:
    """The one error; there is no figure."""
    assert of_type(done.stdout, "run") == []
    (error,) = of_type(done.stdout, "error")
    assert error["row"] == row
    assert done.returncode == 1
    return error


@pytest.mark.parametrize("nth", [1, 2, 4])
def test_a_record_with_a_hole_is_refused(run: Run, nth: int) -> None:
    """stdio drops what it could not write and goes on. Expected: an error. Broken: fewer samples, in valid JSON."""
    error = error_of(run(f"time __stdio_write {LOST} {nth}", "cpu/arithoh"), "cpu/arithoh")
    assert error["text"] == "could not write all of its record"


def test_an_output_with_a_hole_has_no_end(run: Run) -> None:
    """The same in what the driver passes on. Expected: no end marker, the rest not measured. Broken: a whole output."""
    done = run(f"driver __stdio_write {LOST} 9", "cpu/arithoh", "syscall/getppid", "syscall/getpid")
    assert "#kernometer begin" in done.stdout
    assert "#kernometer end" not in done.stdout
    assert done.returncode == 1


def test_faults_of_a_file_written_in_pieces_are_those_that_happen(run: Run) -> None:
    """One write is cut short: Linux then has smaller folios. Expected: the figure is per fault that happens now."""
    row = "mem/fault-file@pages=64"
    (whole,) = of_type(run("time write 1000 9999", row).stdout, "run")
    (pieces,) = of_type(run("time write 1000 1", row).stdout, "run")
    assert pieces["ops"] >= whole["ops"]
    assert shape(whole) == shape(pieces)
    assert shape(pieces | {"ops": pieces["ops"] + 1}) != shape(pieces)


@pytest.mark.parametrize("row", ["ipc/pipe-bw", "ipc/unix-bw", "ipc/tcp-bw"])
def test_a_peer_that_cannot_write_ends_the_run(run: Run, row: str) -> None:
    """Expected: its call and errno. Broken: it waits for the next request, and its parent for the rest of this one."""
    done = run(f"child write {errno.ENOSPC} 3", row)
    (error,) = of_type(done.stdout, "error")
    assert (error["call"], error["errno"]) == ("read or write of the peer", "ENOSPC")


def test_a_keeper_that_cannot_answer_leaves_and_ends_the_run(run: Run) -> None:
    """Expected: an error, and its queue is gone. Broken: it waits for its run, and its run for the answer."""
    queues = Path("/proc/sysvipc/msg")
    before = queues.read_text() if queues.exists() else ""
    done = run(f"child write {errno.ENOSPC} 1", "ipc/sysv-msg")
    (error,) = of_type(done.stdout, "error")
    assert error["text"] == "the keeper of what the kernel keeps has exited"
    assert (queues.read_text() if queues.exists() else "") == before


def test_what_cannot_be_counted_is_unknown(run: Run) -> None:
    """Expected: a figure without counts. Broken: numbers from an uninitialised structure."""
    done = run(f"time getrusage {errno.EINVAL} 4", "syscall/getppid@")
    (line,) = (line for line in done.stdout.splitlines() if line.startswith('{"type":"run"'))
    assert parse_record(line.encode())
    assert {"faults", "switches"}.isdisjoint(json.loads(line)["happened"])


@pytest.mark.parametrize("row", ["syscall/getppid", "syscall/getppid@cold"])
def test_a_run_that_cannot_be_executed_is_an_error(run: Run, row: str) -> None:
    """Expected: the call and why. Broken: a copy of the driver measures, not the fresh program of other runs."""
    name = row if "@" in row else f"{row}@"
    error = error_of(run(f"child execv {errno.ENOMEM} 1", name), row)
    assert (error["call"], error["errno"]) == ("execv", "ENOMEM")


def test_a_pipe_that_cannot_be_made_costs_its_own_row_only(run: Run) -> None:
    """Expected: the next row has a figure. Broken: the folder of the first is in its way."""
    done = run(f"driver pipe {errno.EMFILE} 1", "cpu/arithoh", "syscall/getpgid@")
    assert [error["row"] for error in of_type(done.stdout, "error")] == ["cpu/arithoh"] or [
        one["row"] for one in of_type(done.stdout, "run")
    ] == ["cpu/arithoh"]
    assert len(of_type(done.stdout, "run")) == 1


@pytest.mark.parametrize("fault", [f"driver rmdir {errno.EBUSY} 2", f"driver lstat {errno.ENOMEM} 3"])
def test_a_folder_that_cannot_be_removed_at_once_is_removed_later(run: Run, fault: str) -> None:
    """Expected: nothing is left (`run` looks). Broken: one try."""
    assert run(fault, "cpu/arithoh").returncode == 0


def test_a_child_that_cannot_report_is_no_limit_of_memory(run: Run) -> None:
    """Expected: an error. Broken: the limit is as many MiB as were reported before."""
    row = "limit/memory-touched@most=512"
    assert "could not go on" in error_of(run(f"child write {errno.EAGAIN} 3", row), row)["text"]


def held(calls: list[Call], clean: list[Call]) -> Verdict:
    """Expected: an error, or the figure of all the work. Broken: the seed, and what is wrong."""
    verdict, reference = Verdict(), Reference.of(clean)
    for call in calls:
        judge(call, reference, verdict=verdict)
    assert verdict.wrong == []
    assert verdict.injected > 0
    assert verdict.outcomes["output whole"] + verdict.outcomes["output refused"] == len(calls)
    return verdict


@pytest.mark.parametrize("who", in_turn(["runs", "all"], 0.1, always=["all"]))
def test_no_fault_makes_a_wrong_figure(who: str, programs: tuple[Path, Path], commits_seed: int) -> None:
    measure = on_this_machine(programs, BY_PATH)
    held(measure(commits_seed * 1000, 2, who), measure(0, 3, "nobody"))


@pytest.mark.slow(minutes=0.8)
@pytest.mark.parametrize("words", [(*BY_PATH, "--profile", "full"), BY_TIME], ids=["all rows", "by time"])
def test_no_fault_makes_a_wrong_figure_of_other_rows_and_by_time(
    words: tuple[str, ...], programs: tuple[Path, Path], commits_seed: int
) -> None:
    measure = on_this_machine(programs, words)
    held(measure(commits_seed * 1000, 8, "runs"), measure(0, 3, "nobody"))


@pytest.mark.guest
@pytest.mark.slow(minutes=0.7)
@pytest.mark.parametrize("structure", ["mono", "micro"])
def test_no_fault_makes_a_wrong_figure_on_trio(structure: str, programs: tuple[Path, Path], commits_seed: int) -> None:
    measure = on_trio(programs, BY_PATH, Kernel.trio(trio.built(structure)))
    held(measure(commits_seed * 1000, 4, "runs"), measure(0, 3, "nobody"))


RECORD = (
    '{"type":"run","row":"a","workload":"a","block":0,"batch":1,"revision":1,"run":0,"params":{},"ops":1,"bytes":0,'
    '"samples":[5,6],"resolution_ns":1,"stopped":"plan","seconds":0,"cpu":0,"iterations":2}'
)


def printed(record: str = RECORD, ledger: str = "read=2/3/16", end: int = 1, left: str = "") -> Call:
    """A call of the probe that repeat.c could have printed."""
    lines = ["#kernometer begin 1", record, f"#kernometer end {end}", f"#ledger time a 1 2 read:4=1 {ledger}"]
    (call,) = calls_in([*lines, f"#faults 7 0{left}"])
    return call


def test_what_is_wrong_is_found_and_what_is_well_is_not() -> None:
    """The judge itself. Expected: less work, another shape and what is left are found. Broken: it sees nothing."""
    reference = Reference.of([printed()])

    def wrong(call: Call) -> list[str]:
        verdict = Verdict()
        judge(call, reference, verdict=verdict)
        return verdict.wrong

    assert wrong(printed()) == []
    assert "a figure for less work: {'read': (8, 16)}" in wrong(printed(ledger="read=2/3/8"))[0]
    assert "another shape" in wrong(printed(RECORD.replace("[5,6]", "[56]")))[0]
    assert wrong(printed(left=" file")) == ["seed 7: left behind: file"]
    assert "a damaged record" in wrong(printed(RECORD.replace("[5,6]", "[5,")))[0]
    assert wrong(printed(RECORD.replace("[5,6]", "[5,"), end=2)) == []  # refused by any reader
    assert "lacks 1 rows: a" in wrong(printed("#nothing", end=0))[0]
    assert not complete(printed(end=2))
    assert Process.read("#ledger - - 1 1 fork:1001=1").faults == {"fork killed child": 1}
