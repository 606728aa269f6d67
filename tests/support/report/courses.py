"""Rows over the commits of a source tree, made up: two kernels by path, one host by time, changes with functions."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from kernometer.explain.functions import Difference, breakdowns, difference
from kernometer.results.commits import Commit
from kernometer.results.model import Result
from kernometer.stats.changes import Course, courses, past
from tests.support.explain.profiles import profiled
from tests.support.stats.simulate import of_costs, path_result

FIRST = 1_795_000_000.0
SUBJECTS = ("mm: walk the list once", "fs: a second copy of the name", "sched: rename a function", "ipc: <b>fast</b>")
LONG = "ctx/ring@procs=16,token=65536,ws=1048576,other-cpu"


def commit(number: int) -> Commit:
    subject = SUBJECTS[number % len(SUBJECTS)]
    return Commit(f"{number + 1:02x}" * 20, number + 1, FIRST + 3600 * number, "A. Author", subject)


def results(count: int = 20) -> list[Result]:
    """One of each target per commit, a day apart; `fs/open` and LONG change, `syscall/getppid` does not."""
    source = np.random.default_rng(1)
    made = []
    for number in range(count):
        at, image = FIRST + 86400.0 * number, f"mine 0.1 sha256:{number:064x}"
        rows = {
            "syscall/getppid": 138,
            "fs/open": 1200 + 9 * (number >= 7) - 4 * (number >= 15),
            LONG: 5000 + number % 3,
        }
        for target, times in (("qemu:mine", 1), ("qemu:mine-micro", 4)):
            counts = {row: times * cost for row, cost in rows.items()}
            made.append(path_result(f"{target}-{number}", counts, started=at, image=image, target=target))
        cost = (100.0 if number < 10 else 112.0) * (1 + 0.01 * source.standard_normal(5))
        made.append(of_costs(f"local-{number}", {"syscall/getppid": [*cost]}, started=at))
    return made


def made(count: int = 20, *, by_commit: bool = True) -> tuple[tuple[Course, ...], dict[str, Commit]]:
    """The courses, and the commits of their sessions, unless sessions are in the order of time."""
    pasts = [past(result) for result in results(count)]
    if not by_commit:
        return courses(pasts), {}
    commits = {each.entry.session: commit(int(each.entry.session.rpartition("-")[2])) for each in pasts}
    placed = [
        replace(each, place=of.place, facts={"commit": of.words, **each.facts})
        for each in pasts
        for of in (commits[each.entry.session],)
    ]
    return courses(placed), commits


def functions() -> dict[tuple[str, tuple[str, str]], Difference]:
    """Of the change of `fs/open` on the first target at the eighth commit."""
    a, b = (
        breakdowns(profiled(name, counts)) for name, counts in (("a", {"walk": 40}), ("b", {"walk": 46, "copy": 3}))
    )
    (row,) = a
    made = difference(a[row], b[row])
    assert made is not None
    return {("fs/open", ("qemu:mine-6", "qemu:mine-7")): made}
