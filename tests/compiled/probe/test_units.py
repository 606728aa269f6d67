"""Do the workloads' own arithmetic and mathematical functions compute what the hardware and libm do?"""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

UNITS = Path(__file__).parent / "units"
#: Products and sums must not be fused: the comparison is with single operations.
FLAGS = ("-std=c99", "-O2", "-ffp-contract=off", "-Wall", "-Wextra", "-pedantic", "-Werror")


def run_unit(name: str, compiler: str, folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Builds tests/compiled/probe/units/NAME.c and runs it."""
    if not shutil.which(compiler):
        pytest.skip(f"{compiler} is not installed here")
    program = folder / name
    built = subprocess.run(
        [compiler, *FLAGS, "-o", str(program), str(UNITS / f"{name}.c"), "-lm"],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert built.returncode == 0, built.stderr
    return subprocess.run(
        [str(program), *arguments], capture_output=True, text=True, timeout=120, check=False, cwd=folder
    )


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_soft_double_is_the_hardware_to_the_last_bit(compiler: str, tmp_path: Path) -> None:
    """Expected: no difference over two million pairs of every kind. Broken: a sticky bit lost, a tie to odd."""
    done = run_unit("soft_double", compiler, tmp_path, "2000000", "1985")
    if done.returncode == 77:
        pytest.skip("this machine computes doubles with excess precision")
    assert done.stdout == "0 differences\n"
    assert done.returncode == 0


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_whetstone_functions_agree_with_libm(compiler: str, tmp_path: Path) -> None:
    """Expected: within 1e-15. Broken: a term of a series or a bit of a reduction constant is missing."""
    done = run_unit("whetstone_functions", compiler, tmp_path, "100000", "1976")
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_a_chain_of_loads_visits_every_place_once(compiler: str, tmp_path: Path) -> None:
    """Expected: one ring in each row's working set, and a computed end that is the walked one. Broken: a short ring of
    the random order, whose few places lie in the first-level cache whatever the working set is called."""
    done = run_unit("mem_latency", compiler, tmp_path)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout.split()[0]) > 50


@pytest.mark.parametrize(
    ("cpus", "others", "steal"),
    [
        (("0",), "0.2222", "1.0"),
        (("0", "0"), "0.2222", "1.0"),
        (("2", "0"), "0.5000", "0.5"),
        (("1", "0"), "0.0000", "1.5"),
        (("-1",), "0.5000", "1.0"),
    ],
)
def test_meter_tells_the_load_of_the_other_cpus_and_the_steal_of_ours(
    cpus: tuple[str, ...], others: str, steal: str, tmp_path: Path
) -> None:
    """Of CPUs 1 and 2, 4 of 18 ticks are busy; of CPU 0 one was stolen. Unpinned, all are ours and all are others'.
    Broken: the line of all CPUs was one CPU more, so that an idle machine looked half busy; the steal of all CPUs was
    taken for that of one, so that 0.1 % on each of 64 read 6.4 %."""
    (tmp_path / "proc" / "self").mkdir(parents=True)
    done = run_unit("meter", "gcc", tmp_path, *cpus)
    assert done.stdout == f"others {others} steal {steal} delay 400 wall 100000000\n"


def test_the_schedule_gives_runs_to_the_rows_that_need_them(tmp_path: Path) -> None:
    """Expected: an interval at which timing stopped holds the truth in 94 of 100 tries or more; a row that is narrow,
    or whose next run does not fit, is left out; those within their share come first, then the half with the widest.
    Broken: two runs alike by chance end a row, or one long row takes the time of all."""
    held, within, spent, late, rest = run_unit("schedule", "gcc", tmp_path).stdout.splitlines()
    share, runs = (float(held.split()[k]) for k in (1, 3))
    assert 0.935 < share < 0.965
    assert 14 < runs < 17
    assert within == "2 s a row, 9 s left: 1 3"
    assert spent == "1 s a row, 9 s left: 1 2"
    assert late == "2 s a row, 0 s left: 1"
    assert rest == "1 s a row, 9 s left: 2"


def test_counters_count_between_on_and_off_or_say_why_not(tmp_path: Path) -> None:
    """Expected: the 64 faults in between, none before or after, all in user mode; or call and errno. Broken: 192, or 0
    without a word."""
    done = run_unit("counters", "gcc", tmp_path)
    assert done.returncode == 0
    assert done.stdout == "user 64 kernel 0\n" or done.stdout.startswith("perf_event_open (instructions_")
