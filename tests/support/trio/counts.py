"""Instructions of Trio's operations, exactly: a count that moves is a path that has changed.

They depend on what the kernel and the probe are compiled with and on how the emulator counts, so they are known for
what is listed here alone. Whoever makes a path shorter writes the new count; a larger one needs a reason in the commit.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from kernometer.results.model import Result
from kernometer.stats.figures import figures

#: By what `tools_of` tells; rows of test_paths.py, where the guest has no busybox, and of test_unit_costs.py.
KNOWN: dict[str, dict[str, float]] = {
    "gcc 12, musl, QEMU 7.2": {
        "syscall/getppid": 132,
        "proc/fork-exit": 17761,
        "proc/execl": 30232,  # 41 of it: a slab is taken and given back, which depends on what ran before
        "ctx/pipe-pair@same-cpu": 1679,
        "syscall/open-close": 919,
        "mem/touch@pages=64": 278,
        "fs/read@bufsize=1024,blocks=2000": 313,
        "trio/trap": 77,
    },
}


def tools_of(result: Result) -> str:
    """What the counts are a function of, beside the sources."""
    assert result.header is not None
    probe = result.header.probe
    told = (probe["compiler"], r"\w+ \d+"), (probe["libc"], r"\w+"), (result.session.machine, r"QEMU \d+\.\d+")
    found = (re.match(pattern, text) for text, pattern in told)
    return ", ".join(each[0] if each else "?" for each in found)


def same_as_known(result: Result, *rows: str) -> None:
    """Skips the test where nothing is known of these tools."""
    counts = {row: figures(result)[row].value for row in rows}
    tools = tools_of(result)
    if tools not in KNOWN:
        pytest.skip(f"no counts are known for {tools}; here they are {counts}")
    known = KNOWN[tools]
    moved = {row: f"{count:g}, was {known[row]:g}" for row, count in counts.items() if count != known[row]}
    assert moved == {}, f"these paths have changed: {moved}"


def path_without(program: str, folder: Path) -> str:
    """A PATH in `folder` with all programs of the present one but this: what a guest is given depends on them."""
    for place in map(Path, os.get_exec_path()):
        for each in place.iterdir() if place.is_dir() else ():
            if each.name != program and not (folder / each.name).is_symlink():
                (folder / each.name).symlink_to(each)
    return str(folder)
