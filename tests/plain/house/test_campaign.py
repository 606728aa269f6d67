"""The script behind `make campaign`: its boots, what it calls a finding, and its tables."""

from __future__ import annotations

from tests.campaigns.trio import CALLS, PAGE, Done, Job, of_boots, of_errors, planned
from tests.support.trio.boot import Outcome
from tests.support.trio.fuzzing import Report, findings

REPORT = (
    "calls 30\nprocesses 4\nstuck 1\nerrno 0 20 no error\nerrno 22 10 Invalid argument\nsignal 9 2 Killed\n"
    "free_pages 50 49\n"
)


def outcome(console: str, status: int | None = 0, qemu_status: int | None = 0) -> Outcome:
    return Outcome(status, b"", console.encode(), qemu_status, "")


def test_a_campaign_makes_all_its_calls_each_boot_by_another_seed() -> None:
    jobs = [job for job in planned(CALLS, 80, boots=8, seed=5) if job.kernel == "usual"]
    assert sum(job.count for job in jobs if job.what == "calls") == CALLS
    assert sorted(job.seed for job in jobs if job.what == "sequences") == list(range(5, 13))
    assert {str(job.count) for job in jobs} <= {word for job in jobs for word in job.command}


def test_what_goes_wrong_is_a_finding_and_what_goes_well_is_none() -> None:
    """Expected: a line for each, with the last word of a machine that hangs. Broken: a panic that nobody hears of."""
    assert findings(outcome("fuzz: seed 1, 5 calls\r\n")) == []
    broken = "fuzz: broken: seed 1 sequence 2 rights: it left a process behind"
    assert findings(outcome(f"{broken}\r\n", status=1)) == [broken]
    assert findings(outcome("trio: checked: vfs.read answers -104\r\n")) == ["trio: checked: vfs.read answers -104"]
    panic = outcome("fuzz: seed 1\r\ntrio: Kernel panic\r\ntrio: why\r\n", status=None)
    assert findings(panic) == ["trio: Kernel panic trio: why"]
    [hangs] = findings(outcome("fuzz: seed 1, 5 calls\r\n", None, None))
    assert hangs.endswith("the last that it said: fuzz: seed 1, 5 calls")
    [lost] = findings(outcome("fuzz: seed 1, 5 calls\r\n", status=1))
    assert lost.startswith("status 1")


def test_the_tables_are_sums_over_all_boots() -> None:
    report = Report.read(REPORT)
    assert report.figures == {"calls": 30, "processes": 4, "stuck": 1, "free_pages": 50}
    boots = [Done(Job("usual", "calls", seed, 30), report, (), 60.0) for seed in (1, 2)]
    assert list(of_boots(boots))[2:] == ["| usual | 2, 1 to 2 | 60 calls | 8 | 4 | 2 | 0 | 2 min |"]
    assert list(of_errors(boots))[2:] == ["| 0 no error | 40 |", "| 22 Invalid argument | 20 |"]


def test_the_page_has_a_place_for_the_tables() -> None:
    assert PAGE.read_text().count("<!-- campaign: ") == 2
