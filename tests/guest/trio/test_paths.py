"""What Trio was to reach: each of the operations that systems are compared by is shorter on it than on Linux 6.1, on
the same machine, with the same binary."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernometer.guests.kernels import trio
from kernometer.results.store import read_file
from tests.support.cli.real import judged, kernometer
from tests.support.trio.boot import Kernel
from tests.support.trio.counts import path_without, same_as_known

pytestmark = pytest.mark.guest

#: A null call, fork and exit and wait, exec, a pipe's hand-over, open and close, a page fault, a file read; each with
#: the most that Trio's may be of Linux's: somewhat above what it was when this was written.
SHARES = {
    "syscall/getppid": 0.42,
    "proc/fork-exit": 0.20,
    "proc/execl": 0.25,
    "ctx/pipe-pair@same-cpu": 0.20,
    "syscall/open-close": 0.22,
    "mem/touch@pages=64": 0.32,
    "fs/read@bufsize=1024,blocks=2000": 0.34,
}


@pytest.mark.slow(minutes=0.13)
def test_each_operation_is_shorter_than_on_linux(kernel: Kernel, linux_kernel: Kernel, tmp_path: Path) -> None:
    """Expected: Trio's path length within the share above. Broken: a path that has grown."""
    assert trio.add("mono").kernel.read_bytes() == kernel.file.read_bytes()
    assert linux_kernel.file.exists()
    rows = judged(tmp_path, "--by", "path", "qemu:linux-6.1", "qemu:trio-mono", *SHARES)
    assert {row: rows[row]["ratio"] for row, most in SHARES.items() if rows[row]["ratio"] > most} == {}


def test_each_operation_is_as_long_as_it_was(kernel: Kernel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Expected: the counts that are known for these tools, to the instruction. Broken: the rows that have moved."""
    assert trio.add("mono").kernel.read_bytes() == kernel.file.read_bytes()
    (tmp_path / "bin").mkdir()
    monkeypatch.setenv("PATH", path_without("busybox", tmp_path / "bin"))
    kernometer(tmp_path / "store", "run", "--by", "path", "--on", "qemu:trio-mono", *SHARES)
    (file,) = (tmp_path / "store").glob("*.ndjson")
    same_as_known(read_file(file), *SHARES)
