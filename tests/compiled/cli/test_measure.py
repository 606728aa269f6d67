"""run, ab and compare from the command line: what they print, keep and refuse. The probe is the real one."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from kernometer.results.model import Result, Run
from kernometer.results.store import Store
from kernometer.stats.quantiles import LEAST_RUNS
from tests.support.cli.real import kernometer
from tests.support.cli.storing import call
from tests.support.results import make

TINY = ("--runs", "2", "--seconds", "0.005")
ROW = "syscall/getppid@"


def test_run_prints_the_table_and_keeps_the_session(tmp_path: Path) -> None:
    done = kernometer(tmp_path, "run", *TINY, "--label", "one", "--seed", "7", ROW)
    assert "syscall/getppid" in done.stdout
    assert "is stored in" in done.stderr
    result = Store(tmp_path).load("one")
    assert result.end is not None and result.end.complete
    assert (result.session.seed, result.session.label, len(result.runs)) == (7, "one", 2)
    assert result.session.host["findings"]
    assert max(map(len, done.stdout.splitlines())) <= 80


def test_run_beside_the_last_shows_both_and_the_hosts_spread(tmp_path: Path) -> None:
    first = kernometer(tmp_path, "run", *TINY, "--beside-last", ROW)
    assert "against" not in first.stdout
    report = tmp_path / "report.html"
    second = kernometer(tmp_path, "run", *TINY, "--beside-last", "--report", str(report), ROW)
    assert "this session against the session before: nothing can be decided with one session" in second.stdout
    assert "Between the two sessions of this host" in second.stdout
    assert "this session" in report.read_text()


def test_row_that_fails_is_told_and_is_status_1(tmp_path: Path) -> None:
    few = "wrap:prlimit --nofile=8:8"
    done = kernometer(tmp_path, "run", *TINY, "--on", few, "ctx/pipe-pair@same-cpu", status=1)
    assert "pipe: EMFILE" in done.stdout
    assert Store(tmp_path).load("@last").failures


@pytest.mark.parametrize(
    ("command", "why"),
    [
        (("nosuchcmd",), "nosuchcmd cannot be executed: ENOENT"),
        pytest.param(("false",), "false exited with status 1", marks=pytest.mark.slow(minutes=0.05)),
        pytest.param(("sh", "-c", "kill -9 $$"), "sh was killed by signal 9", marks=pytest.mark.slow(minutes=0.05)),
    ],
)
def test_a_command_that_fails_stores_nothing_and_says_why(tmp_path: Path, command: tuple[str, ...], why: str) -> None:
    """Expected: one line, the next step, status 1. Broken: a stored session of nothing but failures."""
    for words in (("run", *TINY), ("ab", "--blocks", "2", "local", "wrap:env")):
        done = kernometer(tmp_path, *words, "--", *command, status=1)
        assert done.stdout == ""
        first, step = done.stderr.splitlines()[-2:]
        assert first.startswith(f"kernometer: {why}") and step.startswith("next: ")
    assert list(tmp_path.glob("*.ndjson")) == []


def test_a_command_that_fails_later_leaves_what_was_measured(tmp_path: Path) -> None:
    """It succeeds as often as one run needs. Expected: that run is kept, and named. Broken: it is lost, or unsaid."""
    script = f"echo >> {tmp_path}/times; test $(wc -l < {tmp_path}/times) -le 5"
    words = ("run", "--runs", "3", "--seconds", "0.0001", "--", "sh", "-c", script)
    done = kernometer(tmp_path / "store", *words, status=1)
    assert "(3 runs) is kept: kernometer show" in done.stderr
    assert len(Store(tmp_path / "store").load("@last").runs) == 3


@pytest.mark.slow(minutes=0.1)
def test_a_commands_kernel_share_is_told_with_its_interval(tmp_path: Path) -> None:
    """The command works in the kernel for tens of milliseconds. Expected: the share, and no advice on what was not
    given. Broken: "below resolution", with --batch and taskset."""
    done = kernometer(tmp_path, "run", "--runs", "3", "--", "dd", "if=/dev/zero", "of=/dev/null", "bs=1M", "count=2000")
    text = " ".join(done.stdout.split())
    assert "The kernel's share of dd's processor time is" in text and "by sums over executions" in text
    assert "--batch" not in text and "taskset" not in text and "not pinned" not in text
    assert "hardly disturbed" not in text


def test_command_is_measured_and_its_options_are_its_own(tmp_path: Path) -> None:
    done = kernometer(tmp_path, "run", *TINY, "--", "sh", "-c", "exit 0", "--runs")
    assert "cmd/sh@time=real" in done.stdout


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    ("words", "status", "said"),
    [
        (("run", "no/such"), 2, "There is no workload"),
        (("ab", "local", "wrap:env", "syscall"), 2, "Did you mean 'syscall/*'?"),
        (("run", "--on", "ssh:box@host:22", ROW), 2, "next: ssh://box@host:22"),
        (("run", "--on", "ssh://box@127.0.0.1:1", ROW), 3, "kernometer: ssh://box@127.0.0.1:1 "),
        (("run", "--"), 2, "no command after --"),
        (("run", ROW, "--", "true"), 2, "cannot be measured in one session"),
        (("run", "--by", "path", ROW), 2, "cannot be measured by path"),
        (("run", "--on", "nowhere", ROW), 2, "is not a target"),
        (("run", "--label", "a/b", ROW), 2, "cannot be a label"),
        (("run", "--seed", "9223372036854775808", ROW), 2, "is not in the range"),
        (("run", "--batch", "99999999999999999999", ROW), 2, "is not in the range"),
        (("run", "--seconds", "nan", ROW), 2, "is not a number"),
        (("run", "--half-width", "NaN", ROW), 2, "is not a number"),
        (("run", "--budget", "nan", ROW), 2, "is not a number"),
        (("ab", "--delta", "nan", "local", "local"), 2, "is not a number"),
        (("compare", "--delta", "-nan", "@1", "@last"), 2, "is not a number"),
        (("report", "--delta", "nan", "@last"), 2, "is not a number"),
        (("run", "--report", "/nonexistent/x.html", ROW), 5, "another file with --report FILE"),
        (("ab", "--report", "/proc/x.html", "local", "local"), 5, "another file with --report FILE"),
        (("run", "--unit-costs"), 2, "local is neither Trio nor GNU Mach"),
        (("ab", "--unit-costs", "local", "wrap:true"), 2, "local is neither Trio nor GNU Mach"),
        (
            ("matrix", "--by", "time", "--unit-costs", "--on", "local,wrap:true"),
            2,
            "local is neither Trio nor GNU Mach",
        ),
        (("run", "--on", "wrap:false", ROW), 3, "never began"),
        (("run", "--on", "local:-fno-such-flag", ROW), 4, "does not compile"),
        (("run", "--on", "qemu:linux-0.99", ROW, "--by", "path"), 6, "guest add"),
        (("compare", "@last"), 2, "two different results"),
        (("compare", "@last", "@1"), 5, "There is no @"),
        (("ab", "local"), 2, "TARGET-B"),
    ],
)
def test_what_cannot_be_done_is_said_with_its_status(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], words: tuple[str, ...], status: int, said: str
) -> None:
    told = call(Store(tmp_path), capsys, *words, status=status)
    assert said in told
    assert "Traceback" not in told
    assert list(tmp_path.glob("*.ndjson")) == []


def test_missing_compiler_is_said_with_what_to_install(tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    done = subprocess.run(
        [sys.executable, "-m", "kernometer", "--store", str(tmp_path / "store"), "run", ROW],
        capture_output=True, text=True, timeout=60, check=False,
        env={"PATH": str(tmp_path / "bin"), "HOME": str(tmp_path)},
    )  # fmt: skip  # as a command line
    assert done.returncode == 6
    assert "apt-get install gcc" in done.stderr


def test_dry_run_prints_the_command_and_measures_nothing(tmp_path: Path) -> None:
    done = kernometer(tmp_path, "run", "--dry-run", "--on", "wrap:nice -n 5", ROW)
    assert done.stdout.startswith("nice -n 5 /")
    assert "--seconds" in done.stdout
    assert list(tmp_path.iterdir()) == []


def test_ab_keeps_both_sides_whole_and_says_the_sentence_first(tmp_path: Path) -> None:
    """Cold and hot rows of one workload: each once a block. Broken: the name of the hot row means both."""
    done = kernometer(tmp_path, "ab", "--blocks", "3", "--seconds", "0.005", "local", "local", "syscall/getpid")
    assert done.stdout.startswith("local (B) against local (A): ")
    a, b = (Store(tmp_path).load(name) for name in ("@1", "@last"))
    assert {a.session.side, b.session.side} == {"A", "B"}
    assert a.session.experiment == b.session.experiment != ""
    for side in (a, b):
        assert side.damage == ()
        assert sorted((run.row, run.block) for run in side.runs) == sorted(
            (row, block) for row in ("syscall/getpid", "syscall/getpid@cold") for block in range(3)
        )


@pytest.mark.slow(minutes=0.06)
def test_ab_of_two_programs_of_the_users(tmp_path: Path) -> None:
    done = kernometer(tmp_path, "ab", "--json", "--blocks", "2", "local", "wrap:env", "--", "true")
    (comparison,) = json.loads(done.stdout)
    assert {row["row"] for row in comparison["rows"]} >= {"cmd/true@time=real"}


def stored(store: Store, **changes: object) -> Result:
    """A made-up session in the store."""
    session = make.session(**changes)
    with store.create(session) as writer:
        for record in make.records()[1:]:
            if isinstance(record, Run) or type(record).__name__ in ("Header", "Workload"):
                writer.add(record)
    return store.load(session.id)


def test_guests_of_different_machines_are_compared_only_if_asked_for(tmp_path: Path) -> None:
    store = Store(tmp_path)
    ids = [stored(store, machine=machine).session.id for machine in ("QEMU 7.2 microvm", "QEMU 7.2 pc")]
    done = kernometer(tmp_path, "compare", *ids, status=2)
    assert "QEMU 7.2 microvm" in done.stderr and "QEMU 7.2 pc" in done.stderr
    assert (
        "machine: QEMU 7.2 microvm | QEMU 7.2 pc"
        in kernometer(tmp_path, "compare", "--different-machines", *ids).stdout
    )


@pytest.mark.slow(minutes=0.1)
def test_a_session_by_another_probe_says_so_and_is_compared_with_no_earlier_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Expected: what changed, said once; the sessions are no history of each other, and comparing them says so first.
    Broken: a session by glibc stands next to one by musl as the session before."""
    words = ("run", "--beside-last", *TINY, ROW)
    monkeypatch.delenv("CC", raising=False)
    first = kernometer(tmp_path, *words)
    monkeypatch.setenv("CC", "gcc")
    second, third = kernometer(tmp_path, *words), kernometer(tmp_path, *words)
    *_, before = (one.id for one in Store(tmp_path).summaries())
    assert [f"the probe has changed since {before}, " in one.stderr for one in (first, second, third)] == [0, 1, 0]
    assert ["the session before" in one.stdout for one in (first, second, third)] == [0, 0, 1]
    assert "Probe " in first.stdout
    told = kernometer(tmp_path, "compare", before, "@last").stdout.splitlines()
    assert told[0].startswith(f"@last against {before}, by different probes (flags")


