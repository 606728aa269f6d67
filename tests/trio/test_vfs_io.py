"""Trio's pipes, sockets, eventfd, poll and epoll on the host, with the sanitizers."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

ROOT_FOLDER = Path(__file__).parents[2]
PARTS = (
    *("descriptors", "ring", "pipe", "fifo", "place", "poll", "eventfd", "epoll", "socket", "socket_options"),
    *("unix_address", "unix_stream", "unix_packet", "unix_rights"),
)

pytestmark = pytest.mark.skipif(shutil.which("gcc") is None, reason="the service is compiled by gcc")


def built(folder: Path) -> Path:
    trio = ROOT_FOLDER / "trio"
    interfaces = [trio / "tools/idl.py", folder / "gen", trio / "interfaces", trio / "config/services.toml"]
    subprocess.run([sys.executable, *interfaces], check=True, timeout=60)
    vfs = trio / "services/vfs"
    includes = [f"-I{each}" for each in (trio / "seam", trio / "interfaces", folder / "gen", vfs)]
    host = ROOT_FOLDER / "tests/trio/host"
    sources = [*(vfs / f"{part}.c" for part in PARTS), trio / "seam/text.c", host / "vfs_seam.c", host / "vfs_io.c"]
    options = ["-std=gnu11", "-O1", "-g", "-Wall", "-Wextra", "-Werror", "-fsanitize=address,undefined"]
    options += ["-fno-sanitize-recover=undefined", "-DTRIO_CHECKED"]

    def compiled(source: Path) -> Path:
        to = folder / f"{source.stem}.o"
        subprocess.run(["gcc", *options, *includes, "-c", source, "-o", to], check=True, timeout=300)
        return to

    with ThreadPoolExecutor(os.cpu_count()) as several:
        objects = list(several.map(compiled, sources))
    subprocess.run(["gcc", *options, *objects, "-o", folder / "vfs_io"], check=True, timeout=300)
    return folder / "vfs_io"


def test_bytes_messages_and_descriptors_arrive_whole_and_nothing_is_left(tmp_path: Path) -> None:
    """Expected: for each seed what was sent comes out in order, whoever can go on is woken, all memory is given back.
    Broken: a line of vfs_io.c that does not hold, or a report of the sanitizers."""
    program = built(tmp_path)
    for seed in range(2):
        done = subprocess.run([program, str(seed)], capture_output=True, text=True, timeout=120, check=False)
        assert (done.returncode, done.stdout, done.stderr) == (0, "all holds\n", "")
