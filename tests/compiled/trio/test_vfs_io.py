"""Trio's pipes, sockets, eventfd, poll and epoll on the host, with the sanitizers."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.support.trio.host_programs import HOST, NEEDS_GCC, TRIO, built

PARTS = (
    *("files/descriptors", "pipes/ring", "pipes/pipe", "polling/poll", "polling/eventfd", "polling/epoll"),
    *("sockets/socket", "sockets/options", "sockets/address", "sockets/message", "sockets/rights", "sockets/inet"),
)

pytestmark = NEEDS_GCC


def program(folder: Path, name: str) -> Path:
    vfs = TRIO / "services/vfs"
    sources = [*(vfs / f"{part}.c" for part in PARTS), TRIO / "seam/text.c", HOST / "vfs_seam.c", HOST / f"{name}.c"]
    sources.append(TRIO / "services/net/without.c")
    return built(folder / name, sources, vfs)


def test_bytes_messages_and_descriptors_arrive_whole_and_nothing_is_left(tmp_path: Path) -> None:
    """Expected: for each seed what was sent comes out in order, whoever can go on is woken, all memory is given back.
    Broken: a line of vfs_io.c that does not hold, or a report of the sanitizers."""
    compiled = program(tmp_path, "vfs_io")
    for seed in range(2):
        done = subprocess.run([compiled, str(seed)], capture_output=True, text=True, timeout=120, check=False)
        assert (done.returncode, done.stdout, done.stderr) == (0, "all holds\n", "")


@pytest.mark.slow(minutes=0.1)
def test_a_socket_is_open_while_it_can_be_received(tmp_path: Path) -> None:
    """Expected: after each alarm what is open is what can be reached from descriptors, through packets and connections
    that wait. Broken: one that is lost stays, or one that can be received is closed, at a line of vfs_lost.c."""
    compiled = program(tmp_path, "vfs_lost")
    for seed in range(3):
        done = subprocess.run([compiled, str(seed)], capture_output=True, text=True, timeout=120, check=False)
        assert (done.returncode, done.stdout, done.stderr) == (0, "all holds\n", "")