def test_second_measurement_at_once_is_refused(tmp_path: Path) -> None:
    with Store(tmp_path).measuring("time"):
        done = kernometer(tmp_path, "run", *TINY, ROW, status=5)
    assert "Another session is being measured" in done.stderr


def test_times_and_counts_are_never_compared(tmp_path: Path) -> None:
    """Expected: that reason. Broken: a hint that an option would do it."""
    store = Store(tmp_path)
    ids = [stored(store, by=by).session.id for by in ("time", "path")]
    done = kernometer(tmp_path, "compare", *ids, status=5)
    assert "--different-machines" not in done.stderr


@pytest.mark.slow(minutes=0.04)
def test_times_have_a_new_seed_each_unless_it_is_given(tmp_path: Path) -> None:
    words = ("run", "--dry-run", ROW)
    assert kernometer(tmp_path, *words).stdout != kernometer(tmp_path, *words).stdout
    assert "--seed 5 " in kernometer(tmp_path, *words, "--seed", "5").stdout


@pytest.mark.slow(minutes=0.15)
def test_a_gate_measures_a_failing_row_again_before_it_fails(tmp_path: Path) -> None:
    """Expected: 7 after a second look, which the lines and the JSON tell. Broken: one look decides."""
    words = ("--raw", "--blocks", "12", "--seconds", "0.01", "local:-O2", "local:-O0", "cpu/hanoi")
    done = kernometer(tmp_path, "ab", "--gate", "--json", *words, status=7)
    assert "The gate fails on cpu/hanoi: measured again, in 12 new blocks." in done.stderr
    assert "new blocks: ratio" in done.stderr
    (found,) = json.loads(done.stdout)
    (row,) = found["gate"]["rows"]
    assert (found["gate"]["passed"], row["outcome"], row["before"], row["fails"]) == (False, "worse", "worse", True)
    assert len({Store(tmp_path).load(name).session.experiment for name in ("@1", "@3")}) == 2


