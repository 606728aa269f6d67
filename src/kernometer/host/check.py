"""What disturbs measuring on this host, and what to do about each. Reads files only; changes nothing."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

from kernometer.host.finding import HostReport
from kernometer.host.load import load_findings, moment
from kernometer.host.machine import facts, machine_findings
from kernometer.host.memory import memory_findings
from kernometer.host.processor import processor_findings
from kernometer.host.quota import quota
from kernometer.host.tree import Tree

#: Seconds between the two readings of who uses the CPUs: thirty of the kernel's ticks of 10 ms.
INTERVAL = 0.3


def check(
    root: Path = Path("/"), interval: float = INTERVAL, sleep: Callable[[float], object] = time.sleep
) -> HostReport:
    """Looks at the host whose file system is below `root`; takes `interval` seconds and a little.

    Never raises for what is missing, unreadable or garbage: such a finding is `unknown`.
    """
    tree = Tree(root)
    before = moment(tree)
    sleep(interval)
    findings = (
        *load_findings(before, moment(tree), str(os.getpid())),
        *processor_findings(tree),
        quota(tree),
        *memory_findings(tree),
        *machine_findings(tree),
    )
    return HostReport(findings, facts(tree))
