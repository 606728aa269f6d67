"""Simulated results with a known truth: sessions, processes, samples; drift, batches, heavy tails. Seeds are fixed."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from kernometer.results.model import Baseline, By, End, Header, Result, Run, Session, Unit, Workload

if TYPE_CHECKING:
    from numpy.typing import NDArray

ROW = "syscall/getppid"


def header(**changes: Any) -> Header:
    fields: dict[str, Any] = {
        "format": 1,
        "probe": {"version": "0.1", "source_digest": "d1", "compiler": "cc 12", "flags": "-O2"},
        "uname": {
            "nodename": "host",
            "sysname": "Linux",
            "release": "6.1.0",
            "version": "#1 SMP",
            "machine": "x86_64",
        },
        "cpu": {"model": "a CPU", "online": 2},
        "clock": "monotonic",
        "clocks": (),
        "page": 4096,
        "by": "time",
        "seed": 1,
    }
    return Header(**{**fields, **changes})


def session(name: str, started: float = 0.0, by: By = "time", **changes: Any) -> Session:
    fields: dict[str, Any] = {
        "format": 1,
        "id": name,
        "label": "",
        "target": "local",
        "by": by,
        "profile": "quick",
        "started": started,
        "kernometer": "0.1",
    }
    return Session(**{**fields, **changes})


def workload(name: str = ROW, unit: Unit = "ns", less_baseline: bool = False) -> Workload:
    return Workload(
        name=name,
        per="call",
        unit=unit,
        better="lower" if unit == "ns" else "higher",
        by=("time", "path"),
        source="-",
        what="-",
        inside="-",
        figure_less_baseline=less_baseline,
    )


def run(samples: Sequence[int], **changes: Any) -> Run:
    """One run as the probe would print it: 20 ns of clock, 1 ns of loop an iteration, batch 1,000."""
    fields: dict[str, Any] = {
        "row": ROW,
        "workload": ROW,
        "run": 0,
        "batch": 1000,
        "samples": tuple(int(sample) for sample in samples),
        "clock_cost": (20.0,) * 20,
        "loop_batch": 1000,
        "loop_cost": (1020,) * 20,
        "resolution_ns": 1.0,
        "seconds": 0.5,
        "cpu": 1,
        "iterations": 1000 * len(samples),
    }
    return Run(**{**fields, **changes})


def exact_run(cost: float, **changes: Any) -> Run:
    """A run whose net cost per operation is `cost` ns, to within 1e-6, in every sample."""
    batch = 1_000_000
    return run(
        [round(20 + batch * (1 + cost))] * 3,
        batch=batch,
        loop_batch=batch,
        loop_cost=(20 + batch,) * 3,
        iterations=3 * batch,
        **changes,
    )


def result(of: Session, runs: Sequence[Run], **changes: Any) -> Result:
    names = dict.fromkeys(one.workload for one in runs)
    fields: dict[str, Any] = {
        "session": of,
        "header": header(),
        "workloads": {name: workload(name) for name in names},
        "runs": tuple(runs),
        "end": End(complete=True, seconds=60.0),
    }
    return Result(**{**fields, **changes})


def of_costs(name: str, costs: Mapping[str, Sequence[float]], started: float = 0.0, **changes: Any) -> Result:
    """A session with these net costs: row to one cost a run."""
    runs = [
        exact_run(cost, row=row, workload=row.partition("@")[0], run=number, block=number)
        for row, values in costs.items()
        for number, cost in enumerate(values)
    ]
    of = session(name, started, **{k: v for k, v in changes.items() if k in Session.__struct_fields__})
    return result(of, runs, **{k: v for k, v in changes.items() if k in Result.__struct_fields__})


def of_times(times: NDArray[np.float64], name: str = "s", started: float = 0.0, **changes: Any) -> Result:
    """A session of these iterations, ns net of a clock of 20 ns; a run has an empty loop after its samples."""
    runs = [
        run([round(20 + time) for time in one], **({"run": number, "batch": 1, "loop_cost": (20,) * 5} | changes))
        for number, one in enumerate(times)
    ]
    return result(session(name, started, effort={"batch": 1}), runs)


def sessions(
    prefix: str,
    count: int,
    rng: np.random.Generator,
    *,
    between: float,
    within: float = 0.005,
    runs: int = 3,
    cost: float = 100.0,
    first: float = 0.0,
    gap: float = 120.0,
    rows: Sequence[str] = (ROW,),
    **changes: Any,
) -> list[Result]:
    """Sessions one after the other; each row of each has a session effect (sd `between`) and run effects (`within`)."""
    made = []
    for number in range(count):
        costs = {
            row: list(cost * np.exp(between * rng.standard_normal() + within * rng.standard_normal(runs)))
            for row in rows
        }
        made.append(of_costs(f"{prefix}{number}", costs, started=first + gap * number, **changes))
    return made


def path_result(name: str, counts: Mapping[str, int | Sequence[int]], **changes: Any) -> Result:
    """A session by path: every sample of a row is its count, or one of its counts, and the bracket of 7."""
    runs = [
        run(
            [count + 7] * 11 if isinstance(count, int) else [one + 7 for one in count],
            row=row,
            workload=row,
            batch=1,
            loop_batch=1,
            loop_cost=(7,) * 5,
            clock_cost=(),
            resolution_ns=0.0,
            iterations=11,
        )
        for row, count in counts.items()
    ]
    of: dict[str, Any] = {
        "target": "qemu:linux",
        "machine": "qemu 7.2 microvm",
        "image": "linux 6.1 sha256:1",
        "state": "saved",
    }
    of |= {key: changes.pop(key) for key in list(changes) if key in Session.__struct_fields__}
    return result(session(name, by="path", **of), runs, **changes)


def baseline(samples: Sequence[int], batch: int = 1000) -> Baseline:
    return Baseline(batch=batch, samples=tuple(samples))


def upper_bound(share: float, trials: int, sigmas: float = 3.3) -> float:
    """What an honest procedure of this error rate exceeds in fewer than 1 of 2,000 tries (normal approximation)."""
    return share + sigmas * math.sqrt(share * (1 - share) / trials)


def heavy(rng: np.random.Generator, shape: tuple[int, ...]) -> NDArray[np.float64]:
    """Student's t with 3 degrees of freedom, scaled to a standard deviation of 1."""
    return np.asarray(rng.standard_t(3, shape) / math.sqrt(3))


def drifting(rng: np.random.Generator, shape: tuple[int, int], neighbours: float) -> NDArray[np.float64]:
    """Series of units of variance 1 along the last axis, each correlated with the one before: AR(1)."""
    made = rng.standard_normal(shape)
    for i in range(1, shape[1]):
        made[:, i] = neighbours * made[:, i - 1] + math.sqrt(1 - neighbours**2) * made[:, i]
    return made