@pytest.mark.slow(minutes=0.2)
def test_an_ab_of_a_quantile_is_judged_and_reported_by_it(tmp_path: Path) -> None:
    """Two blocks of single iterations. Expected: the quantile's verdict from as many runs as it needs, and in a page
    that is made later. Broken: the page judges medians."""
    words = ("--blocks", "2", "--quantile", "0.5", "--label", "two", "local", "wrap:env", ROW)
    (judged,) = json.loads(kernometer(tmp_path, "ab", "--json", *words).stdout)
    assert (judged["quantile"], judged["rows"][0]["units_a"]) == ("p50", 2)
    sides = Store(tmp_path).load_set("label:two")
    assert [[(run.run, run.batch) for run in side.runs] for side in sides] == [[(n, 1) for n in range(LEAST_RUNS)]] * 2
    done = kernometer(tmp_path, "report", "label:two", "-o", str(tmp_path / "page.html"))
    assert done.stderr.startswith("p50 of ")


def test_an_allowance_without_a_row_is_refused_before_measuring(tmp_path: Path) -> None:
    """Broken: a misspelt pattern allows nothing, and nobody knows."""
    done = kernometer(tmp_path, "ab", "--gate", "--allow", "sycall/*", "local", "local", ROW, status=2)
    assert "--allow 'sycall/*' names no row that is compared." in done.stderr
    assert not list(tmp_path.rglob("*.ndjson"))
