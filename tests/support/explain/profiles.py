"""Profiles of a row that were made up."""

from __future__ import annotations

from msgspec import structs

from kernometer.results.model import Profile, ProfileLine, ProfileStack, Result
from tests.support.stats.simulate import path_result

ROW = "syscall/getppid"


def profiled(name: str, counts: dict[str, int], *, repeated: int = 0, interrupted: int = 0, ops: float = 1.0) -> Result:
    """A session whose figure these functions make, with a bracket of 7. A name with "(" is a program's."""
    counted = sum(counts.values()) + interrupted
    lines = [
        ProfileLine(function=at, kernel="(" not in function, count=count)
        for at, (function, count) in enumerate(counts.items())
    ]
    lines += [ProfileLine(function=0, kernel=True, interrupt=True, count=interrupted)] if interrupted else []
    profile = Profile(
        row=ROW,
        view="median",
        gross=counted - repeated,
        counted=counted,
        repeated=repeated,
        names=tuple(counts),
        lines=tuple(lines),
        stacks=(ProfileStack(frames=(0,), count=counted),),
    )
    result = path_result(name, {ROW: counted - repeated - 7}, image=f"{name} sha256:{name}")
    runs = tuple(structs.replace(run, ops=ops) for run in result.runs)
    return structs.replace(result, runs=runs, profiles=(profile,))


A = {"entry": 100, "copy": 400, "gone": 50, "call (probe)": 30}
B = {"entry": 100, "copy": 700, "call (probe)": 30, "fresh": 12}
