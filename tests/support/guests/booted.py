"""A boot by path of a target, and what it printed."""

from __future__ import annotations

import json
from statistics import median
from typing import Any

from kernometer.targets.base import Deadline, Job
from kernometer.targets.qemu import QemuTarget

#: Beyond any machine: a boot takes six seconds on an idle one.
BOOT_SECONDS = 500
#: All rows, in parts of a few minutes each.
PARTS = {
    "system": ("clock/*", "cpu/*", "ctx/*", "sig/*", "syscall/*", "limit/*", "load/*"),
    "files": ("fs/*",),
    "memory": ("fb/*", "ipc/*", "mem/*"),
    "processes": ("proc/*", "sh/*"),
}
Record = dict[str, Any]


def boot(target: QemuTarget, what: Job) -> list[bytes]:
    return list(target.run(what, Deadline.after(BOOT_SECONDS)))


def of(lines: list[bytes], kind: str) -> dict[str, Record]:
    return {record["row"]: record for record in map(json.loads, lines) if record["type"] == kind}


def figure(run: Record) -> float:
    return float(median(run["samples"]) - median(run["loop_cost"]))
