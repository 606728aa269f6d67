"""The CPU quota of control groups, version 1 and 2: a group that has used it up waits for the next period."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from dataclasses import dataclass

from kernometer.host import Finding
from kernometer.host.processor import allowed_cpus
from kernometer.host.tree import Tree, clean, integer

ROOT = "sys/fs/cgroup"
#: How many levels of control groups are examined.
DEEPEST = 32


@dataclass(frozen=True, slots=True)
class Quota:
    """A limit. `file` sets it, `cpus` is the number of CPUs whose time it allows; writing `none` lifts it."""

    file: str
    cpus: float
    none: str


def quota(tree: Tree) -> Finding:
    """The tightest quota on this process's control groups."""
    listed = tree.raw("proc/self/cgroup")
    if listed is None:
        return Finding("CPU quota", "not visible", "This host does not report its control groups.", "", "unknown")
    limits = [limit for line in listed.splitlines()[:100] for limit in _limits(tree, line)]
    if not limits:
        return Finding("CPU quota", "none", "", "", "ok")
    tightest = min(limits, key=lambda limit: limit.cpus)
    allowed = len(allowed_cpus(tree))
    if allowed and tightest.cpus >= allowed:
        return Finding("CPU quota", f"{tightest.cpus:.3g} CPUs, no fewer than are allowed", "", "", "ok")
    return Finding(
        "CPU quota",
        f"{tightest.cpus:.3g} CPUs",
        "A process that has used it up waits for the next period, usually for up to 0.1 s.",
        f"echo {tightest.none} | sudo tee {shlex.quote('/' + clean(tightest.file))}",
        "disturbs",
    )


def _limits(tree: Tree, line: str) -> list[Quota]:
    """The quotas of one line of /proc/self/cgroup, `ID:CONTROLLERS:/PATH`, from its group up to the root."""
    _, _, rest = line.partition(":")
    controllers, _, path = rest.partition(":")
    parts = [part for part in path.split("/") if part]
    if ".." in parts:  # a group outside our namespace: its directory is not visible
        parts = []
    if not controllers:
        return _along((ROOT, f"{ROOT}/unified"), parts, tree, _second)
    if "cpu" in controllers.split(","):
        return _along((f"{ROOT}/{controllers}", f"{ROOT}/cpu"), parts, tree, _first)
    return []


def _along(
    tops: tuple[str, ...], parts: list[str], tree: Tree, look: Callable[[Tree, str], Quota | None]
) -> list[Quota]:
    """The results of `look` from each top directory down the parts of a group's path."""
    folders = ["/".join((top, *parts[:n])) for top in tops for n in range(min(len(parts), DEEPEST) + 1)]
    return [limit for folder in folders if (limit := look(tree, folder)) is not None]


def _second(tree: Tree, folder: str) -> Quota | None:
    """Version 2: `cpu.max` contains quota and period in µs, or `max`."""
    words = tree.text(f"{folder}/cpu.max").split()
    limit, period = (integer(word) for word in words) if len(words) == 2 else (None, None)
    return _made(f"{folder}/cpu.max", limit, period, "max")


def _first(tree: Tree, folder: str) -> Quota | None:
    """Version 1: one file each, in µs; a quota of -1 means none."""
    limit, period = tree.number(f"{folder}/cpu.cfs_quota_us"), tree.number(f"{folder}/cpu.cfs_period_us")
    return _made(f"{folder}/cpu.cfs_quota_us", limit, period, "-1")


def _made(file: str, limit: int | None, period: int | None, none: str) -> Quota | None:
    if limit is None or period is None or limit <= 0 or period <= 0:
        return None
    return Quota(file, limit / period, none)
