"""Results to test with: small, whole, and plainly made up."""

from __future__ import annotations

from typing import Any

import msgspec

from kernometer.results.model import (
    AnyRecord,
    Baseline,
    End,
    Events,
    Failure,
    Header,
    RowInfo,
    Run,
    Session,
    Unsupported,
    Workload,
)
from kernometer.results.writer import new_session_id


def session(**given: Any) -> Session:
    values: dict[str, Any] = {
        "format": 1,
        "id": new_session_id(),
        "label": "",
        "target": "local",
        "by": "time",
        "profile": "quick",
        "started": 1_795_000_000.0,
        "kernometer": "0.1.0",
        "command": ("kernometer", "run"),
        "host": {"findings": [], "facts": {"governor": "performance"}},
    }
    return Session(**values | given)


def header(**given: Any) -> Header:
    values: dict[str, Any] = {
        "format": 1,
        "probe": {"version": "0.1.0", "source_digest": "00", "compiler": "gcc 12.2.0", "flags": "-O2"},
        "uname": {"sysname": "Linux", "nodename": "host", "release": "6.1.0", "version": "#1", "machine": "x86_64"},
        "cpu": {"model": "A CPU", "online": 2, "allowed": [0, 1]},
        "clock": "monotonic",
        "clocks": ({"name": "monotonic", "resolution_ns": 1.0, "cost_ns": 25.0},),
        "page": 4096,
        "by": "time",
        "seed": 1,
    }
    return Header(**values | given)


def workload(name: str = "syscall/getppid", **given: Any) -> Workload:
    values: dict[str, Any] = {
        "name": name,
        "per": "call",
        "unit": "ns",
        "better": "lower",
        "by": ("time", "path"),
        "source": "K table 3",
        "what": "one call through the kernel",
        "inside": "the call",
        "rows": (RowInfo(row=name, id=2, profiles=("quick", "full"), path_n=1000),),
    }
    return Workload(**values | given)


def run(number: int = 0, row: str = "syscall/getppid", **given: Any) -> Run:
    values: dict[str, Any] = {
        "row": row,
        "workload": row.partition("@")[0],
        "run": number,
        "batch": 1000,
        "samples": tuple(150_000 + 10 * number + i for i in range(20)),
        "clock_cost": (25.0, 26.0, 25.0),
        "loop_batch": 1000,
        "loop_cost": (500, 501, 500),
        "baseline": Baseline(batch=1000, samples=(100, 101)),
        "resolution_ns": 1.0,
        "stopped": "half-width",
        "seconds": 0.1,
        "cpu": 1,
        "involuntary": ((3, 1),),
        "migrated": (4,),
        "iterations": 20_000,
        "happened": {"syscalls": 20_000.0},
        "claimed": {"syscalls": 20_000.0},
        "meter": {"steal_ns": 0.0, "others_busy": 0.01},
        "hardware": {"instructions": 330.0},
        "warnings": ({"code": "probe", "text": "a remark"},),
    }
    return Run(**values | given)


def records(count: int = 3, **given: Any) -> list[AnyRecord]:
    """One of everything; `given` goes into the session."""
    return [
        session(**given),
        header(),
        workload(),
        *(run(number) for number in range(count)),
        Failure(row="proc/execl", text="fork: EAGAIN", run=0, call="fork", errno="EAGAIN"),
        Unsupported(row="ctx/yield", reason="no sched_yield"),
        Events(row="syscall/getppid", regions=2, counts={"instructions": 660}, empty={"instructions": 10}),
        End(complete=True, seconds=1.5),
    ]


def lines(given: list[AnyRecord]) -> list[bytes]:
    return [msgspec.json.encode(record) for record in given]


def data(given: list[AnyRecord]) -> bytes:
    return b"".join(line + b"\n" for line in lines(given))
