"""User and system time of a command: sums, of a kernel that counts by its tick and of one that knows."""

from __future__ import annotations

import random

import pytest

from kernometer.results.model import Result
from kernometer.stats.figures import figures
from kernometer.stats.model import FlagCode
from tests.support.stats.simulate import result, run, session

TICK = 4_000_000


def by_tick(rng: random.Random, user: int, system: int) -> tuple[int, int]:
    """What Linux tells of one execution: its whole time, divided as the ticks in it; without one all is user."""
    whole = user + system
    at, found = rng.randrange(TICK), [0, 0]
    while at < whole:
        found[at >= user] += 1
        at += TICK
    if not found[1]:
        return whole, 0
    inside = whole * found[1] // sum(found)
    return whole - inside, inside


def timed(*runs: list[tuple[int, int]]) -> Result:
    """A session of a command with these (user, system) of each execution of each run."""
    made = [
        run([pair[which] for pair in pairs], row=f"cmd/x@time={name}", run=number, batch=1, params={"time": name},
            resolution_ns=TICK, clock_cost=(), loop_cost=(), loop_batch=0)
        for number, pairs in enumerate(runs)
        for which, name in enumerate(("user", "system"))
    ]  # fmt: skip  # as a table
    return result(session("s"), made)


@pytest.mark.parametrize(("user", "system"), [(300_000, 700_000), (900_000, 100_000), (3_000_000, 6_000_000)])
def test_the_kernels_part_is_found_from_ticks(user: int, system: int) -> None:
    """Expected: both within 5 %, and no flag of the clock's resolution. Broken: the median execution, which is all user
    time; or plain sums, which miss the ticks that no execution was long enough for."""
    rng = random.Random(7)
    found = figures(timed(*([by_tick(rng, user, system) for _ in range(20_000)] for _ in range(3))))
    assert found["cmd/x@time=user"].value == pytest.approx(user, rel=0.05, abs=0.02 * (user + system))
    assert found["cmd/x@time=system"].value == pytest.approx(system, rel=0.05, abs=0.02 * (user + system))
    assert FlagCode.BELOW_RESOLUTION not in {flag.code for one in found.values() for flag in one.flags}


def test_an_exact_account_is_only_summed() -> None:
    found = figures(timed(*[[(300_000, 100_000), (310_000, 90_000)] * 200] * 3))
    assert found["cmd/x@time=user"].value == pytest.approx(305_000)
    assert found["cmd/x@time=system"].value == pytest.approx(95_000)


def test_a_command_that_took_no_time_that_ticks_can_tell_is_below_the_resolution() -> None:
    found = figures(timed(*[[(20_000, 0)] * 5] * 3))
    assert {one.value for one in found.values()} == {None}
    assert all(FlagCode.BELOW_RESOLUTION in {flag.code for flag in one.flags} for one in found.values())
