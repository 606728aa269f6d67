"""User and system time of a user's command, as sums over a run's executions. docs/statistics.md, "A command".

A kernel that keeps its account at its tick charges a process that lives shorter than a tick to the one of the two in
which a tick found it, and to user time if none did. So a single execution tells nothing, and the sums of many too
little system time: an execution that was found in the kernel stands for a whole tick there.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from kernometer.results.model import COMMAND, Run


def summed(runs: Sequence[Run]) -> tuple[Run, ...]:
    """The same runs; those of a command's user and system time have one sample, the sum of all their executions."""
    times = {_key(run, str(run.params.get("time"))): run for run in runs if run.row.startswith(COMMAND)}
    found = []
    for run in runs:
        user, system = (times.get(_key(run, which)) for which in ("user", "system"))
        if user is not None and system is not None and run in (user, system):
            of_user, of_system = _sums(user, system)
            total = of_user if run is user else of_system
            run = replace(run, samples=(total,), batch=len(run.samples))
        found.append(run)
    return tuple(found)


def _key(run: Run, which: str) -> tuple[str, str, int, int]:
    return run.workload, which, run.block, run.run


def _sums(user: Run, system: Run) -> tuple[int, int]:
    """User and system time of all executions of a run, ns."""
    pairs = [*zip(user.samples, system.samples, strict=False)]
    tick = system.resolution_ns
    short = [(of_user, of_system) for of_user, of_system in pairs if of_user + of_system < tick]
    by_tick = not any(of_user and of_system for of_user, of_system in short)
    whole = sum(of_user + of_system for of_user, of_system in pairs)
    inside = sum(of_system for of_user, of_system in pairs if not by_tick or of_user + of_system >= tick)
    inside += sum(round(tick) for _of_user, of_system in short if by_tick and of_system)
    return max(0, whole - inside), inside
