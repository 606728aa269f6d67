"""Findings about other use of the CPUs, from two readings a short time apart."""

from __future__ import annotations

from dataclasses import dataclass, field

from kernometer.host import Finding
from kernometer.host.tree import Tree, clean, integer

#: Other work above this share of one CPU's time disturbs. A tick in 0.3 s is 0.03.
BUSY = 0.1
#: Processes named in a finding.
NAMED = 3
#: Columns of idle time in /proc/stat's first line.
IDLE, IOWAIT, STEAL, COLUMNS = 3, 4, 7, 8


@dataclass(frozen=True, slots=True)
class Moment:
    """One reading: ticks of all CPUs by kind, ticks of each process, throttle events."""

    ticks: tuple[int, ...]  #: user, nice, system, idle, iowait, irq, softirq, steal; () if not known
    ncpus: int
    processes: dict[str, tuple[str, int]] = field(default_factory=dict)  #: pid → name, ticks
    throttled: int | None = None


def moment(tree: Tree) -> Moment:
    """Reads /proc/stat, each /proc/PID/stat and the CPUs' throttle counters."""
    lines = (tree.raw("proc/stat") or "").splitlines()
    words = (
        [integer(word) for word in lines[0].split()[1 : COLUMNS + 1]] if lines and lines[0].startswith("cpu ") else []
    )
    ticks = tuple(word for word in words if word is not None and word >= 0)
    return Moment(
        ticks if len(ticks) == COLUMNS else (),
        max(1, sum(line.startswith("cpu") and line[3:4].isdecimal() for line in lines)),
        dict(filter(None, (_process(tree, name) for name in tree.names("proc") if name.isdecimal()))),
        throttle_count(tree),
    )


def _process(tree: Tree, pid: str) -> tuple[str, tuple[str, int]] | None:
    """Parses `PID (NAME) STATE …`: the name may contain anything, even brackets and newlines."""
    head, bracket, rest = (tree.raw(f"proc/{pid}/stat") or "").rpartition(")")
    words = rest.split()
    if not bracket or len(words) < 13:
        return None
    user, system = integer(words[11]), integer(words[12])
    if user is None or system is None:
        return None
    return pid, (clean(head.partition("(")[2])[:40], user + system)


def throttle_count(tree: Tree) -> int | None:
    """How often cores were slowed down because of their temperature since boot; None if not known."""
    counts = [tree.number(f"{folder}/thermal_throttle/core_throttle_count") for folder in tree.cpu_folders()]
    told = [count for count in counts if count is not None]
    return sum(told) if told else None


def load_findings(before: Moment, after: Moment, own: str) -> tuple[Finding, ...]:
    """Steal, other work and throttling between two readings. `own`: this process's id, whose work is excluded."""
    return (steal(before, after), others(before, after, own), throttling(before, after))


def _passed(before: Moment, after: Moment) -> tuple[int, ...]:
    """Ticks by kind between the two; () if no tick passed, or a counter went back."""
    if not before.ticks or not after.ticks:
        return ()
    passed = tuple(b - a for a, b in zip(before.ticks, after.ticks, strict=True))
    return passed if sum(passed) > 0 and min(passed) >= 0 else ()


def steal(before: Moment, after: Moment) -> Finding:
    """Time that a hypervisor gave to others while a CPU here had work."""
    passed = _passed(before, after)
    if not passed:
        return Finding("steal", "not visible", "This host does not report steal time.", "", "unknown")
    now = passed[STEAL] / sum(passed)
    since_boot = after.ticks[STEAL] / max(1, sum(after.ticks))
    value = f"{now:.1%} now, {since_boot:.2%} since boot"
    if passed[STEAL] == 0:
        return Finding("steal", value, "", "", "ok")
    return Finding(
        "steal",
        value,
        "The hypervisor runs other guests on these CPUs: samples include time in which nothing ran.",
        "Measure when the physical machine is quiet, on dedicated CPUs, or by path.",
        "disturbs",
    )


def _worked(before: Moment, after: Moment) -> dict[str, int]:
    """Ticks of each process between the two, the busiest first, without processes that began or ended."""
    both = before.processes.keys() & after.processes.keys()
    ticks = {pid: after.processes[pid][1] - before.processes[pid][1] for pid in both}
    return dict(sorted(((pid, n) for pid, n in ticks.items() if n > 0), key=lambda item: (-item[1], item[0])))


def others(before: Moment, after: Moment, own: str) -> Finding:
    """Work of other processes, in CPUs, and the processes that did most of it."""
    passed = _passed(before, after)
    if not passed:
        return Finding("other work", "not visible", "This host does not report other work.", "", "unknown")
    worked = _worked(before, after)
    ours = worked.pop(own, 0)
    busy = sum(passed) - passed[IDLE] - passed[IOWAIT] - passed[STEAL] - ours
    cpus = max(0.0, busy / sum(passed) * after.ncpus)
    named = [f"{after.processes[pid][0]} ({pid})" for pid in list(worked)[:NAMED]]
    value = f"{cpus:.2f} CPUs" + (f": {', '.join(named)}" if named else "")
    if cpus < BUSY:
        return Finding("other work", value, "", "", "ok")
    advice = "Wait until it is done, or stop it."
    if worked:
        busiest = next(iter(worked))
        advice = f"Wait until it is done, or pause it: kill -STOP {busiest} (kill -CONT {busiest} resumes it)."
    effect = "It uses the CPU between samples, and slows their memory, caches and clock."
    return Finding("other work", value, effect, advice, "disturbs")


def throttling(before: Moment, after: Moment) -> Finding:
    """Cores that were slowed down because of their temperature."""
    if before.throttled is None or after.throttled is None:
        return Finding("throttling", "not visible", "This host does not report throttling.", "", "unknown")
    value = f"{after.throttled} times since boot"
    if after.throttled > before.throttled:
        effect = "The CPUs run slower because of their temperature."
        return Finding("throttling", value, effect, "Let the machine cool down, or lower its load.", "disturbs")
    return Finding("throttling", value, "", "", "ok")
