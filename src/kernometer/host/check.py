"""Finds what disturbs measuring on this host, and what to do about it. It only reads files."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from kernometer.host import HostReport
from kernometer.host.load import load_findings, moment
from kernometer.host.machine import facts, machine_findings, memory_findings
from kernometer.host.processor import processor_findings
from kernometer.host.quota import quota
from kernometer.host.tree import Tree

#: Seconds between the two readings of CPU use: thirty of the kernel's ticks of 10 ms.
INTERVAL = 0.3


def check(
    root: Path = Path("/"), interval: float = INTERVAL, sleep: Callable[[float], object] = time.sleep
) -> HostReport:
    """Examines the host whose file system is below `root`; takes a little more than `interval` seconds. Never raises
    for missing, unreadable or invalid files: the finding is then `unknown`."""
    tree = Tree(root)
    before = moment(tree)
    sleep(interval)
    report = examine(tree)
    return replace(report, findings=(*load_findings(before, moment(tree), str(os.getpid())), *report.findings))


def examine(tree: Tree) -> HostReport:
    """The findings at one moment, without those about other work."""
    findings = (*processor_findings(tree), quota(tree), *memory_findings(tree), *machine_findings(tree))
    return HostReport(findings, facts(tree))
